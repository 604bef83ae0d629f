#!/bin/sh
# Two runs with the same seeds make the same number of steps, whichever host thread was faster.
#   same_seed.sh PROTOCOL_TEST PACK
set -eu
first=$("$1" "$2" 3 bf16 328 24 2 programmatic)
second=$("$1" "$2" 3 bf16 328 24 2 programmatic)
echo "$first"
[ "$first" = "$second" ] || {
  echo "the second run differs: $second"
  exit 1
}
