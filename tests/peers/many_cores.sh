#!/bin/bash
# How cost grows with workers, on a machine of many cores where nothing can be installed: what is measured there is packed here.
#   tests/peers/many_cores.sh pack FOLDER [HOGRING]   a stripped command, its libraries, Fashion-MNIST, PyTorch's peer, this script
#   FOLDER/many_cores.sh run [--quick] [OUT]          there: a row at a time to OUT/rows.tsv [FOLDER/out], the end within LIMIT seconds [470]
#   tests/peers/many_cores.sh counts [HOGRING]        what needs no such machine: instructions a gradient, and plans on paper
# Rows: seconds since the start, cell, what, figure, lowest, highest, unit (or why there is no figure).
set -u
here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C

# --- here: what is carried; never libc, which is that machine's ---

pack() {
  local to=$1 hogring=${2:-build/hogring} library
  mkdir -p "$to/lib" "$to/fashion-mnist" || return 1
  strip -o "$to/hogring" "$hogring" || return 1
  for library in jansson xxhash inih png16 jpeg z; do
    cp -L "$(ldd "$hogring" | awk -v name="lib$library.so" 'index($1, name) == 1 {print $3}')" "$to/lib/" || return 1
  done
  cp "${FASHION_MNIST:-/usr/share/datasets/fashion-mnist}"/*.gz "$to/fashion-mnist/" || return 1
  cp "$here/torch_train.py" "$here/many_cores.sh" "$to/" || return 1
  du -sh "$to"
}

# --- there: cells, each within a time of its own and all within one ---

row() {
  local IFS=$'\t'
  printf '%s\t%s\n' "$SECONDS" "$*" | tee -a "$out/rows.tsv"
}

# within SECONDS COMMAND...: ends with 124 where it, or all of us, took too long.
within() {
  local most=$1 left=$((limit - SECONDS))
  shift
  if [ "$left" -lt 2 ]; then return 124; fi
  timeout -k 1 "$((most < left ? most : left))" "$@"
}

why() {
  if [ "$1" -eq 124 ]; then echo "no figure: out of time"; else echo "no figure: ended with $1: $(tail -n 1 "$out/said" | cut -c 1-120)"; fi
}

facts() {
  row machine kernel "$(uname -r)" - - -
  row machine processor "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" - - -
  row machine processors "$(nproc)" - - "in the affinity mask"
  row machine siblings "$(cat /sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list 2>/dev/null | sort -u | tr '\n' ' ')" - - "threads of a core"
  row machine nodes "$(cat /sys/devices/system/node/node[0-9]*/cpulist 2>/dev/null | tr '\n' ' ')" - - "processors of a memory node"
  row machine quota "$(cat /sys/fs/cgroup/cpu.max 2>/dev/null || echo none)" - - cpu.max
  row machine hogring "$("$here/hogring" --version)" - - "instruction set"
  row machine load "$(cut -d ' ' -f 1-3 /proc/loadavg)" - - "before"
  row machine torch "$(python3 -c 'import torch; print(torch.__version__)' 2>/dev/null || echo none)" - - -
}

# The rows of one bench of training, each as: what, samples/s, slowest round, fastest round.
train() {
  local cell=$1 what=$2 status rate least most
  shift 2
  rm -f "$out/one.json"
  within 10 "$here/hogring" bench train --data fashion-mnist --batch-size 32 --max-seconds "$round" "$@" --json "$out/one.json" >"$out/said" 2>&1
  status=$?
  if [ "$status" -ne 0 ]; then
    row "$cell" "$what" - - - "$(why "$status")"
    return
  fi
  python3 - "$out/one.json" >"$out/figures" <<'PYTHON'
import json, sys
row = json.load(open(sys.argv[1]))["rows"][0]
print(*(round(row[key]) for key in ("samples_per_s", "least_samples_per_s", "most_samples_per_s")))
PYTHON
  read -r rate least most <"$out/figures"
  row "$cell" "$what" "${rate:--}" "${least:--}" "${most:--}" samples/s
}

ddp() {
  local model=$1 workers=$2 steps=$3 status
  within 30 env -u RANK -u WORLD_SIZE python3 "$here/torch_train.py" --mode ddp --model "$model" --workers "$workers" --batch 32 --steps "$steps" \
    --port "$((29500 + workers))" >"$out/one.json" 2>"$out/said"
  status=$?
  if [ "$status" -ne 0 ]; then
    row ddp "$model $workers" - - - "$(why "$status")"
    return
  fi
  row ddp "$model $workers" "$(python3 -c 'import json, sys; print(round(json.loads(sys.stdin.readlines()[-1])["samples_per_s"]))' <"$out/one.json")" - - samples/s
}

