#!/usr/bin/env bats
# hogring train --tensor-parallel T:S: what is shown, how it ends, what is refused.
load support

# Runs for ever, with ranks that are processes: rank 0 is the worker, ranks 1 to 3 share its stages.
start() { forever --workers 1 --pipeline 2 --tensor-parallel 2 "$@"; }

digest() { hogring train --workers 2 --epochs 1 --quiet "$@" | sed -n 's/^weights digest  \([0-9a-f]*\).*/\1/p'; }

@test "the banner says the grid and what is split how; JSON what travelled" {
  run hogring train --details --workers 2 --pipeline 2 --tensor-parallel 2:4 --epochs 1 --json "$TMP/run.json"
  [ "$status" -eq 0 ]
  [[ "$output" == *"2 replicas x 2 stages x 2 tensor ranks as threads"* ]]
  [[ "$output" == *"tensor   4 shards, on 2 ranks of each stage: layers by columns 1; by rows 3, 5"* ]]
  python3 - "$TMP/run.json" <<'END_OF_PYTHON'
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
t = run["tensor"]
assert t["shards"] == 4 and t["ranks"] == 2, t
assert [l["cut"] for l in t["layers"]] == ["by channels", "by columns", "by channels", "by rows", "by channels", "by rows"], t
# of a sample: half of 64 inputs for each rank; half of 128 and 10 sums of two other shards, in forward,
# and in backward half of their gradients; channels come in eights, so of 10 outputs they are 8 and 2.
assert t["bytes"] == run["samples"] * 4 * (64 + 2 * 128 + 2 * 10 + 128 + 10), (t["bytes"], run["samples"])
assert run["pipeline"]["stages"][0]["bytes"] == run["samples"] * 256 * 4
END_OF_PYTHON
  run hogring train --details --workers 1 --tensor-parallel 2 --epochs 1 --json -
  [[ "$output" == *'"pipeline": null'* ]]
  [[ "$output" == *'1 replica x 2 tensor ranks'* ]]
  run hogring train --workers 1 --epochs 1 --json -
  [[ "$output" == *'"tensor": null'* ]]
}

@test "beside the same shards threads, processes and every grid give one digest" {
  want=$(digest --tensor-parallel 1:4)
  [ -n "$want" ]
  for grid in "--tensor-parallel 2:4" "--tensor-parallel 4 --launch process" "--tensor-parallel 4 --clock virtual" \
    "--tensor-parallel 2:4 --clock explore:7"; do
    [ "$(digest $grid)" = "$want" ]
  done
  [ "$(digest)" != "$want" ]
  [ "$(digest --tensor-parallel 1:1)" = "$(digest)" ]
  repro="--reduce repro --global-batch-size 32"
  [ "$(digest $repro --workers 1 --tensor-parallel 1:4)" = "$(digest $repro --workers 4 --tensor-parallel 2:4)" ]
}

@test "a checkpoint goes on upon another grid" {
  want=$(digest --tensor-parallel 1:4)
  digest --tensor-parallel 4 --max-steps 10 --checkpoint-dir "$TMP/c" >/dev/null
  cp -r "$TMP/c" "$TMP/d"
  [ "$(digest --resume "$TMP/c" --tensor-parallel 2)" = "$want" ]
  [ "$(digest --resume "$TMP/d")" = "$want" ]
}

@test "a rank that is killed ends the run with exit 4, and is named" {
  for victim in 1 2 3 4; do
    start
    kill -KILL "$(child_of $pid $victim)"
    code=0
    wait $pid || code=$?
    [ $code -eq 4 ]
    grep -q "rank $((victim - 1))" "$TMP/err"
    [ -z "$(pgrep -P $pid)" ]
  done
}

@test "SIGINT stops it; a rank that is stopped is named by who waits for it" {
  start
  ends_at INT 130
  start --timeout 5s
  kill -STOP "$(child_of $pid 2)"
  code=0
  wait $pid || code=$?
  [ $code -eq 1 ] || [ $code -eq 4 ]
  grep -q "rank 1" "$TMP/err"
  grep -q "stopped" "$TMP/err"
}

@test "minibatches that are accumulated are micro-batches of one stage, whoever computes the shards" {
  for strategy in allreduce ps-sync; do
    want=$(digest --strategy $strategy --pipeline 1,micro-batches=4 --tensor-parallel 1:2 --batch-size 32)
    [ ${#want} = 32 ]
    for how in "--tensor-parallel 1:2" "--tensor-parallel 2" "--tensor-parallel 2 --launch process" "--tensor-parallel 2 --prefetch 1"; do
      [ "$(digest --strategy $strategy $how --accumulate 4 --batch-size 8)" = "$want" ] || { echo "$strategy $how"; return 1; }
    done
    [ "$(digest --strategy $strategy --tensor-parallel 1:2 --accumulate 4 --global-batch-size 16)" = "$want" ]
    [ "$(digest --strategy $strategy --pipeline 1 --tensor-parallel 1:2 --batch-size 8)" != "$want" ]
  done
}

@test "accumulated shards are saved, resumed and replayed to the bits of the whole run" {
  how=(--tensor-parallel 2 --accumulate 4 --batch-size 8 --workers 2 --quiet)
  want=$(digest "${how[@]}" --epochs 2)
  hogring train "${how[@]}" --epochs 1 --checkpoint-dir "$TMP/saved" >/dev/null
  [ "$(digest "${how[@]}" --epochs 2 --resume "$TMP/saved")" = "$want" ]
  hogring train "${how[@]}" --epochs 2 --record "$TMP/run.trace" >/dev/null
  hogring replay "$TMP/run.trace" | grep -q "$want"
}

@test "what split layers cannot have is refused in a line" {
  while IFS='|' read -r options why; do
    refused 2 "$why" train --epochs 1 $options || return 1
  done <<'END_OF_LIST'
--tensor-parallel 3:4|expected a multiple of 3 shards
--tensor-parallel 1:40|--tensor-parallel 1:40: the widest layer that can be cut has eight channels, or a head, for at most 32 shards
--tensor-parallel 40 --workers 1|--tensor-parallel 40:40: the widest
--tensor-parallel 65|expected 1 to 64
--tensor-parallel 4 --workers 20|expected at most 64
--tensor-parallel 2 --overlap on|--overlap on
--tensor-parallel 2 --on-loss continue|--on-loss
END_OF_LIST
  refused 2 "--tensor-parallel 1:2: no layer that can be cut has eight channels, or a head, for each of two shards" \
    train --model "flatten, dense 1, dense 10" --tensor-parallel 1:2
}
