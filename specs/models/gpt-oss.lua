-- gpt-oss 20b and 120b, which have the same hidden size.
return spec {
  name   = "gpt-oss",
  arch   = { "sm_90", "sm_100", "sm_103" },
  world  = { 2, 4, 8 },
  dtype  = { "bf16" },
  hidden = { model "gpt-oss-120b" },
}
