-- Kernels of every kind in 16 bits, few of each: one-shot among two ranks, two-shot among four; single-pass and
-- persistent; rows of one block, and of a cluster where few rows come.
return spec {
  name     = "kinds",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 2, 4 },
  dtype    = { "bf16", "f16" },
  hidden   = { 504, 2024 },
  rows     = 9,
  bytes    = 4096,
  epilogue = { { "residual", "rmsnorm" } },
}
