#!/bin/sh
# Which lines of the runtime run on the emulated device: builds it to count them, runs the emulated
# tests, prints a table, fails below 85 %.
#   coverage.sh SOURCE BUILD_FOLDER PACKS CHECK...  (names of tests/gpu)
set -eu
source=$1 build=$2 packs=$3
shift 3
least=85
gcov=${GCOV:-gcov}
command -v "$gcov" > /dev/null || { echo "skipped: no $gcov"; exit 77; }

mkdir -p "$build"
{
  cmake -S "$source" -B "$build" -G Ninja -DLAMPAR_COVERAGE=ON -DCMAKE_BUILD_TYPE=Debug &&
    cmake --build "$build" --target lampar_emu emu_failures_test emu_groups_test emu_protocol_test emu_ranks_test \
      allreduce_test fused_test
} > "$build/build.log" 2>&1 || { cat "$build/build.log"; exit 1; }

find "$build" -name '*.gcda' -delete
export LAMPAR_DEVICE=emu LAMPAR_EMU_LIBRARY="$build/lib/liblampar-emu.so"
failed=0
run() {
  "$@" > "$build/run.log" 2>&1 || { cat "$build/run.log"; echo "FAILED: $*"; failed=1; }
}
for spec in emu fused; do
  for case in $("$build/bin/emu_groups_test" --list $spec); do
    run "$build/bin/emu_groups_test" "$packs/$spec/$spec.pack" "$case"
  done
done
for case in $("$build/bin/emu_ranks_test" --list); do
  run "$build/bin/emu_ranks_test" "$packs/emu/emu.pack" "$case"
done
run "$build/bin/emu_failures_test" "$packs/fused/fused.pack" exchange
run "$build/bin/emu_protocol_test" "$packs/emu/emu.pack" 3 bf16 328 24 1 programmatic
run "$build/bin/fused_test" "$packs/fused/fused.pack"
run "$build/bin/allreduce_test" --pack "$packs/checks/checks.pack" --other "$packs/other/other.pack" "$@"
[ "$failed" -eq 0 ] || exit 1

# Also the files of which nothing ran.
find "$build/runtime/CMakeFiles/lampar_base.dir" "$build/runtime/CMakeFiles/lampar_objects.dir" \
  -name '*.gcno' | sort | xargs "$gcov" -n 2> "$build/gcov.log" | awk -v least=$least '
  /^File / { file = $2; gsub(/.*\/|\047/, "", file) }
  /^Lines executed:/ && file ~ /\.c$/ {
    split($0, part, /[:% ]+/)
    run = int(part[3] * part[5] / 100 + 0.5)
    printf "%-20s %5d of %5d  %5.1f %%\n", file, run, part[5], part[3]
    all_run += run
    all += part[5]
    file = ""
  }
  END {
    if (all == 0) { print "FAILED: gcov printed no counts"; exit 1 }
    printf "%-20s %5d of %5d  %5.1f %%, at least %d %% required\n", "all", all_run, all, 100 * all_run / all, least
    exit 100 * all_run < least * all
  }'
