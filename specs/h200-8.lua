-- A server with eight H200 GPUs and the models that are usually served on it: plain all-reduces.
return spec {
  name     = "h200-8",
  arch     = { "sm_90" },
  topology = { link = "nvlink", nodes = 1 },
  world    = { 2, 4, 8 },
  dtype    = { "bf16" },
  hidden   = { model "deepseek-v3", model "llama-3.1-70b", 2880 },
  rows     = 128,
}
