#!/bin/sh
# Runs fuzzers, each FUZZ_SECONDS (60) over a copy of its corpus; a report ends with exit 1, and its
# input is left in the folder of the program.
#   tests/fuzz/run.sh PROGRAM ...
failed=0
for program; do
  name=${program##*/fuzz_}
  corpus=$(mktemp -d)
  if "$program" -max_total_time="${FUZZ_SECONDS:-60}" -rss_limit_mb=2048 -timeout=10 -artifact_prefix="${program}-" -max_len=16384 \
      -verbosity=0 -print_final_stats=1 "$corpus" "tests/fuzz/corpus/$name" >"$corpus.log" 2>&1
  then printf '  ok    %-12s %s inputs, nothing found\n' "$name" "$(sed -n 's/stat::number_of_executed_units: *//p' "$corpus.log")"
  else tail -n 40 "$corpus.log"; printf '  FAIL  %s\n' "$name"; failed=1
  fi
  rm -rf "$corpus" "$corpus.log"
done
exit $failed
