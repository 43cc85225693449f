#!/bin/sh
# Files mean the same on arm64: unit tests of formats under qemu-user, and files written by one machine
# read by the other. Skipped with a line where a tool is not there, or its libraries cannot be had.
# qemu on x86 shows nothing of weak memory order: that is tests/model.
#   tests/arm64.sh              (make arm64)
cd "$(dirname "$0")/.." || exit 1
root=$PWD/build/arm64-root
skip() { echo "arm64: skipped, $1"; exit 0; }
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || skip "qemu-aarch64 (qemu-user-static) is not installed"
command -v aarch64-linux-gnu-gcc >/dev/null || skip "aarch64-linux-gnu-gcc (gcc-aarch64-linux-gnu) is not installed"

# Debian's libraries for arm64, unpacked into the build folder; nothing on this machine changes.
fetch() {
  mkdir -p "$root/apt/lists/partial" "$root/cache/archives/partial" "$root/debs" && : >"$root/apt/status"
  set -- -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$root/apt" -o Dir::State::status="$root/apt/status" \
    -o Dir::Cache="$root/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none
  apt-get "$@" update && (cd "$root/debs" && apt-get "$@" download libjansson-dev libjansson4 libxxhash-dev libxxhash0 libinih-dev libinih1 libpng-dev libpng16-16 libjpeg62-turbo-dev libjpeg62-turbo \
    zlib1g-dev zlib1g libcmocka-dev libcmocka0) && for deb in "$root"/debs/*.deb; do dpkg -x "$deb" "$root" || return 1; done && touch "$root/whole"
}
if [ ! -e "$root/whole" ]; then
  command -v dpkg >/dev/null || skip "this is no Debian: its libraries for arm64 cannot be had"
  fetch >"$PWD/build/arm64-fetch.log" 2>&1 || skip "Debian's libraries for arm64 cannot be had: build/arm64-fetch.log"
fi

# Not formats/test_idx: it weighs this process, which is qemu.
lib=$root/usr/lib/aarch64-linux-gnu
units=$(for unit in checkpoint/test_checkpoint checkpoint/test_safetensors checkpoint/test_safetensors_attacks checkpoint/test_steps checkpoint/test_claim \
  checkpoint/test_power_cut formats/test_npy formats/test_csv formats/test_libsvm formats/test_packed formats/test_dataset \
  trace/test_trace trace/test_trace_attacks base/test_philox base/test_file; do [ -e "tests/unit/$unit.c" ] && echo "build/arm64/tests/unit/$unit"; done)
# shellcheck disable=SC2086
PKG_CONFIG_LIBDIR=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root ${MAKE:-make} --no-print-directory CONFIG=arm64 BLAS=naive \
  CC="${CCACHE-} aarch64-linux-gnu-gcc" AR=aarch64-linux-gnu-ar LDFLAGS="-L$lib -Wl,-rpath-link,$lib" \
  CFLAGS="-g -I$root/usr/include -I$root/usr/include/aarch64-linux-gnu -w" build/arm64/hogring $units || exit 1

failed=0 passed=0
arm64() { "$qemu" -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$lib:$root/lib/aarch64-linux-gnu" "$@"; }
check() { # name, command ...
  name=$1; shift
  if "$@" >build/arm64-test.log 2>&1; then passed=$((passed + 1)); printf '  ok    %s\n' "$name"
  else failed=$((failed + 1)); cat build/arm64-test.log; printf '  FAIL  %s\n' "$name"; fi
}
for unit in $units; do check "$unit" arm64 "$unit"; done

# Written here, read there, and back: a step saved by one is the start of the other's.
here() { build/hogring "$@"; }
there() { arm64 build/arm64/hogring "$@"; }
t=$(mktemp -d) && trap 'rm -rf "$t"' EXIT
train() { "$1" train --data digits --workers 1 --kernels reference --max-steps "$2" --checkpoint-dir "$3" --quiet ${4:+--resume}; }
same() { cmp "$1/latest/$3" "$2/latest/$3"; }
for who in here there; do
  other=$([ $who = here ] && echo there || echo here)
  check "$who trains" train $who 5 "$t/$who"
  check "$other inspects what $who has saved" $other inspect "$t/$who/latest"
  check "$other goes on from it" train $other 9 "$t/$who" resume
  check "$who inspects that" $who inspect "$t/$who/latest"
  check "$who packs the digits" $who data pack digits --out "$t/$who.hrd"
  check "$other verifies them" $other data verify "$t/$who.hrd"
  check "$who records a run" $who train --data digits --workers 1 --kernels reference --max-steps 5 --record "$t/$who.trace" --quiet
  check "$other inspects its trace" $other inspect "$t/$who.trace"
done
check "packed data are the same" cmp "$t/here.hrd" "$t/there.hrd"
echo "arm64: $passed passed, $failed failed"
[ $failed = 0 ]
