#!/bin/sh
# Makes the packs of a spec in three geometries: OUT/NAME, OUT/NAME-narrow, OUT/NAME-wide.
#   geometries.sh BINARIES SPEC OUT
set -eu
bin=$1 spec=$2 out=$3
name=$(basename "$spec" .lua)
"$bin/lampar" build "$spec" -o "$out" >/dev/null
for geometry in narrow wide; do
  folder=$out/$name-$geometry
  mkdir -p "$folder/src" "$folder/cubin"
  "$bin/geometries" "$geometry" "$out/$name/plan.json" "$folder/plan.json" >"$folder/kernels"
  (
    lampar=$(realpath "$bin/lampar")
    stages=$(realpath "$(dirname "$spec")")/stages
    export lampar stages
    cd "$folder"
    xargs -P "$(nproc)" -L 1 sh -ec '
      "$lampar" render plan.json "$0" -o "src/$0.cu" --stages "$stages"
      "$lampar" compile "src/$0.cu" --arch "$1" -o "cubin/$0.cubin"' <kernels
    "$lampar" pack plan.json --cubins cubin -o "$name.pack" --manifest manifest.json
  )
done
