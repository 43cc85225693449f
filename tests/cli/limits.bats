#!/usr/bin/env bats
# No limit makes a command hang: every command under several, with a timeout that must never strike.
load support
load commands

setup() {
  case ${HOGRING:-} in *asan*|*tsan*) skip "a sanitizer takes addresses of its own" ;; esac
  cd "$BATS_TEST_DIRNAME/../.."; TMP=$(mktemp -d)
}

# under LIMIT VALUE [BEFORE...]: every command with that ulimit, each behind the words BEFORE.
under() {
  local limit=$1 value=$2 words code
  shift 2
  while read -r -a words; do
    rm -rf "$TMP"/out.*
    code=0
    timeout -s KILL $patience "$@" bash -c "ulimit $limit $value; exec \"\$@\"" -- "${HOGRING:-build/hogring}" "${words[@]}" \
      >"$TMP/said" 2>&1 </dev/null || code=$?
    ended $code "ulimit $limit $value; hogring ${words[*]}" || return 1
  done < <(commands)
}

@test "no command hangs where addresses are few" {
  make_inputs
  for kib in 12000 ${HOGRING_LONG:+60000} 100000 ${HOGRING_LONG:+250000} 500000; do under -v $kib || return 1; done
}

@test "no command hangs where files are few or small" {
  make_inputs
  for n in 3 ${HOGRING_LONG:+5} 9; do under -n $n || return 1; done
  under -f 0
  under -f 8
}

@test "no command hangs where processes and threads are few" {
  make_inputs
  [ "$(id -u)" = 0 ] || { under -u 1; return; }
  command -v setpriv >/dev/null || skip "root has no such limit, and setpriv is missing"
  cp "${HOGRING:-build/hogring}" "$TMP/hogring"
  chmod -R a+rwX "$TMP"
  HOGRING=$TMP/hogring under -u 1 setpriv --reuid 65534 --clear-groups
}

@test "what OpenBLAS cannot have ends the run, and takes no other kernels" {
  hogring train "${quick[@]}" --kernels reference >"$TMP/said"
  digest=$(awk '/digest/ {print $3}' "$TMP/said")
  for kib in 60000 100000 250000; do
    code=0
    timeout -s KILL $patience bash -c "ulimit -v $kib; exec \"\$@\"" -- "${HOGRING:-build/hogring}" train "${quick[@]}" --kernels openblas \
      >"$TMP/said" 2>&1 || code=$?
    [ $code = 3 ] || [ $code = 1 ] || [ $code = 0 ]
    [ -n "$digest" ]
    ! grep -q "$digest" "$TMP/said" || return 1
  done
}

@test "64 workers that multiply at once have the weights of 64 processes; more are refused" {
  for launch in thread process; do
    timeout -s KILL $patience "${HOGRING:-build/hogring}" train --data digits --workers 64 --batch-size 8 --max-steps 4 --launch $launch --quiet >"$TMP/$launch"
  done
  [ "$(grep digest "$TMP/thread")" = "$(grep digest "$TMP/process")" ]
  for n in 65 129; do refused 2 "--workers $n: expected 1 to 64" train --data digits --workers $n; done
}

@test "a stack that is too small is refused, and at the least that is asked for all goes well" {
  case ${HOGRING:-build/hogring} in build/hogring) ;; *) skip "the release build only" ;; esac
  for how in "--model mlp" "--model cnn --launch process"; do
    (ulimit -s 128; refused 2 "the stack may have 128 KiB here (ulimit -s); expected at least 512" train $how --max-steps 3) || return 1
    (ulimit -s 512; hogring train $how --max-steps 3 --workers 2 --quiet >/dev/null) || return 1
  done
  (ulimit -s 512; hogring train --strategy ps-async --max-steps 60 --workers 2 --record "$TMP/t" --quiet >/dev/null
    hogring replay "$TMP/t" --what-if staleness=1 --quiet >/dev/null; hogring verify --seconds 0 >/dev/null
    hogring compare --model mlp --max-steps 3 --seeds 2 --concurrent >/dev/null 2>&1)
  (ulimit -s 128; hogring --version >/dev/null)
}
