-- What is built again for every mutation.
return spec {
  name   = "small",
  arch   = { "emu" },
  world  = { 3 },
  dtype  = { "f32" },
  hidden = { 328 },
  rows   = 24,
}
