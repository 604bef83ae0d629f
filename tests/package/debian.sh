# The Debian package: what is in it, and what it depends on.
set -eu
command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || {
  echo 'skipped: dpkg-deb or dpkg-shlibdeps is not there'
  exit 77
}
rm -rf "$OUT/debian"
mkdir -p "$OUT/debian"
cd "$OUT/debian"
cpack --config "$BUILD/CPackConfig.cmake" -B "$OUT/debian" >cpack.out 2>&1 || { cat cpack.out; exit 1; }
set -- *.deb
[ $# -eq 1 ] && [ -e "$1" ]
case $1 in lampar_"$VERSION"_*.deb) ;; *) echo "FAILED: $1"; exit 1 ;; esac
dpkg-deb -c "$1" >contents
for file in /usr/bin/lampar "liblampar.so.${VERSION%%.*} -> liblampar.so.$VERSION" "/liblampar-jit.so.$VERSION" \
  /liblampar-emu.so /liblampar.a /usr/include/lampar/lampar.h /usr/share/lampar/templates/oneshot.cu.in \
  /usr/share/doc/lampar/operators.md \
  /cmake/lampar/lampar-config.cmake /pkgconfig/lampar.pc; do
  grep -q -- "$file" contents || { echo "FAILED: no $file"; cat contents; exit 1; }
done
dpkg-deb -f "$1" Depends | grep -q 'libc6.*libcjson1\|libcjson1.*libc6'
mkdir root
dpkg-deb -x "$1" root
root/usr/bin/lampar --version | grep -q "^lampar $VERSION\$"
