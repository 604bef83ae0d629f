# Builds specs/ci.lua and specs/ci-fused.lua for every arch into the folder OUT, of their numbers of ranks only
# eight, which have every kind of kernel that two have. Other tests use the packs.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
need_nvrtc
rm -rf "$OUT"

build() { # name of the spec
  spec=$1.lua
  sed 's/world  *= { 2, 8 }/world = { 8 }/' "$LAMPAR_SOURCE/specs/$spec" > "$spec"
  grep -q 'world = { 8 }' "$spec" || fail "the worlds of specs/$spec are other ones"
  made=$OUT/$1
  pack=$("$LAMPAR" build "$spec" -o "$OUT" 2> err) || fail "$(cat err)"
  same 'path of the pack' "$made/$1.pack" "$pack"
  if grep -i warning err; then fail 'the compiler warns'; fi

  planned=$("$LAMPAR" plan "$spec" --json | grep -cE '"name":.*"(ar|ep)_')
  [ "$planned" -gt 0 ] || fail 'the plan has no kernels'
  same 'kernels of the pack' "$planned" "$("$LAMPAR" inspect "$pack" | grep -cE '^(ar|ep)_')"
  same 'kernels of the manifest' "$planned" "$(grep -cE '"name":.*"(ar|ep)_' "$made/manifest.json")"
  "$LAMPAR" inspect "$pack" --json | grep -o '"spill_bytes":.*' | sort -u > spills
  same 'spills' '"spill_bytes":	0,' "$(cat spills)"
  if grep -rl "$LAMPAR_SOURCE" "$made/src" "$made/cubin" "$pack" "$made/manifest.json" \
    "$made/plan.json"; then
    fail 'a path of this machine is in a result'
  fi
  if grep -rl '#include' "$made/src"; then fail 'a source includes something'; fi
}
build ci-fused
build ci

again=$("$LAMPAR" build ci.lua -o "$OUT" 2> err)
same 'path of the pack' "$pack" "$again"
grep -q 'no work to do' err || fail "a second build works: $(cat err)"
ninja -C "$OUT/ci" | grep -q 'no work to do' || fail 'ninja by hand works'
