#!/bin/sh
# Does an installed hogring work? smoke.sh, or smoke.sh ROOT of a package that was unpacked there.
set -eu
root=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "smoke: $1" >&2; exit 1; }
hogring() { "$root/usr/bin/hogring" "$@"; }

hogring --version | grep -q '^hogring [0-9]' || fail "hogring --version does not answer"
for workers in 1 2; do
  hogring train --epochs 3 --workers $workers --global-batch-size 64 --reduce repro --quiet \
    --checkpoint-dir "$work/$workers" >"$work/said" || fail "hogring train fails"
  sed -n 's/^weights digest *\([0-9a-f]*\).*/\1/p' "$work/said" >"$work/digest$workers"
done
[ -s "$work/digest1" ] && cmp -s "$work/digest1" "$work/digest2" ||
  fail "1 and 2 workers do not have the same weights"
hogring predict "$work/2" --data digits >"$work/answers" 2>/dev/null
grep -q '^359,' "$work/answers" || fail "the checkpoint does not predict"
[ -e "$root/usr/lib/libhogring.so" ] || fail "no library"
# Small images of Debian leave out documentation.
[ -z "$root" ] || [ -s "$root/usr/share/man/man1/hogring.1.gz" ] || fail "no man page"
example=$root/usr/share/doc/hogring/examples/ring_of_sums.c
if [ -e "$example" ] && command -v cc >/dev/null; then
  cc -I"$root/usr/include" "$example" -o "$work/ring" -L"$root/usr/lib" -lhogring
  LD_LIBRARY_PATH=${root:+$root/usr/lib} "$work/ring" process >"$work/sums" ||
    fail "a program with the library does not run"
  grep -q 'rank 3 of 4: sums 4 and 6' "$work/sums" || fail "a program with the library counts wrong"
fi
echo "smoke: all well"
