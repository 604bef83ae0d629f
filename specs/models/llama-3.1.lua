-- Llama 3.1 8B, 70B and 405B.
return spec {
  name   = "llama-3.1",
  arch   = { "sm_80", "sm_90", "sm_100", "sm_103" },
  world  = { 2, 4, 8 },
  dtype  = { "bf16" },
  hidden = { model "llama-3.1-8b", model "llama-3.1-70b", model "llama-3.1-405b" },
}
