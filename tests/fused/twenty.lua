-- The combinations of stages that the fused test runs, every stage in several places. Behind a norm
-- that is stored all is known bit for bit; where one is not, the same epilogue with norm_out has to
-- give the same bits.
return {
  { "residual", "rmsnorm" },
  { { "residual", out = "no" }, { "rmsnorm", offset = 1 } },
  { "residual", { "rmsnorm", weight = "f32" } },
  { { "rmsnorm", weight = "none" } },
  { "bias", "residual", "layernorm" },
  { { "layernorm", bias = "no" } },
  { "residual", "rmsnorm", "fp8_static" },
  { "residual", "rmsnorm", "norm_out", "fp8_static" },
  { "residual", "rmsnorm", "fp8_token" },
  { "residual", "rmsnorm", "norm_out", "fp8_token" },
  { "residual", "rmsnorm", "norm_out", "fp8_group" },
  { "residual", "rmsnorm", "norm_out", { "fp8_group", group = 64, scale = "ue8m0" } },
  { "residual", "rmsnorm", "norm_out", "nvfp4" },
  { "residual", "layernorm", "norm_out", { "nvfp4", scales = "linear" } },
  { "residual", "rmsnorm", "norm_out", "int8_token" },
  { "fp8_static" },
  { "bias", "fp8_token" },
  { "residual", "nvfp4" },
  { { "bias", weight = "f32" }, "relu2", { "fp8_group", group = 32, scale = "ue8m0" } },
  { "relu2", "int8_token" },
}
