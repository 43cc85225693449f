#!/usr/bin/env bats
# --timeline FILE: checked event by event (timeline_check.py), against the schema and the run's own accounts.

load support

# timed OPTIONS...: a run with a timeline, which is what it should be.
timed() {
  hogring train --model softmax --epochs 2 --quiet --timeline "$TMP/line.json" --json "$TMP/run.json" "$@" \
    >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; return 1; }
  python3 tests/cli/timeline_check.py "$TMP/line.json" "$TMP/run.json" >"$TMP/checked" 2>"$TMP/err" ||
    { echo "$@"; tail -1 "$TMP/err"; return 1; }
}

@test "a timeline in real time: nothing overlaps, messages end, sums are the accounts" {
  for strategy in $(strategies); do
    timed --workers 3 --strategy $strategy
  done
  timed --workers 4 --strategy gossip
  [ "$(grep -c '"ph":"f".*"name":"replica"' "$TMP/line.json")" = 192 ] # 24 steps to 2 neighbours each
  timed --workers 2 --launch process
  timed --workers 2 --launch process --strategy ssp --servers 2
  timed --workers 3 --strategy ps-sync --servers 2 --placement colocated
  timed --workers 3 --algorithm ring
  timed --workers 2 --overlap on:4K --model mlp
  timed --workers 2 --inject "stall:1@step=3+20ms,load:0+1ms"
}

@test "a timeline in virtual time" {
  for strategy in $(strategies); do
    timed --workers 5 --clock virtual --strategy $strategy
  done
  timed --workers 5 --clock virtual --strategy ssp --servers 2,time=1ms --link 1GB/s,50us
  grep -q '"name":"push of worker 4","cat":"serve"' "$TMP/line.json"
  timed --workers 5 --clock virtual --compute-time 'constant(10ms)' --inject slow:2x2
  [ "$(grep -c '"name":"wait for worker 2"' "$TMP/line.json")" -gt 20 ]
  ! grep '"name":"wait for worker [0134]"' "$TMP/line.json"
}

@test "a cut behind eight steps hides nobody's last arrival" {
  hogring train --clock virtual --workers 8 --epochs 2 --epoch-size 480 --batch-size 8 --model softmax \
    --compute-time 'constant(10ms)' --inject slow:1x2 --quiet --details >"$TMP/out" 2>"$TMP/err"
  grep -q "rank 1 caused 100 %" "$TMP/out"
}

@test "a timeline of pipelines and of split layers" {
  timed --model mlp --workers 2 --pipeline 2
  grep -q '"name":"thread_name","args":{"name":"stage 1 of replica 1"}' "$TMP/line.json"
  grep -q '"name":"backward 1","cat":"stage"' "$TMP/line.json"
  grep -q '"name":"activation"' "$TMP/line.json"
  timed --model mlp --workers 2 --pipeline 2 --launch process
  timed --model mlp --workers 2 --pipeline 2 --clock virtual
  timed --model mlp --workers 2 --tensor-parallel 2
  grep -q '"name":"thread_name","args":{"name":"shard 1 of replica 1"}' "$TMP/line.json"
  timed --model mlp --workers 1 --pipeline 2 --tensor-parallel 2
}

@test "a comparison has a process per run" {
  hogring compare --model softmax --epochs 1 --strategies allreduce,ssp --seeds 2 --quiet --timeline "$TMP/line.json" \
    --json "$TMP/run.json" >"$TMP/out" 2>"$TMP/err"
  python3 tests/cli/timeline_check.py "$TMP/line.json" "$TMP/run.json" >"$TMP/checked"
  [ "$(grep -c '"process_name"' "$TMP/line.json")" = 4 ]
  grep -q '"pid":4,.*"process_name","args":{"name":"ssp.*, seed 2"}' "$TMP/line.json"
}

