-- Makes a spec from the config.json of a Hugging Face model: where the configs of real model families
-- keep the hidden size and the dtype of the all-reduce. Nothing is guessed: an ambiguous config is an
-- error that names the option to set, and every assumption is a remark.

-- Where a config keeps the fields of its language model; the first is the top level.
local places = {
  {},
  { "text_config" },
  { "llm_config" },
  { "language_config" },
  { "thinker_config" },
  { "thinker_config", "text_config" },
}

local width_fields = { "hidden_size", "n_embd", "d_model" }

-- Next to the hidden size, in the same table: mixture-of-experts models that also reduce a shorter row.
local more_width_fields = { "routed_expert_hidden_size", "moe_latent_size" }

local dtype_fields = { "torch_dtype", "dtype" }
local dtypes = { bfloat16 = "bf16", float16 = "f16", float32 = "f32" }

-- The tables from the top level down to the place; nil if the place does not exist.
local function levels_of(config, place)
  local levels = { config }
  for _, name in ipairs(place) do
    local below = levels[#levels][name]
    if type(below) ~= "table" then
      return nil
    end
    levels[#levels + 1] = below
  end
  return levels
end

local function path_of(place, depth, field)
  local names = table.pack(table.unpack(place, 1, depth))
  names[#names + 1] = field
  return table.concat(names, ".")
end

local function listed(candidates)
  local lines = {}
  for i, candidate in ipairs(candidates) do
    lines[i] = candidate.path .. " = " .. tostring(candidate.value)
  end
  return table.concat(lines, ", ")
end

-- Fields of that name anywhere in the config, for the message about a config that keeps its model elsewhere.
local function fields_below(value, path, found)
  local keys = {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    return tostring(a) < tostring(b)
  end)
  for _, key in ipairs(keys) do
    local at = path == "" and tostring(key) or path .. "." .. tostring(key)
    if type(value[key]) == "table" then
      fields_below(value[key], at, found)
    elseif math.type(value[key]) == "integer" then
      for _, field in ipairs(width_fields) do
        if key == field then
          found[#found + 1] = { path = at, value = value[key] }
        end
      end
    end
  end
  return found
end

return function(file, config, wanted)
  local remarks = {}

  local function fail(form, ...)
    error(file .. ": " .. string.format(form, ...), 0)
  end

  if type(config) ~= "table" or config[1] ~= nil then
    fail("is not a JSON object; name the config.json of a model")
  end

  local function width(path, value)
    if math.type(value) ~= "integer" or value < 8 or value > 65536 or value % 8 ~= 0 then
      fail("%s is %s; a row has a multiple of 8 elements, up to 65536", path, tostring(value))
    end
    return { path = path, value = value }
  end

  local function find_width()
    local candidates = {}
    for _, place in ipairs(places) do
      local levels = levels_of(config, place)
      for _, field in ipairs(levels and width_fields or {}) do
        local value = levels[#levels][field]
        if value ~= nil then
          local candidate = width(path_of(place, #place, field), value)
          candidate.place, candidate.levels = place, levels
          candidates[#candidates + 1] = candidate
        end
      end
    end
    if #candidates == 0 then
      local elsewhere = fields_below(config, "", {})
      fail("has no %s at its top level or where families keep their language model%s; write the spec "
           .. "by hand, with hidden = { ... }", table.concat(width_fields, ", "),
           #elsewhere > 0 and ", only " .. listed(elsewhere) or "")
    end
    local value = wanted.hidden or candidates[1].value
    local chosen, others = nil, 0
    for _, candidate in ipairs(candidates) do
      if candidate.value == value then
        chosen = candidate -- the innermost of equal ones: it may have more hidden sizes next to it
      else
        others = others + 1
      end
    end
    if not chosen then
      fail("--hidden %d is none of its hidden sizes: %s", wanted.hidden, listed(candidates))
    elseif others > 0 and not wanted.hidden then
      fail("has several hidden sizes: %s; choose one with --hidden", listed(candidates))
    end
    return chosen
  end

  local function more_widths(first)
    local widths = { first }
    local level = first.levels[#first.levels]
    for _, field in ipairs(more_width_fields) do
      if level[field] ~= nil then
        local found = width(path_of(first.place, #first.place, field), level[field])
        local is_new = true
        for _, known in ipairs(widths) do
          is_new = is_new and known.value ~= found.value
        end
        if is_new then
          widths[#widths + 1] = found
        end
      end
    end
    return widths
  end

  -- Looks in the place and in those above it: model families write the dtype in one of them, or in several.
  local function find_dtype(first)
    if wanted.dtype then
      return { path = "--dtype", name = wanted.dtype }
    end
    local found = {}
    for depth, level in ipairs(first.levels) do
      for _, field in ipairs(dtype_fields) do
        if level[field] ~= nil then
          found[#found + 1] = { path = path_of(first.place, depth - 1, field), value = level[field] }
        end
      end
    end
    if #found == 0 then
      remarks[#remarks + 1] = "has no torch_dtype or dtype: bf16 is assumed; set another with --dtype"
      return { path = "assumed: the config names none", name = "bf16" }
    end
    for _, each in ipairs(found) do
      if each.value ~= found[1].value then
        fail("has several dtypes: %s; choose one with --dtype", listed(found))
      end
    end
    local value = found[1].value
    local name = type(value) == "string" and dtypes[(string.gsub(value, "^torch%.", ""))]
    if not name then
      fail("%s is %s; kernels exist for bfloat16, float16 and float32: set the dtype of the "
           .. "activations with --dtype", found[1].path, tostring(value))
    end
    if config.quantization_config ~= nil then
      remarks[#remarks + 1] = "its weights are quantised; the activations, and so the all-reduce, are "
        .. name
    end
    return { path = found[1].path, name = name }
  end

  local first = find_width()
  local widths, dtype = more_widths(first), find_dtype(first)

  local name = wanted.name or config.model_type
  name = type(name) == "string" and string.sub(string.gsub(name, "[^%w.-]", "-"), 1, 63) or ""
  if not string.find(name, "^%w") then
    fail("has no model_type that could name the pack; set one with --name")
  end

  local function numbers(list)
    return table.concat(list, ", ")
  end
  local elements, origins, archs = {}, {}, {}
  for i, each in ipairs(widths) do
    elements[i], origins[i] = each.value, each.path
  end
  for i, arch in ipairs(wanted.archs) do
    archs[i] = '"' .. arch .. '"'
  end
  return table.concat({
    "return spec {",
    string.format("  name   = %q,", name),
    string.format("  arch   = { %s },", numbers(archs)),
    string.format("  world  = { %s },", numbers(wanted.worlds)),
    string.format("  dtype  = { %q }, -- %s", dtype.name, dtype.path),
    string.format("  hidden = { %s }, -- %s", numbers(elements), numbers(origins)),
    "}",
    "",
  }, "\n"), remarks
end
