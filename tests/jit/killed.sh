# Processes that are killed while they compile and write: whoever comes next finds whole kernels, makes
# the others, and does not wait long for the dead.
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
same 'entries' "$kernels" "$(find cache -type f ! -name '*.tmp' ! -path '*/claims/*' | wc -l)"
LAMPAR_DISABLE_JIT=1 "$JIT_TIME" "$LAMPAR_SOURCE/tests/jit/small.lua" sm_90 0 > out 2> err || fail "$(cat err)"
