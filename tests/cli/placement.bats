#!/usr/bin/env bats
# --placement colocated: servers inside workers, on the command line.
load support

long=(--model softmax --epochs 100000 --quiet --launch process --workers 4 --placement colocated)

# started ARGUMENTS...: a run in the background, until it has COUNT processes.
started() {
  local count=$1
  shift
  : >"$TMP/err"
  heard "$@" 2>"$TMP/err" >/dev/null &
  pid=$!
  for _ in $(seq 1200); do [ "$(pgrep -c -P $pid)" -ge "$count" ] && return; sleep 0.05; done
  return 1
}

@test "it belongs to strategies with servers, and has two words" {
  refused 2 "--placement: is not supported with --strategy allreduce (it belongs to ps-sync, ps-async, ssp, elastic-averaging and backup-workers)" \
    train --placement colocated
  refused 2 "--placement both: expected dedicated or colocated" train --strategy ps-sync --placement both
  refused 2 "--servers 3: colocated in 2 workers, there are at most as many" train --strategy ps-sync --workers 2 --servers 3 --placement colocated
  refused 2 "--calibrate $TMP/m: not with --placement colocated: a server that waits for its worker cannot be timed" train --strategy ps-sync --placement colocated --calibrate "$TMP/m"
}

@test "no servers are no number of servers" {
  refused 2 "--servers 0: expected at least 1" train --strategy ps-sync --servers 0
  refused 2 "--servers 0: expected at least 1" simulate --strategy ps-sync --placement colocated --servers 0
}

@test "by default at most 64 workers of a thousand are servers" {
  hogring simulate --model softmax --epochs 1 --strategy ps-sync --workers 300 --batch-size 1 --placement colocated --json "$TMP/out.json" >/dev/null 2>&1
  [ "$(json "$TMP/out.json" 'd["runs"][0]["servers"], d["config"]["servers"]')" = "(64, 64)" ]
}

@test "banner, JSON and table say it" {
  hogring train --details --model softmax --epochs 1 --strategy ps-async --workers 3 --placement colocated --json "$TMP/out.json" 2>"$TMP/stderr" >/dev/null
  grep -q "ps-async, 3 workers and 3 servers colocated in them as threads" "$TMP/stderr"
  [ "$(json "$TMP/out.json" 'd["runs"][0]["placement"], d["runs"][0]["servers"], d["config"]["placement"], d["config"]["servers"]')" = "('colocated', 3, 'colocated', 3)" ]
  hogring train "${quick[@]}" --strategy ps-sync --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'd["runs"][0]["placement"], d["runs"][0]["servers"], d["config"]["placement"], d["config"]["servers"]')" = "('dedicated', 1, 'dedicated', 1)" ]
  hogring train "${quick[@]}" --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'd["runs"][0]["placement"], d["config"]["servers"]')" = "(None, 1)" ]
  hogring compare "${quick[@]}" --workers 2 --strategies ps-async:servers=2,ps-async:placement=colocated >"$TMP/stdout"
  grep -q "^ps-async 2W2PS dedicated " "$TMP/stdout"
  grep -q "^ps-async 2W2PS colocated " "$TMP/stdout"
}

@test "four workers are four processes" {
  started 4 train "${long[@]}" --strategy ps-sync
  sleep 0.1
  [ "$(pgrep -c -P $pid)" = 4 ]
  kill -INT $pid
  code=0; wait $pid || code=$?
  [ $code = 130 ]
}

@test "a killed worker, who was a server too, is named, and the run ends with 4" {
  for strategy in ps-sync ps-async elastic-averaging; do
    started 4 train "${long[@]}" --strategy $strategy
    victim=$(pgrep -P $pid | tail -n 1)
    kill -KILL "$victim"
    code=0; wait $pid || code=$?
    [ $code = 4 ] || { echo "$strategy: exit $code"; cat "$TMP/err"; return 1; }
    grep -q "pid $victim was killed by signal 9" "$TMP/err"
  done
}

@test "a signal saves, and ps-sync goes on under either placement to the same bits" {
  sync=(--model softmax --epochs 4 --quiet --strategy ps-sync --workers 3)
  want=$(hogring train "${sync[@]}" --json - | python3 -c 'import json, sys; print(json.load(sys.stdin)["runs"][0]["weights_digest"])')
  hogring train "${sync[@]}" --placement colocated --max-steps 7 --checkpoint-dir "$TMP/saved" >/dev/null
  for placement in dedicated colocated; do
    hogring train "${sync[@]}" --resume "$TMP/saved" --placement $placement --expect digest="$want" >/dev/null 2>&1
  done
}

@test "where an order decides, a run goes on under the placement that it had" {
  async=(--model softmax --epochs 4 --quiet --strategy ps-async)
  hogring train "${async[@]}" --workers 3 --placement colocated --max-steps 7 --checkpoint-dir "$TMP/saved" >/dev/null
  refused 2 "it was trained with --placement colocated, this run has dedicated" train "${async[@]}" --workers 3 --resume "$TMP/saved" --placement dedicated
  hogring train --quiet --epochs 4 --resume "$TMP/saved" --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'd["runs"][0]["placement"], d["runs"][0]["servers"]')" = "('colocated', 3)" ]
  hogring train "${async[@]}" --workers 3 --strategy ssp --resume "$TMP/saved" --placement dedicated >/dev/null 2>&1
}

@test "a recorded run is replayed, and simulated with workers alone on the wires" {
  hogring train "${quick[@]}" --strategy ps-async --workers 3 --placement colocated --record "$TMP/run.trace" >/dev/null
  hogring replay --quiet "$TMP/run.trace" >/dev/null
  hogring inspect "$TMP/run.trace" >/dev/null
  hogring simulate "${quick[@]}" --strategy ps-async --workers 3 --placement colocated --topology star:3 >/dev/null
  refused 2 "--topology star:3: 3 gpus; expected at least 6, the workers and then the servers" \
    simulate "${quick[@]}" --strategy ps-async --workers 3 --servers 3 --topology star:3
  refused 2 "--topology star:2: 2 gpus; expected at least 3, the workers" \
    simulate "${quick[@]}" --strategy ps-async --workers 3 --placement colocated --topology star:2
}
