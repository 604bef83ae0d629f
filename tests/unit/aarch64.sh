#!/bin/sh
# The stack switch of the other machine, which no build here has: cross-compiled, and run where qemu is.
#   aarch64.sh SOURCE OUT
set -eu
cross=aarch64-linux-gnu-gcc
[ "$(uname -m)" != aarch64 ] || { echo 'skipped: this machine is aarch64, unit.fiber is the test'; exit 77; }
command -v $cross > /dev/null || { echo "skipped: no $cross; sh setup.sh --checks installs it"; exit 77; }
$cross -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -static -I "$1/runtime" \
  "$1/tests/unit/fiber_test.c" "$1/runtime/emulator/exec/fiber.c" -o "$2"
command -v qemu-aarch64 > /dev/null || { echo 'it compiles; not run: no qemu-aarch64'; exit 0; }
qemu-aarch64 "$2"
