-- The kernels of the tests on the emulated device: rows that end in the middle of a mailbox, flat
-- messages of several mailboxes a warp, few enough elements that many schedules run in seconds.
return spec {
  name   = "emu",
  arch   = { "emu" },
  world  = { 2, 3, 4, 8 },
  dtype  = { "bf16", "f16", "f32" },
  hidden = { 328 },
  rows   = 24,
}
