#!/usr/bin/env bats
# hogring train --pipeline schedule=pipedream, unstashed: pipelines that never drain.
load support

# Runs for ever, with stages that are processes: rank 0 is the worker, ranks 1 and 2 are stages.
start() { forever --workers 1 --pipeline 3,schedule=pipedream "$@"; }

digest() { hogring train --workers 1 --pipeline 3 "$@" --quiet | sed -n 's/^weights digest  \([0-9a-f]*\).*/\1/p'; }

@test "stages that are threads or processes, explored orders and virtual time have one digest" {
  for schedule in pipedream unstashed; do
    want=$(digest --epochs 2 --pipeline schedule=$schedule)
    [ -n "$want" ]
    [ "$(digest --epochs 2 --pipeline schedule=$schedule --launch process)" = "$want" ]
    [ "$(digest --epochs 2 --pipeline schedule=$schedule --clock explore:3)" = "$want" ]
    [ "$(digest --epochs 2 --pipeline schedule=$schedule --clock virtual --compute-time 5ms)" = "$want" ]
    [ "$(digest --epochs 2 --pipeline schedule=1f1b,micro-batches=1)" != "$want" ]
  done
}

@test "staleness is told by stage, and what was updated while it filled apart" {
  run hogring train --details --workers 1 --pipeline 3,schedule=unstashed --epochs 2 --json "$TMP/run.json"
  [ "$status" -eq 0 ]
  [[ "$output" == *"pipeline unstashed, an update each minibatch of 32, empty at the ends of epochs"* ]]
  [[ "$output" == *"own staleness   by stage: forward 2 1 0, backward 0 0 0; and 4 of 90 gradients while the pipeline filled"* ]]
  python3 - "$TMP/run.json" <<'END'
import json, sys
p = json.load(open(sys.argv[1]))["runs"][0]["pipeline"]
assert p["staleness"] == {"gradients": 90, "filling": 4}, p
assert [s["staleness"] for s in p["stages"]] == [{"forward": 2 - k, "backward": 0, "versions": 1} for k in range(3)], p
assert [s["peak_micro_batches"] for s in p["stages"]] == [3, 2, 1], p
assert abs(p["bubble_formula"] - 2 / 47) < 1e-9, p
END
}

@test "a run is replayed with its stages" {
  for strategy in allreduce ps-async; do
    run hogring train --workers 2 --strategy $strategy --pipeline 3,schedule=pipedream --clock explore:5 \
      --max-steps 60 --record "$TMP/$strategy.trace"
    [ "$status" -eq 0 ]
    run hogring replay "$TMP/$strategy.trace"
    [ "$status" -eq 0 ]
    [[ "$output" == *"weights_digest equals the recorded one"* ]]
  done
}

@test "a save that is asked for changes no bit: it waits for the end of the epoch" {
  options="--workers 1 --pipeline 3,schedule=pipedream --epochs 4 --epoch-size 60000"
  want=$(digest --epochs 4 --epoch-size 60000 --pipeline schedule=pipedream)
  : >"$TMP/err"
  heard train $options --details --checkpoint-dir "$TMP/run" >"$TMP/out" 2>"$TMP/err" &
  pid=$!
  for _ in $(seq 3000); do grep -q "epoch 1/" "$TMP/err" && break; sleep 0.02; done
  for _ in $(seq 20); do kill -USR1 $pid 2>/dev/null || break; sleep 0.02; done
  wait $pid
  [ "$(sed -n 's/^weights digest  \([0-9a-f]*\).*/\1/p' "$TMP/out")" = "$want" ]
}

@test "a run that goes on inside of an epoch says that its pipeline fills anew" {
  options="--workers 1 --pipeline 3,schedule=pipedream --checkpoint-dir $TMP/run"
  hogring train $options --max-steps 50 --quiet
  run hogring train $options --epochs 2 --resume "$TMP/run"
  [ "$status" -eq 0 ]
  [[ "$output" == *"saved inside of an epoch: the pipeline fills anew here"* ]]
  rm -r "$TMP/run"
  hogring train $options --max-steps 45 --quiet
  run hogring train $options --epochs 2 --resume "$TMP/run"
  [ "$status" -eq 0 ]
  [[ "$output" != *"fills anew"* ]]
  [ "$(sed -n 's/^weights digest  \([0-9a-f]*\).*/\1/p' <<<"$output")" = "$(digest --pipeline schedule=pipedream --epochs 2)" ]
}

@test "a stage that is killed ends the run with exit 4, and is named; signals stop it" {
  for victim in 1 2 3; do
    start
    kill -KILL "$(child_of $pid $victim)"
    code=0
    wait $pid || code=$?
    [ $code -eq 4 ]
    grep -q "rank $((victim - 1))" "$TMP/err"
    [ -z "$(pgrep -P $pid)" ]
  done
  start
  ends_at INT 130
  start
  ends_at TERM 143
}

@test "a stage that is stopped is named by who waits for it" {
  start --timeout 5s
  kill -STOP "$(child_of $pid 2)"
  code=0
  wait $pid || code=$?
  [ $code -eq 1 ] || [ $code -eq 4 ]
  grep -q "rank 1" "$TMP/err"
  grep -q "stopped" "$TMP/err"
}

@test "a rate that is too large ends it, with the step" {
  for clock in real virtual; do
    run hogring train --workers 1 --pipeline 3,schedule=unstashed --epochs 20 --lr 100000 --clock $clock \
      $([ $clock = virtual ] && echo --compute-time 1ms)
    [ "$status" -eq 1 ]
    [[ "$output" == *"is not finite"*"a smaller --lr may help"* ]]
  done
}

@test "what it cannot have is refused in a line" {
  while IFS='|' read -r options why; do
    refused 2 "$why" train --epochs 1 --pipeline 2 $options || return 1
  done <<'END'
--workers 1 --pipeline schedule=pipedream,micro-batches=2|makes an update of each minibatch
--workers 2 --pipeline schedule=pipedream|expected --workers 1 and --strategy allreduce, or --clock virtual
--workers 1 --pipeline schedule=unstashed --strategy ps-async|expected --workers 1 and --strategy allreduce
--workers 1 --pipeline schedule=pipedream --optimizer lamb|no norms of the whole model
--workers 1 --pipeline schedule=pipedream --clip-norm 1|no norms of the whole model
--workers 1 --pipeline schedule=unstashed --pipeline 2,recompute|--pipeline recompute: not with --pipeline schedule=unstashed
--workers 1 --pipeline schedule=pipedream:2|pipedream:2: there is no such
--workers 1 --pipeline schedule=pipedream --inject nan:0@step=3|nan and flip-bit
--workers 1 --pipeline schedule=pipedream --checkpoint-dir nowhere --checkpoint-every 7|empty only at the ends of epochs
END
}