@test "weights have the same bits with a timeline, and of steps=A:B only those steps are told" {
  timed --model mlp --workers 2
  local with=$(json "$TMP/run.json" 'd["runs"][0]["weights_digest"]')
  hogring train --model mlp --workers 2 --quiet --timeline "$TMP/line.json,steps=5:7" >"$TMP/out" 2>"$TMP/err"
  python3 tests/cli/timeline_check.py "$TMP/line.json" >"$TMP/checked"
  [ "$(grep -o '"name":"step [0-9]*"' "$TMP/line.json" | sort -u | tr -d '\n')" = '"name":"step 5""name":"step 6"' ]
  hogring train --model mlp --workers 2 --epochs 2 --quiet --json "$TMP/run.json" >"$TMP/out" 2>"$TMP/err"
  [ "$(json "$TMP/run.json" 'd["runs"][0]["weights_digest"]')" = "$with" ]
}

@test "what a killed run leaves can be read" {
  forever --workers 2 --model softmax --timeline "$TMP/line.json"
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null || true
  pid=
  [ "$(tail -c 2 "$TMP/line.json")" != "]" ]
  python3 tests/cli/timeline_check.py "$TMP/line.json" >"$TMP/checked"
}

@test "where a timeline means nothing it is refused" {
  refused 2 "is not supported with --model logistic" train --model logistic --data digits --timeline "$TMP/line.json"
  refused 2 "not with --clock explore: it has no clock" train --clock explore --timeline "$TMP/line.json"
  refused 2 "--timeline: not with --concurrent" compare --concurrent --timeline "$TMP/line.json"
  refused 2 "expected A:B" train --timeline "$TMP/line.json,steps=9:3"
  refused 2 "of what? expected FILE,steps=A:B" train --timeline steps=3:9
  refused 3 "$TMP/none" train --timeline "$TMP/none/line.json"
  hogring train --model softmax --epochs 1 --strategy ps-async --record "$TMP/trace" --quiet >"$TMP/out" 2>"$TMP/err"
  refused 2 "is not supported in a replay" replay "$TMP/trace" --timeline "$TMP/line.json"
}

@test "a timeline that cannot be written is refused before training" {
  refused 3 "/proc/nope.json" train --model softmax --epochs 1 --timeline /proc/nope.json
  mkfifo "$TMP/fifo"
  HOGRING="timeout 120 ${HOGRING:-build/hogring}"
  hogring() { $HOGRING "$@"; }
  refused 3 "is no regular file" train --model softmax --epochs 1 --timeline "$TMP/fifo"
  refused 3 "is no regular file" train --model softmax --epochs 1 --log "$TMP/fifo"
  refused 3 "is no regular file" train --model softmax --epochs 1 --log "$TMP/fifo" --resume auto --quiet --checkpoint-dir "$TMP/c"
}

@test "of a timeline for which there is no room whole lines remain" {
  local got=0
  (ulimit -f 2000; trap '' XFSZ; hogring train --model softmax --batch-size 1 --epochs 8 --quiet --timeline "$TMP/line.json" >"$TMP/out" 2>"$TMP/err") || got=$?
  [ $got = 3 ]
  grep -q "line.json: File too large" "$TMP/err"
  [ "$(wc -l <"$TMP/err")" = 1 ]
  [ "$(tail -c 1 "$TMP/line.json")" = "}" ]
  python3 tests/cli/timeline_check.py "$TMP/line.json" >"$TMP/checked"
}

@test "Perfetto's own reader finds nothing wrong with it" {
  [ -n "${TRACE_PROCESSOR:-}" ] || skip "TRACE_PROCESSOR names no trace_processor"
  timed --workers 3 --strategy ssp --servers 2
  echo "select name, value from stats where severity in ('error', 'data_loss') and value > 0;" >"$TMP/errors.sql"
  "$TRACE_PROCESSOR" -q "$TMP/errors.sql" "$TMP/line.json" >"$TMP/found"
  [ "$(grep -vc '^"name"' "$TMP/found")" = 0 ]
  echo "select count(*) from slice;" >"$TMP/count.sql"
  local spans=$(grep -c '"ph":"[XB]"' "$TMP/line.json")
  "$TRACE_PROCESSOR" -q "$TMP/count.sql" "$TMP/line.json" | grep -qx "$spans"
}
