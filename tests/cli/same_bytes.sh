# The same spec gives the same bytes: in two folders, step by step, and from other templates' folders.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
need_nvrtc
mkdir one 'two words' one/mine
write_small_spec one/small.lua 'rows = 4, epilogue = { {}, { "residual", "square" } }, stages = "mine",'
printf '%s\n' '$stage "x * x"' '$map()' 'for (unsigned i = 0; i < kVectorElements; ++i) x[i] = x[i] * x[i];' \
  'as_dtype(x);' > one/mine/square.cu.in
cp -r one/small.lua one/mine 'two words'
cp -r "$LAMPAR_SOURCE/templates" 'two words/templates'
(cd one && "$LAMPAR" build small.lua) > /dev/null 2>&1 || fail 'build in one'
(cd 'two words' && "$LAMPAR" build small.lua -j 1 -o made --templates templates) > /dev/null 2> err ||
  fail "build in a folder with a space: $(cat err)"
for what in plan.json compiler.json manifest.json small.pack src cubin; do
  diff -r "one/out/small/$what" "two words/made/small/$what" || fail "$what differs"
done
(cd 'two words' && "$LAMPAR" build small.lua -o made --templates templates 2>&1) |
  grep -q 'no work to do' || fail 'a second build in a folder with a space works'

# The single steps, by hand.
mkdir hand hand/cubin
cd hand
"$LAMPAR" plan ../one/small.lua --json > plan.json
for name in $(sed -n 's/.*"name":.*"\([ae][rp]_[a-z0-9_]*\)".*/\1/p' plan.json); do
  "$LAMPAR" render plan.json "$name" -o "$name.cu" --stages ../one/mine
  "$LAMPAR" render plan.json "$name" --stages ../one/mine | cmp - "$name.cu" || fail "$name: standard output differs"
  "$LAMPAR" compile "$name.cu" --arch sm_90 -o "cubin/$name.cubin"
done
"$LAMPAR" pack plan.json --cubins cubin --compiler ../one/out/small/compiler.json -o small.pack \
  --manifest manifest.json
for what in plan.json cubin small.pack manifest.json; do
  diff -r "$what" "../one/out/small/$what" || fail "$what made by hand differs"
done
