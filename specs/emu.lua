-- For the emulated device: every dtype and every kind of kernel, small enough that many schedules of
-- each run in seconds without a GPU.
return spec {
  name   = "emu",
  arch   = { "emu" },
  world  = { 2, 3, 8 },
  dtype  = { "bf16", "f16", "f32" },
  hidden = { 328 }, -- ends in the middle of a mailbox; short rows leave time for many schedules
  rows   = 40,
}
