#!/bin/sh
# hogring beside PyTorch and Open MPI on this machine, in one run: rounds of all contenders in turn, the
# median of each, and the ratio of the medians. What is not installed is skipped, and said so.
#   make peers            ROUNDS=5 by default; an idle machine gives the only figures worth quoting
set -u
rounds=${ROUNDS:-5}
here=$(dirname "$0")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
python=$(for p in /usr/bin/python3 python3; do "$p" -c 'import torch' 2>/dev/null && echo "$p" && break; done)

median() { sort -g "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
# ratio LABEL OURS THEIRS: medians of two files, higher is better
ratio() {
  awk -v l="$1" -v a="$(median "$2")" -v b="$(median "$3")" 'BEGIN {printf "  %-34s %12.1f %12.1f %8.2fx\n", l, a, b, a / b}'
}

echo "training: mlp on Fashion-MNIST, 2 workers, batch 64 a worker, samples/s (median of $rounds rounds)"
if [ -n "$python" ]; then
  printf '  %-34s %12s %12s %9s\n' contest hogring PyTorch ratio
  for round in $(seq "$rounds"); do
    for strategy in allreduce hogwild; do
      build/hogring train --quiet --data fashion-mnist --strategy $strategy --workers 2 --batch-size 64 --lr 0.02 \
        --epochs 2 --json - 2>/dev/null | "$python" -c 'import json, sys; print(json.load(sys.stdin)["runs"][0]["samples_per_s"])' >>"$out/$strategy"
    done
    for mode in ddp hogwild; do
      "$python" "$here/torch_train.py" --mode $mode --model mlp --workers 2 --batch 64 --lr 0.02 --epochs 2 2>/dev/null |
        "$python" -c 'import json, sys; print(json.load(sys.stdin)["samples_per_s"])' >>"$out/torch-$mode"
    done
  done
  ratio "allreduce : DDP (gloo)" "$out/allreduce" "$out/torch-ddp"
  ratio "hogwild : Hogwild" "$out/hogwild" "$out/torch-hogwild"
else
  echo "  skipped: no python3 with torch (Debian: python3-torch)"
fi

echo "all-reduce: 2 ranks, float sum in place, the same loop, us (median of $rounds rounds)"
if command -v mpicc >/dev/null && command -v mpirun >/dev/null; then
  mpicc -O3 "$here/mpi_allreduce.c" -o "$out/mpi_allreduce" || exit 1
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  for round in $(seq "$rounds"); do
    mpirun -n 2 --bind-to core "$out/mpi_allreduce" 16777216 2>/dev/null | while read -r bytes us rest; do
      echo "$us" >>"$out/mpi-$bytes"
      build/hogring bench allreduce --sizes "$bytes:$bytes" --quiet | awk 'END {print $6}' >>"$out/ours-$bytes"
    done
  done
  printf '  %-34s %12s %12s %9s\n' "bytes" hogring "Open MPI" "MPI / us"
  for file in $(ls "$out"/mpi-* | sort -t- -k2 -g); do
    bytes=${file##*-}
    awk -v l="$bytes" -v a="$(median "$out/ours-$bytes")" -v b="$(median "$file")" \
      'BEGIN {printf "  %-34s %12.2f %12.2f %8.2fx\n", l, a, b, b / a}'
  done
else
  echo "  skipped: no mpicc and mpirun (Debian: libopenmpi-dev openmpi-bin)"
fi
