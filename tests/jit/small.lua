-- Row kernels and a flat one, single-pass and persistent, quickly compiled.
return spec {
  name = "small",
  arch = { "sm_90", "emu" },
  world = { 2, 4 },
  dtype = { "bf16" },
  hidden = { 64, 128 },
}
