-- fp32 kept between the stages, which only one-shot kernels do.
return spec {
  name     = "kinds_fp32",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 2 },
  dtype    = { "bf16", "f16" },
  hidden   = { 504, 2024 },
  rows     = 9,
  bytes    = 4096,
  rounding = "fp32",
  epilogue = { { "residual", "rmsnorm" } },
}
