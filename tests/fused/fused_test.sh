#!/bin/sh
# Makes the packs of a spec in three geometries and runs the test on them.
#   fused_test.sh BINARIES SPEC OUT [OPTION...]
set -eu
bin=$1 spec=$2 out=$3
shift 3
name=$(basename "$spec" .lua)
"$bin/fused_test" --probe || exit $?
"$bin/lampar" build "$spec" -o "$out" >/dev/null

for geometry in narrow wide; do
  folder=$out/$name-$geometry
  mkdir -p "$folder/src" "$folder/cubin"
  "$bin/geometries" "$geometry" "$out/$name/plan.json" "$folder/plan.json" >"$folder/kernels"
  (
    cd "$folder"
    stages=$(dirname "$spec")/stages
    export lampar="$bin/lampar" stages
    xargs -P "$(nproc)" -L 1 sh -ec '
      "$lampar" render plan.json "$0" -o "src/$0.cu" --stages "$stages"
      "$lampar" compile "src/$0.cu" --arch "$1" -o "cubin/$0.cubin"' <kernels
    "$lampar" pack plan.json --cubins cubin -o "$name.pack" --manifest manifest.json
  )
done
exec "$bin/fused_test" "$@" "$out/$name/$name.pack" "$out/$name-narrow/$name.pack" \
  "$out/$name-wide/$name.pack"
