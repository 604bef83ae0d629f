-- Another pack for the same GPUs: a rank that has it disagrees with those that have gpu.lua's.
return spec {
  name     = "other",
  arch     = { "sm_90" },
  topology = { link = "any", nodes = 1 },
  world    = { 2 },
  dtype    = { "bf16" },
  bytes    = 64 * 1024,
}
