#!/bin/sh
# Makes the kept inputs of plan_json again after a change of the format.  corpus.sh LAMPAR
set -eu
folder=$(dirname "$0")/corpus/plan_json
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cat > "$out/plain.lua" << 'END'
return spec { name = "plain", arch = { "emu" }, world = { 2 }, dtype = { "bf16" }, hidden = { 64 }, rows = 2 }
END
cat > "$out/fused.lua" << 'END'
return spec { name = "fused", arch = { "emu" }, world = { 2 }, dtype = { "f16" }, hidden = { 128 }, rows = 2,
  epilogue = { { "residual", { "rmsnorm", weight = "f32" }, "fp8_group" } } }
END
for spec in plain fused; do
  "$1" plan "$out/$spec.lua" --json > "$folder/$spec.json"
done
