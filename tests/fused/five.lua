-- A row over a cluster of five blocks.
return spec {
  name     = "five",
  arch     = { "sm_90" },
  topology = { link = "any", nodes = 1 },
  world    = { 2 },
  dtype    = { "bf16" },
  hidden   = { 5120 },
  epilogue = {
    { "residual", "rmsnorm" },
    { "residual", "rmsnorm", "fp8_token" },
    { "layernorm" },
  },
}
