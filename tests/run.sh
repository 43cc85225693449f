#!/usr/bin/env bash
# Runs test programs, each under a time limit, and closes with "N passed, N failed, N skipped".
#   tests/run.sh [-t SECONDS] PROGRAM|FILE.bats ...
# A program passes with exit 0, is skipped with 77, and fails otherwise; one that outlives its time
# fails: a hang is a bug. So does one of which a sanitizer has said something, though it ended well or
# kept that to itself. The output of a failing program is printed whole.
set -u
limit=60
[ "${1:-}" = -t ] && { limit=$2; shift 2; }
passed=0 failed=0 skipped=0
out=$(mktemp)
trap 'rm -f "$out" "$out".*' EXIT
export HOGRING_TUNE="$out.tune" # what tests measure is not for others
for tool in ASAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS; do export "$tool=${!tool:+${!tool}:}log_path=$out.report"; done
# A command that a signal ends joins no threads.
signalled=(env "TSAN_OPTIONS=$TSAN_OPTIONS:report_thread_leaks=0")
for program in "$@"; do
  case $program in *.bats) run=("${signalled[@]}" bats --tap "$program") ;; *) run=("$program") ;; esac
  start=$(date +%s%N)
  timeout -k 5 "$limit" "${run[@]}" >"$out" 2>&1
  code=$?
  compgen -G "$out.report.*" >/dev/null && { cat "$out".report.* >>"$out"; rm -f "$out".report.*; code="$code, reports"; }
  seconds=$(( ($(date +%s%N) - start) / 10000000 ))
  took=$(printf '%d.%02d s' $((seconds / 100)) $((seconds % 100)))
  case $code in
    0) passed=$((passed + 1)); printf '  ok    %-44s %s\n' "$program" "$took" ;;
    77) skipped=$((skipped + 1)); printf '  skip  %-44s %s\n' "$program" "$(tail -n 1 "$out")" ;;
    *) failed=$((failed + 1)); cat "$out"
       [ $code = 124 ] && code="no end after $limit s"
       printf '  FAIL  %-44s %s (exit %s)\n' "$program" "$took" "$code" ;;
  esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
