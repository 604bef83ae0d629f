# Installs into the build tree and moves the result.
set -eu
rm -rf "$OUT/first" "$OUT/prefix"
cmake --install "$BUILD" --prefix "$OUT/first" >/dev/null
mv "$OUT/first" "$OUT/prefix"

cd "$OUT/prefix"
for file in bin/lampar include/lampar/lampar.h include/lampar/lampar_jit.h share/lampar/templates/oneshot.cu.in \
  "$LIBDIR/liblampar.so" "$LIBDIR/liblampar.so.${VERSION%%.*}" "$LIBDIR/liblampar.so.$VERSION" "$LIBDIR/liblampar.a" \
  "$LIBDIR/liblampar-jit.so.${VERSION%%.*}" "$LIBDIR/liblampar-emu.so" "$LIBDIR/cmake/lampar/lampar-config.cmake" \
  "$LIBDIR/pkgconfig/lampar.pc" "$LIBDIR/pkgconfig/lampar-jit.pc"; do
  [ -e "$file" ] || { echo "FAILED: $file is not installed"; exit 1; }
done
sh "$SOURCE/tests/house/links.sh" share/doc/lampar
for page in "$SOURCE"/generator/docs/*.md "$SOURCE/SECURITY.md" "$SOURCE/CHANGELOG.md"; do
  cmp "$page" "share/doc/lampar/$(basename "$page")" || { echo "FAILED: $page is not installed"; exit 1; }
done
if grep -rIl -e "$SOURCE" -e "$OUT" .; then
  echo 'FAILED: files name folders of this machine'
  exit 1
fi
env -i PATH="$PATH" bin/lampar --version | grep -q "^lampar $VERSION\$"
