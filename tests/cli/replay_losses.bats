#!/usr/bin/env bats
# Recorded runs that lose ranks: hogring replay gives the same weights, and the same account.
load support

# repeated: the trace is replayed to the run's account.
repeated() {
  hogring replay "$TMP/run.trace" --json "$TMP/again.json" >/dev/null 2>"$TMP/stderr" || { cat "$TMP/stderr"; return 1; }
  python3 - "$TMP/run.json" "$TMP/again.json" <<'PY'
import json, sys
run, again = (json.load(open(name))["runs"][0] for name in sys.argv[1:])
for key in "weights_digest", "updates", "samples", "samples_lost", "losses", "restarts", "staleness", "max_skew":
    assert run[key] == again[key], (key, run[key], again[key])
PY
}

# killed WHICH... -- OPTION...: the processes with these numbers are killed from outside, epochs apart, in a run with these
# options that is recorded; the replay repeats it.
killed() {
  local which=() w epoch
  while [ "$1" != -- ]; do which+=("$1"); shift; done; shift
  for epochs in 40 200 1000; do epoch=0
    heard train --details --model softmax --workers 3 --launch process --epochs $epochs "$@" \
      --on-loss restart:,9 --record "$TMP/run.trace" --json "$TMP/run.json" >/dev/null 2>"$TMP/stderr" & pid=$!
    for w in "${which[@]}"; do epoch=$((epoch + 2))
      for _ in $(seq 6000); do grep -q "^epoch $epoch/" "$TMP/stderr" && break; sleep 0.01; done
      kill -KILL $(child_of $pid $w) 2>/dev/null || true
    done
    wait $pid || { cat "$TMP/stderr"; return 1; }
    [ "$(json "$TMP/run.json" "len(d['runs'][0]['losses']) >= ${#which[@]}")" = True ] && break
  done
  repeated || { echo "$@"; return 1; }
}

# A run that is over before all are killed is too short; kill -9 hits anywhere.
@test "processes that are killed from outside, workers and servers" {
  for s in ps-async ssp elastic-averaging; do
    killed 2 4 1 -- --strategy $s --servers 2
  done
}

