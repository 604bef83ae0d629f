-- Two-shot, the other dtypes, and a width that ends within a mailbox, on the emulated device.
return spec {
  name     = "emu_shapes",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 3, 4, 8 },
  dtype    = { "f16", "f32" },
  hidden   = { 264 },
  rows     = 8,
  epilogue = {
    { "residual", "rmsnorm" },
    { "bias", "layernorm", "norm_out", "fp8_token" },
  },
}
