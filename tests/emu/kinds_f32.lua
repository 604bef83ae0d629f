-- The same in f32.
return spec {
  name     = "kinds_f32",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 2, 4 },
  dtype    = { "f32" },
  hidden   = { 504, 1000 },
  rows     = 5,
  bytes    = 4096,
  epilogue = { { "residual", "rmsnorm" } },
}
