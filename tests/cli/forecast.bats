#!/usr/bin/env bats
# hogring forecast, train --forecast: what is shown is what JSON has, and what no forecast stands for is refused. Speeds are no matter here.
load support

virtual() { hogring forecast --clock virtual --compute-time 10ms "$@"; }

@test "rows are what was asked for, in words and in JSON" {
  hogring forecast --strategies allreduce,ps-async,hogwild --workers 1,2,3 --servers 1,2 --model "flatten, dense 64, relu, dense 32, relu, dense 10" --json "$TMP/json" >"$TMP/said"
  python3 - "$TMP/json" "$TMP/said" <<'END_OF_PYTHON'
import json, re, sys
document, said = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
f = document["forecast"]
rows = {(r["strategy"], r["workers"], r["servers"]): r for r in f["rows"]}
assert set(rows) == {(s, w, 0) for s in ("allreduce", "hogwild") for w in (1, 2, 3)} | {("ps-async", w, n) for w in (1, 2, 3) for n in (1, 2)}, list(rows)
assert document["config"]["workers"] == [1, 2, 3] and document["config"]["servers"] == [1, 2]
for r in f["rows"]:
    assert r["samples_per_s_low"] < r["samples_per_s"] < r["samples_per_s_high"], r
    assert abs(r["speedup"] - r["samples_per_s"] / f["alone_samples_per_s"]) < 1e-9 * r["speedup"], r
    assert abs(r["epoch_s"] * r["samples_per_s"] - document["config"]["data"]["train"]) < 1e-6, r
    assert r["memory_bytes"] > 0 and r["batch_size"] == 32
    assert (r["samples_cost_low"] is None) == (r["strategy"] != "allreduce"), r
    assert r["global_batch"] == 32 * (r["workers"] if r["strategy"] == "allreduce" else 1), r
timed = {(t["strategy"], t["workers"], t["servers"]) for t in f["timing"]["runs"]}
for key, r in rows.items():
    assert r["timed"] == (key in timed), (key, timed)
    assert any(re.match(rf"{key[0]} +{key[1]}{f' . {key[2]}' if key[2] else ''} +[^ *]+(\*?) ", line) and ("*" in line) == r["timed"] for line in said.splitlines()), key
one = rows["allreduce", 1, 0]
assert one["timed"] and abs(one["speedup"] - 1) < 1e-9 and one["samples_cost_high"] == 1
start = f["noise"][0]
assert start["step"] == 0 and start["batch_size"] == 32 and start["low"] < start["scale"] < start["high"]
assert abs(start["scale"] - start["trace"] / start["gradient_squared"]) < 1e-9 * start["scale"]
cost = lambda scale: (scale + 64) / (scale + 32)
ends = [cost(n[e]) for n in f["noise"] for e in ("low", "high")]
r = rows["allreduce", 2, 0]
assert abs(r["samples_cost_low"] - min(ends)) < 1e-9 and abs(r["samples_cost_high"] - max(ends)) < 1e-9, (r, ends)
assert f"Gradient noise scale at the start: {start['scale']:.3g} samples ({start['low']:.3g} to {start['high']:.3g}, 95 %)" in said, said
assert 0 < f["timing"]["seconds"] and f["timing"]["evaluation_s"] >= 0 and not f["simulated"]
table = said.split("\n\n")[0].splitlines() # sentences are whole in a file
assert max(map(len, table)) <= 80, max(table, key=len)
END_OF_PYTHON
}

@test "in virtual time a forecast is what the simulation comes to" {
  virtual --strategies allreduce,ps-sync --workers 4 --link 200MB/s,20us --json "$TMP/json" >/dev/null
  for s in allreduce ps-sync; do
    hogring simulate --strategy $s --workers 4 --compute-time 10ms --link 200MB/s,20us --epochs 1 --quiet --json "$TMP/$s" >/dev/null
    python3 -c '
import json, sys
f, r = (json.load(open(p)) for p in sys.argv[2:])
row, = (x for x in f["forecast"]["rows"] if x["strategy"] == sys.argv[1])
real = r["runs"][0]["samples_per_s"]
assert abs(row["samples_per_s"] / real - 1) < 0.03, (row["samples_per_s"], real)' $s "$TMP/json" "$TMP/$s"
  done
}

