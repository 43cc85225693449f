#!/usr/bin/env bats
# hogring train --pipeline: what is shown, how it ends, what is refused.
load support

# Runs for ever, with stages that are processes: rank 0 is the worker, ranks 1 and 2 are stages.
start() { forever --workers 1 --pipeline 3,micro-batches=4 "$@"; }

digest() { hogring train "$@" --quiet | sed -n 's/^weights digest  //p'; }

@test "the banner says the grid, the cut and its balance; JSON what each stage did" {
  run hogring train --details --workers 2 --pipeline 3,micro-batches=8 --epochs 1 --json "$TMP/run.json"
  [ "$status" -eq 0 ]
  [[ "$output" == *"2 replicas x 3 stages as threads"* ]]
  [[ "$output" == *"pipeline 1f1b, 8 micro-batches of 4"* ]]
  [[ "$output" == *"stage 0: layers 0 to 2, 16,640 parameters, 24.3 % of multiply-adds"* ]]
  [[ "$output" == *"bubble          "*" % of the stages' time (1f1b of equal stages: 20.0 %); idle: "* ]]
  python3 - "$TMP/run.json" <<'END'
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
p = run["pipeline"]
assert run["workers"] == 2 and run["batch_size"] == 32
assert p["schedule"] == "1f1b" and p["micro_batches"] == 8 and abs(p["bubble_formula"] - 0.2) < 1e-9, p
assert [s["peak_micro_batches"] for s in p["stages"]] == [3, 2, 1], p
assert sum(s["params"] for s in p["stages"]) == run["params"]
assert p["bytes"] == sum(s["bytes"] for s in p["stages"]) == run["samples"] * (256 + 128) * 4 * 2, p
assert 0 < p["bubble"] < 1 and all(s["busy_seconds"] > 0 for s in p["stages"])
END
  run hogring train --details --workers 2 --pipeline 3,micro-batches=8,schedule=zero-bubble --epochs 1 --json "$TMP/run.json"
  [[ "$output" == *"(zero-bubble of equal stages: 7.7 %)"* ]]
  python3 - "$TMP/run.json" <<'END'
import json, sys
p = json.load(open(sys.argv[1]))["runs"][0]["pipeline"]
assert [s["peak_micro_batches"] for s in p["stages"]] == [3, 3, 3], p
END
  run hogring train --workers 1 --epochs 1 --json -
  [[ "$output" == *'"pipeline": null'* ]]
}

@test "--pipeline K,recompute says what it saves and costs, and changes no bit" {
  run hogring train --details --workers 1 --pipeline 2,recompute,micro-batches=8,schedule=gpipe --epochs 1 \
    --json "$TMP/run.json"
  [ "$status" -eq 0 ]
  [[ "$output" == *"recompute: activations take "*" a replica, "*" without; "*" % more multiply-adds"* ]]
  python3 - "$TMP/run.json" <<'END'
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
p = run["pipeline"]
r = p["recompute"]
assert r["activation_bytes"] < r["activation_bytes_without"] and 0.2 < r["madds_share"] < 0.5, r
assert r["compute_seconds_without"] is None
assert all(0 < s["recompute_seconds"] < s["busy_seconds"] for s in p["stages"]), p
END
  want=$(digest --workers 1 --epochs 1 --pipeline 2,micro-batches=8)
  [ -n "$want" ]
  [ "$(sed -n 's/^weights digest  //p' <<<"$output")" = "$want" ]
}

@test "processes are threads, and both are one worker that accumulates" {
  want=$(digest --workers 2 --epochs 1 --batch-size 8 --accumulate 4)
  [ -n "$want" ]
  for launch in thread process; do
    for schedule in 1f1b zero-bubble; do
      [ "$(digest --workers 2 --epochs 1 --pipeline 3,micro-batches=4 --launch $launch \
        --pipeline schedule=$schedule)" = "$want" ] || return 1
    done
  done
}

@test "a stage that is killed ends the run with exit 4, and is named" {
  for victim in 1 2 3; do
    start
    kill -KILL "$(child_of $pid $victim)"
    code=0
    wait $pid || code=$?
    [ $code -eq 4 ]
    grep -q "rank $((victim - 1))" "$TMP/err"
    [ -z "$(pgrep -P $pid)" ]
  done
}

@test "SIGINT and SIGTERM stop it" {
  start
  ends_at INT 130
  start
  ends_at TERM 143
}

@test "a stage that is stopped is named by who waits for it" {
  start --timeout 5s
  victim=$(child_of $pid 2)
  kill -STOP "$victim"
  code=0
  wait $pid || code=$?
  [ $code -eq 1 ] || [ $code -eq 4 ]
  grep -q "rank 1" "$TMP/err"
  grep -q "stopped" "$TMP/err"
}

@test "--timeout T:WARN names a stage that others wait for, and it goes on" {
  start --timeout 60s:300ms
  victim=$(child_of $pid 2)
  kill -STOP "$victim"
  said="rank 1 \\(pid $victim\\) has been stopped for .*; rank 0 (has|and 1 more have) waited"
  for _ in $(seq 1200); do grep -qE "$said" "$TMP/err" && break; sleep 0.05; done
  grep -qE "$said" "$TMP/err"
  kill -CONT "$victim"
  for _ in $(seq 1200); do grep -q "goes on after" "$TMP/err" && break; sleep 0.05; done
  kill -INT $pid
  code=0
  wait $pid || code=$?
  [ $code -eq 130 ]
  grep -q "rank 1 (pid $victim) goes on after" "$TMP/err"
}

@test "one worker's stages send messages, and so links have a meaning" {
  [ "$(digest --workers 1 --pipeline 2 --epochs 1 --clock virtual --link 1GB/s,5us)" = "$(digest --workers 1 --pipeline 2 --epochs 1)" ]
  refused 2 "--link: is not supported with --workers 1" train --workers 1 --clock virtual --link 1GB/s
}

@test "options of pipelines mean nothing without one" {
  for options in "--pipeline micro-batches=4" "--pipeline stages=3,3" "--pipeline schedule=gpipe"; do
    run hogring train $options --epochs 1
    [ "$status" -eq 2 ]
    [[ "$output" == *": of what? give --pipeline K too"* ]]
  done
}

@test "what a pipeline cannot have is refused in a line" {
  while IFS='|' read -r options why; do
    refused 2 "$why" train --epochs 1 $options || return 1
  done <<'END'
--pipeline 4|at most 3 parts, not 4
--pipeline 2,micro-batches=5|expected a divisor of --batch-size 32
--pipeline 2,stages=1,5|nothing before it has parameters
--pipeline 2,stages=2,4|the layer before it does its work
--pipeline 2,stages=3,2,1|3 parts, expected 2
--pipeline 2,schedule=interleaved:2|at most 3 parts, not 4
--pipeline 65|expected 1 to 64
--pipeline 3 --workers 40|expected at most 64
--pipeline 2,micro-batches=2 --reduce repro --global-batch-size 32|they are the 4 of 8 micro-shards
--pipeline 2 --tensor-parallel 2 --on-loss continue|--on-loss continue: not with --tensor-parallel 2 in real time
--pipeline 2 --accumulate 2|micro-batches says
END
}
