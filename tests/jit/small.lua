-- Row kernels and a flat one, straight and looping, quickly compiled.
return spec {
  name = "small",
  arch = { "sm_90", "emu" },
  world = { 2, 4 },
  dtype = { "bf16" },
  hidden = { 64, 128 },
}
