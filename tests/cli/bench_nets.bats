#!/usr/bin/env bats
# bench layers and bench train: every part once, shares that add up, and one line for what cannot be.
load support

export HOGRING_CACHES=32K,512K,8M # twice the third level is filled each time

small=(--model "flatten, dense 16, relu, dense 10" --input 1x8x8 --batch-size 8 --max-seconds 0.02)

# recomputed layers|train FILE: rates and shares are what the other fields make of them; a roof that
# wavered by more than 5 %, or that was passed, gives no share.
recomputed() {
  python3 - "$@" <<'PYTHON'
import json, sys
from statistics import median

d = json.load(open(sys.argv[2]))

def near(got, want):
    assert abs(got / want - 1) < 1e-9, (got, want)

def of_roof(got, want, spread):
    if spread > 0.05 or want > 1:
        assert got is None, (got, want, spread)
    else:
        near(got, want)

def layers():
    roofs, total = d["roofs"], d["total"]
    levels = {level["level"]: level for level in roofs["memory"]}
    for row in d["rows"]:
        if not row["seconds"]:
            continue
        near(row["share"], row["seconds"] / total["seconds"])
        near(row["bytes_per_s"], row["bytes"] / row["seconds"])
        level = levels[row["level"]]
        of_roof(row["of_memory_roof"], row["bytes_per_s"] / level["bytes_per_s"], level["spread"])
    for row in [*d["rows"], total]:
        if row["seconds"] and row["madds"]:
            near(row["flops_per_s"], 2 * row["madds"] / row["seconds"])
            of_roof(row["of_compute_roof"], row["flops_per_s"] / roofs["flops_per_s"], roofs["spread"])
    near(total["samples_per_s"], d["batch_size"] / total["seconds"])
    near(roofs["flops_per_s"], max(roofs["blas_flops_per_s"], roofs["tile_flops_per_s"]))

def train():
    for row in d["rows"]:
        roof, rounds = row["roof"], row["roof"]["rounds"]
        near(row["flops_per_s"], row["samples_per_s"] * row["flops_per_sample"])
        near(row["flops_per_s"], median(r["flops_per_s"] for r in rounds))
        sides = sorted(x for r in rounds for x in (r["roof_before"], r["roof_after"]))
        near(row["roof_flops_per_s"], median(sides))
        assert len(rounds) == row["rounds"] and len(sides) == 14, "7 rounds"
        assert (roof["low_flops_per_s"], roof["high_flops_per_s"]) == (sides[2], sides[11])
        spread = (sides[11] - sides[2]) / median(sides)
        assert abs(roof["spread"] - spread) < 1e-9
        shares = sorted(2 * r["flops_per_s"] / (r["roof_before"] + r["roof_after"]) for r in rounds)
        of_roof(row["of_compute_roof"], median(shares), spread)
        if row["of_compute_roof"] is None:
            assert roof["no_share"] and roof["share_low"] is None and roof["share_high"] is None
        else:
            assert not roof["no_share"]
            near(roof["share_low"], shares[0]), near(roof["share_high"], shares[-1])

{"layers": layers, "train": train}[sys.argv[1]]()
PYTHON
}

@test "bench layers shows every part of every layer, and which roof binds it" {
  hogring bench layers "${small[@]}" --json "$TMP/out.json" >"$TMP/table"
  grep -q "^# roofs, 1 thread: compute .* L1 .* DRAM .* GB/s" "$TMP/table"
  grep -q "^1 dense 16, relu  *forward .*\(compute\|memory\|overhead\)$" "$TMP/table"
  grep -q "of the layers' time is bound by" "$TMP/table"
  [ "$(json "$TMP/out.json" '[(r["layer"].split()[0], r["part"]) for r in d["rows"]]')" = \
    "[('1', 'forward'), ('3', 'forward'), ('softmax', 'loss'), ('3', 'backward weights'), ('3', 'backward data'), ('2', 'backward data'), ('1', 'backward weights')]" ]
  [ "$(json "$TMP/out.json" 'd["rows"][0]["madds"], d["rows"][0]["bytes"]')" = "(8192.0, 6720.0)" ]
  [ "$(json "$TMP/out.json" 'd["total"]["madds"]')" = "$((8 * (2 * 64 * 16 + 3 * 16 * 10))).0" ]
  [ "$(json "$TMP/out.json" 'abs(sum(d["bound"].values()) - 1) < 1e-9')" = True ]
  recomputed layers "$TMP/out.json"
  [ "$(json "$TMP/out.json" 'd["roofs"]["kind"]')" = float32 ]
}

