#!/usr/bin/env bats
# --compress: each strategy with each compressor works, or is refused with the reason.
load support

HOWS="bf16 fp16 int8 topk:1% powersgd:2"

digest() { json "$1" 'd["runs"][0]["weights_digest"]'; }
# The digest, and what was sent.
sent() { json "$1" 'd["runs"][0]["weights_digest"], d["runs"][0]["bytes"]'; }

# together FOLDER: are its last checkpoint's 4 replicas within 3 % of their mean?
together() {
  python3 - "$1" <<'EOF'
import array, glob, json, sys
path = sorted(glob.glob(sys.argv[1] + "/*/trainer.safetensors"))[-1]
with open(path, "rb") as file:
    head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    data = file.read()
def values(name):
    begin, end = head[name]["data_offsets"]
    return array.array("f", data[begin:end])
names = [n[9:] for n in head if n.startswith("worker.0.") and n.endswith(("weight", "bias"))]
off = norm = 0
for name in names:
    for v in zip(*(values(f"worker.{w}.{name}") for w in range(4))):
        mean = sum(v) / 4
        norm += mean * mean
        off += sum((x - mean) ** 2 for x in v) / 4
print(off < 0.03 ** 2 * norm)
EOF
}

# trains FILE OPTIONS...: a run of a few steps
trains() {
  local file=$1
  shift
  hogring train --workers 3 --epochs 1 --quiet --json "$file" "$@" >/dev/null
}

