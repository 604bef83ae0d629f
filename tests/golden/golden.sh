# Compares what the tool makes with the files kept in this folder: the plan and build.ninja of golden.lua, six
# kernels, and its help. With --update it replaces them; `git diff` then shows what has changed.
set -eu
kept=$LAMPAR_SOURCE/tests/golden
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# No compiler is needed: build.ninja only has to know which one would be used.
prepare() { # spec
  LAMPAR_NVRTC_LIBRARY=$FAKE_NVRTC "$LAMPAR" build "$LAMPAR_SOURCE/$1" --templates "$LAMPAR_SOURCE/templates" \
    -o "$made/out" --prepare
}
prepare tests/golden/golden.lua
prepare specs/ci.lua
prepare specs/ci-fused.lua
mkdir "$made/golden" "$made/golden/src" "$made/golden/help"

cp "$made/out/golden/plan.json" "$made/golden/plan.json"
sed -e "s|$LAMPAR_SOURCE/|SOURCE/|" -e 's|^lampar = .*|lampar = LAMPAR|' -e 's|^nvrtc = .*|nvrtc = NVRTC|' \
  "$made/out/golden/build.ninja" > "$made/golden/build.ninja"

# One kernel of each kind, the first of the plan that fits.
render() { # spec, pattern, name of the file
  name=$(sed -n "s/.*\"name\":.*\"\($2\)\".*/\1/p" "$made/out/$1/plan.json" | head -1)
  [ -n "$name" ] || { echo "FAILED: no kernel $2 in the plan" >&2; exit 1; }
  "$LAMPAR" render "$made/out/$1/plan.json" "$name" --templates "$LAMPAR_SOURCE/templates" \
    -o "$made/golden/src/$3.cu"
}
render ci 'ar_oneshot_w2_bf16_h[0-9]*_sm_90_r[0-9]*' row_single_pass
render ci 'ar_oneshot_w8_f16_flat_sm_120' flat_persistent
render ci 'ar_twoshot_w8_f32_h[0-9]*_sm_90' row_twoshot
render ci-fused 'ar_oneshot_w2_residual_rmsnorm_[a-z_]*int8_token_bf16_h[0-9]*_sm_90_r[0-9]*' fused_cluster
render ci-fused 'ar_twoshot_w8_residual_out_no_rmsnorm_[a-z0-9_]*_fp8_group_bf16_h[0-9]*_sm_80' fused_twoshot
render ci-fused 'ep_bias_layernorm_nvfp4_bf16_h[0-9]*_sm_90' fused_epilogue_only

"$LAMPAR" --help > "$made/golden/help/lampar.txt"
for verb in $(sed -n 's/^  \([a-z]*\)  .*/\1/p' "$made/golden/help/lampar.txt"); do
  "$LAMPAR" "$verb" --help > "$made/golden/help/$verb.txt"
done

if [ "${1-}" = --update ]; then
  for what in plan.json build.ninja src help; do
    rm -rf "${kept:?}/$what"
    cp -r "$made/golden/$what" "$kept/$what"
  done
  exit 0
fi
diff -ru -x golden.sh -x golden.lua -x CMakeLists.txt "$kept" "$made/golden" || {
  echo "FAILED: if this is meant, cmake --build BUILD --target golden-update takes it over" >&2
  exit 1
}
