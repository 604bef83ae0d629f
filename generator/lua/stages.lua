-- Runs the stage files of an epilogue: what each declares, and the text of its sections. The plan
-- uses the declarations, a rendering both, so they cannot differ.
--
-- An epilogue is written "residual+rmsnorm.weight_f32": options that are not the default, in the
-- order in which the stage file declares them. In a spec's own form, "rmsnorm.weight=f32", the order
-- is free and every option is allowed.
local new_environment = require "sandbox"

local name_bytes = 23

local function join(values)
  local texts = {}
  for i, value in ipairs(values) do
    texts[i] = tostring(value)
  end
  return table.concat(texts, " ")
end

local function contains(values, text)
  for _, value in ipairs(values) do
    if tostring(value) == text then
      return value
    end
  end
end

-- known.dtypes, known.granularities: names. known.epilogue_bytes, known.operands_max: what a kernel's record
-- holds. find(name) -> "once", "twice" or "nowhere", the folders, a list of the names that exist.
-- run(name, environment, sink) runs the file and gives what messages call it.
return function(known, find, run)
  -- Raised through the stage file, and caught: the spec's mistake, or a combination to leave out.
  local function mistake(form, ...)
    error({ kind = "mistake", message = string.format(form, ...) }, 0)
  end

  local function wrong(path, line, form, ...)
    error(path .. ":" .. line .. ": " .. string.format(form, ...), 0)
  end

  local function check_word(path, line, what, text)
    if type(text) ~= "string" or not string.find(text, "^[a-z_][a-z0-9_]*$") or #text > name_bytes then
      wrong(path, line, "%s: a name of at most %d of a-z, 0-9 and '_' is needed, the first no digit", what,
            name_bytes)
    end
  end

  -- The settings of a stage: "rmsnorm.weight=f32" or "rmsnorm.weight_f32" as name and list of texts.
  local function split(text)
    local name, settings
    for piece in string.gmatch(text, "[^.]+") do
      if not name then
        name, settings = piece, {}
      else
        settings[#settings + 1] = piece
      end
    end
    return name, settings
  end

  -- What the settings say of an option; the setting is then used up.
  local function take(settings, name, choices, stage)
    for i, setting in ipairs(settings) do
      local equals = string.find(setting, "=", 1, true)
      if equals and string.sub(setting, 1, equals - 1) == name then
        table.remove(settings, i)
        local text = string.sub(setting, equals + 1)
        local value = contains(choices, text)
        if value == nil then
          mistake("%s: %s is %s; it should be one of %s", stage, name, text, join(choices))
        end
        return value
      end
    end
    local first = settings[1]
    if first and string.sub(first, 1, #name + 1) == name .. "_" then
      local value = contains(choices, string.sub(first, #name + 2))
      if value ~= nil then
        table.remove(settings, 1)
      end
      return value
    end
  end

  local function check_choices(path, line, name, choices)
    if type(choices) ~= "table" or #choices < 2 then
      wrong(path, line, "option %s: a list of two or more choices is needed, the default first", name)
    end
    for _, choice in ipairs(choices) do
      if math.type(choice) ~= "integer" and (type(choice) ~= "string" or not string.find(choice, "^[a-z0-9_]+$"))
         or math.type(choice) == "integer" and choice < 0 then
        wrong(path, line, "option %s: a choice is a word of a-z, 0-9 and '_', or an integer from 0", name)
      end
    end
  end

  -- What a kernel can read. What is per row or group is only stored.
  local readable = { element = "bf16 f16 f32", column = "bf16 f16 f32", tensor = "f32" }

  local operand_fields = { dtype = true, group = true, name = true, output = true, per = true }

  local function check_operand(path, line, given, dtype)
    if type(given) ~= "table" then
      wrong(path, line, "operand takes a table: $operand { name = \"...\", per = \"...\" }")
    end
    check_word(path, line, "operand", given.name)
    for field in pairs(given) do
      if not operand_fields[field] then
        wrong(path, line, "operand %s: unknown field %s; it has dtype group name output per", given.name,
              tostring(field))
      end
    end
    if not contains(known.granularities, given.per) or given.per == "call" then
      wrong(path, line, "operand %s: per is %s; it should be one of element column row tensor group", given.name,
            tostring(given.per))
    end
    local type_name = given.dtype == nil and dtype or given.dtype
    if not contains(known.dtypes, type_name) then
      wrong(path, line, "operand %s: dtype is %s; it should be one of %s", given.name, tostring(type_name),
            join(known.dtypes))
    end
    if (given.per == "group") ~= (given.group ~= nil) then
      wrong(path, line, "operand %s: per = \"group\" and group = ELEMENTS go together", given.name)
    elseif given.group ~= nil and (math.type(given.group) ~= "integer" or given.group < 1) then
      wrong(path, line, "operand %s: group is %s; it should be a number of elements", given.name,
            tostring(given.group))
    end
    local dtypes = readable[given.per]
    if not given.output and not dtypes then
      wrong(path, line, "operand %s: what is per %s is stored; an input is per element, column or tensor",
            given.name, given.per)
    elseif not given.output and not string.find(" " .. dtypes .. " ", " " .. type_name .. " ", 1, true) then
      wrong(path, line, "operand %s: an input per %s is %s; it should be one of %s", given.name, given.per, type_name,
            dtypes)
    end
    return {
      name = given.name, dtype = type_name, per = given.per, output = given.output and true or false,
      group = given.group or 0,
    }
  end

  -- Empty lines at both ends of a section separate it from its neighbours in the file, no more.
  local function trim(block)
    while #block >= 3 and block[#block] == "" do
      for _ = 1, 3 do
        table.remove(block)
      end
    end
    while #block >= 3 and block[3] == "" do
      for _ = 1, 3 do
        table.remove(block, 1)
      end
    end
  end

  -- Whether a section mentions a name. A part, which is inserted later, may mention any.
  local function mentions(step, name)
    for i = 3, #step, 3 do
      if type(step[i]) ~= "string" or string.find(step[i], "%f[%w_]" .. name .. "%f[^%w_]") then
        return true
      end
    end
    return false
  end

  local totals = { sum = true, max = true, amax = true }

  -- A total is combined as late as possible: sections that do not mention it run while the partials travel.
  local function run_ahead(steps)
    local total
    for _, step in ipairs(steps) do
      step.runs_ahead = total and step.kind == "map" and not mentions(step, total)
      if not step.runs_ahead then
        total = totals[step.kind] and step.name or nil
      end
    end
  end

  -- One stage: its table, and its part of the epilogue's text.
  local function run_stage(text, parameters, weight_dtype)
    local name, settings = split(text)
    local found, places, names = find(name)
    if found == "twice" then
      mistake("stage %s is in both %s; give yours another name", name, places)
    elseif found == "nowhere" and #names == 0 then
      mistake("unknown stage %q; there are no stages in %s", name, places)
    elseif found == "nowhere" then
      table.sort(names)
      mistake("unknown stage %q; the nearest known is %s; stages are the files NAME.cu.in in %s", name,
              nearest(name, names), places)
    end
    local stage = { name = name, options = {}, operands = {}, quantizes = false, steps = {} }
    local canonical, sink, sections = name, { defers_parts = true }, {}
    local environment = new_environment()
    for parameter, value in pairs(parameters) do
      environment[parameter] = value
    end

    local function declaration(name_, f)
      environment[name_] = with_place(f)
    end

    declaration("stage", function(path, line, about)
      if type(about) ~= "string" or about == "" or stage.about then
        wrong(path, line, "$stage takes one line of text, a formula or a description, and comes once")
      end
      stage.about = about
    end)

    declaration("option", function(path, line, option, choices)
      check_word(path, line, "option", option)
      check_choices(path, line, option, choices)
      for _, other in ipairs(stage.options) do
        local short, long = option, other.name
        if #short > #long then
          short, long = long, short
        end
        if short == long or string.sub(long, 1, #short + 1) == short .. "_" then
          wrong(path, line, "option %s and option %s look alike in an epilogue's name", option, other.name)
        end
      end
      local value = take(settings, option, choices, name)
      if value == nil and option == "weight" and weight_dtype then
        value = contains(choices, weight_dtype)
        if value == nil then
          mistake("%s: weight_dtype is %s; it should be one of %s", name, weight_dtype, join(choices))
        end
      end
      if value == nil then
        value = choices[1]
      end
      stage.options[#stage.options + 1] = { name = option, value = value, choices = choices }
      if value ~= choices[1] then
        canonical = canonical .. "." .. option .. "_" .. value
      end
      return value == "same" and parameters.dtype or value
    end)

    declaration("operand", function(path, line, given)
      stage.operands[#stage.operands + 1] = check_operand(path, line, given, parameters.dtype)
    end)

    declaration("value", function(path, line, operand)
      check_word(path, line, "value", operand)
      stage.operands[#stage.operands + 1] = { name = operand, dtype = "f32", per = "call", output = false,
                                              group = 0 }
    end)

    declaration("refuse", function(_, _, condition, form, ...)
      if condition then
        error({ kind = "refusal", message = string.format(form, ...) }, 0)
      end
    end)

    declaration("quantizes", function()
      stage.quantizes = true
    end)

    declaration("keeps", function()
      stage.keeps = true
    end)

    local function section(kind, has_name)
      declaration(kind, function(path, line, total)
        local step = { kind = kind, name = total }
        if has_name then
          check_word(path, line, kind, total)
          if sections[total] then
            wrong(path, line, "there is a second %s", total)
          end
          sections[total] = true
        elseif total ~= nil then
          wrong(path, line, "$%s() takes nothing", kind)
        end
        stage.steps[#stage.steps + 1] = step
        sink.block = step
      end)
    end
    section("sum", true)
    section("max", true)
    section("amax", true)
    section("scale", true)
    section("row", false)
    section("map", false)

    declaration("helpers", function(path, line)
      if stage.helpers then
        wrong(path, line, "there is a second $helpers()")
      end
      stage.helpers = {}
      sink.block = stage.helpers
    end)

    local file = run(name, environment, sink)
    if #settings > 0 then
      local setting = settings[1]
      local equals = string.find(setting, "=", 1, true)
      local option = equals and string.sub(setting, 1, equals - 1) or setting
      if #stage.options == 0 then
        mistake("%s: unknown option %s; the stage has none", name, option)
      end
      local options = {}
      for i, known_option in ipairs(stage.options) do
        options[i] = known_option.name
      end
      mistake("%s: unknown option %s; the nearest known is %s", name, option, nearest(option, options))
    end
    if not stage.about then
      error(file .. ": there is no $stage line that says what the stage does", 0)
    end
    if #stage.steps == 0 then
      error(file .. ": the stage has no section: it does nothing", 0)
    end
    for _, step in ipairs(stage.steps) do
      trim(step)
    end
    run_ahead(stage.steps)
    if stage.helpers then
      trim(stage.helpers)
    end
    return stage, canonical
  end

  -- The sum from which a stage that ends by scaling the row makes its scale, if nothing changes the row between the
  -- sum's total and the scaling.
  local function sum_before_scale(steps)
    local at = #steps
    if steps[at].kind ~= "scale" then
      return nil
    end
    repeat
      at = at - 1
    until at < 1 or steps[at].kind ~= "row"
    while at > 0 and steps[at].runs_ahead do
      at = at - 1
    end
    return at > 0 and steps[at].kind == "sum" and steps[at] or nil
  end

  -- Scaling a row leaves its amax where it was, since rounding keeps the order. So a stage that begins with the amax
  -- of a row that another has scaled need not go through the row again: the amax before the scaling is found in the
  -- same phase as the sum from which the scale is made.
  local function look_ahead(stages)
    local found = false
    for i, stage in ipairs(stages) do
      local next_one = i + 1
      while stages[next_one] and stages[next_one].keeps do
        next_one = next_one + 1
      end
      local follower = stages[next_one]
      local sum = sum_before_scale(stage.steps)
      if sum and follower and follower.steps[1].kind == "amax" then
        sum.finds_amax, stage.steps[#stage.steps].has_amax_ahead = true, true
        follower.steps[1].is_known = true
        found = true
      end
    end
    return found
  end

  -- The steps of all stages as one list, in the order in which a kernel makes them. Templates print it; every
  -- decision about the order is made in this function. The kinds, with their fields other than `kind`:
  --   amax_ahead                        declares the amax of a later stage
  --   begin (name, about, uses_at), end   of a stage
  --   row, map (uses_at, inputs)        a section's text; inputs are the vector operands that it reads
  --   scale (name, has_amax_ahead)      multiplies the row by a number
  --   partial_sum, partial_max (name, of_amax)   this warp's partials; of_amax: of absolute values, without a text
  --   publish_sum, publish_max, publish_both (name)   ... to the blocks of the row; both: with the amax ahead
  --   rearm                             while the partials of other warps travel
  --   combine_sum, combine_max, combine_both (name)   waits for all partials of the row
  --   known_max (name)                  a maximum that was found ahead
  --   store                             of the row, unless the last stage has stored it
  --   rearm_last                        where there was nothing to wait for
  local function schedule_of(stages, parameters)
    local list = {}
    local has_peers = parameters.world > 1
    local rearmed = not has_peers

    local function add(kind, step)
      step = step or {}
      local copy = { kind = kind, name = step.name }
      table.move(step, 1, #step, 1, copy)
      list[#list + 1] = copy
      return copy
    end

    local function combine(total)
      local kind = total.kind == "sum" and "sum" or "max"
      if total.finds_amax then
        kind = "both"
        add("publish_both", total)
      end
      if not rearmed then
        add("rearm")
        rearmed = true
      end
      add("combine_" .. kind, total)
    end

    local function add_total(total)
      if total.is_known then
        add("known_max", total)
        return nil
      end
      local kind = total.kind == "sum" and "sum" or "max"
      add("partial_" .. kind, total).of_amax = total.kind == "amax"
      if not total.finds_amax then
        add("publish_" .. kind, total)
      end
      return total
    end

    local function inputs_of(stage, step)
      local inputs = {}
      for _, operand in ipairs(stage.operands) do
        local is_vector = operand.per == "element" or operand.per == "column"
        if is_vector and not operand.output and mentions(step, operand.name) then
          inputs[#inputs + 1] = operand
        end
      end
      return inputs
    end

    local function add_stage(stage)
      local begin = add("begin")
      begin.name, begin.about, begin.uses_at = stage.name, stage.about, false
      local pending
      for _, step in ipairs(stage.steps) do
        if pending and not step.runs_ahead then
          combine(pending)
          pending = nil
        end
        if totals[step.kind] then
          pending = add_total(step)
        else
          local copy = add(step.kind, step)
          if step.kind == "map" then
            copy.uses_at, copy.inputs = mentions(step, "at"), inputs_of(stage, step)
          elseif step.kind == "row" then
            begin.uses_at = begin.uses_at or mentions(step, "at")
          else
            copy.has_amax_ahead = step.has_amax_ahead
          end
        end
      end
      if pending then
        combine(pending)
      end
      add("end")
    end

    if look_ahead(stages) then
      add("amax_ahead")
    end
    for _, stage in ipairs(stages) do
      add_stage(stage)
    end
    if #stages > 0 and not stages[#stages].quantizes then
      add("store")
    end
    if #stages > 0 and not rearmed then
      add("rearm_last")
    end
    return list
  end

  local function run_epilogue(text, parameters, weight_dtype)
    local stages, operands, texts, owners = {}, {}, {}, {}
    for piece in string.gmatch(text, "[^+]+") do
      local last = stages[#stages]
      local stage, canonical = run_stage(piece, parameters, weight_dtype)
      if last and last.quantizes then
        mistake("%s comes after %s, which stores its result in an operand: it must be the last", stage.name,
                last.name)
      end
      for _, operand in ipairs(stage.operands) do
        local owner = owners[operand.name]
        if owner then
          mistake("%s and %s both have an operand %s", owner, stage.name, operand.name)
        end
        owners[operand.name] = stage.name
        operand.stage = stage.name
        operands[#operands + 1] = operand
      end
      stages[#stages + 1], texts[#texts + 1] = stage, canonical
    end
    local whole = table.concat(texts, "+")
    if #whole >= known.epilogue_bytes then
      mistake("its name %s is longer than the %d characters that a pack holds", whole, known.epilogue_bytes - 1)
    elseif #operands > known.operands_max then
      mistake("it has %d operands, a kernel takes %d", #operands, known.operands_max)
    end
    return {
      kind = "made", text = whole, stages = stages, operands = operands, schedule = schedule_of(stages, parameters),
    }
  end

  -- text, parameters, weight_dtype (nil: every stage's own default) -> { kind = "made", text, stages,
  -- operands, schedule }, or { kind = "mistake" or "refusal", message }.
  return function(text, parameters, weight_dtype)
    local done, result = pcall(run_epilogue, text, parameters, weight_dtype)
    if not done and (type(result) ~= "table" or not result.kind) then
      error(result, 0)
    end
    return result
  end
end
