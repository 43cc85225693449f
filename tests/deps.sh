#!/bin/sh
# Installs the Debian packages named that are missing; elsewhere it lists them and goes on.
set -eu
command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || {
  echo "deps: not a Debian system; what is needed, by Debian's names: $*"
  exit 0
}
missing=
for package in "$@"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
as_root=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "deps: please install as root:$missing" >&2; exit 1; }
  as_root=sudo
fi
echo "deps: installing$missing"
install() {
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
install 2>/dev/null || { $as_root apt-get update -qq && install; }
