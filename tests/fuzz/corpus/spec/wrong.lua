return spec { name = "a b", arch = { "sm_91" }, world = { 17, -1, 0x7fffffffffffffff }, dtype = { "bf61" }, hidden = { 0.5, "x" },
  rows = 1e300, epilogue = { { fp8 { per = "row" } }, 1, { "residual" } }, [1] = setmetatable, spec = spec }
