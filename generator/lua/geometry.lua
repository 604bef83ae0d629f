-- How many kernels a key gets, and the shape of each. Geometry never changes a result's bits.
--
-- A straight kernel has one warp for every mailbox and no loop, which is the fastest while the blocks
-- fit on the device. The looping one takes everything, also where several ranks share a device.
local mailbox_bytes = 512

local rules = {
  straight = {
    { threads = 128, mailboxes = 8192 },
  },
  looping = { threads = 256 },
}

-- The emulated device is small: there a looping kernel loops after a few rows, which is what its tests
-- are for.
local emulated = {
  straight = {
    { threads = 64, mailboxes = 16 },
  },
  looping = { threads = 64 },
}

-- arch "sm_90", world, dtype "bf16", hidden in elements (0: flat), element_bytes, most rows of a call
-- (row kernels), most bytes of a call (flat) -> list of { threads, looping, rows, bytes }, the limits
-- ascending. Rows are 0 for flat kernels.
return function(key)
  local row_bytes = key.hidden * key.element_bytes
  local row_mailboxes = (row_bytes + mailbox_bytes - 1) // mailbox_bytes
  local rules = key.arch == "emu" and emulated or rules
  local kernels = {}

  local function add(threads, looping, limit)
    local kernel = { threads = threads, looping = looping, rows = 0, bytes = limit }
    if key.hidden > 0 then
      kernel.rows, kernel.bytes = limit, limit * row_bytes
    end
    kernels[#kernels + 1] = kernel
  end

  local limit = key.hidden > 0 and key.rows or key.bytes
  local covered = 0
  for _, rule in ipairs(rules.straight) do
    local takes = key.hidden > 0 and rule.mailboxes // row_mailboxes or rule.mailboxes * mailbox_bytes
    takes = math.min(takes, limit)
    if takes > covered then
      add(rule.threads, 0, takes)
      covered = takes
    end
  end
  add(rules.looping.threads, 1, limit)
  return kernels
end
