#!/bin/sh
# tests/bench/jit.sh BUILD [--peer]: time of a start-up, with the spec of a server, or the variables SPEC
# and WORLD. Needs no GPU, and an idle machine.
#
# With --peer, in the same run: nvcc on FlashInfer's all-reduce module, with the sources and flags of
# its own JIT (gen_trtllm_comm_module, gen_jit_spec and build_cuda_cflags of flashinfer-python 0.7.4).
# The wheels come from PyPI into a temporary folder, or from the folder in WHEELS. Takes minutes.
set -eu
build=$(cd "${1:?usage: tests/bench/jit.sh BUILD [--peer]}" && pwd)
spec=${SPEC:-$(cd "$(dirname "$0")/../.." && pwd)/specs/h200-8.lua}
arch=sm_90
world=${WORLD:-0} # 0: all of the spec
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LAMPAR_CACHE_DIR="$work/cache"

now_ms() { echo $(($(date +%s%N) / 1000000)); }

once() { "$build/bin/jit_time" "$spec" "$arch" "$world"; }

cold() {
  rm -rf "$work/cache"
  once
}

# Wall time of eight processes that start together with one empty folder.
eight() {
  rm -rf "$work/cache"
  start=$(now_ms)
  for process in 1 2 3 4 5 6 7 8; do once > "$work/out.$process" & done
  wait
  end=$(now_ms)
  echo "$((end - start)).0 ms $(awk '{ all += $7 } END { print all }' "$work"/out.*) compiled over all"
}

# The same for eight ranks that share the work through an exchange.
ranks() {
  rm -rf "$work/cache"
  start=$(now_ms)
  "$build/bin/jit_time" "$spec" "$arch" "$world" 8 > "$work/ranks.out"
  end=$(now_ms)
  echo "$((end - start)).0 ms $(awk '{ all += $7 } END { print all }' "$work/ranks.out") compiled over all"
}

median() { awk '{ print $1 }' "$1" | sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
least() { awk '{ print $1 }' "$1" | sort -n | head -1; }
row() { printf '%-28s %9.1f %9.1f ms %10s\n' "$1" "$(median "$work/$2")" "$(least "$work/$2")" "$3"; }

echo "$(nproc) cores, $(basename "$spec") for $arch, ranks: $world"
for _ in 1 2 3 4 5; do
  cold | tee -a "$work/cold"
  once | tee -a "$work/warm"
  once | tee -a "$work/warm"
  eight | tee -a "$work/eight"
  ranks | tee -a "$work/ranks"
done
one=$(median "$work/cold")
echo
printf '%-28s %9s %9s    %10s\n' what median least target
row cold cold 3000
row warm warm 20
target=$(awk -v a="$one" 'BEGIN { printf "%.0f", 1.3 * a }')
row 'eight processes cold at once' eight "$target"
row 'eight ranks cold together' ranks "$target"
[ "${2-}" = --peer ] || exit 0

wheels=${WHEELS:-$work/wheels}
[ -n "${WHEELS-}" ] || python3 -m pip -q download --no-deps -d "$wheels" flashinfer-python==0.7.4 apache-tvm-ffi
python3 -m zipfile -e "$wheels"/flashinfer_python-*.whl "$work/flashinfer"
python3 -m zipfile -e "$wheels"/apache_tvm_ffi-*.whl "$work/tvm_ffi"
data=$work/flashinfer/flashinfer/data
ffi=$work/tvm_ffi/tvm_ffi/include
python=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
toolkit=$(dirname "$(dirname "$(command -v nvcc)")")
cat > "$work/compile" <<COMPILE
start=\$(date +%s%N)
nvcc -DPy_LIMITED_API=0x03090000 -D_GLIBCXX_USE_CXX11_ABI=1 -I$data/cccl/cub -I$data/cccl/libcudacxx/include \
  -I$data/cccl/thrust -isystem $python -isystem $toolkit/include -isystem $ffi -isystem $ffi/dlpack \
  -isystem $data/include -isystem $data/csrc -isystem $data/cutlass/include \
  -isystem $data/cutlass/tools/util/include -isystem $data/spdlog/include --compiler-options=-fPIC \
  --expt-relaxed-constexpr -static-global-template-stub=false -DFLASHINFER_ENABLE_FP8_E8M0 \
  -DFLASHINFER_ENABLE_FP4_E2M1 -std=c++17 --threads=1 -use_fast_math -Xfatbin=-compress-all --compress-mode=size \
  -DFLASHINFER_ENABLE_F16 -DFLASHINFER_ENABLE_BF16 -DFLASHINFER_ENABLE_FP8_E4M3 -DFLASHINFER_ENABLE_FP8_E5M2 \
  -DNDEBUG -O3 -gencode=arch=compute_90a,code=sm_90a -c $data/csrc/\$1.cu -o $work/\$1.o
end=\$(date +%s%N)
times > $work/\$1.times
echo "nvcc \$1.cu: \$(((end - start) / 1000000)) ms, processor time \$(tail -1 $work/\$1.times)"
COMPILE
start=$(now_ms)
printf '%s\n' trtllm_allreduce trtllm_allreduce_fusion trtllm_moe_allreduce_fusion |
  xargs -P "$(nproc)" -n 1 sh -e "$work/compile"
peer=$(($(now_ms) - start))
printf "nvcc, FlashInfer's module     %9d ms, %.0f times cold\n" "$peer" "$(awk -v a="$peer" -v b="$one" 'BEGIN { print a / b }')"
