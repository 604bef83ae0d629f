-- What the test on real GPUs runs: every world, dtype and hidden size that it names.
return spec {
  name     = "gpu",
  arch     = { "sm_90" },
  topology = { link = "any", nodes = 1 },
  world    = { 2, 3, 4, 6, 8 },
  dtype    = { "bf16", "f16", "f32" },
  hidden   = { 2880, 4096, 5120, 7168, 8192, 16384 },
  rows     = 128,
  bytes    = 16 * 1024 * 1024,
}
