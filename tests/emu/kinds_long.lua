-- Rows of more than 32 mailboxes, which are always shared by the blocks of a cluster.
return spec {
  name     = "kinds_long",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 4 },
  dtype    = { "bf16", "f16" },
  hidden   = { 8448 },
  rows     = 3,
  bytes    = 4096,
  epilogue = { { "residual", "rmsnorm" } },
}
