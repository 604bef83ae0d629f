# What can be wrong around a spec that is right: one message, and nothing is written.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
write_small_spec small.lua

refused '^lampar build: LAMPAR_NVRTC_LIBRARY=/nonexistent cannot be loaded.*(unset it|name the)' \
  env LAMPAR_NVRTC_LIBRARY=/nonexistent "$LAMPAR" build small.lua
echo 'no library' > file
refused '^lampar build: LAMPAR_NVRTC_LIBRARY=\./file cannot be loaded' \
  env LAMPAR_NVRTC_LIBRARY=./file "$LAMPAR" build small.lua
refused 'libm.*has no nvrtcVersion' env LAMPAR_NVRTC_LIBRARY=libm.so.6 "$LAMPAR" build small.lua
absent out

# All of the below must work without a compiler.
export LAMPAR_NVRTC_LIBRARY="$FAKE_NVRTC"
refused "^lampar build: NVRTC 12.4 \(.*\) does not compile for sm_90, only for sm_80 sm_89; .*LAMPAR_NVRTC" \
  env FAKE_NVRTC_FACTS='12.4 80 89' "$LAMPAR" build small.lua
refused '^lampar build: NVRTC 12.3 \(.*\) is too old: 12.4 or later' \
  env FAKE_NVRTC_FACTS='12.3 80 89 90' "$LAMPAR" build small.lua
refused "^lampar compile: NVRTC 12.4 \(.*\) does not compile for sm_90" \
  env FAKE_NVRTC_FACTS='12.4 80' "$LAMPAR" compile small.lua --arch sm_90 -o small.cubin
refused "^lampar build: --arch 'sm_100': the spec small has only sm_90" \
  "$LAMPAR" build small.lua --arch sm_100
refused "^lampar build: --arch 'sm_9'" "$LAMPAR" build small.lua --arch sm_90,sm_9
refused "^lampar build: --arch ''" "$LAMPAR" build small.lua --arch ''
refused '^lampar build: --templates: folder \. has no oneshot' "$LAMPAR" build small.lua --templates .
refused '^lampar build: LAMPAR_TEMPLATES: folder \. has no' \
  env LAMPAR_TEMPLATES=. "$LAMPAR" build small.lua
refused '^lampar build: folder file/below/small cannot be created: Not a directory; .* -o' \
  "$LAMPAR" build small.lua -o file/below
mkdir "it's"
cp small.lua "it's/small.lua"
refused "^lampar build: .*it's.*: a path with a quote" "$LAMPAR" build "it's/small.lua"
absent out small.cubin

refused '^lampar build: ninja is not in PATH; install' env PATH=/nonexistent "$LAMPAR" build small.lua
absent out/small/small.pack

# A step that fails leaves what was there, and no temporary file.
echo 'an older pack' > out/small/small.pack
status=0
"$LAMPAR" build small.lua > out.txt 2> err || status=$?
same 'status of a failed step' 2 "$status"
[ ! -s out.txt ] || fail 'a path is printed although there is no pack'
grep -q 'the stand-in compiles nothing' err || fail "the compiler's words are missing: $(cat err)"
grep -q '^lampar build: a step failed in out/small' err || fail "no last word: $(cat err)"
same 'the older pack' 'an older pack' "$(cat out/small/small.pack)"
[ -z "$(find . -name '*.tmp')" ] || fail 'a temporary file is left'
