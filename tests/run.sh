#!/usr/bin/env bash
# Runs test programs, each under a time limit, and closes with "N passed, N failed, N skipped".
#   tests/run.sh [-j N] [-t SECONDS] PROGRAM|FILE.bats ...
# N at a time (1): most wait more than they compute. A program passes with exit 0, is skipped with 77, and fails otherwise;
# one that outlives its time fails: a hang is a bug. So does one of which a sanitizer has said something, though it ended
# well or kept that to itself. The output of a failing program is printed whole. All get the environment of environment.bash.
set -um # -m: what runs beside others hears SIGINT, too
abreast=1 limit=60
while getopts j:t: option; do
  case $option in j) abreast=$OPTARG ;; t) limit=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
passed=0 failed=0 skipped=0 begun=0 running=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
. "${BASH_SOURCE%/*}/environment.bash"
export HOGRING_TUNE="$dir/tune" # what tests measure is not for others
declare -A program output began

begin() {
  local out="$dir/$((++begun))" run=("$1") leaks=
  local said=log_path=$out.report
  # A command that a signal ends joins no threads.
  case $1 in *.bats) run=(bats --tap "$1") leaks=:report_thread_leaks=0 ;; esac
  ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}$said UBSAN_OPTIONS=${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}$said \
    TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}$said$leaks timeout -k 5 "$limit" "${run[@]}" >"$out" 2>&1 </dev/null &
  program[$!]=$1 output[$!]=$out began[$!]=$(date +%s%N) running=$((running + 1))
}

# The next one to end.
end() {
  local pid=0 code=0 out seconds took
  wait -f -n -p pid || code=$?
  running=$((running - 1)) out=${output[$pid]}
  compgen -G "$out.report.*" >/dev/null && { cat "$out".report.* >>"$out"; code="$code, reports"; }
  seconds=$(( ($(date +%s%N) - began[$pid]) / 10000000 ))
  took=$(printf '%d.%02d s' $((seconds / 100)) $((seconds % 100)))
  case $code in
    0) passed=$((passed + 1)); printf '  ok    %-44s %s\n' "${program[$pid]}" "$took" ;;
    77) skipped=$((skipped + 1)); printf '  skip  %-44s %s\n' "${program[$pid]}" "$(tail -n 1 "$out")" ;;
    *) failed=$((failed + 1)); cat "$out"
       [ "$code" = 124 ] && code="no end after $limit s"
       printf '  FAIL  %-44s %s (exit %s)\n' "${program[$pid]}" "$took" "$code" ;;
  esac
  rm -f "$out" "$out".report.*
}

for each in "$@"; do
  [ $running -lt "$abreast" ] || end
  begin "$each"
done
while [ $running -gt 0 ]; do end; done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
