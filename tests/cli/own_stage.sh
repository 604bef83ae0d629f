# The example of generator/docs/stages.md: a stage of a spec's own.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
need_nvrtc
doc=$LAMPAR_SOURCE/generator/docs/stages.md

block() { # the document's block of that language
  awk -v open="\`\`\`$1" '$0 == open { inside = 1; next } $0 == "```" { inside = 0 } inside' "$doc"
}

mkdir stages
block cuda > stages/relu2.cu.in
block lua > relu2.lua
block sh > commands
[ "$(grep -c lampar commands)" -eq 2 ] || fail 'the commands of the document are not there'
mkdir bin
ln -s "$LAMPAR" bin/lampar
PATH=$PWD/bin:$PATH sh -eu commands > output 2> err || fail "$(cat err)"
grep -q 'x\[i\] > 0 ? x\[i\] \* x\[i\] : 0.0f' output || fail 'the stage is not in the source'
cmp stages/relu2.cu.in "$LAMPAR_SOURCE/tests/fused/stages/relu2.cu.in" ||
  fail 'the document and the tests of numbers show two different stages'

build() {
  "$LAMPAR" build relu2.lua > /dev/null 2> log || fail "$(cat log)"
}
fused=$(find out/relu2/src -name '*relu2*.cu' | wc -l)
echo '// a remark' >> stages/relu2.cu.in
build
same 'sources rendered after a change in the stage' "$fused" "$(grep -cE '^\[[0-9]+/[0-9]+\] render ' log)"
build
grep -q 'no work to do' log || fail "a second build works: $(cat log)"
sed -i 's/^\$map/$value "floor"\n&/' stages/relu2.cu.in
build
grep -q '"floor"' out/relu2/plan.json || fail 'the plan does not have the new operand'

name=$(sed -n 's/.*"name":.*"\(ar_[a-z0-9_]*relu2[a-z0-9_]*\)".*/\1/p' out/relu2/plan.json | head -1)
refused "unknown stage \"relu2\"; .* in templates/epilogues and stages" \
  "$LAMPAR" render out/relu2/plan.json "$name"
cp -r stages out/relu2/stages
"$LAMPAR" render out/relu2/plan.json "$name" | cmp - "out/relu2/src/$name.cu" ||
  fail 'stages next to the plan give another source'
sed -i 's/^\$value.*//' stages/relu2.cu.in
refused 'declare other operands than the plan has; make the plan again' \
  "$LAMPAR" render out/relu2/plan.json "$name" --stages stages

sed -i 's/"bias", "relu2"/"bias", "rleu2"/' relu2.lua
refused 'relu2.lua:9: epilogue\[1\]: unknown stage "rleu2"; the nearest known is relu2; .* and stages$' \
  "$LAMPAR" build relu2.lua
sed -i 's/stages   = "stages"/stages   = "..\/stages"/' relu2.lua
refused "relu2.lua:8: stages is .*next to the spec, in at most 63 characters without '\.\.'" \
  "$LAMPAR" plan relu2.lua

# A total that a map uses at once, in a stage that does not quantise, compiles: for the emulated device.
cat > stages/unit_amax.cu.in << 'END'
$stage "x / max|x|"
$amax "amax"
$map()
for (unsigned i = 0; i < kVectorElements; ++i) x[i] = amax > 0 ? __fdiv_rn(x[i], amax) : x[i];
as_dtype(x);
END
cat > unit_amax.lua << 'END'
return spec {
  name = "unit_amax", arch = { "emu" }, world = { 2 }, dtype = { "bf16", "f32" }, hidden = { 1024 }, rows = 4,
  stages = "stages", epilogue = { { "unit_amax" }, { "unit_amax", "fp8_token" } },
}
END
"$LAMPAR" build unit_amax.lua > /dev/null 2> log || fail "$(cat log)"
