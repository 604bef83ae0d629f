-- All twenty on the width that matters most, in one-shot and two-shot.
return spec {
  name     = "fused",
  arch     = { "sm_90" },
  topology = { link = "any", nodes = 1 },
  world    = { 2, 4, 8 },
  dtype    = { "bf16" },
  hidden   = { 7168 },
  epilogue = require "twenty",
  stages   = "stages",
}
