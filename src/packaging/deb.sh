#!/bin/sh
# A Debian package of what `make install` installs: deb.sh VERSION FOLDER, run by `make deb`, which
# has installed into FOLDER/root. Ends with the smoke test of what is inside.
set -eu
version=$1 folder=$2 root=$2/root here=$(dirname "$0")
architecture=$(dpkg --print-architecture)
package=$folder/hogring_${version}_$architecture.deb

strip --strip-unneeded "$root/usr/bin/hogring" "$root"/usr/lib/libhogring.so.0
strip --strip-debug "$root/usr/lib/libhogring.a"
find "$root/usr/share/man" -name '*.[17]' -exec gzip -9n {} +

# The packages of the libraries that the two programs are linked with, and the C library's version.
needed() {
  objdump -p "$root/usr/bin/hogring" "$root/usr/lib/libhogring.so.0" | awk '/NEEDED/ {print $2}' |
    sort -u
}
owner() {
  dpkg -S "*/$1" | sed -n "s/^\([a-z0-9.+-]*\)\(:$architecture\)\?: .*/\1/p" |
    grep -v -e -dev -e -cross -e libc6-i386 | head -n 1
}
glibc=$(objdump -T "$root/usr/bin/hogring" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
depends="libc6 (>= ${glibc#GLIBC_})"
for library in $(needed); do
  name=$(owner "$library")
  [ -n "$name" ] || { echo "deb: no package has $library" >&2; exit 1; }
  case ", $depends, " in *", $name, "* | *", $name ("*) ;; *) depends="$depends, $name" ;; esac
done

mkdir -p "$root/DEBIAN"
echo "activate-noawait ldconfig" >"$root/DEBIAN/triggers"
cat >"$root/DEBIAN/control" <<END
Package: hogring
Version: $version
Architecture: $architecture
Maintainer: the hogring project <hogring@localhost>
Section: science
Priority: optional
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: $depends
Recommends: libopenblas0, gnuplot-nox
Suggests: dataset-fashion-mnist, wamerican
Description: synchronous and asynchronous data-parallel training, compared
 Trains small neural networks with several workers at once, on one machine, and
 shows in numbers how synchronous and asynchronous training differ. A command, a
 library and its headers.
END
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
rm -rf "$folder/unpacked"
dpkg-deb -x "$package" "$folder/unpacked"
sh "$here/smoke.sh" "$folder/unpacked"
echo "$package"
