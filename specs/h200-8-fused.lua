-- The same server, with the residual add, norm and quantisation that follow each all-reduce of a decode step.
return spec {
  name     = "h200-8-fused",
  arch     = { "sm_90" },
  topology = { link = "nvlink", nodes = 1 },
  world    = { 2, 4, 8 },
  dtype    = { "bf16" },
  hidden   = { model "deepseek-v3", model "llama-3.1-70b", 2880 },
  rows     = 128,
  epilogue = { {}, { "residual", "rmsnorm" }, { "residual", "rmsnorm", "fp8_static" } },
}
