-- Fused kernels for the test of tests/fused, on the emulated device.
return spec {
  name     = "fused",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 2 },
  dtype    = { "bf16" },
  hidden   = { 1536 },
  rows     = 8,
  epilogue = {
    { "residual", "rmsnorm" },
    { "bias", "layernorm", "norm_out", "fp8_token" },
  },
}
