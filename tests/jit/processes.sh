# Two hundred processes start at once with one empty folder: all get their kernels, what is kept is
# whole, and nothing else is left behind. Under sanitizers twenty: more do not fit into memory.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
need_nvrtc
export LAMPAR_CACHE_DIR="$scratch/cache"
number=0 count=200
[ -z "${SANITIZED_BUILD:-}" ] || count=20
while [ "$number" -lt "$count" ]; do
  number=$((number + 1))
  "$JIT_TIME" "$LAMPAR_SOURCE/tests/jit/small.lua" sm_90 0 > "out.$number" 2>&1 &
done
wait
cat out.* > all
same 'processes that succeeded' "$count" "$(grep -c ' ms ' all)"
kernels=$(awk 'NR == 1 { print $3 }' all)
same 'files' "$kernels" "$(find cache -type f | wc -l)"
same 'left behind' 0 "$(find cache -name '*.tmp' | wc -l)"
echo "kernels: $kernels, compiled over all processes: $(awk '{ sum += $7 } END { print sum }' all)"
"$JIT_TIME" "$LAMPAR_SOURCE/tests/jit/small.lua" sm_90 0 | grep -q " $kernels cached 0 compiled" || fail 'not warm'
