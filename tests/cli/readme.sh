# The commands and programs of the README work as they are written.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
readme=$LAMPAR_SOURCE/README.md

block() { # the README's block of that language
  awk -v open="\`\`\`$1" '$0 == open { inside = 1; next } $0 == "```" { inside = 0 } inside' "$readme"
}

mkdir -p build/bin
ln -s "$LAMPAR" build/bin/lampar
ln -s "$LAMPAR_SOURCE/specs" specs

block sh >commands
[ "$(grep -c lampar commands)" -ge 4 ]
sh -eu commands >output
grep -q 'out/gpt-oss/gpt-oss.pack' output
grep -q '__global__' output

block lua >example.lua
"$LAMPAR" plan example.lua | grep -q h7168

block c >example.c
for compile in "${CC:-cc} -std=c11" "${CXX:-c++} -x c++ -std=c++20"; do
  $compile -Wall -Wextra -Werror -I "$LAMPAR_SOURCE/runtime/include" -c example.c -o example.o
done
cat >main.c <<'END'
struct ncclComm;
struct CUstream_st;
int reduce(struct ncclComm *, struct CUstream_st *, const void *, void *);
int main(void) { return reduce(0, 0, 0, 0) == 1 ? 0 : 1; } /* no device here, or no communicator */
END
${CC:-cc} -I "$LAMPAR_SOURCE/runtime/include" main.c example.c -L "$LIBRARY_FOLDER" -llampar -o example
LD_LIBRARY_PATH=$LIBRARY_FOLDER ./example
