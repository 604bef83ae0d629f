-- Another pack: a rank that has it disagrees with those that have that of checks.lua.
return spec {
  name     = "other",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 2 },
  dtype    = { "bf16" },
  bytes    = 64 * 1024,
}
