-- The same in f32, and rows that are always shared by a cluster.
return spec {
  name     = "kinds_f32",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 2, 4 },
  dtype    = { "f32" },
  hidden   = { 504, 1000, 4224 },
  rows     = 5,
  bytes    = 4096,
  epilogue = { { "residual", "rmsnorm" } },
}
