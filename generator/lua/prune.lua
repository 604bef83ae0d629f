-- Leaves out of a source what nothing in it uses: templates have whole sets of functions, a kernel those that it
-- calls. Works on paragraphs: lines of the source up to a blank line that something in the first column follows.
--
-- A paragraph that defines functions, types, variables or macros stays if a paragraph behind it, or the kernel,
-- mentions one of them; a paragraph that defines nothing stays. Of constants, which share a paragraph, the unused
-- lines go. C++ wants definitions before uses, so one pass from the end to the beginning finds everything.
local entries = 3 -- template, line, text; see template_run.h

local definitions = {
  "^__device__.-([%w_]+)%(", "^inline .-([%w_]+)%(", "^struct .-([%w_]+) {", "^using ([%w_]+) =", "^#define ([%w_]+)",
  "^__shared__.-([%w_]+)%[", "^constexpr .-([%w_]+) =",
}

local function defined_in(text)
  for _, pattern in ipairs(definitions) do
    local name = string.match(text, pattern)
    if name then
      return name
    end
  end
end

-- Adds the words of a line, which are not in a comment or a string.
local function add_words(text, words)
  if string.find(text, '"', 1, true) then
    text = string.gsub(text, '"[^"]*"', "")
  end
  if string.find(text, "//", 1, true) then
    text = string.gsub(text, "//.*", "")
  end
  for word in string.gmatch(text, "[%a_][%w_]+") do
    words[word] = true
  end
end

-- Paragraphs as { first, last }, of entries in the block. The blank lines behind one belong to it.
local function paragraphs_of(block)
  local list, was_blank = {}, true
  for at = 1, #block, entries do
    local text = block[at + 2]
    if was_blank and string.find(text, "^[^%s})]") then
      list[#list + 1] = { first = at }
    elseif #list == 0 then
      list[1] = { first = at }
    end
    list[#list].last = at
    was_blank = text == ""
  end
  return list
end

local function names_of(block, paragraph)
  local names = {}
  for at = paragraph.first, paragraph.last, entries do
    names[#names + 1] = defined_in(block[at + 2])
  end
  return names
end

local function is_used(names, used)
  for _, name in ipairs(names) do
    if used[name] then
      return true
    end
  end
  return #names == 0
end

-- Marks the lines that stay.
local function mark(block, paragraph, used, stays)
  if not is_used(names_of(block, paragraph), used) then
    return
  end
  local words = {}
  for at = paragraph.last, paragraph.first, -entries do
    local text = block[at + 2]
    local constant = string.match(text, "^constexpr .-([%w_]+) =")
    if not constant or used[constant] or words[constant] then
      stays[at] = true
      add_words(text, words)
    end
  end
  for word in pairs(words) do
    used[word] = true
  end
end

return function(block)
  local paragraphs, used, stays, kept = paragraphs_of(block), {}, {}, {}
  for i = #paragraphs, 1, -1 do
    mark(block, paragraphs[i], used, stays)
  end
  for at = 1, #block, entries do
    if stays[at] then
      table.move(block, at, at + entries - 1, #kept + 1, kept)
    end
  end
  return kept
end
