return spec { name = "a", arch = { "emu" }, world = { 2 }, dtype = { "bf16" }, hidden = { 64 } }
