# The project in all three ways, with lampar as a part of its build: the names are the same.
set -eu
dir=$(dirname "$0")
cmake -G Ninja -S "$dir/project" -B "$OUT/add_subdirectory" -DLAMPAR_SOURCE="$SOURCE" >/dev/null
cmake --build "$OUT/add_subdirectory"
ctest --test-dir "$OUT/add_subdirectory" --output-on-failure
