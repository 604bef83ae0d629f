# liblampar exports what lampar.h declares, and what private headers declare under a version of its own;
# it needs nothing but libc.
set -eu
exported() { nm -D --defined-only "$LIBRARY" | awk -v node="$1" '$2 == "T" && $3 ~ "@@" node "$" { sub(/@.*/, "", $3); print $3 }' | sort; }
declared() { sed -n 's/^LAMPAR_API .*[ *]\(lampar_[a-z_]*\)(.*/\1/p' "$@" | sort; }
exported LAMPAR_0 >"$OUT.exported"
declared "$HEADER" >"$OUT.declared"
diff -u "$OUT.declared" "$OUT.exported"
exported LAMPAR_PRIVATE >"$OUT.exported-private"
# shellcheck disable=SC2086 # a list
declared $PRIVATE_HEADERS >"$OUT.declared-private"
diff -u "$OUT.declared-private" "$OUT.exported-private"
all=$(nm -D --defined-only "$LIBRARY" | awk '$2 == "T"' | wc -l)
[ "$all" -eq "$(cat "$OUT.exported" "$OUT.exported-private" | wc -l)" ]
[ "$(wc -l <"$OUT.exported")" -gt 20 ]
# A sanitizer's runtime is the build's wish.
needed=$(readelf -d "$LIBRARY" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v -e '^libc\.so' -e '^ld-linux' -e '^lib[a-z]*san\.so' || true)
[ -z "$needed" ] || { echo "liblampar needs $needed"; exit 1; }