@test "each strategy with each compressor: sent in fewer bytes, or refused" {
  for strategy in allreduce diloco ps-sync ps-async ssp backup-workers gossip; do
    for how in $HOWS; do
      if [[ $strategy/$how != allreduce/* && $strategy/$how != diloco/* ]] && [ "$how" = powersgd:2 ]; then
        refused 2 "not with --strategy $strategy: its factors are sums over all workers" train --workers 3 --strategy "$strategy" --compress "$how"
        continue
      fi
      trains "$TMP/run" --strategy "$strategy" --compress "$how" --clock virtual --link 1Gb/s,50us
      [ "$(json "$TMP/run" '0 < d["runs"][0]["bytes"]["sent"] < 0.52 * d["runs"][0]["bytes"]["uncompressed"], d["config"]["compress"]')" = "(True, '$how')" ]
    done
  done
  for strategy in local-sgd elastic-averaging hogwild; do
    refused 2 "weights travel, and nobody keeps public copies" train --workers 3 --strategy "$strategy" --compress bf16
  done
}

@test "threads, processes, rings with links and virtual time have the same bits, whatever is sent" {
  for how in $HOWS; do
    trains "$TMP/threads" --compress "$how"
    trains "$TMP/processes" --compress "$how" --launch process
    trains "$TMP/rings" --compress "$how" --launch process --transport copy --link 1Gb/s,50us
    trains "$TMP/virtual" --compress "$how" --clock virtual
    threads=$(sent "$TMP/threads")
    for other in processes rings virtual; do [ "$(sent "$TMP/$other")" = "$threads" ]; done
  done
}

@test "gossip: threads, processes and virtual time have the same bits, and topk:100% is none" {
  for how in bf16 fp16 int8 topk:1%; do
    trains "$TMP/threads" --strategy gossip --compress "$how"
    trains "$TMP/processes" --strategy gossip --compress "$how" --launch process
    trains "$TMP/virtual" --strategy gossip --compress "$how" --clock virtual --link 1Gb/s,50us
    threads=$(sent "$TMP/threads")
    for other in processes virtual; do [ "$(sent "$TMP/$other")" = "$threads" ]; done
  done
  trains "$TMP/whole" --strategy gossip --compress topk:100%
  trains "$TMP/none" --strategy gossip
  [ "$(digest "$TMP/whole")" = "$(digest "$TMP/none")" ]
  trains "$TMP/half" --strategy gossip:,0.5 --compress bf16
  [ "$(json "$TMP/half" 'd["runs"][0]["manner"], d["config"]["consensus-step"]')" = "('gossip-graph ring, 3 links, consensus-step 0.5', 0.5)" ]
}

@test "gossip over pipelines and tensor ranks: each replica has its own public copy" {
  for how in bf16 topk:10%; do
    trains "$TMP/whole" --workers 2 --strategy gossip --compress "$how" --accumulate 2 --batch-size 16
    trains "$TMP/split" --workers 2 --strategy gossip --compress "$how" --pipeline 2,micro-batches=2 --batch-size 32
    [ "$(digest "$TMP/whole")" = "$(digest "$TMP/split")" ]
  done
}

@test "every instruction set gives the same errors and packets: kernels by shape aside, the same bits" {
  for how in $HOWS; do
    HOGRING_ISA=plain trains "$TMP/plain" --compress "$how" --kernels reference
    trains "$TMP/best" --compress "$how" --kernels reference
    [ "$(digest "$TMP/plain")" = "$(digest "$TMP/best")" ]
    [ "$how" != powersgd:2 ] || continue
    HOGRING_ISA=plain trains "$TMP/plain" --strategy gossip --compress "$how" --kernels reference
    trains "$TMP/best" --strategy gossip --compress "$how" --kernels reference
    [ "$(digest "$TMP/plain")" = "$(digest "$TMP/best")" ]
  done
}

@test "pipelines and tensor ranks hand over the gradient of their replica" {
  for how in $HOWS; do
    trains "$TMP/whole" --workers 2 --compress "$how" --accumulate 2 --batch-size 16
    trains "$TMP/split" --workers 2 --compress "$how" --pipeline 2,micro-batches=2 --batch-size 32
    [ "$(json "$TMP/split" 'd["runs"][0]["bytes"]["sent"] < d["runs"][0]["bytes"]["uncompressed"]')" = True ]
    [ "$(digest "$TMP/whole")" = "$(digest "$TMP/split")" ]
  done
}

@test "a recorded run is replayed to the bit" {
  for strategy in ps-async ssp gossip; do
    for how in bf16 topk:1%; do
      trains "$TMP/a" --strategy "$strategy" --compress "$how" --launch process --record "$TMP/trace"
      hogring replay "$TMP/trace" --quiet --json "$TMP/b" >/dev/null
      [ "$(digest "$TMP/a")" = "$(digest "$TMP/b")" ]
      rm "$TMP/trace"
    done
  done
}

@test "errors are left out where they fit no more, and that is said" {
  trains "$TMP/a" --compress topk:1% --checkpoint-dir "$TMP/c"
  hogring train --workers 2 --epochs 2 --compress topk:1% --resume "$TMP/c" --json "$TMP/b" >/dev/null 2>"$TMP/said"
  grep -q "kept errors of --compress" "$TMP/said"
  hogring train --workers 3 --epochs 2 --compress topk:1% --resume "$TMP/c" --json "$TMP/b" >/dev/null 2>"$TMP/said"
  [ "$(grep -c "kept errors of --compress" "$TMP/said")" = 0 ]
  hogring train --workers 4 --epochs 2 --compress topk:1% --resume "$TMP/c" --json "$TMP/b" >/dev/null 2>"$TMP/said"
  grep -q "kept errors of --compress" "$TMP/said"
}

@test "gossip goes on from public copies, or says that they begin anew" {
  trains "$TMP/a" --strategy gossip --compress topk:5% --epochs 2
  trains "$TMP/b" --strategy gossip --compress topk:5% --checkpoint-dir "$TMP/c"
  hogring train --workers 3 --epochs 2 --strategy gossip --compress topk:5% --resume "$TMP/c" --json "$TMP/b" >/dev/null 2>"$TMP/said"
  [ "$(digest "$TMP/a")" = "$(digest "$TMP/b")" ]
  [ "$(grep -c "kept" "$TMP/said")" = 0 ]
  for other in "--workers 2 --compress topk:5%" "--workers 4 --compress topk:5%" "--workers 3 --compress bf16" "--workers 3 --compress topk:5% --strategy allreduce"; do
    hogring train --epochs 2 --strategy gossip --resume "$TMP/c" $other >/dev/null 2>"$TMP/said"
    grep -q "kept errors of --compress" "$TMP/said" || { echo "$other"; return 1; }
  done
}

@test "beside strategies that compress, saves of those that do not change no bit" {
  for how in none bf16; do
    hogring compare --strategies hogwild,ps-async --workers 3 --clock virtual --epochs 2 --checkpoint-dir "$TMP/c" --checkpoint-every 11 \
      --overwrite --compress "$how" --quiet --json "$TMP/run$how" >/dev/null
  done
  [ "$(digest "$TMP/runnone")" = "$(digest "$TMP/runbf16")" ]
  [ "$(json "$TMP/run" 'd["runs"][1]["weights_digest"]')" != "$(json "$TMP/runbf16" 'd["runs"][1]["weights_digest"]')" ]
}

@test "mlp learns with each compressor" {
  hogring train --workers 2 --epochs 10 --quiet --json "$TMP/plain" >/dev/null
  plain=$(json "$TMP/plain" 'd["runs"][0]["test_accuracy"]')
  for how in bf16 fp16 int8 topk:10% powersgd:4; do
    hogring train --workers 2 --epochs 10 --quiet --compress "$how" --json "$TMP/run" >/dev/null
    [ "$(json "$TMP/run" "d['runs'][0]['test_accuracy'] > $plain - 0.03")" = True ]
  done
}

@test "mlp learns with gossip and each compressor, and replicas stay together" {
  hogring train --workers 4 --strategy gossip --epochs 10 --quiet --json "$TMP/plain" >/dev/null
  plain=$(json "$TMP/plain" 'd["runs"][0]["test_accuracy"]')
  for how in bf16 fp16 int8 topk:10%; do
    hogring train --workers 4 --strategy gossip --epochs 10 --quiet --compress "$how" --checkpoint-dir "$TMP/$how" --json "$TMP/run" >/dev/null
    [ "$(json "$TMP/run" "d['runs'][0]['test_accuracy'] > $plain - 0.03")" = True ]
  done
  hogring train --workers 4 --strategy gossip:,1 --epochs 10 --quiet --compress topk:10% --checkpoint-dir "$TMP/far" >/dev/null
  [ "$(together "$TMP/topk:10%")" = True ]
  [ "$(together "$TMP/far")" = False ]
}

@test "the banner says what a worker sends, with and without" {
  hogring train --workers 3 --max-steps 1 --strategy gossip --compress int8 --details 2>&1 | grep -q "compress int8, of weights less their public copies: 50 KiB sent to each neighbour in a step, 199 KiB without"
  hogring train --workers 2 --max-steps 1 --compress int8 --details 2>&1 | grep -q "compress int8 with error feedback: .* sent a worker and step, .* without"
  hogring help compress | grep -q "error feedback"
}

@test "what cannot be compressed is refused" {
  refused 2 "expected one of bf16, fp16, int8, topk:1%, powersgd:2" train --compress gzip
  refused 2 "expected one of" train --compress topk:0%
  refused 2 "expected one of" train --compress powersgd:65
  refused 2 "one alone sends no messages" train --workers 1 --compress bf16
  refused 2 "a gradient is compressed as a whole" train --workers 2 --compress bf16 --overlap on
  refused 2 "depends on how many workers" train --workers 2 --compress bf16 --reduce repro --global-batch-size 64
  refused 2 "would be rounded again" train --workers 2 --compress bf16 --algorithm ring
  refused 2 "is lost with it" train --workers 2 --strategy ps-async --compress bf16 --on-loss continue
  refused 2 "one alone sends no messages" train --strategy gossip --workers 1 --compress bf16
  refused 2 "one alone sends no messages" train --strategy gossip:,0.5 --workers 1
  refused 2 "GAMMA of --strategy gossip: of what? give --compress too" train --strategy gossip:,0.5 --workers 3
  refused 2 "GAMMA of --strategy gossip 1.5: expected more than 0 to 1" train --strategy gossip:,1.5 --workers 3 --compress bf16
  trains "$TMP/ring" --compress powersgd:2 --algorithm ring
}
