-- The numbers of ranks that the other specs leave out.
return spec {
  name     = "emu_worlds",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 5, 6, 7, 16 },
  dtype    = { "bf16" },
  hidden   = { 264 },
  epilogue = { { "residual", "rmsnorm", "fp8_token" } },
}
