# Builds specs/ci.lua, every variant for every arch, into the folder OUT. Other tests use the pack.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
need_nvrtc
rm -rf "$OUT"

pack=$("$LAMPAR" build "$LAMPAR_SOURCE/specs/ci.lua" -o "$OUT" 2> err) || fail "$(cat err)"
same 'path of the pack' "$OUT/ci/ci.pack" "$pack"
if grep -i warning err; then fail 'the compiler warns'; fi

planned=$("$LAMPAR" plan "$LAMPAR_SOURCE/specs/ci.lua" --json | grep -c '"name":.*"ar_')
[ "$planned" -gt 0 ] || fail 'the plan has no kernels'
same 'kernels of the pack' "$planned" "$("$LAMPAR" inspect "$pack" | grep -c '^ar_')"
same 'kernels of the manifest' "$planned" "$(grep -c '"name":.*"ar_' "$OUT/ci/manifest.json")"
same 'spilling kernels' 0 "$("$LAMPAR" inspect "$pack" | awk 'NR > 1 && $11 != 0' | wc -l)"
if grep -rl "$LAMPAR_SOURCE" "$OUT/ci/src" "$OUT/ci/cubin" "$pack" "$OUT/ci/manifest.json" \
  "$OUT/ci/plan.json"; then
  fail 'a path of this machine is in a result'
fi
if grep -rl '#include' "$OUT/ci/src"; then fail 'a source includes something'; fi

again=$("$LAMPAR" build "$LAMPAR_SOURCE/specs/ci.lua" -o "$OUT" 2> err)
same 'path of the pack' "$pack" "$again"
grep -q 'no work to do' err || fail "a second build works: $(cat err)"
ninja -C "$OUT/ci" | grep -q 'no work to do' || fail 'ninja by hand works'
