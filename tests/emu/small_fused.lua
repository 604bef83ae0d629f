-- What is built again for every mutation of a fused kernel: rows over a cluster of two blocks, and more
-- rows over one block each; two rounds a row.
return spec {
  name     = "small_fused",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 2 },
  dtype    = { "f32" },
  hidden   = { 1024 },
  rows     = 24,
  epilogue = { { "residual", "layernorm" } },
}
