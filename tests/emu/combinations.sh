#!/bin/sh
# Which kinds of kernels the tests on the emulated device run, and with how many sizes on one group.
#   combinations.sh BUILD_FOLDER [OPTION...]   runs `ctest -L emu` with the options, and prints the table
#   combinations.sh --of LAMPAR PACK...        verifies the packs, prints the table, fails if a kind is missing
set -eu
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export LAMPAR_DEBUG=trace LAMPAR_DEBUG_FILE="$logs/%p"
required=0 failed=0
if [ "$1" = --of ]; then
  required=1
  lampar=$2
  shift 2
  for pack; do "$lampar" verify "$pack" --device emu >"$logs.out" || { cat "$logs.out"; failed=1; }; done
  rm -f "$logs.out"
else
  build=$1
  shift
  # These build the runtime once more, or break it: what they run proves nothing about it.
  ctest --test-dir "$build" -L emu -E 'emu.(coverage|mutations)' "$@" >&2 || failed=1
fi

# "lampar trace rank 0: 3 x 328 bf16: NAME (twoshot, persistent, cluster 1, rounding fp32)"
cat "$logs"/* | awk -v required="$required" '
  / info rank [0-9]+: .* group, rank / { ++groups } # a new group: its sizes are counted from here
  / trace rank [0-9]+: [0-9]+ x / {
    line = $0
    sub(/^.* trace rank [0-9]+: /, "", line)
    split(line, word, /[ (),:]+/) # rows, x, hidden, dtype, name, algorithm, shape, "cluster", n, "rounding", r
    world = match(word[5], /_w[0-9]+_/) ? substr(word[5], RSTART + 2, RLENGTH - 3) : 1
    kind = word[6] " " (word[10] == "rounding" ? word[11] : "plain") " " word[4] " " word[7] " " \
      (word[9] > 1 ? "yes" : "no")
    ++calls[kind]
    if (!((kind, world) in known)) { known[kind, world] = 1; worlds[kind] = worlds[kind] " " world }
    size = groups SUBSEP kind SUBSEP word[1] SUBSEP word[3]
    if (!(size in seen)) {
      seen[size] = 1
      if (++sizes[groups, kind] > most[kind]) most[kind] = sizes[groups, kind]
    }
  }
  function need(kind, least) {
    if (calls[kind] > 0 && most[kind] >= least) return
    print "MISSING: " kind (calls[kind] > 0 ? ": sizes do not change on one group" : ": never runs")
    missing = 1
  }
  END {
    printf "%-14s %-8s %-5s %-12s %-8s %9s %6s  %s\n", "algorithm", "rounding", "dtype", "shape", "cluster", "calls",
      "sizes", "ranks"
    for (kind in calls) {
      split(kind, k, " ")
      printf "%-14s %-8s %-5s %-12s %-8s %9d %6d %s\n", k[1], k[2], k[3], k[4], k[5], calls[kind], most[kind],
        worlds[kind] | "sort"
    }
    close("sort")
    split("bf16 f16 f32", dtypes, " ")
    split("single-pass persistent", shapes, " ")
    for (d = 1; d <= 3; ++d) for (s = 1; s <= 2; ++s) for (a = 0; a < 2; ++a) {
      kernel = (a ? "twoshot" : "oneshot")
      of = " " dtypes[d] " " shapes[s]
      need(kernel " plain" of " no", 2)
      need(kernel " unfused" of " no", 2)
      # Kernels that share a row take one size or two here; the long rows of persistent ones are in f32.
      if (d == 3 || shapes[s] == "single-pass") need(kernel " unfused" of " yes", 1)
      # Two-shot sends rounded sums; in f32 both roundings are one.
      if (!a && d < 3) need(kernel " fp32" of " no", 2)
    }
    exit required && missing
  }' || failed=1
exit $failed
