# The pages work as they are written. A block that names a file in its first line becomes that file; every
# sh block runs, every Lua block is planned, every C block is compiled as C and as C++, and every CMake
# block is configured by the page's own commands. lampar is installed into a prefix for it.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"
need_nvrtc
command -v pkg-config > /dev/null || skip 'no pkg-config'
root=$PWD
cmake --install "$BUILD" --prefix "$root/prefix" > install.out || fail "$(cat install.out)"
export PATH="$root/prefix/bin:$PATH" CMAKE_PREFIX_PATH="$root/prefix"
export PYTHONPATH="$root/prefix/share/lampar/python" PYTHONDONTWRITEBYTECODE=1
export PKG_CONFIG_PATH="$root/prefix/$LIBDIR/pkgconfig" LD_LIBRARY_PATH="$root/prefix/$LIBDIR"

# blocks LANGUAGE: writes every block of the page into a file of its own, and prints their names.
blocks() {
  awk -v language="$1" '
    $0 == "```" language { inside = 1; name = ""; next }
    $0 == "```" { inside = 0 }
    inside && name == "" {
      name = "block-" language "-" ++count
      if ($0 ~ /^(\/\*|--|#) [A-Za-z_.]+\.[a-z]+( \*\/)?$/) name = $2
      print name
      printf "" > name
    }
    inside { print > name }' "$page"
}

run_page() {
  page=$1
  work=$root/$(basename "$page" .md)
  mkdir "$work"
  cd "$work"
  export LAMPAR_CACHE_DIR="$work/cache"
  unset LAMPAR_DEVICE
  for file in $(blocks lua); do lampar plan "$file" > /dev/null || fail "$page: $file has no plan"; done
  blocks cmake > /dev/null
  for file in $(blocks c); do
    for compile in "${CC:-cc} -std=c11" "${CXX:-c++} -x c++ -std=c++20"; do
      $compile -Wall -Wextra -Werror -I "$root/prefix/include" -c "$file" -o /dev/null || fail "$page: $file"
    done
  done
  blocks python > /dev/null
  blocks sh > commands
  [ -s commands ] || fail "$page has no commands"
  # shellcheck disable=SC2046 # names
  cat $(cat commands) > script
  sh -eu script > output 2>&1 || fail "$page: its commands fail: $(cat output)"
}

for page in "$LAMPAR_SOURCE"/generator/docs/*.md; do
  case $(basename "$page") in
    stages.md) ;;               # own_stage.sh runs it
    README.md | protocol.md) ;; # have no commands
    python.md) [ -n "${SANITIZED_BUILD:-}" ] || ! command -v python3 > /dev/null || run_page "$page" ;;
    *) run_page "$page" ;;
  esac
done

cd "$root"
grep -q '^[0-9]* kernels, digest [0-9a-f]*$' offline/output || fail "offline.md: $(cat offline/output)"
grep -q ': 0 from the cache, [1-9]' jit/output || fail "jit.md: $(cat jit/output)"
same 'starts of jit.md that compile nothing' 2 "$(grep -c 'from the cache, 0 compiled' jit/output)"
grep -q ' right, 0 wrong' ci/output || fail "ci.md: $(cat ci/output)"

# The table of specs.md has all fields of specs, each with its actual default.
page=$LAMPAR_SOURCE/generator/docs/specs.md
sed -n '/^  local names = {$/,/}/p' "$LAMPAR_SOURCE/generator/lua/prelude.lua" | grep -o '"[a-z_]*"' | tr -d '"' | sort > fields
[ "$(wc -l < fields)" -gt 10 ] || fail 'the fields are not found in prelude.lua'
sed -n '1,/^## /s/^| `\([a-z_]*\)` | .*/\1/p' "$page" | sort | diff fields - || fail 'fields of specs.md'
for hidden in '' 'hidden = { 64 },'; do
  echo "return spec { name = 'm', arch = { 'sm_90' }, world = { 2 }, $hidden dtype = { 'bf16' } }" > m.lua
  lampar plan --explain m.lua | sed -n '/^defaults taken/,/^$/s/^  //p' |
    sed -e 's/^[a-z]*: //' -e 's/^bytes = 1048576$/without `hidden` 1 MiB/' > defaults
  [ "$(wc -l < defaults)" -ge 5 ] || fail "no defaults in the plan of: $(cat m.lua)"
  while read -r default; do
    grep '^| `' "$page" | grep -qF -- "$default" || fail "specs.md does not say: $default"
  done < defaults
done
