-- What the checks of real GPUs (tests/gpu, tests/fused) call, as far as they run on the emulated device.
return spec {
  name     = "checks",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 2, 3 },
  dtype    = { "bf16", "f16", "f32" },
  hidden   = { 7168, 16384 },
  rows     = 128,
  bytes    = 16 * 1024 * 1024,
}
