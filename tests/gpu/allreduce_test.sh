#!/bin/sh
# Builds the packs and runs the checks. Where there is no GPU it ends before it builds anything.
#   allreduce_test.sh TEST LAMPAR SPECS OUT [PATTERN...]
set -eu
test=$1 lampar=$2 specs=$3 out=$4
shift 4
"$test" --probe || exit $?
"$lampar" build "$specs/gpu.lua" -o "$out" >/dev/null
"$lampar" build "$specs/other.lua" -o "$out" >/dev/null
exec "$test" --pack "$out/gpu/gpu.pack" --other "$out/other/other.pack" "$@"
