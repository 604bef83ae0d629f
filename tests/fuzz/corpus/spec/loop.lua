local t = {} for i = 1, 1e5 do t[i] = ("x"):rep(i % 7) end
return spec { name = table.concat(t):sub(1, 63), arch = t, world = t, dtype = t }
