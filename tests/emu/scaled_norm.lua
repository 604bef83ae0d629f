-- A row's scale behind a norm that is not stored: the amax travels with the norm's sum, and only its tolerance is
-- known. Built again for the mutation of that.
return spec {
  name     = "scaled_norm",
  arch     = { "emu" },
  topology = { link = "any", nodes = 1 },
  world    = { 2 },
  dtype    = { "bf16" },
  hidden   = { 1024 },
  rows     = 4,
  epilogue = { { "rmsnorm", "fp8_token" } },
}
