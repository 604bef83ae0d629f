-- Gemma 3 27B.
return spec {
  name   = "gemma-3",
  arch   = { "sm_80", "sm_90", "sm_100", "sm_103" },
  world  = { 2, 4 },
  dtype  = { "bf16" },
  hidden = { model "gemma-3-27b" },
}
