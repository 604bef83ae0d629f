-- For the tests: every arch, every dtype and every kind of plain kernel, a few of each.
return spec {
  name   = "ci",
  arch   = { "sm_80", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "emu" },
  world  = { 2, 8 },
  dtype  = { "bf16", "f16", "f32" },
  hidden = { 2688 }, -- a row fills its last mailbox in f32, but not in the 16-bit dtypes
  rows   = 16,       -- in f32, eight ranks reduce up to 13 rows in one shot, more in two shots
}
