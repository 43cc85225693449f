#!/usr/bin/env bats
# --timeout T:WARN: who is waited for is named before --timeout ends the wait, and nobody else ever is.
load support

# Wait until file $1 holds text $2 (a minute at most).
await() { for _ in $(seq 1200); do grep -q -- "$2" "$1" 2>/dev/null && return; sleep 0.05; done; cat "$1"; return 1; }

# begin ARGUMENTS...: a run without end, each rank a process; $victim is the last of them.
begin() {
  : >"$TMP/err"
  heard train --launch process --workers 2 --epochs 1000000 --details --checkpoint-dir "$TMP/c" --overwrite "$@" \
    2>"$TMP/err" >"$TMP/out" &
  pid=$!
  await "$TMP/err" "epoch 1/"
  victim=$(pgrep -P $pid | tail -n 1)
  [ -n "$victim" ]
}

# stopped_and_continued ARGUMENTS...
stopped_and_continued() {
  begin --timeout 60s:2s "$@"
  kill -STOP "$victim"
  await "$TMP/err" "(--timeout T:WARN)"
  grep -q "^hogring: warning: rank [0-9] (pid $victim) has been stopped for [0-9.]* s, while " "$TMP/err"
  kill -CONT "$victim"
  await "$TMP/err" "^hogring: rank [0-9] (pid $victim) goes on after "
  kill -INT $pid
  code=0; wait $pid || code=$?
  [ $code = 130 ] || { echo "$*: exit $code"; cat "$TMP/err"; return 1; }
  [ "$(grep -c "(--timeout T:WARN)" "$TMP/err")" = 1 ] || { echo "$*"; cat "$TMP/err"; return 1; }
}

@test "a stopped process is named once, as stopped, and again when it goes on" {
  printf -- "--model softmax --strategy %s\n" allreduce ssp hogwild elastic-averaging | together stopped_and_continued
}

@test "so it is in a sparse model's run" {
  hogring data make sparse --out "$TMP/rows.libsvm" --rows 20000 >/dev/null
  stopped_and_continued --data "$TMP/rows.libsvm" --model logistic
}

@test "who waits is named with it, and the run ends in time all the same" {
  begin --model softmax --timeout 6s:3s
  kill -STOP "$victim"
  code=0; wait $pid || code=$?
  [ $code = 4 ] || { echo "exit $code"; cat "$TMP/err"; return 1; }
  grep -qE "^hogring: warning: rank 1 \(pid $victim\) has been stopped for [0-9.]+ s, while .*; rank 0 has waited [0-9.]+ s for it \(--timeout T:WARN\)$" "$TMP/err"
  grep -q "pid $victim is stopped, while .*(--timeout)" "$TMP/err"
}

# all_paused ARGUMENTS...: every process of a run is stopped for longer than --timeout; it goes on, and that time is none of its own.
all_paused() {
  local began ended code=0
  began=$(date +%s%N)
  setsid "${HOGRING:-build/hogring}" train --model softmax --workers 2 --epochs 1000000 --details --compute-time 10ms --max-seconds 6s --timeout 4s \
    --json "$TMP/json" "$@" 2>"$TMP/err" >"$TMP/out" &
  pid=$!
  await "$TMP/err" "epoch 1/"
  kill -STOP -- -$pid
  sleep 6
  kill -CONT -- -$pid
  wait $pid || code=$?
  ended=$(date +%s%N)
  [ $code = 0 ] || { echo "$*: exit $code"; cat "$TMP/err"; return 1; }
  python3 - "$TMP/json" $((ended - began)) <<'END'
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
shares = sum(run["time"][what] for what in ("load", "compute", "communicate", "wait"))
assert run["seconds"] < int(sys.argv[2]) / 1e9 - 5, (run["seconds"], sys.argv[2])
assert abs(shares - 2 * run["seconds"]) < 0.1 * shares, (shares, run["seconds"])
END
}

@test "a pause of the whole run is no timeout, and none of its time" {
  printf -- "--launch %s --strategy %s\n" thread elastic-averaging process ps-async process allreduce process hogwild | together all_paused
}

