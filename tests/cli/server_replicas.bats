#!/usr/bin/env bats
# --server-replicas 2: one of each pair of servers may die, and nothing that a worker was told is lost.
load support

samples=1438 # of the digits, an epoch
run=(train --model softmax --compute-time 1ms --workers 3 --server-replicas 2 --on-loss continue)

# whole FILE EPOCHS FOLLOWED...: every sample was trained on, every update acknowledged is in the weights, once; and
# that is what followed the losses of servers.
whole() {
  python3 - "$@" "$samples" <<'PY'
import json, sys
run, epochs, followed, samples = json.load(open(sys.argv[1]))["runs"][0], int(sys.argv[2]), sys.argv[3:-1], int(sys.argv[-1])
assert run["samples"] == epochs * samples, run["samples"]
assert run["applied"] == run["updates"], (run["applied"], run["updates"])
assert [str(loss["followed"]) for loss in run["losses"]] == followed, run["losses"]
PY
}

# The processes are workers, servers and their replicas, in this order. A run that is over before is too short.
killed() { # STRATEGY CHILD
  for epochs in 40 200 1000; do
    "${HOGRING:-build/hogring}" "${run[@]}" --strategy $1 --launch process --epochs $epochs --json "$TMP/run.json" >/dev/null 2>"$TMP/said" & pid=$!
    for _ in $(seq 1000); do grep -q "^epoch 2/" "$TMP/said" && break; sleep 0.01; done
    victim=$(child_of $pid $2)
    kill -KILL $victim 2>/dev/null && break
    wait $pid
  done
  wait $pid && grep -q "server $(($2 - 4)) was lost: pid $victim was killed by signal 9 .*; its replica goes on" "$TMP/said" &&
    whole "$TMP/run.json" $epochs replica || { cat "$TMP/said"; return 1; }
}

@test "the process of a server, or of its replica, is killed" {
  for s in ps-async ssp; do
    killed $s 4 && killed $s 5 || return 1
  done
}

@test "every strategy with servers goes on, and ps-sync to the same weights" {
  hogring "${run[@]}" --strategy ps-sync --epochs 3 --json "$TMP/whole.json"
  for s in ps-sync ps-async ssp elastic-averaging backup-workers; do
    for server in 0 1; do
      hogring "${run[@]}" --strategy $s --launch process --epochs 3 --inject kill:server:$server@step=20 --json "$TMP/run.json"
      [ "$(json "$TMP/run.json" '[l["followed"] for l in d["runs"][0]["losses"]]')" = "['replica']" ]
      [ $s != ps-sync ] || [ "$(json "$TMP/run.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/whole.json" 'd["runs"][0]["weights_digest"]')" ]
    done
  done
}

@test "a server dies on purpose, as a thread and as a process" {
  for launch in thread process; do
    for s in 0 1 2 3; do
      hogring "${run[@]}" --strategy ps-async --servers 2 --launch $launch --epochs 3 --inject kill:server:$s@step=50 --json "$TMP/run.json"
      whole "$TMP/run.json" 3 replica
    done
  done
}

@test "whoever is left of a pair takes all back" {
  hogring "${run[@]}" --strategy ssp --launch process --epochs 6 --inject kill:server:0@step=100,kill:server:1@step=300 --json "$TMP/run.json"
  whole "$TMP/run.json" 6 replica rollback
}

@test "with --on-loss restart who was lost is a replica again from the next cut on" {
  for launch in thread process; do
    hogring "${run[@]}" --on-loss restart --strategy ps-async --launch $launch --epochs 40 --json "$TMP/run.json" \
      --inject kill:server:0@step=50,kill:server:1@step=2500,kill:server:0@step=2500
    whole "$TMP/run.json" 40 replica replica replica
    [ "$(json "$TMP/run.json" '[l["back"] for l in d["runs"][0]["losses"]][:2], d["runs"][0]["restarts"]')" = "([True, True], 3)" ]
  done
}

@test "a worker dies beside a server" {
  hogring "${run[@]}" --strategy ssp --launch process --epochs 4 --inject kill:server:1@step=100,kill:2@step=20 --json "$TMP/run.json"
  [ "$(json "$TMP/run.json" '(lambda r: (r["samples"], r["applied"] == r["updates"]))(d["runs"][0])')" = "($((4 * samples)), True)" ]
}

@test "it is said in the banner, in the table and in JSON" {
  run hogring train --model softmax --compute-time 1ms --workers 2 --server-replicas 2 --on-loss continue --strategy ps-async --epochs 2 --inject kill:server:0@step=40 --json "$TMP/run.json"
  [ $status -eq 0 ]
  [[ "$output" == *"2 workers and 1 server, each with a replica,"* ]]
  [[ "$(tr -s '\n ' ' ' <<<"$output")" == *"; its replica went on"* ]]
  [ "$(json "$TMP/run.json" 'd["config"]["server-replicas"], d["runs"][0]["bytes"]["replicated"] > 0')" = "(2, True)" ]
}

# refused TEXT OPTION...
refused() {
  run hogring train --server-replicas 2 "${@:2}"
  [ $status -eq 2 ] && [[ "$output" == *"--server-replicas"*"$1"* ]] || { echo "$output"; return 1; }
}

@test "what it does not do is refused" {
  refused "stop" --strategy ps-async
  refused "allreduce" --strategy allreduce --on-loss continue
  run hogring train --server-replicas 2 --strategy ps-sync --on-loss continue --placement colocated
  [ $status -eq 2 ]
  [[ "$output" == *"colocated; expected one of them alone"* ]]
  run hogring train --server-replicas 3 --strategy ps-async --on-loss continue
  [ $status -eq 2 ]
  [[ "$output" == *"expected 1 to 2"* ]]
}
