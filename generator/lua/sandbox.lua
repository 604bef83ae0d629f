-- What specs and templates may use. Nothing here depends on an address, a clock, a seed or a file, so
-- the same text gives the same result everywhere. No pcall: it would catch the limit on instructions.
-- No patterns: they can take exponential time.
local function plain(value, what)
  local kind = type(value)
  if kind == "table" or kind == "function" or kind == "userdata" then
    error(what .. ": a " .. kind .. " has no text", 3)
  end
  return value
end

local function text(value)
  return tostring(plain(value, "tostring"))
end

local function format(form, ...)
  if string.find(string.gsub(form, "%%%%", ""), "%%[^%a]*p") then
    error("format: %p would give an address", 2)
  end
  for i = 1, select("#", ...) do
    plain(select(i, ...), "format")
  end
  return string.format(form, ...)
end

local function rep(piece, count, separator)
  if count > 65536 then
    error("rep: at most 65536 times", 2)
  end
  return string.rep(piece, count, separator)
end

local function check(value, message, ...)
  if not value then
    error(message or "assertion failed", 2)
  end
  return value, message, ...
end

-- Numbers in order, then strings in order.
local function sorted_pairs(list)
  local keys = {}
  for key in next, list do
    if type(key) ~= "number" and type(key) ~= "string" then
      error("pairs: keys have to be numbers or strings, not a " .. type(key), 2)
    end
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) then
      return a < b
    end
    return type(a) == "number"
  end)
  local at = 0
  return function()
    at = at + 1
    if keys[at] ~= nil then
      return keys[at], list[keys[at]]
    end
  end
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
  chosen.format, chosen.rep = format, rep
  return chosen
end

getmetatable("").__index = strings()

return function()
  local environment = choose(_G, { "error", "ipairs", "select", "tonumber", "type" })
  environment.assert, environment.pairs, environment.tostring = check, sorted_pairs, text
  environment.string = strings()
  environment.table = choose(table, { "concat", "insert", "remove", "sort", "unpack" })
  environment.math = choose(math, {
    "abs", "ceil", "floor", "fmod", "max", "maxinteger", "min", "mininteger", "tointeger", "type", "ult",
  })
  return setmetatable(environment, {
    __index = function(names, name)
      local known = {}
      for key in sorted_pairs(names) do
        known[#known + 1] = key
      end
      error("unknown name " .. name .. "; the nearest known is " .. nearest(name, known), 2)
    end,
  })
end
