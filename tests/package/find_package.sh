# The project in all three ways, with the installed package.
set -eu
work=$OUT/find_package
rm -rf "$work"
mkdir -p "$work"
cp -r "$(dirname "$0")/project" "$work/project"
cmake -G Ninja -S "$work/project" -B "$work/build" -DCMAKE_PREFIX_PATH="$OUT/prefix" >/dev/null
cmake --build "$work/build"
ctest --test-dir "$work/build" --output-on-failure

# Nothing is rebuilt without a change; a file that the spec requires counts as part of it.
digest() { "$OUT/prefix/bin/lampar" inspect "$work/build/kernels.pack" --json | sed -n 's/.*"digest"://p'; }
stamp() { stat -c %y "$work/build/kernels.pack"; }
before=$(stamp) first=$(digest)
cmake --build "$work/build" >/dev/null
[ "$before" = "$(stamp)" ] || { echo 'FAILED: the pack was rebuilt without a change'; exit 1; }
echo 'return 16' >"$work/project/limit.lua"
sed -i 's/rows   = 8/rows   = require "limit"/' "$work/project/kernels.lua"
cmake --build "$work/build" >/dev/null
second=$(digest)
[ "$first" != "$second" ] || { echo 'FAILED: a changed spec changes nothing'; exit 1; }
echo 'return 24' >"$work/project/limit.lua"
cmake --build "$work/build" >/dev/null
[ "$second" != "$(digest)" ] || { echo 'FAILED: a changed file of the spec changes nothing'; exit 1; }
