#!/usr/bin/env bats
# compare --orders: the same seeds in several orders of events.
load support

# weights FILE ORDER: of ssp, seed by seed; order None: of a comparison without --orders.
weights() {
  json "$1" "[r[\"weights_digest\"] for r in d[\"runs\"] if r[\"strategy\"] == \"ssp\" and r[\"event_order\"] == $2]"
}

@test "seeds in several orders: synchronous strategies once, the first order as without" {
  set -- "${quick[@]}" --strategies allreduce,ssp --workers 4 --clock virtual --seeds 2
  hogring compare "$@" --json "$TMP/one.json" >/dev/null 2>&1
  hogring compare "$@" --details --orders 3 --json "$TMP/out.json" --log "$TMP/log.jsonl" >"$TMP/stdout"
  [ "$(json "$TMP/out.json" '[(r["strategy"], r["seed"], r["event_order"]) for r in d["runs"]]')" = \
    "[('allreduce', 1, 1), ('ssp', 1, 1), ('ssp', 1, 2), ('ssp', 1, 3), ('allreduce', 2, 1), ('ssp', 2, 1), ('ssp', 2, 2), ('ssp', 2, 3)]" ]
  [ "$(weights "$TMP/out.json" 1)" = "$(weights "$TMP/one.json" None)" ]
  [ "$(json "$TMP/out.json" 'len({r["weights_digest"] for r in d["runs"]})')" = 8 ]
  [ "$(json "$TMP/out.json" '[(s["seeds"], s["orders"] and s["orders"]["runs"]) for s in d["comparison"]["strategies"]]')" = "[(2, None), (2, 6)]" ]
  grep -q "^  Run once per seed, as no order changes their bits: allreduce\.$" "$TMP/stdout"
  grep -q "^  ssp: deviation .* between seeds, " "$TMP/stdout"
  [ "$(grep -o '"run": *"[^"]*"' "$TMP/log.jsonl" | sort -u | wc -l)" = 8 ]
  python3 - "$TMP/out.json" <<'END'
import json, statistics, sys
d = json.load(open(sys.argv[1]))
orders = d["comparison"]["strategies"][1]["orders"]
seeds = [[r["test_accuracy"] for r in d["runs"] if r["strategy"] == "ssp" and r["seed"] == s] for s in (1, 2)]
within = statistics.mean(statistics.variance(s) for s in seeds)
between = max(0, statistics.variance(statistics.mean(s) for s in seeds) - within / 3)
assert abs(orders["sd_orders"] - within ** 0.5) < 1e-9, orders
assert abs(orders["sd_seeds"] - between ** 0.5) < 1e-9, orders
END
}

@test "orders in real time are repetitions, of one strategy too" {
  hogring compare --details "${quick[@]}" --strategies hogwild --workers 2 --seeds 2 --orders 2 --json "$TMP/out.json" >"$TMP/stdout"
  grep -q "^Orders of events: " "$TMP/stdout"
  [ "$(json "$TMP/out.json" 'len(d["runs"]), d["comparison"]["strategies"][0]["orders"]["runs"]')" = "(4, 4)" ]
}

@test "orders that mean nothing are refused" {
  refused 2 "--orders 1: one order says nothing" compare --seeds 2 --orders 1
  refused 2 "--orders 3: is not supported with one seed" compare --orders 3
  refused 2 "--orders 3: no entry depends on the order" compare --strategies allreduce,ssp:workers=1 --seeds 2 --orders 3
  refused 2 "--orders: not with --concurrent" compare --seeds 2 --orders 3 --concurrent
  refused 2 "--orders: not with --resume $TMP/ck" compare --strategies "allreduce,ssp:resume=$TMP/ck" --seeds 2 --orders 3
  refused 2 "--orders: unknown option" train --orders 3
}

@test "each order saves in a folder of its own" {
  hogring compare "${quick[@]}" --workers 2 --clock virtual --strategies allreduce,ssp --seeds 2 --orders 2 --checkpoint-dir "$TMP/saved" --json "$TMP/out.json" >/dev/null
  [ "$(cd "$TMP/saved" && ls -d */* | paste -sd ' ')" = "allreduce/seed-1 allreduce/seed-2 ssp/seed-1 ssp/seed-1-order-2 ssp/seed-2 ssp/seed-2-order-2" ]
  ! cmp -s "$TMP"/saved/ssp/seed-1/step-*/model.safetensors "$TMP"/saved/ssp/seed-1-order-2/step-*/model.safetensors
}