@test "bench layers takes data, threads and kernels, and draws the roofline" {
  hogring bench layers --data digits --model softmax --batch-size 4 --threads-per-worker 2 --kernels reference --max-seconds 0.02 \
    --plot "$TMP/roof.svg" --json - >"$TMP/out.json"
  [ "$(json "$TMP/out.json" 'd["kernels"], d["threads_per_worker"], d["roofs"]["threads"], d["roofs"]["blas_flops_per_s"]')" = "('reference', 2, 2, 0.0)" ]
  grep -q "floating-point operations for each byte" "$TMP/roof.svg"
  grep -q "1 dense 10" "$TMP/roof.svg"
}

@test "bench train shows samples per second, shares of the time, and the share of the roof" {
  hogring bench train --model softmax,mlp --input 1x8x8 --workers 2 --max-seconds 0.05 --json "$TMP/out.json" >"$TMP/table"
  grep -q "^mlp .*\(%\|no share\)" "$TMP/table"
  [ "$(json "$TMP/out.json" '[r["model"] for r in d["rows"]]')" = "['softmax', 'mlp']" ]
  [ "$(json "$TMP/out.json" '[abs(sum(r["time"].values()) - 1) < 1e-6 for r in d["rows"]]')" = "[True, True]" ]
  [ "$(json "$TMP/out.json" 'd["rows"][0]["flops_per_sample"]')" = "$((2 * 2 * 64 * 10)).0" ]
  recomputed train "$TMP/out.json"
  [ "$(json "$TMP/out.json" '[(r["rounds"], r["roof"]["kind"]) for r in d["rows"]]')" = "[(7, 'float32'), (7, 'float32')]" ]
  [ "$(grep -c ": no share: " "$TMP/table")" = "$(json "$TMP/out.json" 'sum(r["of_compute_roof"] is None for r in d["rows"])')" ]
  [ "$(json "$TMP/out.json" 'd["rows"][0]["time"].keys() == {"load", "forward", "backward", "update", "communicate", "wait"}')" = True ]
}

@test "bench train has strategies, processes, layer lists, and passes over built-ins that do not fit" {
  hogring bench train --strategy ps-async --servers 1 --launch process --workers 2 --model "flatten, dense 10" --data digits --max-seconds 0.05 \
    --json - >"$TMP/out.json"
  [ "$(json "$TMP/out.json" '[(r["model"], r["strategy"], r["launch"], r["workers"]) for r in d["rows"]]')" = "[('flatten, dense 10', 'ps-async', 'process', 2)]" ]
  hogring bench train --input 1x4x4 --workers 1 --max-seconds 0.02 >"$TMP/table"
  grep -q "^# without lenet: model: layer " "$TMP/table"
  grep -q "^mlp " "$TMP/table"
}

@test "bench train measures every combination of values, in rounds" {
  hogring bench train --input 1x8x8 --model softmax,mlp --strategy allreduce,ps-async --workers 1,2 --servers 1,2 --max-seconds 0.02 --rounds 3 \
    --json "$TMP/out.json" --plot "$TMP/speed.svg" >"$TMP/table"
  [ "$(json "$TMP/out.json" 'sorted(set((r["model"], r["strategy"], r["workers"], r["servers"]) for r in d["rows"])) == sorted([(m, "allreduce", w, 0) for m in ("softmax", "mlp") for w in (1, 2)] + [(m, "ps-async", w, p) for m in ("softmax", "mlp") for w in (1, 2) for p in (1, 2)])')" = True ]
  [ "$(json "$TMP/out.json" 'len(d["rows"]), set(r["rounds"] for r in d["rows"])')" = "(12, {3})" ]
  [ "$(json "$TMP/out.json" 'all(r["least_samples_per_s"] <= r["samples_per_s"] <= r["most_samples_per_s"] for r in d["rows"])')" = True ]
  # Ideal: the speed of one worker of the same model, strategy and servers, for each.
  [ "$(json "$TMP/out.json" 'all(abs(r["ideal_samples_per_s"] / r["workers"] / [o for o in d["rows"] if o["workers"] == 1 and all(o[k] == r[k] for k in ("model", "strategy", "servers"))][0]["samples_per_s"] - 1) < 1e-9 for r in d["rows"])')" = True ]
  grep -q "^mlp ps-async, workers 2, servers 2 .* %" "$TMP/table"
  grep -q "^# median of 3 rounds, in turns, the roof before and after each$" "$TMP/table"
  grep -q ">workers<" "$TMP/speed.svg"
  grep -q "mlp ps-async, servers 2" "$TMP/speed.svg"
}

