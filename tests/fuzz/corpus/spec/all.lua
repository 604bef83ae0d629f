-- every field once
local worlds = {}
for i = 2, 4, 2 do worlds[#worlds + 1] = i end
return spec {
  name = "server", arch = { "sm_90", "sm_100" }, topology = { link = "any", nodes = 1 }, world = worlds,
  dtype = { "bf16", "f32" }, hidden = { model "deepseek-v3", 2880 }, rows = 8, bytes = 65536,
  epilogue = { {}, { "residual", { "rmsnorm", weight = "f32" } } }, rounding = "fp32", weight_dtype = "same",
  pdl = "exit", watchdog_ms = 0, alignment = 16,
}
