#!/bin/sh
# Instructions a step of six runs, counted by callgrind: what a step costs beside its arithmetic (softmax of 650 weights), the
# same again to half a percent however busy the machine is.   tests/instructions.sh [HOGRING]
set -eu
hogring=${1:-build/hogring}
export HOGRING_ISA=v3 HOGRING_CPUS=2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# count STEPS OPTIONS...
count() {
  steps=$1
  shift
  valgrind --tool=callgrind --callgrind-out-file="$dir/out" "$hogring" train --model softmax --batch-size 4 --quiet \
    --max-steps "$steps" "$@" >"$dir/said" 2>&1 || { cat "$dir/said" >&2; exit 1; }
  sed -n 's/^totals: \([0-9]*\).*/\1/p' "$dir/out"
}
row() {
  name=$1
  shift
  few=$(count 40 "$@") many=$(count 240 "$@")
  printf '%-44s %8d\n' "$name" $(((many - few) / 200))
}
row "a lone worker" --workers 1
row "allreduce, 4 workers in a drawn order" --workers 4 --clock explore:1
row "allreduce, 4 workers in virtual time" --workers 4 --clock virtual
row "ps-async, 4 workers in a drawn order" --strategy ps-async --workers 4 --clock explore:1
row "ssp, 4 workers in virtual time" --strategy ssp --workers 4 --clock virtual
row "hogwild, 4 workers in a drawn order" --strategy hogwild --workers 4 --clock explore:1
