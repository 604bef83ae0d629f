#!/bin/sh
# A check that cannot fail proves nothing. Each mutation below breaks the protocol in a scratch copy of the
# templates or of the runtime; the emulated device has to find it within the schedules that CI runs, with
# the report it names. The copy that is not mutated has to pass.
#   mutations.sh BINARIES SOURCE_FOLDER PACK OUT [NAME...]
set -u
binaries=$1 source=$2 pack=$3 out=$4
shift 4
templates=$source/templates
wanted=$*
schedules=6
failures=0
export LAMPAR_DEVICE=emu

# build_mutated SPEC [FILE SED]...: a scratch copy of the templates in which each SED has changed its FILE, and
# the pack of it.
build_mutated() {
  spec=$1
  shift
  rm -rf "$scratch"
  mkdir -p "$scratch"
  cp -r "$templates" "$scratch/templates"
  while [ $# -gt 0 ]; do
    cp "$scratch/templates/$1" "$scratch/before"
    sed -i -E "$2" "$scratch/templates/$1"
    if cmp -s "$scratch/before" "$scratch/templates/$1"; then
      echo "$name: FAILED: $1 has changed, the mutation does not apply: $2"
      return 1
    fi
    shift 2
  done
  "$binaries/lampar" build "$source/tests/emu/$spec.lua" --templates "$scratch/templates" -o "$scratch" \
    >"$scratch/build.txt" 2>&1 && return 0
  echo "$name: FAILED: does not compile"
  cat "$scratch/build.txt"
  return 1
}

# run_mutation NAME REPORT MODE [FILE SED]...: the report is a pattern of grep -E; `none` has to pass. The modes plain
# and programmatic are launches of plain kernels; twoshot mixes calls of one-shot and of two-shot; fused is layers of a
# fused kernel; long_rows, many_rows and scaled_norm verify the kernels of these specs.
run_mutation() {
  name=$1 report=$2 mode=$3
  shift 3
  scratch=$out/$name-$mode
  case $mode in
  plain | programmatic) spec=small ;;
  fused | twoshot) spec=small_$mode ;;
  *) spec=$mode ;;
  esac
  build_mutated $spec "$@" || return 1
  kernels=$scratch/$spec/$spec.pack
  case $mode in
  twoshot) set -- emu_protocol_test "$kernels" 4 f32 328 24 $schedules plain ;;
  plain | programmatic) set -- emu_protocol_test "$kernels" 3 f32 328 24 $schedules $mode ;;
  fused) set -- emu_layers_test "$kernels" 2 1024 $schedules ;;
  *) set -- lampar verify "$kernels" --device emu --world 2 ;;
  esac
  program=$binaries/$1
  shift
  "$program" "$@" >"$scratch/report.txt" 2>&1
  status=$?
  if [ "$name" = none ] && [ $status -eq 0 ]; then
    echo "not mutated ($mode): right"
  elif [ "$name" != none ] && [ $status -eq 1 ] && grep -qE "$report" "$scratch/report.txt"; then
    echo "$name: found: $(grep -E -m 1 "$report" "$scratch/report.txt" | cut -c 1-160)"
  else
    echo "$name: FAILED: status $status, expected a report like '$report'"
    tail -n 20 "$scratch/report.txt"
    return 1
  fi
}

# mutate NAME...: run_mutation, two at a time. A mutation that fails leaves its name in $out/failed.
jobs=0
mutate() {
  case " $wanted " in "  " | *" $1 "*) ;; *) return ;; esac
  {
    lines=$(run_mutation "$@") || echo "$1" >>"$out/failed"
    echo "$lines"
  } &
  jobs=$((jobs + 1))
  [ $((jobs % 2)) -eq 1 ] || wait
}
mkdir -p "$out"
rm -f "$out/failed"

kernel=oneshot.cu.in
missing='timed out waiting for rank|nothing came from the ranks'
wrong='wrong sum|sum is wrong|wrong residual|wrong output'
wrong_value='expected|reference|other bits'

for mode in plain programmatic twoshot fused long_rows many_rows scaled_norm; do
  mutate none '' $mode
done
mutate one-half "$missing|$wrong" plain $kernel \
  's/const unsigned half = \(use.epoch & 1\) \* kHalfBytes;/const unsigned half = 0;/'
