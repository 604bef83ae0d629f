#!/bin/sh
# clang-tidy over the product's sources, with .clang-tidy.  tidy.sh SOURCE BUILD
set -eu
cd "$1"
command -v clang-tidy > /dev/null || { echo 'no clang-tidy; sh setup.sh --checks installs it'; exit 1; }
find generator runtime -name '*.c' | sort | xargs -P "$(nproc)" -n 4 clang-tidy -p "$2" --quiet 2> /dev/null
