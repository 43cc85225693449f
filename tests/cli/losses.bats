#!/usr/bin/env bats
# --on-loss: a run goes on without the ranks that it loses, and every sample is accounted for.
load support

strategies="allreduce ps-sync ps-async ssp hogwild local-sgd elastic-averaging backup-workers gossip"
samples=1438 # of the digits, an epoch
run=(train --model softmax --compute-time 1ms --quiet)

# there STRATEGY HOW: does it go on without lost workers? One that does not yet says so, and nothing else.
there() {
  local code=0
  hogring "${run[@]}" --epochs 1 --max-steps 1 --workers 2 --strategy $1 --on-loss $2 >/dev/null 2>"$TMP/there" || code=$?
  [ $code = 2 ] && grep -q "not there yet" "$TMP/there" && return 1
  return 0
}

# accounted FILE EPOCHS: each sample was trained on, lost or dropped, or of a step that a late backup worker was not
# there for; and whoever was not there has no time.
accounted() {
  python3 - "$1" $(($2 * samples)) <<'PY'
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
assert run["losses"], "no losses"
all, had = int(sys.argv[2]), run["samples"] + run["samples_lost"] + run["dropped"]["samples"]
assert had <= all if run["strategy"] == "backup-workers" else had == all, (all, run["samples"], run["losses"], run["dropped"])
assert run["samples_lost"] == sum(loss["samples_lost"] for loss in run["losses"])
lost = {loss["rank"] for loss in run["losses"] if not loss["server"]}
for rank, t in enumerate(run["time"]["workers"]):
    total = sum(t[k] for k in ("load", "compute", "communicate", "wait", "absent"))
    assert abs(total - run["seconds"]) < 1e-6, (rank, t, run["seconds"])
    assert (t["absent"] > 0) <= (rank in lost), (rank, t)
PY
}

segments() { ls /dev/shm | grep hogring || true; }

@test "a worker that dies is told, and the others go on: every strategy, as threads and as processes" {
  local before=$(segments)
  for s in $strategies; do
    for how in continue restart; do
      there $s $how || { echo "# $s: not there yet"; continue; }
      for launch in thread process; do
        echo "$s $how $launch"
        hogring "${run[@]}" --strategy $s --workers 3 --epochs 4 --launch $launch --on-loss $how --inject kill:2@step=8 --json "$TMP/run.json" >"$TMP/said" 2>"$TMP/stderr"
        grep -q "worker 2 was lost: .*; \(the others go on\|it is started again\)" "$TMP/stderr"
        accounted "$TMP/run.json" 4
        [ "$(json "$TMP/run.json" '[(l["rank"], l["server"], l["back"]) for l in d["runs"][0]["losses"]], d["runs"][0]["restarts"]')" = "([(2, False, $([ $how = restart ] && echo True || echo False))], $([ $how = restart ] && echo 1 || echo 0))" ]
        [ "$(json "$TMP/run.json" 'd["runs"][0]["test_accuracy"] > 0.8')" = True ]
      done
    done
  done
  [ "$(segments)" = "$before" ]
}

@test "what was evaluated after a loss is the model that was saved" {
  for launch in thread process; do
    hogring "${run[@]}" --strategy hogwild --workers 3 --epochs 2 --launch $launch --on-loss continue --inject kill:1@step=2,kill:2@step=30 --checkpoint-dir "$TMP/$launch" --json "$TMP/run.json" >/dev/null 2>&1
    hogring eval "$TMP/$launch" --json "$TMP/eval.json" >/dev/null
    [ "$(json "$TMP/run.json" 'd["runs"][0]["test_accuracy"]')" = "$(json "$TMP/eval.json" 'd["test_accuracy"]')" ]
  done
}

@test "the only worker comes back, and trains on" {
  for launch in thread process; do
    hogring "${run[@]}" --strategy hogwild --workers 1 --epochs 2 --launch $launch --on-loss restart --inject kill:0@step=3,kill:0@step=50 --json "$TMP/run.json" >/dev/null 2>&1
    accounted "$TMP/run.json" 2
    [ "$(json "$TMP/run.json" 'd["runs"][0]["restarts"]')" = 2 ]
  done
}

@test "comparisons mark who lost a worker, side by side or one behind the other" {
  for how in "" --concurrent; do
    hogring compare --model softmax --compute-time 1ms --quiet --workers 3 --epochs 4 --seeds 2 $how --json "$TMP/runs.json" --on-loss continue \
      --strategies "hogwild:inject=(kill:2@step=8),allreduce:on-loss=stop" >"$TMP/said" 2>/dev/null
    grep -q "^hogwild.*~  " "$TMP/said"
    tr -s ' \n' ' ' <"$TMP/said" | grep -q " lost by hogwild[^:]*kill:2@step=8[^:]*, seed 2: worker 2 after 8 gradients, at "
    grep -q "^Lost ranks: hogwild.* (2 of 2 seeds)" "$TMP/said"
    grep -q "^  Not like for like" "$TMP/said"
    [ "$(json "$TMP/runs.json" '[[len(r["losses"]) for r in d["runs"]], [s["runs_with_losses"] for s in d["comparison"]["strategies"]], d["comparison"]["lost_alike"]]')" = "[[1, 0, 1, 0], [2, 0], False]" ]
  done
}
