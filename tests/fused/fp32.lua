-- fp32 kept through all stages.
return spec {
  name     = "fp32",
  arch     = { "sm_90" },
  topology = { link = "any", nodes = 1 },
  world    = { 2, 8 },
  dtype    = { "bf16", "f16" },
  hidden   = { 2880 },
  epilogue = {
    { "bias", "residual", "rmsnorm" },
    { "residual", "rmsnorm", "fp8_token" },
    { "layernorm" },
    { "residual", { "nvfp4", scales = "linear" } },
  },
  rounding = "fp32",
}
