# The programs again, with compilers and pkg-config alone.
set -eu
command -v pkg-config >/dev/null || { echo 'skipped: no pkg-config'; exit 77; }
dir=$(dirname "$0")
work=$OUT/pkg_config
rm -rf "$work"
mkdir -p "$work"
cd "$work"
export PKG_CONFIG_PATH="$OUT/prefix/$LIBDIR/pkgconfig" LD_LIBRARY_PATH="$OUT/prefix/$LIBDIR"
export LAMPAR_DEVICE=emu LAMPAR_CACHE_DIR="$work/cache"
[ "$(pkg-config --modversion lampar-jit)" = "$VERSION" ]
# shellcheck disable=SC2046 # words
{
  ${CC:-cc} -std=c11 -Wall -Wextra -Werror "$dir/project/offline.c" $(pkg-config --cflags --libs lampar) -o offline
  ${CC:-cc} -std=c11 "$dir/project/offline.c" $(pkg-config --cflags lampar) \
    "$OUT/prefix/$LIBDIR/liblampar.a" -ldl -o offline_static
  ${CC:-cc} -std=c11 -Wall -Wextra -Werror "$dir/project/start_up.c" $(pkg-config --cflags --libs lampar-jit) -o start_up
  ${CXX:-c++} -std=c++17 -Wall -Wextra -Werror "$dir/project/start_up.cpp" $(pkg-config --cflags --libs lampar-jit) \
    -o start_up_cpp
}
pack=$("$OUT/prefix/bin/lampar" build "$dir/project/kernels.lua" --arch emu -o .)
./offline "$pack"
./offline_static "$pack"
./start_up "$dir/project/kernels.lua"
./start_up_cpp "$dir/project/kernels.lua"
"$OUT/prefix/bin/lampar" verify "$pack"
