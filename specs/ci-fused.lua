-- For the tests: every stage, with and without clusters, in every kind of fused kernel.
return spec {
  name     = "ci-fused",
  arch     = { "sm_80", "sm_90" },
  world    = { 2, 8 },
  dtype    = { "bf16" },
  hidden   = { 2944 }, -- 12 mailboxes, the last one half full
  rows     = 24,       -- eight ranks reduce up to 22 rows in one shot, more in two shots
  epilogue = {
    { "residual", "rmsnorm" },
    { { "residual", out = "no" }, { "rmsnorm", weight = "f32", offset = 1 }, "norm_out", "fp8_group" },
    { "bias", "layernorm", "nvfp4" },
    { "fp8_token" },
    { "residual", { "rmsnorm", weight = "none" }, "int8_token" },
    { { "rmsnorm", weight = "f16" }, "fp8_static" },
  },
}
