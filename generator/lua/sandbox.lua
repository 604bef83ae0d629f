-- The functions that specs and templates may use. None depends on an address, a clock, a seed or a
-- file, so the same text gives the same result everywhere. There is no pcall, because it would catch
-- the instruction limit, and there are no patterns, because they can take exponential time.

-- Wraps a function so that its errors name the line that calls it, also from a `return f(x)`.
local function placed(f)
  local function finish(path, line, done, ...)
    if done then
      return ...
    end
    local message = string.gsub((...), "^sandbox%.lua:%d+: ", "")
    if message == "not enough memory" then
      error(message, 0)
    end
    error(path .. ":" .. line .. ": " .. message, 0)
  end
  return with_place(function(path, line, ...)
    return finish(path, line, pcall(f, ...))
  end)
end

local function check_plain(value, what)
  local kind = type(value)
  if kind == "table" or kind == "function" or kind == "userdata" then
    error(what .. ": a " .. kind .. " has no text", 0)
  end
end

local function text(value)
  check_plain(value, "tostring")
  return tostring(value)
end

local function format(form, ...)
  if string.find(string.gsub(form, "%%%%", ""), "%%[^%a]*p") then
    error("format: %p would give an address", 0)
  end
  for i = 1, select("#", ...) do
    check_plain(select(i, ...), "format")
  end
  return string.format(form, ...)
end

local function rep(piece, count, separator)
  if math.type(count) ~= "integer" or count > 65536 then
    error("rep: an integer of at most 65536 times", 0)
  end
  return string.rep(piece, count, separator)
end

local function check(value, message, ...)
  if not value then
    error(type(message) == "string" and message or "assertion failed", 0)
  end
  return value, message, ...
end

-- Numbers in order, then strings in order.
local function sorted_pairs(list)
  local keys, at = {}, 0
  for key in next, list do
    if type(key) ~= "number" and type(key) ~= "string" then
      error("pairs: keys have to be numbers or strings, not a " .. type(key), 0)
    end
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) then
      return a < b
    end
    return type(a) == "number"
  end)
  return function()
    at = at + 1
    if keys[at] ~= nil then
      return keys[at], list[keys[at]]
    end
  end
end

-- The name in a table that the user probably meant.
local function nearest_in(names, name)
  local known = {}
  for key in next, names do
    if type(key) == "string" then
      known[#known + 1] = key
    end
  end
  table.sort(known)
  return nearest(name, known)
end

local function choose(from, names)
  local chosen = {}
  for _, name in ipairs(names) do
    chosen[name] = from[name]
  end
  return chosen
end

local function strings()
  local chosen = choose(string, { "byte", "char", "len", "lower", "upper", "reverse", "sub" })
  chosen.format, chosen.rep = placed(format), placed(rep)
  return chosen
end

getmetatable("").__index = strings()

return function()
  local environment = choose(_G, { "error", "ipairs", "select", "tonumber", "type" })
  environment.assert, environment.pairs = placed(check), placed(sorted_pairs)
  environment.tostring = placed(text)
  environment.string = strings()
  environment.table = choose(table, { "concat", "insert", "remove", "sort", "unpack" })
  environment.math = choose(math, {
    "abs", "ceil", "floor", "fmod", "max", "maxinteger", "min", "mininteger", "tointeger", "type", "ult",
  })
  return setmetatable(environment, {
    __index = function(names, name)
      name = tostring(name)
      error("unknown name " .. name .. "; the nearest known is " .. nearest_in(names, name), 2)
    end,
  })
end