mutate no-rearm "$wrong|$missing" plain $kernel '/store_words4\(slot_of\(.*empty_vector\(\)\);/d'
mutate rearm-before-sum "$wrong|$missing" plain parts/all_ranks.cuh.in \
  's/^  poll_loop\(.*/  store_words4(slot_of(use, (call.rank + 1) % kWorld), empty_vector());\n&/'
mutate epoch-without-barrier "$wrong|$missing" plain $kernel '/^ +__syncwarp\(\);/d'
mutate epoch-never-advanced "$wrong|$missing" plain $kernel '/store_u32\(use.epoch_ptr, use.epoch \+ 1\)/d'
mutate first-word-only "$wrong" plain parts/mailbox.cuh.in \
  's/return v.word\[0\] == kSentinel \|\|.*/return v.word[0] == kSentinel;/' \
  parts/mailbox.cuh.in '/^ +v.word\[3\] == kSentinel;/d'
mutate sentinel-not-sanitised "$missing" plain parts/mailbox.cuh.in \
  's/v.word\[i\] == kSentinel \? 0x7fffffff : v.word\[i\]/v.word[i]/'
mutate own-rank-first "$wrong" plain $kernel \
  's/^    add_ranks\(from, sum\);/    { const Vector first = from[0]; from[0] = use.input; if (call.rank) from[call.rank] = first; }\n&/'
mutate push-into-other-half "$missing" plain $kernel \
  's/push\(use.peer_slot\[(.*)\] \+ half, use.input\)/push(use.peer_slot[\1] + (kHalfBytes - half), use.input)/'
mutate idle-lanes-poll "$missing" plain parts/plain_kernel.cuh.in \
  '/if \(!use.at.active\) return;/d'
mutate no-dependency-wait "$wrong|$missing" programmatic parts/plain_kernel.cuh.in \
  '/^  wait_for_previous_grid\(\);/d'
mutate consumer-reads-early "$wrong|$missing" programmatic parts/plain_kernel.cuh.in \
  '/^  wait_for_previous_grid\(\);/d' parts/plain_kernel.cuh.in \
  's/^  send\(call, use, lane\);/  wait_for_previous_grid();\n&/'
mutate remote-block-not-started 'shared memory of block [0-9]+ of its cluster, which has not started' fused \
  parts/fused_kernel.cuh.in '/join_reduction\(\);/d'
mutate one-buffer-for-two-phases "$wrong" fused \
  parts/emu/reduce.cuh.in 's/partial\[reduction.phase % 2\]/partial[0]/'
mutate phase-without-wait 'block [0-9]+ of its cluster, which has ended|its block ends while a store' fused \
  parts/row_reduction.cuh.in '/^  wait_partials\(reduction, .*\);/d'
mutate partial-not-sent 'block [0-9]+, .*waits for the partials of phase 0: 0 arrivals and [0-9]+ bytes' fused \
  parts/emu/reduce.cuh.in \
  's/if \(exists \&\& reduction.lane < kCluster\)/if (reduction.first + v + 1 < kRowMailboxes \&\& reduction.lane < kCluster)/'
# The operands are read before the dependency wait, everything else after it.
mutate residual-read-early 'wrong residual' fused \
  parts/fused_kernel.cuh.in '/^  wait_for_previous_grid\(\);/d' \
  parts/fused_kernel.cuh.in '/^  for .*load\(call, use\[v\]\);/,/^  \$-- Operands/{H;d}
    /^  \$for _, operand in/,/^  \$end$/{/^  \$end$/{G;s/\n/\n  wait_for_previous_grid();\n/}}'

# ---- two-shot ----
kernel=twoshot.cu.in
mutate two-shot-epoch-by-two "$missing|$wrong" twoshot $kernel \
  's/store_u32\(use.epoch_ptr, use.epoch \+ 1\)/store_u32(use.epoch_ptr, use.epoch + 2)/'
mutate two-shot-owner-no-rearm "$missing|$wrong" twoshot $kernel '/if .*store_words4\(slot_of\(.*empty_vector\(\)\);/d'
mutate two-shot-sum-no-rearm "$missing|$wrong" twoshot $kernel '/store_words4\(slot_of\(use, use.owner\), .*\);/d'
mutate two-shot-without-barrier "$missing|$wrong" twoshot $kernel '/^ +__syncwarp\(\);/d'
mutate two-shot-sum-in-one-half "$missing|$wrong" twoshot $kernel \
  's/push\((.*)use.offset, rounded\)/push(\1use.offset - (use.epoch \& 1) * kHalfBytes, rounded)/' \
  $kernel 's/slot_of\(use, use.owner\)/& - (use.epoch \& 1) * kHalfBytes/'
