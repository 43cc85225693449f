# Shared by the tests of training on several machines: one bed of four machines a file, over both MPI libraries.
load support

MACHINES="$BATS_TEST_DIRNAME/../machines"

# Where no bed can be, $BED/why says the reason.
setup_file() {
  export BED="$BATS_FILE_TMPDIR"
  python3 "$MACHINES/bed.py" -n 4 sh -c "echo \$HOGRING_BED >$BED/new && mv $BED/new $BED/name && exec sleep 3600" \
    >"$BED/why" 2>&1 </dev/null 3>&- &
  export BED_PID=$!
  until [ -s "$BED/name" ] || ! kill -0 $BED_PID 2>/dev/null; do sleep 0.02; done
}
# The kernel ends all that is left in it.
teardown_file() { kill $BED_PID 2>/dev/null || true; }

# What outlives its time holds the streams that `run` reads: the bed ends it.
in_time() {
  local code=0
  timeout 250 "$@" || code=$?
  [ $code -ne 124 ] || kill $BED_PID
  return $code
}

# start_on LIBRARY MACHINES COMMAND...: one process per machine, by that library's mpirun; $output is both streams.
start_on() {
  local library=$1 machines=$2
  shift 2
  command -v "mpirun.$library" >/dev/null || skip "$library is not installed"
  [ -x "${HOGRING:-build/hogring}-$library" ] || skip "${HOGRING:-build/hogring}-$library is not built (MPI=)"
  [ -s "$BED/name" ] || skip "$(cat "$BED/why")"
  run in_time python3 "$MACHINES/bed.py" -b "$(cat "$BED/name")" -n "$machines" -m "$library" "$@"
}

# several LIBRARY MACHINES OPTIONS...: hogring train there. Under a sanitizer leaks are the library's.
several() {
  local library=$1 machines=$2
  shift 2
  start_on $library $machines env ASAN_OPTIONS=detect_leaks=0 "${PROGRAM:-${HOGRING:-build/hogring}-$library}" train --details "$@"
}

digest_of() {
  grep "^weights digest" <<<"$1"
}

# same_bits LIBRARY MACHINES OPTIONS...: on one machine and on several.
same_bits() {
  local library=$1 machines=$2 alone
  shift 2
  run hogring train --quiet "$@"
  alone=$(digest_of "$output")
  several $library $machines --quiet "$@"
  [ "$status" -eq 0 ] && [ "$(digest_of "$output")" = "$alone" ] || { echo "$library: $*: $output"; return 1; }
}
