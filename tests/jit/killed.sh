# Processes that are killed while they compile and write: the next one finds whole kernels, compiles the
# others, and waits for none that is dead.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
need_nvrtc
export LAMPAR_CACHE_DIR="$scratch/cache" LAMPAR_DEBUG=warn
for tenths in 1 2 3 1 2 4 1 2 5 3; do
  "$JIT_TIME" "$LAMPAR_SOURCE/tests/jit/small.lua" sm_90 0 > /dev/null 2>> warnings &
  process=$!
  sleep "0.$tenths"
  kill -9 "$process" 2> /dev/null || true
  wait "$process" 2> /dev/null || true
done
"$JIT_TIME" "$LAMPAR_SOURCE/tests/jit/small.lua" sm_90 0 > out 2>> warnings
[ ! -s warnings ] || fail "$(cat warnings)"
kernels=$(awk '{ print $3 }' out)
same 'entries' "$kernels" "$(find cache -type f ! -name '*.tmp' | wc -l)"
LAMPAR_DISABLE_JIT=1 "$JIT_TIME" "$LAMPAR_SOURCE/tests/jit/small.lua" sm_90 0 > out 2> err || fail "$(cat err)"

# A process that holds the lock of the folder and stores nothing is waited for, but not forever.
mkdir -m 700 other
exec 9< other
flock 9
start=$(date +%s)
LAMPAR_CACHE_DIR=$PWD/other "$JIT_TIME" "$LAMPAR_SOURCE/tests/jit/small.lua" sm_90 2 > out 2>> warnings
end=$(date +%s)
exec 9<&-
[ ! -s warnings ] || fail "$(cat warnings)"
same 'compiled' "$(awk '{ print $3 }' out)" "$(awk '{ print $7 }' out)"
[ $((end - start)) -ge 9 ] || fail "waited for $((end - start)) s"
