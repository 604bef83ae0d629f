-- DeepSeek V3 and R1, which have the same hidden size.
return spec {
  name   = "deepseek-v3",
  arch   = { "sm_90", "sm_100", "sm_103" },
  world  = { 8, 16 },
  dtype  = { "bf16" },
  hidden = { model "deepseek-v3" },
}
