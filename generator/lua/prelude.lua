-- The vocabulary of specs, `spec { ... }` and `model "name"`, and every check of a spec. A message
-- starts with the file and the line of the field that it is about.
local models = require "models"

local hidden_limit = 65536
local max_rows = 2147483647
local max_bytes = 1 << 40
local no_hidden_bytes = 1 << 20

local function sorted_keys(list)
  local keys = {}
  for key in pairs(list) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    return tostring(a) < tostring(b)
  end)
  return keys
end

local model_names = sorted_keys(models)

local function describe(value)
  local kind = math.type(value) or type(value)
  if kind == "nil" then
    return "nothing"
  elseif kind == "string" then
    return string.format("the string %q", value)
  elseif kind == "integer" then
    return tostring(value)
  elseif kind == "float" then
    return tostring(value) .. ", which is not an integer"
  elseif kind == "boolean" then
    return tostring(value)
  end
  return "a " .. kind
end

-- known.texts: the texts of the files by their paths, as they are read. known.archs, known.dtypes,
-- known.roundings: names. known.has_folder(name): whether there is such a folder next to the spec.
return function(known)
  local chosen_models, finished = {}, {}

  -- The line of `key =` in the constructor that starts at `line`.
  local function line_of(path, line, key)
    local pattern = "%f[%w_]" .. string.gsub(key, "%W", "%%%0") .. "%f[^%w_][\"']?%s*%]?%s*=%f[^=]"
    local at = 0
    for text in string.gmatch((known.texts[path] or "") .. "\n", "(.-)\n") do
      at = at + 1
      if at >= line and string.find(string.gsub(text, "%-%-.*", ""), pattern) then
        return at
      end
    end
    return line
  end

  local function fail(path, line, form, ...)
    error(path .. ":" .. line .. ": " .. string.format(form, ...), 0)
  end

  local function only(path, line, given, names, prefix)
    for _, key in ipairs(sorted_keys(given)) do
      if math.type(key) then
        fail(path, line, "%s has a value without a field name, %s", prefix or "spec", describe(given[key]))
      elseif type(key) ~= "string" then
        fail(path, line, "a field name is a %s, it should be a word", type(key))
      end
      local is_known = false
      for _, name in ipairs(names) do
        is_known = is_known or name == key
      end
      if not is_known then
        fail(path, line_of(path, line, key), "unknown field %s%s; the nearest known is %s",
             prefix and prefix .. "." or "", key, nearest(key, names))
      end
    end
  end

  -- One field of a file, with its name and place for messages.
  local function at(path, line, name)
    local field = { name = name, place = path .. ":" .. line .. ": " .. name }

    function field.fail(form, ...)
      fail(path, line, "%s" .. form, name, ...)
    end

    function field.wrong(value, should)
      field.fail(" is %s; it should be %s", describe(value), should)
    end

    function field.item(index)
      return at(path, line, name .. "[" .. index .. "]")
    end

    function field.child(child, top)
      return at(path, line_of(path, top, child), name .. "." .. child)
    end

    function field.integer(value, low, high, should)
      if math.type(value) ~= "integer" or value < low or value > high then
        field.wrong(value, should)
      end
      return value
    end

    function field.list(value, of)
      local should = "a list of " .. of
      if type(value) ~= "table" or chosen_models[value] then
        field.wrong(value, should)
      end
      local count = 0
      for _ in pairs(value) do
        count = count + 1
      end
      if count == 0 then
        field.fail(" is an empty list; it should be %s", should)
      end
      for i = 1, count do
        if value[i] == nil then
          field.fail(" is a table with names or gaps; it should be %s", should)
        end
      end
      return value
    end

    function field.one_of(value, names, what)
      if type(value) ~= "string" then
        field.wrong(value, "one of " .. table.concat(names, " "))
      end
      for _, name_ in ipairs(names) do
        if name_ == value then
          return value
        end
      end
      field.fail(": unknown %s %q; the nearest known is %s", what, value, nearest(value, names))
    end

    -- A list of different entries that `check` accepts.
    function field.list_of(value, of, check)
      local seen, result = {}, {}
      for i, entry in ipairs(field.list(value, of)) do
        result[i] = check(field.item(i), entry)
        if seen[entry] then
          field.fail(" has %s twice; leave one out", describe(entry))
        end
        seen[entry] = true
      end
      return result
    end

    return field
  end

  local function name_of_pack(field, value)
    if type(value) ~= "string" then
      field.wrong(value, "a string")
    elseif #value > known.name_max or not string.find(value, "^[%w][%w._-]*$") then
      field.wrong(value, "1 to " .. known.name_max .. " letters, digits, '-', '_' or '.', the first a letter or a digit")
    end
    return value
  end

  local function widths(field, value)
    local result, seen = {}, {}
    for i, entry in ipairs(field.list(value, "integers and model \"name\"")) do
      local item = field.item(i)
      local model = chosen_models[entry]
      if model then
        for _, elements in ipairs(models[model]) do
          result[#result + 1] = { elements = elements, model = model }
        end
      else
        if type(entry) == "table" or type(entry) == "string" then
          item.wrong(entry, "an integer or model \"name\"")
        end
        item.integer(entry, 1, hidden_limit, "1 to " .. hidden_limit .. " elements")
        if entry % 8 ~= 0 then
          item.wrong(entry, "a multiple of 8 elements")
        end
        result[#result + 1] = { elements = entry }
      end
      if seen[model or entry] then
        field.fail(" has %s twice; leave one out", model and "model " .. model or entry)
      end
      seen[model or entry] = true
    end
    return result
  end

  -- One stage as text, "rmsnorm.weight=f32"; the stage's file defines its options.
  local function stage_text(field, value)
    local name, options = value, {}
    if type(value) == "table" and not chosen_models[value] then
      name = value[1]
      for key in pairs(value) do
        if key ~= 1 and type(key) ~= "string" then
          field.fail(" is a table with more than a name; options have names: { \"rmsnorm\", offset = 1 }")
        end
      end
      options = value
    end
    if type(name) ~= "string" then
      field.wrong(value, "the name of a stage, or { \"name\", option = value }")
    elseif not string.find(name, "^[a-z0-9_]+$") then
      field.wrong(name, "the name of a stage: a-z, 0-9 and '_'")
    end
    local text = name
    for _, option in ipairs(sorted_keys(options)) do
      local setting = options[option]
      if option ~= 1 then
        if not string.find(option, "^[a-z0-9_]+$") then
          field.fail(": %s is not the name of an option: a-z, 0-9 and '_'", option)
        elseif math.type(setting) ~= "integer"
               and (type(setting) ~= "string" or not string.find(setting, "^[%w_]+$")) then
          field.fail(": %s is %s; it should be an integer or a word", option, describe(setting))
        end
        text = text .. "." .. option .. "=" .. setting
      end
    end
    return text, name
  end

  local function epilogue_text(field, value)
    if type(value) ~= "table" or chosen_models[value] then
      field.wrong(value, "a list of stages, {} for the plain all-reduce")
    end
    local texts, seen, count = {}, {}, 0
    for _ in pairs(value) do
      count = count + 1
    end
    for i = 1, count do
      if value[i] == nil then
        field.fail(" is a table with names or gaps; it should be a list of stages, such as { \"rmsnorm\" } or "
                   .. "{ { \"rmsnorm\", offset = 1 } }")
      end
      local text, name = stage_text(field.item(i), value[i])
      if seen[name] then
        field.fail(" has %s twice; a stage acts once", name)
      end
      seen[name], texts[i] = true, text
    end
    return table.concat(texts, "+")
  end

  local function epilogues(field, value, has_hidden)
    local result, seen = {}, {}
    for i, list in ipairs(field.list(value, "stage lists, such as { {} }")) do
      local item = field.item(i)
      local text = epilogue_text(item, list)
      if seen[text] then
        field.fail(" has %s twice; leave one out", text == "" and "{}" or text)
      elseif text ~= "" and not has_hidden then
        item.fail(" has stages, which work on rows, and the spec has no rows; add hidden")
      end
      seen[text] = true
      result[i] = { text = text, where = item.place }
    end
    return result
  end

  local function stage_folder(field, value)
    if type(value) ~= "string" or value == "" or string.sub(value, 1, 1) == "/" or string.find(value, "..", 1, true)
       or #value > 63 then
      field.wrong(value, "a folder next to the spec, in at most 63 characters without '..'")
    elseif not known.has_folder(value) then
      field.fail(": there is no folder %s next to the spec", value)
    end
    return value
  end

  local function weight_dtypes()
    return { "same", table.unpack(known.dtypes) }
  end

  local names = {
    "name", "arch", "world", "dtype", "hidden", "rows", "bytes", "epilogue", "rounding",
    "weight_dtype", "stages", "topology", "pdl", "watchdog_ms", "alignment",
  }

  local function spec(path, line, given, ...)
    if type(given) ~= "table" or select("#", ...) > 0 then
      fail(path, line, "spec takes one table: spec { name = \"...\", ... }")
    end
    only(path, line, given, names)

    local result = { defaults = {} }
    local function place(name)
      return at(path, line_of(path, line, name), name)
    end
    local function required(name)
      if given[name] == nil then
        fail(path, line, "%s is missing; every spec needs it", name)
      end
      return place(name), given[name]
    end
    local function default(text)
      table.insert(result.defaults, text)
    end

    result.name = name_of_pack(required "name")
    local field, value = required "arch"
    result.arch = field.list_of(value, "archs, such as { \"sm_90\" }", function(item, arch)
      return item.one_of(arch, known.archs, "arch")
    end)
    field, value = required "world"
    result.world = field.list_of(value, "numbers of ranks, such as { 2, 4, 8 }", function(item, world)
      return item.integer(world, 2, known.world_max, "2 to " .. known.world_max .. " ranks")
    end)
    field, value = required "dtype"
    result.dtype = field.list_of(value, "dtypes, such as { \"bf16\" }", function(item, dtype)
      return item.one_of(dtype, known.dtypes, "dtype")
    end)

    if given.hidden ~= nil then
      result.hidden = widths(place "hidden", given.hidden)
    else
      result.hidden = {}
      default "hidden: none, flat kernels only"
    end

    if given.rows ~= nil then
      result.rows = place("rows").integer(given.rows, 1, max_rows, "1 row or more")
      if given.hidden == nil then
        place("rows").fail(" has no effect without hidden: flat kernels are limited by bytes; leave it out")
      end
    else
      result.rows = 128
      if given.hidden ~= nil then
        default "rows = 128"
      end
    end

    if given.bytes ~= nil then
      result.bytes = place("bytes").integer(given.bytes, 16, max_bytes, "16 bytes or more, up to 1 TiB")
    elseif given.hidden == nil then
      result.bytes = no_hidden_bytes
      default("bytes = " .. no_hidden_bytes)
    else
      result.bytes = 0
      default "bytes = rows x largest hidden x element size"
    end

    -- Every pack has the plain all-reduce, because groups test their links with it.
    local has_stages, has_plain = false, false
    result.epilogues = {}
    if given.epilogue ~= nil then
      result.epilogues = epilogues(place "epilogue", given.epilogue, given.hidden ~= nil)
      for _, epilogue in ipairs(result.epilogues) do
        has_stages, has_plain = has_stages or epilogue.text ~= "", has_plain or epilogue.text == ""
      end
    end
    if not has_plain then
      result.epilogues[#result.epilogues + 1] = {
        text = "", where = path .. ":" .. line .. ": epilogue",
      }
      default(given.epilogue and "epilogue: {} as well" or "epilogue = { {} }")
    end

    result.rounding = "unfused"
    if given.rounding ~= nil then
      result.rounding = place("rounding").one_of(given.rounding, known.roundings, "rounding")
    elseif has_stages then
      default "rounding = \"unfused\""
    end

    if given.weight_dtype ~= nil then
      result.weight_dtype = place("weight_dtype").one_of(given.weight_dtype, weight_dtypes(), "dtype of weights")
    elseif has_stages then
      default "weight_dtype = \"same\""
    end

    if given.stages ~= nil then
      result.stages = stage_folder(place "stages", given.stages)
    end

    local topology = given.topology
    result.link = "nvlink"
    if topology ~= nil then
      field = place "topology"
      local top = line_of(path, line, "topology")
      if type(topology) ~= "table" or chosen_models[topology] then
        field.wrong(topology, "a table, such as { link = \"nvlink\" }")
      end
      only(path, top, topology, { "link", "nodes" }, "topology")
      if topology.link ~= nil then
        result.link = field.child("link", top).one_of(topology.link, { "nvlink", "any" }, "link")
      end
      if topology.nodes ~= nil and topology.nodes ~= 1 then
        field.child("nodes", top).wrong(topology.nodes, "1: the kernels reach GPUs of one node only")
      end
    end
    if topology == nil or topology.link == nil then
      default "topology.link = \"nvlink\""
    end
    if topology == nil or topology.nodes == nil then
      default "topology.nodes = 1"
    end

    if given.pdl ~= nil then
      result.pdl = place("pdl").one_of(given.pdl, { "early", "exit", "off" }, "place of the trigger")
    else
      result.pdl = "early"
      default "pdl = \"early\""
    end

    if given.watchdog_ms ~= nil then
      result.watchdog_ms = place("watchdog_ms").integer(given.watchdog_ms, 0, 4294967295,
                                                        "0 (none) to 4294967295 milliseconds")
    else
      result.watchdog_ms = 600000
      default "watchdog_ms = 600000"
    end

    result.alignment = 0
    if given.alignment ~= nil then
      if given.alignment ~= known.alignment then
        place("alignment").wrong(given.alignment, known.alignment
                                 .. " (bytes); leave it out for kernels that take any address")
      end
      result.alignment = given.alignment
    else
      default "alignment: none, any address"
    end

    local handle = {}
    finished[handle] = result
    return handle
  end

  local function model(path, line, name, ...)
    if type(name) ~= "string" or select("#", ...) > 0 then
      fail(path, line, "model takes one name: model \"deepseek-v3\"")
    end
    if not models[name] then
      fail(path, line, "unknown model %q; the nearest known is %s", name, nearest(name, model_names))
    end
    local handle = {}
    chosen_models[handle] = name
    return handle
  end

  -- Checks the value that a spec file returned.
  local function accept(path, value)
    if value == nil then
      error(path .. ": returns nothing; it should end with: return spec { ... }", 0)
    elseif not finished[value] then
      error(path .. ": returns " .. describe(value) .. "; it should end with: return spec { ... }", 0)
    end
    return finished[value]
  end

  return { spec = with_place(spec), model = with_place(model), accept = accept }
end
