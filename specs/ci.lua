-- What the tests use: every arch, every dtype, every kind of plain kernel, and few of each.
return spec {
  name   = "ci",
  arch   = { "sm_80", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "emu" },
  world  = { 2, 8 },
  dtype  = { "bf16", "f16", "f32" },
  hidden = { 2688 }, -- ends in the middle of a mailbox in the 16-bit dtypes, and at its end in f32
  rows   = 16,       -- in f32, eight ranks reduce 13 in one shot and more in two
}
