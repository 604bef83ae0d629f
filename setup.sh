#!/bin/sh
# Installs what the build needs and is not there: Debian packages, and, where there is no CUDA toolkit,
# NVRTC and NCCL from NVIDIA's wheels. With --checks also what only .ci/run uses: clang with libFuzzer, clang-tidy,
# clang-format, shellcheck, and a compiler and an emulator for aarch64. Does nothing when all is there.
set -eu

wheels=/usr/local/lib/lampar-cuda
root=
[ "$(id -u)" -eq 0 ] || root=sudo

missing=
need() { # command or file, package
  command -v "$1" >/dev/null 2>&1 || [ -e "$1" ] || missing="$missing $2"
}
need cmake cmake
need ninja ninja-build
need gcc gcc
need g++ g++
need pkg-config pkgconf
need /usr/include/lua5.4/lua.h liblua5.4-dev
need /usr/include/cjson/cJSON.h libcjson-dev
need /usr/include/xxhash.h libxxhash-dev
need /usr/include/cmocka.h libcmocka-dev
if [ "${1-}" = --checks ]; then
  need clang clang
  need clang-format clang-format
  need clang-tidy clang-tidy
  need shellcheck shellcheck
  need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
  need /usr/aarch64-linux-gnu/lib/libc.a libc6-dev-arm64-cross
  need qemu-aarch64 qemu-user
  need "$(clang -print-resource-dir 2>/dev/null)/lib/linux/libclang_rt.fuzzer-$(uname -m).a" libclang-rt-dev
fi

has_library() { # soname
  ldconfig -p | grep -q "$1 " || [ -e "/usr/local/cuda/lib64/$1" ]
}
cuda=
has_library libnvrtc.so.13 || cuda="$cuda nvidia-cuda-nvrtc"
has_library libnccl.so.2 || cuda="$cuda nvidia-nccl-cu13"
[ -z "$cuda" ] || need pip3 python3-pip

if [ -n "$missing" ]; then
  echo "setup: installing$missing"
  $root apt-get update -qq
  # shellcheck disable=SC2086 # a list of packages
  $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
if [ -n "$cuda" ]; then
  echo "setup: installing$cuda into $wheels"
  # shellcheck disable=SC2086
  $root pip3 install --quiet --upgrade --target "$wheels" $cuda
  find "$wheels/nvidia" -name 'lib*.so.*' -printf '%h\n' | sort -u |
    $root tee /etc/ld.so.conf.d/lampar-cuda.conf >/dev/null
  $root ldconfig
fi
