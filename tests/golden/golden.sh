# Compares what the tool makes of specs/ci.lua, and its help, with the files kept in this folder.
# With --update it replaces them; `git diff` then shows what has changed.
set -eu
kept=$LAMPAR_SOURCE/tests/golden
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# No compiler is needed: build.ninja only has to know which one would be used.
LAMPAR_NVRTC_LIBRARY=$FAKE_NVRTC "$LAMPAR" build "$LAMPAR_SOURCE/specs/ci.lua" \
  --templates "$LAMPAR_SOURCE/templates" -o "$made/out" --prepare
LAMPAR_NVRTC_LIBRARY=$FAKE_NVRTC "$LAMPAR" build "$LAMPAR_SOURCE/specs/ci-fused.lua" \
  --templates "$LAMPAR_SOURCE/templates" -o "$made/out" --prepare
mkdir "$made/golden" "$made/golden/src" "$made/golden/help"

cp "$made/out/ci/plan.json" "$made/golden/plan.json"
sed -e "s|$LAMPAR_SOURCE/|SOURCE/|" -e 's|^lampar = .*|lampar = LAMPAR|' -e 's|^nvrtc = .*|nvrtc = NVRTC|' \
  "$made/out/ci/build.ninja" > "$made/golden/build.ninja"

# Kernels that differ in all that a template decides, each the first of the plan that fits.
spec=ci
render() { # pattern, name of the file, options
  name=$(sed -n "s/.*\"name\":.*\"\($1\)\".*/\1/p" "$made/out/$spec/plan.json" | head -1)
  [ -n "$name" ] || { echo "FAILED: no kernel $1 in the plan" >&2; exit 1; }
  "$LAMPAR" render "$made/out/$spec/plan.json" "$name" --templates "$LAMPAR_SOURCE/templates" \
    -o "$made/golden/src/$2.cu" ${3-}
}
render 'ar_oneshot_w2_bf16_h[0-9]*_sm_90_r[0-9]*' row_straight_bf16
render 'ar_oneshot_w8_f16_h[0-9]*_sm_100' row_looping_f16
render 'ar_oneshot_w2_f32_flat_sm_80_b[0-9]*' flat_straight_f32
render 'ar_oneshot_w8_bf16_flat_sm_120' flat_looping_bf16
render 'ar_oneshot_w2_bf16_h[0-9]*_sm_90_r[0-9]*' row_straight_bf16_line_directives --line-directives
render 'ar_twoshot_w8_f32_h[0-9]*_sm_90' row_twoshot_looping_f32
spec=ci-fused
render 'ar_oneshot_w2_residual_rmsnorm_bf16_h[0-9]*_sm_90_r[0-9]*' fused_cluster
render 'ar_twoshot_w8_residual_out_no_rmsnorm_[a-z0-9_]*_fp8_group_bf16_h[0-9]*_sm_80' fused_twoshot_looping
render 'ep_bias_layernorm_nvfp4_bf16_h[0-9]*_sm_90' fused_alone
render 'ar_oneshot_w2_fp8_token_bf16_h[0-9]*_sm_90_r[0-9]*' fused_line_directives --line-directives

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
diff -ru -x golden.sh -x CMakeLists.txt "$kept" "$made/golden" || {
  echo "FAILED: if this is meant, cmake --build BUILD --target golden-update takes it over" >&2
  exit 1
}
