#!/usr/bin/env bats
# hogring train --pipeline with --on-loss: whichever rank of a worker's pipeline is killed, the
# worker is lost, and comes back whole.
load support

# Runs for ever: two workers of three stages, which are processes; ranks 2 and 3 are worker 0's.
start() { forever --workers 2 --pipeline 3,micro-batches=4 --json "$TMP/run.json" "$@"; }

seen() {
  for _ in $(seq 1200); do grep -q "$1" "$TMP/err" && return; sleep 0.05; done
  tail -n 5 "$TMP/err"
  return 1
}

# The epoch that it is in.
epoch() { sed -n 's/^epoch \([0-9]*\).*/\1/p' "$TMP/err" | tail -n 1; }

goes_on() {
  local from
  from=$(epoch)
  for _ in $(seq 1200); do [ "$(epoch)" -gt $((from + 1)) ] && return; sleep 0.05; done
  tail -n 5 "$TMP/err"
  return 1
}

stop() {
  kill -INT $pid
  code=0
  wait $pid || code=$?
  [ $code -eq 130 ]
  [ -z "$(pgrep -P $pid)" ]
}

@test "any rank of a worker's pipeline may be killed: the others go on" {
  for rank in 0 1 2 5; do
    start --on-loss continue
    kill -KILL "$(child_of $pid $((rank + 1)))"
    seen "worker $((rank == 1 || rank == 5)) was lost: .*; the others go on"
    goes_on
    stop
  done
  grep -q "its stage 2: pid" "$TMP/err"
}

# Who was started again is the last child: behind rank 0, rank 1 is the first.
@test "... and comes back with all of its stages, again and again" {
  for rank in 0 3; do
    start --on-loss restart
    kill -KILL "$(child_of $pid $((rank + 1)))"
    seen "worker 0 was lost: .*; it is started again"
    goes_on
    kill -KILL "$(child_of $pid 1)"
    seen "worker 1 was lost: .*; it is started again"
    goes_on
    stop
  done
}

@test "without another worker the run ends with exit 4" {
  start --workers 1 --on-loss continue
  kill -KILL "$(child_of $pid 2)"
  code=0
  wait $pid || code=$?
  [ $code -eq 4 ]
  grep -q "no worker is left" "$TMP/err"
}
