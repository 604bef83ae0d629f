# What inspect prints of the pack that build.sh has made.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
[ -e "$OUT/ci/ci.pack" ] || skip 'no pack was built'
pack=$OUT/ci/ci.pack
name=$(sed -n 's/.*"name":.*"\(ar_[a-z0-9_]*_sm_80[a-z0-9_]*\)".*/\1/p' "$OUT/ci/plan.json" | head -1)

"$LAMPAR" inspect "$pack" "$name" > table
same 'lines of one kernel' 2 "$(wc -l < table)"
grep -q "^$name  *sm_80 " table || fail "$(cat table)"
"$LAMPAR" inspect "$pack" "$name" --json > one.json
grep -q '"registers"' one.json || fail "$(cat one.json)"
same 'kernels in JSON' 1 "$(grep -c '"name":.*"ar_' one.json)"
same 'digest' "$(sed -n 's/.*"digest":[^"]*"\(.*\)".*/\1/p' "$OUT/ci/manifest.json")" \
  "$(sed -n 's/.*"digest":[^"]*"\(.*\)".*/\1/p' one.json)"
"$LAMPAR" inspect "$pack" "$name" --source | cmp - "$OUT/ci/src/$name.cu" || fail 'source differs'
refused "no kernel '${name}x'; did you mean $name\?" "$LAMPAR" inspect "$pack" "${name}x"

fused=$OUT/ci-fused/ci-fused.pack
name=$(sed -n 's/.*"name":.*"\(ar_oneshot_w8_residual[a-z0-9_]*\)".*/\1/p' "$OUT/ci-fused/plan.json" | head -1)
"$LAMPAR" inspect "$fused" "$name" > table
grep -q "^$name .* residual+rmsnorm$" table || fail "$(cat table)"
"$LAMPAR" inspect "$fused" "$name" --json > one.json
for text in '"epilogue":.*"residual+rmsnorm"' '"rounding":.*"unfused"' '"algorithm":.*"oneshot"' \
  '"name":.*"residual_out"' '"per":.*"column"'; do
  grep -q "$text" one.json || fail "no $text in: $(cat one.json)"
done

name=$(sed -n 's/.*"name":.*"\(ar_[a-z0-9_]*\)".*/\1/p' "$OUT/ci/plan.json" | head -1)
cp "$pack" alone.pack
refused "alone.pack: the source of $name is not next to it, as src/$name.cu" \
  "$LAMPAR" inspect alone.pack "$name" --source

# The disassembler is not a part of every toolkit: a stand-in shows that the cubin gets there.
mkdir bin
printf '#!/bin/sh\n[ "$1" = -c ] && head -c 4 "$2" | tail -c 3\n' > bin/nvdisasm
chmod +x bin/nvdisasm
same 'disassembly' ELF "$(PATH=$PWD/bin:$PATH "$LAMPAR" inspect alone.pack "$name" --sass)"
if [ ! -e /usr/local/cuda/bin/nvdisasm ] && [ ! -e /usr/local/cuda/bin/cuobjdump ]; then
  refused 'neither nvdisasm nor cuobjdump.*install' env PATH=/nonexistent "$LAMPAR" inspect alone.pack "$name" --sass
fi
