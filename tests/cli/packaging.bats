# The Debian package: built, unpacked and tried; and the recipe for Docker.
load support

@test "make deb builds a package that passes its smoke test" {
  case ${HOGRING:-build/hogring} in build/hogring) ;; *) skip "the release build only" ;; esac
  command -v dpkg-deb >/dev/null || skip "no dpkg-deb"
  DPKG_DEB_COMPRESSOR_LEVEL=0 make -s deb >"$TMP/out" 2>&1 || { cat "$TMP/out"; return 1; }
  grep -qx "smoke: all well" "$TMP/out"
  package=$(tail -n 1 "$TMP/out")
  [ "$(dpkg-deb -f "$package" Version)" = "$(hogring --version | cut -d' ' -f2)" ]
  dpkg-deb -f "$package" Depends | tr , '\n' | sed 's/^ *//; s/ .*//' >"$TMP/depends"
  grep -qx libjansson4 "$TMP/depends"
  while read -r name; do dpkg-query -W "$name" >/dev/null; done <"$TMP/depends"
  dpkg-deb -c "$package" | awk '{print $2}' | sort -u >"$TMP/owners"
  [ "$(<"$TMP/owners")" = root/root ]
  dpkg-deb -c "$package" | awk '{print $6}' >"$TMP/files"
  for file in bin/hogring lib/libhogring.so.0 include/hogring/hogring.h share/man/man1/hogring-train.1.gz; do grep -qx "./usr/$file" "$TMP/files"; done
}

@test "the smoke test finds what is broken" {
  mkdir -p "$TMP/root/usr/bin" "$TMP/root/usr/lib" "$TMP/root/usr/share/man/man1"
  said=$(! sh src/packaging/smoke.sh "$TMP/root" 2>&1)
  cp "${HOGRING:-build/hogring}" "$TMP/root/usr/bin/hogring"
  said=$(! sh src/packaging/smoke.sh "$TMP/root" 2>&1)
  [ "$said" = "smoke: no library" ]
}

@test "the recipe for Docker takes what make deb makes" {
  [ "$(grep -c '^[A-Z]' src/packaging/Dockerfile)" -le 10 ]
  grep -q 'make deps && make .* deb$' src/packaging/Dockerfile
  grep -q '/build/deb/hogring_\*.deb' src/packaging/Dockerfile
}
