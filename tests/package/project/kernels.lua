return spec {
  name   = "kernels",
  arch   = { "emu", "sm_90" },
  world  = { 2 },
  dtype  = { "bf16" },
  hidden = { 64 },
  rows   = 8,
}
