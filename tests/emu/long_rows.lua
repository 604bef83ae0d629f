-- What only long rows show: more than 32 mailboxes, persistent kernels that give each row a cluster, and packed UE8M0
-- scales that end within a word. Built again for every mutation of these.
return spec {
  name     = "long_rows",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 2 },
  dtype    = { "f32" },
  hidden   = { 4480 },
  rows     = 6,
  epilogue = { { "fp8_token" }, { { "fp8_group", scale = "ue8m0" } } },
}
