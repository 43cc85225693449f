#!/bin/sh
# arm64, built whole and run under qemu-user: unit tests of formats, kernels, tiles, products and nn; files written by one machine
# and read by the other; weights that are this machine's, with the reference kernels and with the fast ones. On two
# busy processors it takes the better part of an hour. Speed is no question for an emulator: tests/peers/mca.py estimates that. Skipped with a line where a tool is not there, or its libraries cannot be had.
# qemu on x86 shows nothing of weak memory order: that is tests/model.
#   tests/arm64.sh              (make arm64)
cd "$(dirname "$0")/.." || exit 1
root=$PWD/build/arm64-root
lib=$root/usr/lib/aarch64-linux-gnu
skip() { echo "arm64: skipped, $1"; exit 0; }
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || skip "qemu-aarch64 (qemu-user-static) is not installed"
command -v aarch64-linux-gnu-gcc >/dev/null || skip "aarch64-linux-gnu-gcc (gcc-aarch64-linux-gnu) is not installed"

# Debian's libraries for arm64, unpacked into the build folder; nothing on this machine changes.
fetch() {
  mkdir -p "$root/apt/lists/partial" "$root/cache/archives/partial" "$root/debs" && : >"$root/apt/status"
  set -- -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$root/apt" -o Dir::State::status="$root/apt/status" \
    -o Dir::Cache="$root/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none
  apt-get "$@" update && (cd "$root/debs" && apt-get "$@" download libjansson-dev libjansson4 libxxhash-dev libxxhash0 libinih-dev libinih1 libpng-dev libpng16-16 libjpeg62-turbo-dev libjpeg62-turbo \
    zlib1g-dev zlib1g libcmocka-dev libcmocka0 libopenblas0-pthread libgfortran5) && for deb in "$root"/debs/*.deb; do dpkg -x "$deb" "$root" || return 1; done && touch "$root/complete"
}
if [ ! -e "$root/complete" ]; then
  command -v dpkg >/dev/null || skip "this is no Debian: its libraries for arm64 cannot be had"
  fetch >"$PWD/build/arm64-fetch.log" 2>&1 || skip "Debian's libraries for arm64 cannot be had: build/arm64-fetch.log"
fi

# Not formats/test_idx: it weighs this process, which is qemu; nor products' tests of OpenBLAS's memory and threads, of speed, and
# (half an hour) of bfloat16, which is plain C here.
units=$(for unit in checkpoint/test_checkpoint checkpoint/test_safetensors checkpoint/test_safetensors_attacks checkpoint/test_steps checkpoint/test_claim \
  checkpoint/test_power_cut formats/test_npy formats/test_csv formats/test_libsvm formats/test_packed formats/test_dataset \
  trace/test_trace trace/test_trace_attacks base/test_philox base/test_file base/test_vec data/test_gather \
  products/test_gemm products/test_product; do [ -e "tests/unit/$unit.c" ] && echo "build/arm64/tests/unit/$unit"; done
  for unit in tests/unit/kernels/test_*.c tests/unit/tiles/test_*.c tests/unit/nn/test_*.c tests/unit/optim/test_*.c; do echo "build/arm64/${unit%.c}"; done)
# shellcheck disable=SC2086
PKG_CONFIG_LIBDIR=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root ${MAKE:-make} --no-print-directory CONFIG=arm64 \
  CC="${CCACHE-} aarch64-linux-gnu-gcc" AR=aarch64-linux-gnu-ar LDFLAGS="-L$lib -Wl,-rpath-link,$lib:$root/lib/aarch64-linux-gnu" \
  CFLAGS="-g -I$root/usr/include -I$root/usr/include/aarch64-linux-gnu $(pkg-config --cflags openblas) -w" build/arm64/hogring $units || exit 1

failed=0 passed=0
cat >build/arm64/run <<END
#!/bin/sh
exec "$qemu" -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$lib:$root/lib/aarch64-linux-gnu:$lib/openblas-pthread" "\$@"
END
printf '#!/bin/sh\nexec "%s/build/arm64/run" "%s/build/arm64/hogring" "$@"\n' "$PWD" "$PWD" >build/arm64/there
chmod +x build/arm64/run build/arm64/there
check() { # name, command ...
  name=$1; shift
  if "$@" >build/arm64-test.log 2>&1; then passed=$((passed + 1)); printf '  ok    %s\n' "$name"
  else failed=$((failed + 1)); cat build/arm64-test.log; printf '  FAIL  %s\n' "$name"; fi
}
for unit in $units; do check "$unit" build/arm64/run "$unit"; done

# Written here, read there, and back: a step saved by one is the start of the other's.
here() { build/hogring "$@"; }
there() { build/arm64/there "$@"; }
t=$(mktemp -d) && trap 'rm -rf "$t"' EXIT
train() { "$1" train --data digits --workers 1 --kernels reference --max-steps "$2" --checkpoint-dir "$3" --quiet ${4:+--resume}; }
# The fast kernels fuse on both, where this one has AVX2.
digest() { "$@" --data digits --workers 2 --max-steps 20 --quiet --json "$t/json" && grep -o '"weights_digest": "[0-9a-f]*"' "$t/json" >"$t/$1.digest"; }
same_digest() { rm -f "$t/json"; digest here train "$@" && rm -f "$t/json" && digest there train "$@" && cmp "$t/here.digest" "$t/there.digest"; }
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
for how in "--kernels reference" "--kernels fast" "--kernels fast --model cnn" "--kernels reference --precision bf16"; do
  case $how$(here --version) in *fast*tiles* | *reference*) ;; *) continue ;; esac
  # shellcheck disable=SC2086
  check "both machines get the same weights, $how" same_digest $how
done
HOGRING=$PWD/build/arm64/there
export HOGRING
command -v bats >/dev/null && check "digests that are promised, a quarter of them" bats -f "first quarter" tests/cli/known_digests.bats
echo "arm64: $passed passed, $failed failed"
[ $failed = 0 ]