@test "bench train simulates workers, whose gradients take as long as here or as said" {
  hogring bench train --input 1x8x8 --model softmax --clock virtual --workers 1,8 --compute-time 1ms --json "$TMP/out.json" >"$TMP/table"
  grep -q "^# virtual time: a gradient takes 1ms$" "$TMP/table"
  [ "$(json "$TMP/out.json" '[(r["workers"], round(r["samples_per_s"]), r["roof_flops_per_s"], r["clock"]) for r in d["rows"]]')" = \
    "[(1, 32000, None, 'virtual'), (8, 256000, None, 'virtual')]" ]
  hogring bench train --input 1x8x8 --model softmax --clock virtual --workers 1,4 --link 1MB/s,1ms --strategy allreduce,ps-async >"$TMP/table"
  grep -q "^# virtual time: a gradient takes [0-9.]*us, as one worker alone does here$" "$TMP/table"
  grep -q "^softmax workers 4, ps-async " "$TMP/table"
}

@test "bench layers and bench train refuse what they cannot do, in one line" {
  refused 2 "--input 28x28: expected CHANNELSxHEIGHTxWIDTH" bench layers --input 28x28
  refused 2 "--input 1x0x3: expected" bench layers --input 1x0x3
  refused 2 "--input 1x2x3x4: expected" bench train --input 1x2x3x4
  refused 2 "--classes 257: expected 1 to 256" bench layers --classes 257
  refused 2 "--input: is not supported with --data" bench layers --input 1x8x8 --data digits
  refused 2 "--batch-size 0: expected 1 to" bench layers --batch-size 0
  refused 2 "--threads-per-worker 0: expected 1 to 256" bench layers --threads-per-worker 0
  refused 2 "--kernels slow: expected fast, direct, reference or openblas" bench layers --kernels slow
  refused 2 'did you mean "dense"' bench layers --model "flatten, dens 10"
  refused 2 "there are: allreduce" bench train --strategy no-such
  refused 2 "--workers 0: expected at least 1" bench train --workers 0
  hogring bench train --model softmax --classes 9 --max-seconds 0.05 | grep -q "^softmax "  # built-ins follow the classes
  refused 2 "--workers: is not supported with bench layers" bench layers --workers 2
  refused 2 "--plot: draws samples/s over workers, of which bench train expects several" bench train --plot "$TMP/x.svg"
  refused 2 "--workers 1,2: bench store expects a single value" bench store --workers 1,2
  refused 2 "--rounds 100: expected at most 99" bench train --model softmax --rounds 100
  refused 2 "--max-seconds 0: expected more than 0" bench train --model softmax --max-seconds 0
  refused 2 'layer 0 "softmax": is a model of its own' bench train --model softmax,cmm
  refused 2 "--compute-time" bench train --model softmax --compute-time 10
  refused 2 "--ranks: is not supported with bench layers" bench layers --ranks 2
  refused 2 '--batch-size: needs "hogring bench layers" or "hogring bench train"' bench all_reduce --batch-size 2
  refused 2 '--precision: needs "hogring bench layers" or "hogring bench train"' bench all_reduce --precision bf16
  refused 2 '--workers: needs "hogring bench train"' bench all_reduce --workers 2
  refused 2 'expected nothing behind "layers"' bench layers mlp
  refused 2 "expected a name that ends in .svg or .png" bench layers --plot "$TMP/x.pdf"
}