@test "sentences say whether more workers help" {
  virtual --strategies allreduce --workers 4 >"$TMP/said"
  grep -q "^More workers help: 4 workers under allreduce train 3.77 times" "$TMP/said" # an epoch ends with a small batch
  virtual --strategies allreduce --workers 8 --link 1MB/s,1ms >"$TMP/said"
  tr -s ' \n' ' ' <"$TMP/said" | grep -q "More workers do not help: the best, 8 workers under allreduce, will be slower than one"
}

@test "sparse data: rho and the bound" {
  hogring data make sparse --out "$TMP/rows" --rows 400 >/dev/null
  hogring forecast --model logistic --data "$TMP/rows" --workers 1,2 --json "$TMP/json" >"$TMP/said"
  python3 - "$TMP/json" <<'END_OF_PYTHON'
import json, sys
f = json.load(open(sys.argv[1]))["forecast"]
c = f["conflicts"]
assert abs(c["bound"] - (1 + 6 * c["rho"] + 6 * c["omega"] * c["delta"] ** 0.5)) < 1e-9 * c["bound"], c
assert not f["noise"] and {(r["strategy"], r["workers"]) for r in f["rows"]} == {(s, w) for s in ("hogwild", "locked") for w in (1, 2)}
END_OF_PYTHON
  grep -q "^Hogwild's bound on steps, with others 1 step behind" "$TMP/said"
}

@test "train --forecast says how wrong it was" {
  hogring train "${quick[@]}" --workers 3 --strategy hogwild --forecast --json "$TMP/json" >"$TMP/said" 2>"$TMP/err"
  python3 - "$TMP/json" "$TMP/said" <<'END_OF_PYTHON'
import json, re, sys
document, said = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
f, run = document["forecast"], document["runs"][0]
error = f["samples_per_s"] / run["samples_per_s"] - 1
assert abs(f["samples_per_s_error"] - error) < 1e-9
assert f"samples/s, {100 * abs(error):.1f} % too {'high' if error > 0 else 'low'}: " in said, said
inside = f["samples_per_s_low"] <= run["samples_per_s"] <= f["samples_per_s_high"]
assert (", within the range" in said) == inside, said
if f["resident_bytes"]:
    assert abs(f["memory_error"] - (f["memory_bytes"] / f["resident_bytes"] - 1)) < 1e-9
END_OF_PYTHON
  hogring train "${quick[@]}" --json - 2>/dev/null | grep -q '"forecast": null'
}

@test "what no forecast stands for is refused in a line" {
  refused 2 "gossip: a forecast has no model of its time" forecast --strategies gossip --workers 2
  refused 2 "--link 1GB/s,5us: not in a forecast in real time: it is of this machine as it is" forecast --strategies allreduce --workers 2 --link 1GB/s,5us
  refused 2 "--batch-size 32,64: a forecast is of one" forecast --batch-size 32,64
  refused 2 "gossip: a forecast has no model of its time" forecast --strategies gossip:torus --workers 4
  refused 2 "allreduce: --batch-size is one for all that are forecast" forecast --strategies allreduce:batch-size=8 --workers 2
  refused 2 "--pipeline: unknown option" forecast --pipeline 2
  refused 2 "--pipeline 2: not in a forecast" train --pipeline 2 --workers 1 --forecast
  refused 2 "--servers: is not supported with --strategy allreduce" forecast --strategies allreduce --servers 2
}

@test "train --forecast in virtual time knows rings of links, colocated servers and global batches" {
  for how in "--topology ring:4" "--strategy ps-sync --placement colocated" "--global-batch-size 96"; do
    hogring train --quiet --clock virtual --compute-time 10ms --epochs 1 --workers 4 --link 200MB/s,20us --forecast $how --json "$TMP/json" >/dev/null
    [ "$(json "$TMP/json" '0.95 < d["forecast"]["samples_per_s"] / d["runs"][0]["samples_per_s"] < 1.05')" = True ] || return 1
  done
  refused 2 "--placement colocated: not in a forecast in real time" train --strategy ps-sync --placement colocated --forecast
}
