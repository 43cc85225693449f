#!/bin/sh
# What it costs that every call is said, recorded and compared: the bench of a usual build beside one
# compiled without (HR_NO_SAFETY), in turn, medians over ROUNDS; and, where valgrind is installed,
# instructions an operation, which do not vary (one rank alone: all but the waiting and comparing).
#   make safety-cost
set -u
with=$1 without=$2 rounds=${ROUNDS:-9}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
median() { sort -g "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
once() { "$1" bench all_reduce --algorithm "$3" --sizes "$2:$2" --launch thread 2>/dev/null | awk 'END {print $6}'; }

printf '%10s %-10s %12s %12s %12s\n' bytes algorithm "with (us)" "without (us)" difference
for cell in "4 one-shot" "4 direct" "4K direct" "64K direct" "64K ring"; do
  set -- $cell
  for round in $(seq "$rounds"); do
    once "$with" "$1" "$2" >>"$out/with-$1-$2"
    once "$without" "$1" "$2" >>"$out/without-$1-$2"
  done
  awk -v b="$1" -v a="$2" -v w="$(median "$out/with-$1-$2")" -v o="$(median "$out/without-$1-$2")" \
    'BEGIN {printf "%10s %-10s %12.3f %12.3f %9.0f ns (%.1f %%)\n", b, a, w, o, 1000 * (w - o), 100 * (w - o) / o}'
done

command -v valgrind >/dev/null || { echo "instructions: skipped, valgrind is not installed"; exit 0; }
# Twice the operations less once leaves the operations.
count() {
  valgrind --tool=none true >/dev/null 2>&1
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='hr_all_reduce' "$1" \
    bench all_reduce --algorithm one-shot --ranks 1 --sizes 4:4 2>&1 | awk '/Collected/ {print $4}'
}
w=$(count "$with") o=$(count "$without")
# 2000 timed and 20 to warm up.
awk -v w="$w" -v o="$o" 'BEGIN {printf "instructions an all_reduce of 4 bytes: %.0f with, %.0f without, %.0f more\n", w / 2020, o / 2020, (w - o) / 2020}'
