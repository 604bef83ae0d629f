-- What is built again for every mutation of two-shot.
return spec {
  name   = "small_twoshot",
  arch   = { "emu" },
  world  = { 4 },
  dtype  = { "f32" },
  hidden = { 328 },
  rows   = 24,
}
