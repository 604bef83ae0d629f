-- What only many rows show: the second tile of swizzled scales.
return spec {
  name     = "many_rows",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 2 },
  dtype    = { "bf16" },
  hidden   = { 64 },
  rows     = 131,
  epilogue = { { "nvfp4" } },
}
