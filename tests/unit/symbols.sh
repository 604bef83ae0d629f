# liblampar shows what lampar.h declares, and nothing else; it needs nothing but libc.
set -eu
nm -D --defined-only "$LIBRARY" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort >"$OUT.exported"
sed -n 's/^LAMPAR_API .*[ *]\(lampar_[a-z_]*\)(.*/\1/p' "$HEADER" | sort >"$OUT.declared"
diff -u "$OUT.declared" "$OUT.exported"
[ "$(wc -l <"$OUT.exported")" -gt 20 ]
# A sanitizer's runtime is the build's wish.
needed=$(readelf -d "$LIBRARY" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v -e '^libc\.so' -e '^ld-linux' -e '^lib[a-z]*san\.so' || true)
[ -z "$needed" ] || { echo "liblampar needs $needed"; exit 1; }