mutate two-shot-sum-in-other-half "$missing|$wrong" twoshot $kernel \
  's/push\((.*)use.offset, rounded\)/push(\1use.offset + kHalfBytes - 2 * (use.epoch \& 1) * kHalfBytes, rounded)/' \
  $kernel 's/slot_of\(use, use.owner\)/& + kHalfBytes - 2 * (use.epoch \& 1) * kHalfBytes/'
mutate two-shot-sentinel-travels "$missing" twoshot $kernel '/use.input = without_sentinel\(use.input\);/d'
mutate two-shot-sum-not-rounded "$wrong" twoshot $kernel 's/return rounded;/return from[call.rank];/'

# ---- rows and quantisation ----
mutate nan-counts-in-amax "$wrong_value" long_rows parts/emu/language.cuh.in \
  's/return a > b \|\| b != b/return a > b || a != a/'
mutate amax-of-one-mailbox "$wrong_value" scaled_norm parts/emu/reduce.cuh.in \
  's/reduction.lane < kRowMailboxes \? reduction.lane : kRowMailboxes - 1/0/'
mutate amax-of-32-mailboxes "$wrong_value" long_rows parts/row_reduction.cuh.in \
  's/for \(unsigned from = 32; from < kRowMailboxes; from \+= 32\)/for (unsigned from = 32; from < 32; from += 32)/'
mutate scales-without-padding "$wrong_value" long_rows epilogues/fp8_group.cu.in \
  's/for \(unsigned i = index % 4 \+ 1; i < 4; \+\+i\)/for (unsigned i = 4; i < 4; ++i)/'
mutate rows-by-blocks "$wrong_value|$missing" long_rows parts/fused_kernel.cuh.in \
  's/row \+= gridDim.x \/ kCluster;/row += gridDim.x;/'
mutate one-tile-of-scales "$wrong_value" many_rows epilogues/nvfp4.cu.in \
  's/at.row \/ 128 \* /at.row \/ 256 * /'

wait
[ ! -e "$out/failed" ] || failures=1

# The runtime gives every group of a device the first one's workspace.
name=shared-workspace
case " $wanted " in
"  " | *" $name "*)
  scratch=$out/$name
  rm -rf "$scratch"
  mkdir -p "$scratch"
  cp -r "$source/runtime" "$source/generator" "$scratch"
  sed -i -E 's/driver->memory_alloc\(&workspace->base, workspace->bytes\)/shared(driver, workspace)/
    s/^lampar_status lampar_workspace_open\(/static int shared(const lampar_driver *driver, lampar_workspace *workspace) {\
  static lampar_device_pointer base[16];\
  int device, result = 0;\
  driver->context_device(\&device);\
  if (base[device] == 0) result = driver->memory_alloc(\&base[device], 2 * workspace->bytes);\
  workspace->base = base[device];\
  return result;\
}\
&/' "$scratch/runtime/group/workspace.c"
  if cmp -s "$source/runtime/group/workspace.c" "$scratch/runtime/group/workspace.c" ||
    ! "${CC:-cc}" -std=c17 -D_GNU_SOURCE -O1 -I"$scratch/runtime" -I"$scratch/runtime/include" \
      -I"$scratch/generator" "$scratch"/runtime/base/*.c "$scratch"/runtime/cuda/*.c "$scratch"/runtime/exchange/*.c \
      "$scratch"/runtime/pack/*.c "$scratch"/runtime/group/*.c "$scratch/generator/verify/ranks.c" \
      "$source/tests/emu/ranks_test.c" -o "$scratch/ranks_test" -ldl -lpthread \
      2>"$scratch/build.txt"; then
    echo "$name: FAILED: the mutation does not apply"
    cat "$scratch/build.txt"
    failures=$((failures + 1))
  elif "$scratch/ranks_test" "$pack" two-groups >"$scratch/report.txt" 2>&1 ||
    ! grep -qE "$wrong|$missing" "$scratch/report.txt"; then
    echo "$name: FAILED: not found"
    tail -n 20 "$scratch/report.txt"
    failures=$((failures + 1))
  else
    echo "$name: found: $(grep -E -m 1 "$wrong|$missing" "$scratch/report.txt" | cut -c 1-160)"
  fi
  ;;
esac

[ $failures -eq 0 ]
