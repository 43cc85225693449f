# make install, and a program that knows nothing of this repository but what pkg-config says.
load support

# With the compiler and build of this run: under a sanitizer the library needs the sanitizer's. Once a file.
setup_file() {
  cd "$BATS_TEST_DIRNAME/../.."
  case ${HOGRING:-build/hogring} in build/hogring) ;; *) return ;; esac
  make -s install DESTDIR="$BATS_FILE_TMPDIR/root" PREFIX=/opt/hogring >"$BATS_FILE_TMPDIR/out" 2>&1 || { cat "$BATS_FILE_TMPDIR/out"; return 1; }
}

release_only() { case ${HOGRING:-build/hogring} in build/hogring) ;; *) skip "the release build only" ;; esac; }
# installed_at ROOT: names them to pkg-config and to the test.
installed_at() {
  root=$1/opt/hogring
  export PKG_CONFIG_PATH=$root/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$1
}
# What all tests of this file read.
install_here() { release_only; installed_at "$BATS_FILE_TMPDIR/root"; }
# One that a test may take from.
install_own() {
  release_only
  cp -a "$BATS_FILE_TMPDIR/root" "$TMP/root"
  installed_at "$TMP/root"
}

# said PROGRAM LAUNCH: all ranks say their sums, and the ring its own; nothing is lost, or said twice.
said() {
  "$@" | sort >"$TMP/said"
  echo "four ranks, each a $2" >"$TMP/wanted"
  printf 'rank %d of 4: sums 4 and 6\n' 0 1 2 3 >>"$TMP/wanted"
  echo 'round the ring: 6' >>"$TMP/wanted"
  diff "$TMP/wanted" "$TMP/said"
}

@test "the example links with the shared library, as threads and as processes" {
  install_here
  # shellcheck disable=SC2046
  cc tests/examples/ring_of_sums.c -o "$TMP/ring" $(pkg-config --cflags --libs hogring)
  export LD_LIBRARY_PATH=$root/lib
  ldd "$TMP/ring" | grep -q "libhogring.so.0 => $root/lib"
  said "$TMP/ring" thread
  said "$TMP/ring" process
}

@test "the example links with the static library" {
  install_own
  rm "$root"/lib/libhogring.so*
  # shellcheck disable=SC2046
  cc tests/examples/ring_of_sums.c -o "$TMP/ring" $(pkg-config --cflags --libs --static hogring)
  said "$TMP/ring" thread
  said "$TMP/ring" process
}

# own STRATEGY LAUNCH WORKERS: sgd written by hand has the bits of the library's.
own() {
  "$TMP/own" "$@" >"$TMP/said" || { cat "$TMP/said"; return 1; }
  grep -q "^own:heavy-ball test accuracy" "$TMP/said"
  grep -q "^own:sign " "$TMP/said"
  grep -qx "heavy-ball and sgd agree to the bit" "$TMP/said"
}

@test "the example of an update rule gives sgd's bits where they follow from the options" {
  install_here
  # shellcheck disable=SC2046
  cc tests/examples/own_update_rule.c -ffp-contract=off -o "$TMP/own" $(pkg-config --cflags --libs hogring)
  export LD_LIBRARY_PATH=$root/lib
  own allreduce thread 3
  own allreduce process 2
  own ps-sync thread 3
  own ps-sync process 2
  own ps-async thread 1
  own hogwild thread 1
  own hogwild process 1
}

@test "the program of the store fits its line" {
  install_here
  # shellcheck disable=SC2046
  cc -Wall -Wextra -Werror "$root/share/doc/hogring/examples/store_line.c" -o "$TMP/line" $(pkg-config --cflags --libs hogring)
  [ "$(LD_LIBRARY_PATH=$root/lib "$TMP/line")" = "y = 2.00 x + 1.00" ]
}

# weights_of DATA WORKERS: of the run that the examples write by hand.
weights_of() {
  hogring train --data "$1" --model "flatten, dense 32, relu, dense 10" --epochs 5 --strategy allreduce --workers "$2" \
    --global-batch-size 32 --json "$TMP/run.json" --quiet >"$TMP/out"
  json "$TMP/run.json" 'd["runs"][0]["weights_digest"]'
}

