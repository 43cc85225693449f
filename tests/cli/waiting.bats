#!/usr/bin/env bats
# Who is slow: the waiting of the others is given to the one who came last.

load support

# The share that rank 2 has of all waiting, in percent; and all adds up that must.
share_of_2() {
  python3 - "$1" <<'END'
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
waiting, ranks = run["waiting"], run["waiting"]["by_rank"]
near = lambda a, b: abs(a - b) <= 1e-6 + 1e-9 * abs(b)
assert near(sum(r["cost_s"] for r in ranks), waiting["for_others"]), waiting
assert near(waiting["for_others"] + waiting["stalled"] + waiting["otherwise"], run["time"]["wait"])
assert near(sum(map(sum, waiting["matrix"])), waiting["for_others"])
assert waiting["otherwise"] > -1e-6, waiting
parts = ["load", "compute", "stalled", "preempted", "communicate", "wait"]
for r in ranks:
    assert near(sum(r[p] for p in parts), r["cost_s"]), r
assert near(ranks[2]["compute"], ranks[2]["cost_s"]), ranks[2]
assert waiting["for_others"] > 0.1, waiting
print(round(100 * ranks[2]["share"]))
END
}

# With these options rank 2 has cost nearly all of it.
costs_all() {
  hogring train --model softmax --workers 8 --epochs 2 --clock virtual --compute-time 'constant(10ms)' \
    --inject slow:2x2 --details --json "$TMP/slow.json" "$@" >"$TMP/out" 2>"$TMP/err"
  [ "$(share_of_2 "$TMP/slow.json")" -ge 95 ]
  grep -q ': rank 2 caused [0-9]* % of all waiting (.* computing$' "$TMP/out"
}

@test "who is twice as slow in virtual time has cost all waiting, in every strategy that waits" {
  costs_all --algorithm direct
  costs_all --algorithm ring --link 1GB/s,50us
  costs_all --algorithm tree
  costs_all --strategy ps-sync
  costs_all --strategy ps-sync --servers 2 --placement colocated
  costs_all --strategy ssp --staleness 0
  costs_all --strategy ssp --staleness 1 --batch-size 4
  costs_all --strategy local-sgd
  costs_all --strategy gossip
  costs_all --strategy elastic-averaging
}

@test "backup workers: those who came too late are counted by name" {
  hogring train --model softmax --workers 8 --epochs 2 --clock virtual --strategy backup-workers \
    --compute-time 'constant(10ms)' --inject slow:2x2 --details --json "$TMP/run.json" >"$TMP/out" 2>"$TMP/err"
  grep -q ': rank 2 came too late for .* dropped gradients$' "$TMP/out"
  [ "$(json "$TMP/run.json" 'd["runs"][0]["waiting"]["by_rank"][2]["dropped"] > 0')" = True ]
}

@test "real time: who stalls is named, and so is what it cost" {
  for launch in thread process; do
    hogring train --model softmax --workers 3 --epochs 2 --launch "$launch" --inject stall:2@step=5+3s \
      --details --json "$TMP/run.json" >"$TMP/out" 2>"$TMP/err"
    grep -q ': rank 2 caused .* of all waiting (.*, stalled$' "$TMP/out"
    [ "$(json "$TMP/run.json" '2.99 < d["runs"][0]["waiting"]["stalled"]')" = True ]
    [ "$(json "$TMP/run.json" 'd["runs"][0]["waiting"]["by_rank"][2]["stalled"] > 3')" = True ]
  done
}

@test "of a pipeline the replica is named, and its stage" {
  hogring train --model mlp --workers 2 --pipeline 2 --epochs 2 --clock virtual --compute-time 'constant(10ms)' \
    --inject slow:stage:1:1x4 --details --json "$TMP/run.json" >"$TMP/out" 2>"$TMP/err"
  grep -q 'rank 1 caused 100 % of all waiting (.*, computing; its stage 1 is the slowest$' "$TMP/out"
  [ "$(json "$TMP/run.json" 'd["runs"][0]["waiting"]["by_rank"][1]["stage"]')" = 1 ]
}

@test "who was lost is named" {
  for strategy in allreduce ps-sync gossip; do
    hogring train --model softmax --workers 4 --epochs 2 --clock virtual --compute-time 'constant(1ms)' \
      --strategy "$strategy" --on-loss continue --inject kill:2@step=3 --json "$TMP/run.json" >"$TMP/out" 2>"$TMP/err"
    [ "$(json "$TMP/run.json" 'd["runs"][0]["waiting"]["by_rank"][2]["share"] > 0.95')" = True ]
  done
}

@test "a replay, where no time is kept, says that it knows nothing of waiting" {
  hogring train --model softmax --epochs 1 --strategy ps-async --record "$TMP/trace" >"$TMP/out" 2>"$TMP/err"
  hogring replay "$TMP/trace" --json "$TMP/run.json" >"$TMP/out" 2>"$TMP/err"
  [ "$(json "$TMP/run.json" 'd["runs"][0]["waiting"]["for_others"]')" = None ]
  [ "$(json "$TMP/run.json" 'd["runs"][0]["waiting"]["by_rank"]')" = "[]" ]
}