sleeper_is_named() {
  hogring train "${quick[@]}" --workers 2 --compute-time 20ms --inject stall:1@step=2+5s --timeout 30s:2s --strategy "$@" 2>"$TMP/err" >/dev/null
  grep -qE "^hogring: warning: rank 1 \(pid [0-9]+\) has been computing a gradient at step [0-9]+ for [0-9.]+ s; rank 0 (has waited|and 1 more have waited up to) [0-9.]+ s for it \(--timeout T:WARN\)$" "$TMP/err" || { cat "$TMP/err"; return 1; }
  [ "$(grep -c "(--timeout T:WARN)" "$TMP/err")" = 1 ] || { cat "$TMP/err"; return 1; }
}

@test "a worker that sleeps is named by rank, pid and phase, whatever the strategy" {
  printf "%s\n" $(strategies '$1 != "backup-workers"') backup-workers:0 "ps-async --placement colocated" "allreduce --launch process" | together sleeper_is_named 12
}

sleepers_are_named() {
  hogring compare "${quick[@]}" --workers 2 --compute-time 20ms --inject stall:1@step=2+5s --timeout 30s:2s --strategies allreduce,hogwild "$@" 2>"$TMP/err" >/dev/null
  [ "$(grep -c "^hogring: warning: rank 1 (pid [0-9]*) has been computing .*(--timeout T:WARN)$" "$TMP/err")" = 2 ] || { cat "$TMP/err"; return 1; }
}

@test "so it is in a comparison, and beside others" { printf "%s\n" --quiet --concurrent | together sleepers_are_named; }

says_nothing() {
  hogring train "${quick[@]}" --workers 2 "$@" 2>"$TMP/err" >/dev/null
  [ ! -s "$TMP/err" ] || { cat "$TMP/err"; return 1; }
}

@test "gradients that take longer for all are no stall, and 0 says nothing" {
  together says_nothing <<END
--max-steps 2 --compute-time 3s --timeout 30s:2s --strategy allreduce
--max-steps 4 --compute-time 3s --timeout 30s:2s --strategy hogwild
--max-steps 4 --compute-time 3s --timeout 30s:2s --strategy ps-async --placement colocated
--inject stall:1@step=5+3s --timeout 30s:0
END
}

@test "a limit that --timeout never lets come is refused where it is given" {
  refused 2 "--timeout 5s:5s: expected to be warned before the wait is ended, or 0" train --timeout 5s:5s
  refused 2 "--timeout 30s:40s: expected to be warned" compare --timeout 30s:40s
  refused 2 "--timeout 30s:40s: expected to be warned" train --data "$TMP/rows.libsvm" --model logistic --timeout 30s:40s
  refused 2 "WARN of --timeout 3: expected a time with its unit" train --timeout 30s:3
  refused 2 "WARN of --timeout -1s" train --timeout 30s:-1s
  refused 2 "WARN of --timeout 2000000: expected 0 to 1000000" train --timeout 0:2000000s
  refused 2 "WARN of --timeout: is not supported with --clock virtual" simulate --timeout 30s:1s
  refused 2 "WARN of --timeout: is not supported with --clock explore:1" train --clock explore:1 --timeout 30s:1s
  refused 2 "--stall-warn 3s: is said behind a colon: --timeout 30s:3s" train --stall-warn 3s
  hogring train "${quick[@]}" --timeout 5s 2>"$TMP/err" >/dev/null
  [ ! -s "$TMP/err" ]
  hogring train "${quick[@]}" --timeout 0:1h >/dev/null
  hogring simulate "${quick[@]}" --timeout 30s:0 >/dev/null
}

# line_on_terminal TERM [BEFORE]: the warning, with this before it.
line_on_terminal() {
  TERM=$1 python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))' "${HOGRING:-build/hogring}" \
    train --model softmax --epochs 1 --workers 2 --compute-time 20ms --inject stall:1@step=2+5s --timeout 30s:2s >"$TMP/screen" </dev/null
  tr '\r' '\n' <"$TMP/screen" | grep -qP "^${2:-}(\\x1b\\[33m)?hogring: warning:(\\x1b\\[0m)? rank 1 .*\(--timeout T:WARN\)$" || { cat -v "$TMP/screen"; return 1; }
}

@test "on a terminal it has a line of its own, and progress goes on below" {
  needs_terminal
  printf "%s\n" 'xterm \x1b\[K' dumb | together line_on_terminal
}
