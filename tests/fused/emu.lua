-- All twenty on the emulated device.
return spec {
  name     = "emu",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 2 },
  dtype    = { "bf16" },
  hidden   = { 1536 },
  rows     = 8,
  epilogue = require "twenty",
  stages   = "stages",
}
