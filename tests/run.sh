#!/usr/bin/env bash
# Runs test programs, each under a time limit, and closes with "N passed, N failed, N skipped": cases, not programs.
#   tests/run.sh [-j N] [-t SECONDS] PROGRAM|FILE.bats ...
# N at a time (1): most wait more than they compute. A program passes with exit 0, and fails otherwise; one that outlives
# its time fails: a hang is a bug. So does one of which a sanitizer has said something, though it ended well or kept that to
# itself. The output of a failing program is printed whole, at once and again at the end. Of cases that are skipped the reason
# is printed (cmocka's: SKIP of support/check.h; bats': skip "why"). All get the environment of environment.bash, and files
# in memory of their own where a file system may be mounted and TMPDIR names no other place: tests write, sync and remove tens
# of thousands of them.
[ -n "${TMPDIR:-}${MOUNTS_OF_ITS_OWN:-}" ] || ! unshare -m mount -t tmpfs none /tmp 2>/dev/null ||
  MOUNTS_OF_ITS_OWN=1 exec unshare -m bash "$0" "$@"
set -um # -m: what runs beside others hears SIGINT, too
abreast=1 limit=60
while getopts j:t: option; do
  case $option in j) abreast=$OPTARG ;; t) limit=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
passed=0 failed=0 skipped=0 begun=0 ended=0 running=0
dir=$(mktemp -d)
[ -z "${MOUNTS_OF_ITS_OWN:-}" ] || { mount -t tmpfs none "$dir" && export TMPDIR=$dir; }
trap '[ -z "${MOUNTS_OF_ITS_OWN:-}" ] || umount -l "$dir"; rm -rf "$dir"' EXIT
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

# What a program says of its cases, in either way: "passed failed", then a line for each one that was skipped, with its reason.
count() {
  awk '/^\[       OK \]/ || (/^ok [0-9]/ && !/ # skip/) { passed++ }
       (/^\[  FAILED  \] [^ ]+$/ && !listed) || /^not ok [0-9]/ { failed++ }
       /^# skip: / { why = substr($0, 9) }
       /^\[  SKIPPED \] [^ ]+$/ && !listed { skipped[++n] = $4 ": " why; why = "" }
       /^\[==========\] .* run\./ { listed = 1 }
       /^\[==========\] Running/ { listed = 0 }
       /^ok [0-9].* # skip/ { sub(/^ok [0-9]+ /, ""); sub(/ # skip */, ": "); skipped[++n] = $0 }
       END { print passed + 0, failed + 0; for (i = 1; i <= n; i++) print skipped[i] }' "$1"
}

# The next one to end.
end() {
  local pid=0 code=0 out seconds took good bad verdict=ok
  wait -f -n -p pid || code=$?
  running=$((running - 1)) ended=$((ended + 1)) out=${output[$pid]}
  # But for a warning of AddressSanitizer's, which cannot be switched off, that a program calls swapcontext.
  cat "$out".report.* 2>/dev/null | grep -v 'support makecontext/swapcontext' >"$out.said"
  [ ! -s "$out.said" ] || { cat "$out.said" >>"$out"; code="$code, reports"; }
  seconds=$(( ($(date +%s%N) - began[$pid]) / 10000000 ))
  took=$(printf '%d.%02d s' $((seconds / 100)) $((seconds % 100)))
  { read -r good bad; mapfile -t why; } < <(count "$out")
  [ "$code" != 77 ] || { code=0 && mapfile -t why < <(sed -n 's/^skipped: /all: /p' "$out"); } # a program that cannot run here
  if [ "$code" != 0 ]; then
    cat "$out"
    verdict=FAIL bad=$((bad ? bad : 1))
    [ "$code" = 124 ] && code="no end after $limit s"
    took="$took (exit $code)"
  fi
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + ${#why[@]}))
  [ $verdict = ok ] || { echo "FAIL ${program[$pid]}: $took" && cat "$out"; } >>"$dir/failed"
  printf '[%*d/%d] %-4s %-50s %4d cases  %s\n' ${#all} $ended "$all" $verdict "${program[$pid]#build/*/tests/}" $((good + bad)) "$took"
  for reason in "${why[@]}"; do printf '%*s skip %s\n' $((2 * ${#all} + 3)) '' "$reason"; done
  rm -f "$out" "$out".said "$out".report.*
}

all=$#
for each in "$@"; do
  [ $running -lt "$abreast" ] || end
  begin "$each"
done
while [ $running -gt 0 ]; do end; done
[ "$all" = 1 ] || cat "$dir/failed" 2>/dev/null
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
