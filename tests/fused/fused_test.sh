#!/bin/sh
# Makes the packs of a spec in three geometries and runs the test on them.
#   fused_test.sh BINARIES SPEC OUT [OPTION...]
set -eu
bin=$1 spec=$2 out=$3
shift 3
name=$(basename "$spec" .lua)
"$bin/fused_test" --probe || exit $?
sh "$(dirname "$0")/geometries.sh" "$bin" "$spec" "$out"
exec "$bin/fused_test" "$@" "$out/$name/$name.pack" "$out/$name-narrow/$name.pack" \
  "$out/$name-wide/$name.pack"
