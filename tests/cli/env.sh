# The variables, where their values come from, and the cache of compiled kernels.
. "$LAMPAR_SOURCE/tests/cli/expect.sh"

env -i HOME=/h LAMPAR_STRICT=1 "$LAMPAR" env > env.txt
grep -Eq '^LAMPAR_STRICT +set +1$' env.txt || fail "$(cat env.txt)"
grep -Eq '^LAMPAR_DISABLE +default +-$' env.txt || fail "$(cat env.txt)"
for name in $(sed -n 's/^| `\(LAMPAR_[A-Z_]*\)` .*/\1/p' "$LAMPAR_SOURCE/generator/docs/operators.md" | grep -v REASON); do
  grep -q "^$name " env.txt || fail "$name of operators.md is not listed"
done
refused '^lampar env: x: env takes no argument' "$LAMPAR" env x

same 'path from HOME' /h/.cache/lampar "$(env -i HOME=/h "$LAMPAR" cache path)"
same 'path from XDG' /x/lampar "$(env -i HOME=/h XDG_CACHE_HOME=/x "$LAMPAR" cache path)"
same 'path chosen' /c "$(env -i HOME=/h LAMPAR_CACHE_DIR=/c "$LAMPAR" cache path)"
refused 'there is no cache .*name a folder in LAMPAR_CACHE_DIR' env -i "$LAMPAR" cache path
refused "'purge': expected path, list or clear" "$LAMPAR" cache purge
refused 'the action is missing' "$LAMPAR" cache

export LAMPAR_CACHE_DIR="$PWD/cache"
"$LAMPAR" cache list | grep -q '^0 kernels, 0 bytes' || fail 'a cache that is not there'
(umask 077 && mkdir -p cache/v1/ab cache/v0/cd cache/mine)
touch cache/v1/ab/leftover.tmp cache/v0/cd/old cache/mine/kept cache/kept
"$LAMPAR" cache list > list
same 'files listed' 2 "$(grep -c '^(no kernel of this format)' list)"
"$LAMPAR" cache clear | grep -q '^2 files deleted' || fail 'clear'
absent cache/v0 cache/v1
[ -e cache/mine/kept ] && [ -e cache/kept ] || fail 'clear deletes what is not of the cache'
chmod 777 cache
refused 'may be written by others' "$LAMPAR" cache clear