@test "a training loop by hand has the bits of hogring train, as threads and as processes" {
  install_here
  # shellcheck disable=SC2046
  cc -Wall -Wextra -Werror tests/examples/train_together.c -o "$TMP/together" $(pkg-config --cflags --libs hogring)
  export LD_LIBRARY_PATH=$root/lib
  for ranks in 1 2 3; do
    digest=$(weights_of digits $ranks)
    [ ${#digest} = 32 ]
    for launch in thread process; do
      "$TMP/together" $ranks $launch >"$TMP/said"
      grep -q "^test accuracy 9[0-9].*weights $digest$" "$TMP/said" || { cat "$TMP/said"; return 1; }
    done
  done
}

@test "a loss of one's own is trained in C++" {
  command -v c++ >/dev/null || skip "no C++ compiler"
  install_here
  # shellcheck disable=SC2046
  c++ -Wall -Wextra -Werror tests/examples/own_loss.cpp -o "$TMP/own_loss" $(pkg-config --cflags --libs hogring)
  LD_LIBRARY_PATH=$root/lib "$TMP/own_loss" | tee "$TMP/said"
  grep -q "^epoch 15: mean squared error 0.01" "$TMP/said"
}

@test "NumPy arrays are the parameters, and training by hand has the bits of hogring train" {
  python=${PYTHON:-python3}
  "$python" -c 'import numpy' 2>/dev/null || skip "no NumPy (PYTHON= names another Python)"
  install_here
  mkdir "$TMP/digits"
  "$python" tests/support/digits_npy.py "$TMP/digits"
  for ranks in 1 3; do
    digest=$(weights_of "$TMP/digits" $ranks)
    LD_LIBRARY_PATH=$root/lib "$python" tests/examples/train_numpy.py "$TMP/digits" $ranks >"$TMP/said"
    grep -q "^test accuracy 9[0-9].*weights $digest$" "$TMP/said" || { cat "$TMP/said"; return 1; }
    grep -q "^first layer (32, 64)" "$TMP/said"
  done
}

# with_header SED: the digest of a run by a program that was compiled with another train.h.
with_header() {
  mkdir -p "$TMP/other"
  sed "$1" "$root/include/hogring/train.h" >"$TMP/other/train.h"
  ! cmp -s "$TMP/other/train.h" "$root/include/hogring/train.h" || return 1
  cp -r "$root/include/hogring" "$TMP/other/hogring"
  mv "$TMP/other/train.h" "$TMP/other/hogring/train.h"
  # shellcheck disable=SC2046
  cc -Wall -Wextra -Werror -I"$TMP/other" tests/examples/own_update_rule.c -ffp-contract=off -o "$TMP/own" $(pkg-config --libs hogring)
  rm -r "$TMP/other"
  own allreduce thread 2
  sed 's/.*weights //;q' "$TMP/said"
}

@test "programs compiled with fewer or more options than the library has train with it" {
  install_here
  export LD_LIBRARY_PATH=$root/lib
  with_header '1s/$/ /' >"$TMP/same"
  with_header '/ note\[256\]/d; / hot_copies;/d' >"$TMP/fewer"
  with_header 's/^    char note\[256\];/& size_t newer[9];/' >"$TMP/more"
  grep -qx '[0-9a-f]\{32\}' "$TMP/same"
  cmp "$TMP/same" "$TMP/fewer"
  cmp "$TMP/same" "$TMP/more"
}

@test "every example is installed, and has a test here" {
  install_here
  for program in tests/examples/*; do
    cmp "$program" "$root/share/doc/hogring/examples/${program##*/}"
    grep -q "examples/${program##*/}" tests/cli/install.bats
  done
}

@test "a C++ program includes the header and links" {
  command -v c++ >/dev/null || skip "no C++ compiler"
  install_here
  printf '#include <hogring/hogring.h>\nint main() { return hr_status_str(HR_OK)[0] != %s; }\n' "'o'" >"$TMP/plus.cpp"
  # shellcheck disable=SC2046
  c++ -Wall -Wextra -Werror "$TMP/plus.cpp" -o "$TMP/plus" $(pkg-config --cflags --libs hogring)
  LD_LIBRARY_PATH=$root/lib "$TMP/plus"
}

@test "any two public headers go together, in either order" {
  cd include/hogring
  for a in *.h; do
    for b in *.h; do printf '#include <hogring/%s>\n#include <hogring/%s>\n' $a $b >"$TMP/$a-$b.c"; done
  done
  cd "$BATS_TEST_DIRNAME/../.."
  printf '%s\n' "$TMP"/*.h-*.c | xargs -n 16 "${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only
}

@test "the shared library shows what the headers declare, and nothing else" {
  install_here
  nm -D --defined-only "$root/lib/libhogring.so" | awk '$2 != "A" {print $3}' | sort >"$TMP/versions"
  [ -z "$(grep -v '@@HOGRING_0$' "$TMP/versions")" ]
  sed 's/@@.*//' "$TMP/versions" >"$TMP/shown"
  grep -qx hr_all_reduce "$TMP/shown"
  grep -qx hr_train "$TMP/shown"
  [ -z "$(grep -vx 'hr_[a-z0-9_]*' "$TMP/shown")" ]
  cat include/hogring/*.h | grep -ow 'hr_[a-z0-9_]*' | sort -u >"$TMP/declared"
  [ -z "$(comm -23 "$TMP/shown" "$TMP/declared" | tee "$TMP/more")" ] || { echo "in no header: $(cat "$TMP/more")"; return 1; }
}

@test "the installed command runs" {
  install_here
  "$root/bin/hogring" --version
}

@test "uninstall leaves no file behind" {
  install_own
  make -s uninstall DESTDIR="$TMP/root" PREFIX=/opt/hogring
  [ -z "$(find "$TMP/root" ! -type d)" ]
  [ ! -d "$root/include/hogring" ]
}

@test "install brings man pages, and uninstall takes them away" {
  install_here
  for page in man1/hogring.1 man1/hogring-train.1 man7/hogring-json.7; do [ -s "$root/share/man/$page" ]; done
  if command -v man >/dev/null; then man -M "$root/share/man" hogring-train | grep -q -- "--strategy"; fi
  [ "$(find "$root/share/man" -type f | wc -l)" = "$(hogring help --man | wc -l)" ]
}

@test "bash finds the completion" {
  install_here
  bash -c 'source "$1"; complete -p hogring' - "$root/share/bash-completion/completions/hogring"
}

@test "install ends with what the loader needs" {
  release_only
  make -s install PREFIX="$TMP/here" >"$TMP/out" 2>&1 || { cat "$TMP/out"; return 1; }
  [ "$(tail -n 1 "$TMP/out")" = "installed; programs with libhogring.so need LD_LIBRARY_PATH=$TMP/here/lib" ]
  if grep -q "LD_LIBRARY_PATH\|ldconfig" "$BATS_FILE_TMPDIR/out"; then return 1; fi
}
