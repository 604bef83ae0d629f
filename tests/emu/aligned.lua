-- Kernels without a path for odd addresses.
return spec {
  name      = "aligned",
  arch      = { "emu" },
  topology  = { link = "any", nodes = 1 },
  world     = { 2 },
  dtype     = { "bf16", "f32" },
  hidden    = { 328 },
  rows      = 8,
  alignment = 16,
  epilogue  = { { "residual", "rmsnorm" }, { "fp8_token" } },
}