# Sizes come one by one, so that those before the end of its time are there.
all_reduce() {
  local ranks=$1 algorithm=$2 sizes=$3 status bytes time low high wrong
  within 12 stdbuf -oL "$here/hogring" bench all_reduce --algorithm "$algorithm" --ranks "$ranks" --sizes "$sizes" >"$out/one" 2>"$out/said"
  status=$?
  if [ "$algorithm" = auto ] && [ -s "$out/one" ]; then row all_reduce "$ranks auto" "$(sed -n 's/^# auto: \(.*\), as .*/\1/p' "$out/one")" - - choice; fi
  awk '$1 ~ /^[0-9]+$/ && NF == 8 {print $1, $3, $4, $5, $8}' "$out/one" | while read -r bytes time low high wrong; do
    row all_reduce "$ranks $algorithm $bytes" "$time" "$low" "$high" "us$([ "$wrong" = 0 ] || echo ", $wrong wrong")"
  done
  if [ "$status" -ne 0 ]; then row all_reduce "$ranks $algorithm" - - - "$(why "$status")"; fi
}

measure() {
  local quick=false cores model strategy workers servers ranks algorithm
  if [ "${1:-}" = --quick ]; then quick=true; shift; fi
  out=${1:-$here/out} limit=${LIMIT:-470} round=0.15
  mkdir -p "$out/home" || return 1
  : >"$out/rows.tsv" || return 1
  # Its own: neither what was measured elsewhere, nor data that are not carried.
  export HOME=$out/home XDG_CACHE_HOME=$out/home FASHION_MNIST=$here/fashion-mnist LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  cores=$(cat /sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list 2>/dev/null | sort -u | wc -l)
  cores=$((cores > 0 && cores < $(nproc) ? cores : $(nproc)))
  local models="mlp cnn resnet8" strategies="allreduce hogwild ps-async ssp local-sgd" widths="1 2 4 8 16" peers="2 8 16" sizes=256:64M
  local algorithms="auto direct one-shot ring bidirectional-ring tree double-tree halving-doubling master-worker hierarchical"
  local shards="1 2 4 8" together="16 8 4 2"
  if $quick; then
    limit=${LIMIT:-90} round=0.03 models=mlp strategies="allreduce ps-async" widths="1 2" peers=2 sizes=256:16K algorithms="auto direct ring" shards="1 2" together=2
  fi
  facts
  for model in $models; do
    for strategy in $strategies; do
      for workers in $widths; do
        if [ "$workers" -le "$cores" ]; then train train "$model $strategy $workers" --model "$model" --strategy "$strategy" --workers "$workers"; fi
      done
    done
  done
  workers=$((cores > 1 ? cores / 2 : 1))
  if $quick; then workers=2; fi
  for servers in $shards; do
    if [ "$servers" -le "$workers" ]; then
      train shards "mlp ps-async $workers, $servers shards" --model mlp --strategy ps-async --workers "$workers" --servers "$servers"
    fi
  done
  if python3 -c 'import torch' 2>/dev/null; then
    for workers in $peers; do
      if [ "$workers" -le "$cores" ]; then
        ddp mlp "$workers" 300
        ddp cnn "$workers" 60
      fi
    done
  else
    row ddp "mlp, cnn" - - - "no figure: python3 has no torch"
  fi
  for ranks in $together; do
    for algorithm in $algorithms; do
      if [ "$ranks" -le "$cores" ]; then all_reduce "$ranks" "$algorithm" "$sizes"; fi
    done
  done
  row machine load "$(cut -d ' ' -f 1-3 /proc/loadavg)" - - "after"
}

# --- counts, the same on any machine ---

# instructions STRATEGY WORKERS: of a worker's gradient, with all that goes with it, in a drawn order of one thread: nobody waits.
# Both numbers of gradients are less than an epoch.
instructions() {
  local few many=0 gradients step=1
  if [ "$1" = allreduce ]; then step=$2; fi
  for gradients in 160 320; do
    few=$many
    valgrind --tool=callgrind --callgrind-out-file="$work/out" "$hogring" train --model softmax --batch-size 4 --quiet --clock explore:1 \
      --strategy "$1" --workers "$2" --max-steps "$((gradients / step))" >"$work/said" 2>&1 || { tail -n 1 "$work/said" >&2; return 1; }
    many=$(sed -n 's/^totals: \([0-9]*\).*/\1/p' "$work/out")
  done
  echo $(((many - few) / 160))
}

counts() {
  local strategy workers
  hogring=${1:-build/hogring}
  export HOGRING_ISA=v3 HOGRING_CPUS=2
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  echo "instructions a gradient of one worker, softmax of 650 weights, batches of 4"
  printf '%-10s %8s %8s %8s %8s %8s\n' workers 1 2 4 8 16
  for strategy in allreduce hogwild ps-async; do
    printf '%-10s' "$strategy"
    for workers in 1 2 4 8 16; do printf ' %8s' "$(instructions "$strategy" "$workers" || echo -)"; done
    echo
  done
  for workers in 2 4 8 16; do
    "$hogring" bench links --topology "star:$workers" --link 16GB/s,1us --bytes 1MB || return 1
  done
}

case "${1:-}" in
  pack | counts) "$@" ;;
  run) shift; measure "$@" ;;
  *) sed -n '2,6s/^# //p' "$0"; exit 2 ;;
esac
