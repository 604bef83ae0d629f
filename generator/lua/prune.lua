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

-- What is known of a line: the kernels of a plan have most lines in common.
local names, words_of = {}, {}

-- The name that a line defines, or false. Definitions start in the first column.
local function defined_in(text)
  local name = names[text]
  if name == nil then
    name = false
    for _, pattern in ipairs(string.find(text, "^[%a_#]") and definitions or {}) do
      name = name or string.match(text, pattern) or false
    end
    names[text] = name
  end
  return name
end

-- Adds the words of a line, which are not in a comment or a string.
local function add_words(text, words)
  local list = words_of[text]
  if not list then
    local code = string.gsub(string.gsub(text, '"[^"]*"', ""), "//.*", "")
    list = {}
    for word in string.gmatch(code, "[%a_][%w_]+") do
      list[#list + 1] = word
    end
    words_of[text] = list
  end
  for _, word in ipairs(list) do
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

local function is_used(block, paragraph, used)
  local defines = false
  for at = paragraph.first, paragraph.last, entries do
    local name = defined_in(block[at + 2])
    if name and used[name] then
      return true
    end
    defines = defines or name
  end
  return not defines
end

-- Marks the lines that stay, and the words in them as used.
local function mark(block, paragraph, used, stays)
  if not is_used(block, paragraph, used) then
    return
  end
  for at = paragraph.last, paragraph.first, -entries do
    local text = block[at + 2]
    local constant = string.find(text, "^constexpr ") and defined_in(text)
    if not constant or used[constant] then
      stays[at] = true
      add_words(text, used)
    end
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
