-- A plan that is small enough to review: eleven kernels.
return spec {
  name     = "golden",
  arch     = { "sm_90" },
  world    = { 4 },
  dtype    = { "bf16" },
  hidden   = { 2688 },
  rows     = 128,
  bytes    = 256 * 1024,
  epilogue = { { "residual", "rmsnorm" } },
}
