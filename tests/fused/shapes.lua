-- Few epilogues on every dtype, and on widths that end within a mailbox, are shorter than one, or do
-- not fit into a block with one vector a warp.
return spec {
  name     = "shapes",
  arch     = { "sm_90" },
  topology = { link = "any", nodes = 1 },
  world    = { 2, 4 },
  dtype    = { "bf16", "f16", "f32" },
  hidden   = { 8, 264, 2880, 32768 },
  epilogue = {
    { "residual", "rmsnorm" },
    { "bias", "layernorm", "norm_out", "fp8_token" },
    { { "fp8_group", group = 64 } },
  },
}
