-- What the benchmark of fused kernels times.
return spec {
  name     = "bench-fused",
  arch     = { "sm_90" },
  topology = { link = "any", nodes = 1 },
  world    = { 2 },
  dtype    = { "bf16" },
  hidden   = { 7168 },
  epilogue = {
    { "residual", "rmsnorm" },
    { "residual", "rmsnorm", "fp8_static" },
    { "residual", "rmsnorm", "fp8_token" },
  },
}
