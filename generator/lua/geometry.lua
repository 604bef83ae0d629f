-- The kernels of a key and their shapes. Geometry never changes a bit of a result.
--
-- A single-pass kernel has one warp for every vector (a warp-wide 512 bytes, one mailbox) and no loop,
-- which is fastest while all blocks fit on the device. The persistent one takes every size, also where
-- several ranks share a device.
local vector_bytes, warps_max, cluster_max -- limits of variant.h, passed with each key

local rules = {
  single_pass = { threads = 128, vectors = 8192 },
  persistent = { threads = 256 },
  cluster_rows = 128, -- more rows fill the device with one block each
}

-- On the emulated device a persistent kernel loops after a few rows, to be tested with small messages.
local emulated = {
  single_pass = { threads = 64, vectors = 16 },
  persistent = { threads = 64 },
  cluster_rows = 2,
}

-- The largest message, in KiB, for which one-shot is faster than two-shot: one-shot moves world - 1
-- messages, two-shot 2 (world - 1) / world. SGLang measured these limits for push kernels in graphs, on
-- H200 and B200. A world between two entries uses that of the larger one.
local kib = 1024
local hopper = { [3] = 1280, [4] = 384, [5] = 192, [8] = 128, [16] = 128 }
local blackwell = { [4] = 1152, [8] = 512, [16] = 256 }
-- Small among four ranks on the emulated device, so that its tests see two-shot kernels of both shapes.
local emulated_limits = { [3] = 1280, [4] = 1, [5] = 192, [16] = 128 }
local families = { sm_100 = blackwell, sm_103 = blackwell, emu = emulated_limits }

local function oneshot_limit(arch, world)
  if world < 3 then
    return math.maxinteger -- two-shot would move as much, twice
  end
  local limits = families[arch] or hopper
  while not limits[world] do
    world = world + 1
  end
  return limits[world] * kib
end

local function has_clusters(arch)
  return arch ~= "sm_80" and arch ~= "sm_89"
end

local function shape(cluster, row_vectors)
  local of_block = row_vectors // cluster
  local vectors = (of_block + warps_max - 1) // warps_max
  return { cluster = cluster, threads = 32 * ((of_block + vectors - 1) // vectors), vectors_per_warp = vectors }
end

-- Several blocks finish a row sooner than one: as many blocks as divide it evenly and have at least four
-- warps.
local function cluster_shape(arch, row_vectors)
  if not has_clusters(arch) then
    return shape(1, row_vectors)
  end
  local best = 1
  for cluster = 2, cluster_max do
    if row_vectors % cluster == 0 and row_vectors // cluster >= 4 then
      best = cluster
    end
  end
  return shape(best, row_vectors)
end

-- The shapes of a fused kernel, each with the maximum rows of its single-pass kernel. With more than eight
-- ranks, one block per row would need more registers than a lane has.
local function fused_shapes(arch, row_vectors, world, own)
  local wide, one_block = cluster_shape(arch, row_vectors), shape(1, row_vectors)
  local rows = own.single_pass.vectors // row_vectors
  if row_vectors > warps_max or wide.cluster == 1 or world > 8 then
    wide.takes, wide.persistent = rows, wide
    return { wide }, wide
  end
  wide.takes, one_block.takes = own.cluster_rows, rows
  return { wide, one_block }, one_block
end

-- key: arch "sm_90"; algorithms: the allowed ones, by name; world; hidden in elements (0: flat),
-- element_bytes; is_fused; rows: maximum per call (row kernels), bytes: maximum per call (flat);
-- mailbox_bytes, warps_max, cluster_max: limits. Returns a list of { algorithm, threads, cluster, vectors_per_warp, persistent, rows, bytes }, the limits
-- ascending, rows 0 for flat kernels; and whether two-shot was needed but not allowed.
return function(key)
  vector_bytes, warps_max, cluster_max = key.mailbox_bytes, key.warps_max, key.cluster_max
  local row_bytes = key.hidden * key.element_bytes
  local row_vectors = (row_bytes + vector_bytes - 1) // vector_bytes
  local own = key.arch == "emu" and emulated or rules
  local kernels = {}

  local single_pass, persistent
  if key.is_fused then
    single_pass, persistent = fused_shapes(key.arch, row_vectors, key.world, own)
  else
    local vectors = own.single_pass.vectors
    single_pass = { {
      threads = own.single_pass.threads, cluster = 1, vectors_per_warp = 1,
      takes = key.hidden > 0 and vectors // row_vectors or vectors * vector_bytes,
    } }
    persistent = { threads = own.persistent.threads, cluster = 1, vectors_per_warp = 1 }
  end

  local function add(algorithm, chosen, loops, limit)
    local kernel = {
      algorithm = algorithm, threads = chosen.threads, cluster = chosen.cluster, vectors_per_warp = chosen.vectors_per_warp,
      persistent = loops, rows = 0, bytes = limit,
    }
    if key.hidden > 0 then
      kernel.rows, kernel.bytes = limit, limit * row_bytes
    end
    kernels[#kernels + 1] = kernel
  end

  -- Adds kernels for calls larger than `covered`, up to `limit`; both in rows, or in bytes if flat.
  local function cover(algorithm, covered, limit)
    for _, chosen in ipairs(single_pass) do
      local takes = math.min(chosen.takes, limit)
      if takes > covered then
        add(algorithm, chosen, 0, takes)
        covered = takes
      end
    end
    add(algorithm, persistent, 1, limit)
  end

  local limit = key.hidden > 0 and key.rows or key.bytes
  if key.algorithms.epilogue_only then
    add("epilogue_only", persistent, 1, limit)
    return kernels, false
  end
  local oneshot = oneshot_limit(key.arch, key.world)
  if key.hidden > 0 then
    oneshot = math.max(oneshot // row_bytes, 1)
  end
  if oneshot >= limit or not key.algorithms.twoshot then
    cover("oneshot", 0, limit)
    return kernels, oneshot < limit
  end
  cover("oneshot", 0, oneshot)
  cover("twoshot", oneshot, limit)
  return kernels, false
end
