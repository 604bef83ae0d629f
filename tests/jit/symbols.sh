# liblampar-jit shows what lampar_jit.h declares, and nothing of Lua; it needs liblampar and libc.
set -eu
nm -D --defined-only "$LIBRARY" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort > "$OUT.exported"
sed -n 's/^LAMPAR_API .*[ *]\(lampar_[a-z_]*\)(.*/\1/p' "$HEADER" | sort > "$OUT.declared"
diff -u "$OUT.declared" "$OUT.exported"
[ -s "$OUT.exported" ]
needed=$(readelf -d "$LIBRARY" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
         grep -v -e '^liblampar\.so' -e '^libc\.so' -e '^libm\.so' -e '^ld-linux' -e '^lib[a-z]*san\.so' || true)
[ -z "$needed" ] || { echo "liblampar-jit needs $needed"; exit 1; }
! readelf -d "$LIBRARY" | grep TEXTREL
