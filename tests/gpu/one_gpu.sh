#!/bin/sh
# All checks of results on a machine with one GPU (compute capability 9.0), where several ranks share it: what the
# gpu tests of ctest do, then the sanitizers of CUDA on a few of them.
#   one_gpu.sh packs BUILD OUT      compiles the packs, needs NVRTC and no GPU
#   one_gpu.sh run BUILD OUT        runs everything on these packs
#   one_gpu.sh sanitize BUILD OUT   runs memcheck, racecheck, synccheck and initcheck, needs compute-sanitizer
# Ranks that share a GPU make their groups over config.exchange, without NCCL; checks that need a GPU for each rank
# say so and are skipped. Each command is killed after LIMIT seconds (60, or 300 where the host computes long
# references): a kernel that waits forever must not hold the GPU.
set -eu
step=$1 build=$2 out=$3
tests=$(dirname "$0")/..
bin=$build/bin
failed=0
mkdir -p "$out"

limit=${LIMIT:-60}
run() {
  echo "== $*"
  status=0
  timeout -s KILL "$limit" "$@" || status=$?
  case $status in
  0) ;;
  77) echo "== skipped" ;;
  *) echo "== FAILED with status $status: $*"; failed=1 ;;
  esac
}

# The packs of a fused spec: as planned, and in two other geometries.
fused_packs() { echo "$out/$1/$1.pack" "$out/$1-narrow/$1.pack" "$out/$1-wide/$1.pack"; }

checked="compute-sanitizer --error-exitcode 1"
case $step in
packs)
  for spec in gpu other; do "$bin/lampar" build "$tests/gpu/$spec.lua" -o "$out" --templates "$tests/../templates"; done
  for spec in fused shapes fp32 five; do sh "$tests/fused/geometries.sh" "$bin" "$tests/fused/$spec.lua" "$out"; done
  "$bin/lampar" build "$tests/bench/fused.lua" -o "$out" --templates "$tests/../templates"
  ;;
run)
  for world in 1 2 3 4 6 8; do
    run "$bin/allreduce_test" --pack "$out/gpu/gpu.pack" --other "$out/other/other.pack" "*/w$world"
  done
  limit=${LIMIT:-300}
  for spec in fused:2 fused:4 fused:8 shapes:2 shapes:4 fp32:2 fp32:8 five:2; do
    # shellcheck disable=SC2046 # three paths
    run "$bin/fused_test" --world "${spec#*:}" $(fused_packs "${spec%:*}")
  done
  limit=${LIMIT:-60}
  for world in 2 3 4 6 8; do run "$bin/lampar" verify "$out/gpu/gpu.pack" --world $world; done
  for world in 1 2 4 8; do run "$bin/lampar" verify "$out/fused/fused.pack" --world $world; done
  run "$bin/latency" "$out/gpu/gpu.pack"
  run "$bin/fused_latency" "$out/bench-fused/bench-fused.pack"
  ;;
sanitize)
  # memcheck and initcheck make a kernel some ten times slower, racecheck more: few calls, and long watchdogs are
  # not needed, since each check has its own of five seconds.
  for tool in memcheck racecheck synccheck initcheck; do
    run $checked --tool $tool "$bin/allreduce_test" --pack "$out/gpu/gpu.pack" --other "$out/other/other.pack" \
      arguments/w2 strict/w2 watchdog/w2
    run $checked --tool $tool "$bin/lampar" verify "$out/gpu/gpu.pack" --world 2 --filter '*_h4096_*'
    # Under memcheck more than two ranks that share a GPU time out in the self-test: it delays their launches.
    [ $tool = memcheck ] ||
      run $checked --tool $tool "$bin/lampar" verify "$out/gpu/gpu.pack" --world 4 --filter '*_twoshot_*_bf16_h2880_*'
    run $checked --tool $tool "$bin/lampar" verify "$out/shapes/shapes.pack" --world 2 --filter '*_h264_*'
    run $checked --tool $tool "$bin/lampar" verify "$out/five/five.pack" --world 2
  done
  ;;
*)
  echo "one_gpu.sh packs|run|sanitize BUILD OUT" >&2
  exit 2
  ;;
esac
[ $failed -eq 0 ] || exit 1
echo "== all of it passed or was skipped"
