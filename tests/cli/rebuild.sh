# A change rebuilds what depends on it, and nothing else.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
need_nvrtc
cp -r "$LAMPAR_SOURCE/templates" templates
write_small_spec small.lua

# shellcheck disable=SC2120 # some calls have no options
rebuild() {
  "$LAMPAR" build small.lua --templates templates "$@" > /dev/null 2> log || fail "$(cat log)"
}
steps() { # verb: how many of its steps were run
  grep -cE "^\[[0-9]+/[0-9]+\] $1 " log || true
}
expect_steps() { # what was changed, render, compile, pack
  same "render after $1" "$2" "$(steps render)"
  same "compile after $1" "$3" "$(steps compile)"
  same "pack after $1" "$4" "$(steps pack)"
  rebuild_is_idle "$1"
}
rebuild_is_idle() {
  rebuild
  grep -q 'no work to do' log || fail "a second build after $1 works: $(cat log)"
}

rebuild
kernels=$(steps render)
rows=$(find out/small/src -name '*_h64_*' | wc -l)
[ "$rows" -gt 0 ] && [ "$rows" -lt "$kernels" ] || fail "$rows row kernels of $kernels"
expect_steps 'the first build' "$kernels" "$kernels" 1

sleep 0.05 # file systems with coarse time stamps
touch templates/parts/row.cuh.in
rebuild
expect_steps 'a touched part' "$rows" 0 0

echo '// a remark' >> templates/parts/row.cuh.in
rebuild
grep -q '// a remark' out/small/src/*_h64_*.cu || fail 'the change is not in the source'
expect_steps 'a remark in the row kernels, which gives the same cubins' "$rows" "$rows" 0

echo '__device__ unsigned more;' >> templates/parts/row.cuh.in
rebuild
expect_steps 'a changed part of row kernels' "$rows" "$rows" 1

printf '$-- a remark of the template\n' >> templates/parts/arguments.cuh.in
rebuild
expect_steps 'a part that gives the same sources' "$kernels" 0 0

echo '-- a remark' >> small.lua
rebuild
expect_steps 'a remark in the spec' 0 0 0

write_small_spec small.lua 'watchdog_ms = 0,'
ninja -C out/small > log
[ "$(steps plan)" -eq 1 ] || fail "ninja by hand does not see a changed spec: $(cat log)"
[ "$(steps compile)" -gt 0 ] || fail "ninja by hand does not compile again: $(cat log)"
rebuild_is_idle 'a changed spec'

write_small_spec small.lua 'watchdog_ms = 0, rows = 1,'
rebuild
before=$(cksum < out/small/small.pack)
expect_steps 'a limit in the plan' "$(steps render)" "$(steps compile)" 1

# The options of the compiler are part of the inputs of a kernel.
"$LAMPAR" build small.lua --templates templates --lineinfo > /dev/null 2> log
same 'kernels compiled with line numbers' "$(steps compile)" "$(grep -c ': render' out/small/build.ninja)"
same 'sources rendered for line numbers' 0 "$(steps render)"
rebuild
same 'the pack as before' "$before" "$(cksum < out/small/small.pack)"
rebuild_is_idle 'line numbers'

# The options that the plan depends on are kept for when ninja makes it again.
rm -rf out
"$LAMPAR" build small.lua --templates templates --arch sm_90 > /dev/null 2> log
write_small_spec small.lua 'watchdog_ms = 0, rows = 2,'
ninja -C out/small > log || fail "ninja by hand, with --arch: $(cat log)"
[ "$(steps plan)" -eq 1 ] || fail "ninja by hand, with --arch, does not see a changed spec: $(cat log)"
