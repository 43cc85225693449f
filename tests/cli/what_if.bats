#!/usr/bin/env bats
# replay --what-if: a recorded run, and what it would have been.
load support

record() { hogring train --model "flatten, dense 10" --epochs 2 --workers 4 --quiet --compute-time 4ms --inject slow:1x3 --record "$TMP/run.trace" "$@" >/dev/null; }
what_if() { hogring replay "$TMP/run.trace" --what-if "$1" --json "$TMP/out.json" >"$TMP/stdout"; }
run_of() { json "$TMP/out.json" "d['runs'][$1]['$2']"; }

@test "the null counterfactual is the recorded run, and the model takes as long" {
  record --strategy ps-async --json "$TMP/recorded.json"
  what_if straggler=none
  [ "$(run_of 0 weights_digest)" = "$(json "$TMP/recorded.json" 'd["runs"][0]["weights_digest"]')" ]
  [ "$(run_of 0 seconds)" = "$(json "$TMP/recorded.json" 'd["runs"][0]["seconds"]')" ]
  [ "$(json "$TMP/out.json" '0.8 < d["runs"][1]["seconds"] / d["runs"][0]["seconds"] < 1.25')" = True ]
}

@test "without its straggler the run is shorter; with a bound it is held up, and the bound holds" {
  record --strategy ps-async
  what_if straggler=none
  [ "$(json "$TMP/out.json" 'd["runs"][2]["seconds"] < 0.95 * d["runs"][1]["seconds"]')" = True ]
  grep -q "With straggler=none the run would take 0\.[0-9]* times as long" "$TMP/stdout"
  what_if staleness=1
  [ "$(json "$TMP/out.json" 'd["runs"][2]["seconds"] > 1.2 * d["runs"][1]["seconds"], d["runs"][2]["max_skew"]')" = "(True, 1)" ]
}

@test "changes are joined; a slow link costs what it carries" {
  record --strategy ssp --staleness 3
  what_if link=1Mbps+straggler=none
  [ "$(json "$TMP/out.json" 'd["runs"][2]["seconds"] > d["runs"][2]["bytes"]["sent"] * 8 / 1e6')" = True ]
}

@test "what cannot be asked is said" {
  record --strategy ps-async
  refused 2 "--what-if colour=blue: expected straggler=none" replay "$TMP/run.trace" --what-if colour=blue --quiet
  refused 2 "--what-if s=2: expected straggler=none" replay "$TMP/run.trace" --what-if s=2 --quiet
  refused 2 "--what-if =2: expected straggler=none" replay "$TMP/run.trace" --what-if =2 --quiet
  refused 2 "--what-if +: expected straggler=none" replay "$TMP/run.trace" --what-if + --quiet
  refused 2 "--what-if staleness=2+link=1Gbps+staleness=3: expected staleness once" replay "$TMP/run.trace" --what-if staleness=2+link=1Gbps+staleness=3 --quiet
  hogring train --model softmax --epochs 1 --quiet --workers 2 --record "$TMP/sync.trace" >/dev/null
  refused 2 "says no times of worker 0's gradients" replay "$TMP/sync.trace" --what-if staleness=1
}

@test "a loss that the order of updates alone explains is called so" {
  record --strategy ps-async
  what_if link=1000GB/s
  distrusted=$(json "$TMP/out.json" 'abs(d["runs"][1]["test_loss"] - d["runs"][0]["test_loss"]) > abs(d["runs"][2]["test_loss"] - d["runs"][1]["test_loss"])')
  said=False
  grep -q "That loss says little: by another order of updates alone" "$TMP/stdout" && said=True
  [ "$said" = "$distrusted" ]
}

@test "without the deaths that were recorded, in time and in loss" {
  hogring train --strategy ps-async --model softmax --epochs 4 --workers 4 --clock virtual --compute-time 4ms --on-loss restart --seed 3 \
    --inject kill:1@step=3,kill:2@step=5,kill:3@step=6,stall:0@step=8+20ms --record "$TMP/run.trace" --json "$TMP/recorded.json" --quiet >/dev/null 2>&1
  what_if kill=none
  [ "$(run_of 0 weights_digest)" = "$(json "$TMP/recorded.json" 'd["runs"][0]["weights_digest"]')" ]
  [ "$(json "$TMP/out.json" '[len(r["losses"]) for r in d["runs"]]')" = "[3, 3, 0]" ]
  grep -q "^recorded, replayed, 3 lost" "$TMP/stdout"
  grep -q "With kill=none the run would take [01]\.[0-9]* times as long, and end at a test loss of 0\.[0-9]* instead of 0\.[0-9]*\." "$TMP/stdout"
}
