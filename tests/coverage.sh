#!/bin/sh
# Which branches of what must not be wrong the unit tests take: tests/coverage.sh build/coverage   (make coverage)
# Lines of HR_ASSERT are left out: a branch there is a caller's mistake, and ends the process.
cd "$(dirname "$0")/.." || exit 1
ring='src/comm/shm/ring.*'
checkpoint='src/data/checkpoint/.*|src/base/(file|json)\.c'
parsers='src/data/formats/.*|src/data/(gzip_stream|label_number|labels|look|table|bytes|class_list)\.c|src/comm/netsim/(topology|delay|inject)\.c|src/options/(command_line|metric)\.c|src/comm/trace/trace_read\.c|src/base/parse\.c|src/train/drive/trace_text\.c|src/nn/model_text\.c'
for part in ring checkpoint parsers; do
  eval "filter=\$$part"
  gcovr --root . --object-directory "$1" -j 2 --gcov-ignore-parse-errors --branches --exclude-unreachable-branches \
    --exclude-branches-by-pattern '.*HR_ASSERT.*' --filter "($filter)" "$1" >"$1/$part.txt" 2>"$1/gcovr.log" || { cat "$1/gcovr.log"; exit 1; }
  printf '%-11s %s\n' "$part" "$(grep '^TOTAL' "$1/$part.txt" | awk '{print $4 " of branches, " $3 " of " $2}')"
done
echo "files and lines: $1/{ring,checkpoint,parsers}.txt"
