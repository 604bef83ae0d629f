-- nearest(word, names): the name that takes the fewest changes of a letter to become the word; the
-- first of equals.
local function distance(a, b)
  local row = {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local diagonal
    diagonal, row[0] = row[0], i
    for j = 1, #b do
      local change = diagonal + (string.byte(a, i) == string.byte(b, j) and 0 or 1)
      diagonal = row[j]
      row[j] = math.min(change, row[j] + 1, row[j - 1] + 1)
    end
  end
  return row[#b]
end

return function(word, names)
  word = string.sub(word, 1, 64)
  local best, fewest = names[1], math.huge
  for _, name in ipairs(names) do
    local changes = distance(word, name)
    if changes < fewest then
      best, fewest = name, changes
    end
  end
  return best
end
