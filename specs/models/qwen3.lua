-- Qwen3: the dense 32B; the mixture-of-experts models 30B-A3B and 235B-A22B; Coder 480B.
return spec {
  name   = "qwen3",
  arch   = { "sm_80", "sm_90", "sm_100", "sm_103" },
  world  = { 2, 4, 8 },
  dtype  = { "bf16" },
  hidden = {
    model "qwen3-32b", model "qwen3-30b-a3b", model "qwen3-235b-a22b", model "qwen3-coder-480b",
  },
}
