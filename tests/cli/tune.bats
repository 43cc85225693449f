#!/usr/bin/env bats
# compare --tune: each strategy chooses its values first, on seeds and samples that are not compared.
load support

own=(--clock virtual --workers 3 --quiet)
both=(--strategies allreduce,ssp)
tuned() { hogring compare --details "${own[@]}" --epochs 2 --json "$TMP/out.json" "$@" >"$TMP/stdout" 2>"$TMP/stderr"; }

@test "the choice is compared, and is made again without tuning by the line that is printed" {
  tuned "${both[@]}" --tune lr=0.005:0.5:4 --seeds 2
  [ "$(json "$TMP/out.json" 'all(r["lr"] == e["chosen"]["lr"] for e in d["tuning"]["entries"] for r in d["runs"] if r["strategy"] == e["strategy"]), len(d["runs"])')" = "(True, 4)" ]
  line=$(sed -n "s/^  --strategies '\(.*\)'$/\1/p" "$TMP/stdout")
  [ "$line" = "$(json "$TMP/out.json" '",".join(e["setting"] for e in d["tuning"]["entries"])')" ]
  hogring compare "${own[@]}" --epochs 2 --seeds 2 --strategies "$line" --json "$TMP/again.json" >/dev/null
  digests='[r["weights_digest"] for r in d["runs"]]'
  [ "$(json "$TMP/out.json" "$digests")" = "$(json "$TMP/again.json" "$digests")" ]
}

@test "candidates, budgets and scores are the sums and means of their trials" {
  tuned "${both[@]}" --tune lr=0.005:0.5 --tune momentum=0,0.9
  python3 - "$TMP/out.json" "$TMP/stdout" <<'END'
import json, sys
d, shown = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
assert all("%s lr %g, momentum %g" % (e["label"], e["chosen"]["lr"], e["chosen"]["momentum"]) in shown for e in d["tuning"]["entries"]), shown
t, seeds = d["tuning"], {r["seed"] for r in d["runs"]}
assert t["metric"] == "accuracy" and t["unit"] == "samples" and t["longest"] == 2 * d["config"]["data"]["train"]
assert t["validation_fraction"] == 0.2 and t["fraction_by_default"]
assert t["validation_samples"] == int(0.2 * d["config"]["data"]["train"] + 0.5)
for e in t["entries"]:
    trials, candidates = e["trials"], e["candidates"]
    assert len(candidates) == 16 and len(trials) == 16 + 8 + 4 + 2
    assert e["samples"] == sum(x["samples"] for x in trials) >= sum(x["budget"] for x in trials)
    assert abs(sum(x["budget"] for x in trials) - t["total"]) < 1e-6
    assert all(x["samples"] < x["budget"] + 97 for x in trials)  # the last step may go beyond
    assert not seeds & {x["seed"] for x in trials} and all(t["first_seed"] <= x["seed"] <= t["last_seed"] for x in trials)
    for c in candidates:
        of = [x for x in trials if x["values"] == c["values"]]
        last = [x["score"] for x in of if x["rung"] == of[-1]["rung"]]
        assert c["trials"] == len(of) and c["samples"] == sum(x["samples"] for x in of)
        assert abs(c["score"] - sum(last) / len(last)) < 1e-12
    end = [x for x in trials if x["rung"] == 3]
    best = max(end, key=lambda x: (x["score"], -x["loss"]))
    assert e["chosen"] == best["values"] == next(c["values"] for c in candidates if c["chosen"])
END
}

@test "with no test set to read the same is chosen, and not with other validation samples" {
  python3 - "$TMP" <<'END'
import os, random, struct, sys
random.seed(3)
def write(folder, wrong):
    os.makedirs(folder)
    for name, n, lie in (("train", 300, False), ("t10k", 60, wrong)):
        labels = [i % 3 for i in range(n)]
        random.seed(n)
        pixels = bytes((80 * l + random.randrange(120)) % 256 for l in labels for _ in range(16))
        if lie: labels = [(l + 1) % 3 for l in labels]
        open(f"{folder}/{name}-images-idx3-ubyte", "wb").write(struct.pack(">IIII", 2051, n, 4, 4) + pixels)
        open(f"{folder}/{name}-labels-idx1-ubyte", "wb").write(struct.pack(">II", 2049, n) + bytes(labels))
write(sys.argv[1] + "/right", False)
write(sys.argv[1] + "/wrong", True)
END
  for data in right wrong; do
    hogring compare "${own[@]}" "${both[@]}" --epochs 2 --data "$TMP/$data" --model softmax --tune lr=0.01:1:4 --json "$TMP/$data.json" >/dev/null || [ $? = 1 ] # diverged
  done
  [ "$(json "$TMP/right.json" 'd["tuning"]')" = "$(json "$TMP/wrong.json" 'd["tuning"]')" ]
  [ "$(json "$TMP/right.json" 'd["runs"][0]["test_accuracy"]')" != "$(json "$TMP/wrong.json" 'd["runs"][0]["test_accuracy"]')" ]
  hogring compare "${own[@]}" "${both[@]}" --epochs 2 --data "$TMP/right" --model softmax --validation 0.4 --tune lr=0.01:1:4 --json "$TMP/more.json" >/dev/null
  [ "$(json "$TMP/more.json" 'd["tuning"]["validation_samples"], d["tuning"]["fraction_by_default"], d["runs"][0]["validation_samples"]')" = "(120, False, 120)" ]
}

@test "a choice at an edge of what was tried is named, but not where the option ends" {
  tuned --strategies allreduce --tune lr=0.0001,0.0002
  grep -q "^! the best lr is the largest tried: allreduce 0.0002; --tune lr=A:B tries more" "$TMP/stdout"
  [ "$(json "$TMP/out.json" 'd["tuning"]["entries"][0]["at_edge"]')" = "{'lr': 'largest'}" ]
  tuned --strategies ssp --tune momentum=0,0.999
  [ "$(json "$TMP/out.json" 'd["tuning"]["entries"][0]["chosen"], d["tuning"]["entries"][0]["at_edge"]')" = "({'momentum': 0.0}, {})" ]
}

@test "what diverges is data, and where all do a line says so" {
  tuned --strategies allreduce --tune lr=0.05,1e6
  [ "$(json "$TMP/out.json" '[(t["values"]["lr"], t["diverged"]) for t in d["tuning"]["entries"][0]["trials"]], d["tuning"]["entries"][0]["chosen"]')" = "([(0.05, False), (1000000.0, True)], {'lr': 0.05})" ]
  hogring compare "${own[@]}" --epochs 2 --strategies allreduce --tune lr=5e5,1e6 --json "$TMP/out.json" >"$TMP/stdout" 2>&1 || true
  grep -q "every candidate diverged" "$TMP/stdout"
  [ "$(json "$TMP/out.json" 'd["tuning"]["entries"][0]["all_diverged"]')" = True ]
}

@test "an option that a strategy does not obey is none of its candidates, and effort is the same" {
  tuned "${both[@]}" --tune lr=0.01,0.05 --tune staleness=0,2
  [ "$(json "$TMP/out.json" '[len(e["candidates"]) for e in d["tuning"]["entries"]], [sum(t["budget"] for t in e["trials"]) == d["tuning"]["total"] for e in d["tuning"]["entries"]], "staleness" in d["tuning"]["entries"][0]["chosen"]')" = "([2, 4], [True, True], False)" ]
  tuned --strategies ssp:lr=0.03,ssp --tune lr=0.01,0.05
  [ "$(json "$TMP/out.json" '[len(e["candidates"]) for e in d["tuning"]["entries"]], d["runs"][0]["lr"], d["tuning"]["entries"][0]["setting"]')" = "([1, 2], 0.03, 'ssp:lr=0.03')" ]
}

@test "budgets of updates and seconds, and a smaller effort" {
  tuned "${both[@]}" --tune lr=0.01,0.05 --tune-budget 500samples
  [ "$(json "$TMP/out.json" '[t["budget"] for t in d["tuning"]["entries"][0]["trials"]]')" = "[250.0, 250.0]" ]
  hogring compare "${own[@]}" "${both[@]}" --budget 400ms --tune lr=0.01,0.05 --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'd["tuning"]["unit"], all(0.4 <= t["seconds"] <= 0.5 for e in d["tuning"]["entries"] for t in e["trials"])')" = "('seconds', True)" ]
  hogring compare "${own[@]}" "${both[@]}" --budget 20updates --tune lr=0.01,0.05 --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'd["tuning"]["unit"], d["tuning"]["total"], [r["updates"] for r in d["runs"]]')" = "('updates', 40.0, [20, 20])" ]
}

@test "sparse rows, values, and ranks that are lost" {
  hogring data make sparse --out "$TMP/rows.svm" >/dev/null
  hogring compare --model logistic --data "$TMP/rows.svm" --strategies hogwild,locked --solver sgd --epochs 2 --workers 2 --quiet --tune lr=0.1,1 --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" '[len(e["trials"]) for e in d["tuning"]["entries"]]')" = "[2, 2]" ]
  hogring compare --model logistic --data "$TMP/rows.svm" --strategies hogwild --solver sgd --epochs 2 --workers 1 --quiet --tune --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" '0.5 in [c["values"]["lr"] for c in d["tuning"]["entries"][0]["candidates"]]')" = True ]
  refused 2 "no entry of --strategies has a rate" compare --model logistic --data "$TMP/rows.svm" --strategies hogwild --solver dual --tune
  python3 -c 'import random
random.seed(1)
for i in range(200):
    x = [random.random() for _ in range(4)]
    print(*x, 3 * x[0] - x[1] + random.gauss(0, 0.01), sep=",")' >"$TMP/values.csv"
  hogring compare "${own[@]}" "${both[@]}" --epochs 2 --data "$TMP/values.csv" --task regress --model "flatten, dense 1" --tune lr=0.0001,0.001 --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'd["tuning"]["metric"], [t["values"]["lr"] for t in sorted(d["tuning"]["entries"][0]["trials"], key=lambda t: t["score"])][0] == d["tuning"]["entries"][0]["chosen"]["lr"]')" = "('rmse', True)" ]
  hogring compare "${own[@]}" --epochs 2 --strategies ssp --inject kill:1@step=10 --on-loss continue --tune lr=0.01,0.05 --json "$TMP/out.json" >/dev/null 2>&1
  [ "$(json "$TMP/out.json" 'len(d["tuning"]["entries"][0]["trials"]), len(d["runs"][0]["losses"])')" = "(2, 1)" ]
}

@test "progress says which trial it is" {
  needs_terminal
  env -u NO_COLOR -u CI -u COLUMNS TERM=xterm LC_ALL=C.UTF-8 timeout 200 tests/cli/terminal.py 80x24 -- "${HOGRING:-build/hogring}" compare --strategies ssp --workers 2 --epochs 4 --tune lr=0.01:0.1:4 >"$TMP/screen" </dev/null
  grep -qaE "tuning ssp: [1-6] of 6 trials" "$TMP/screen"
}

@test "the page has what was tried" {
  tuned "${both[@]}" --tune lr=0.01,0.05 --report "$TMP/out.html"
  grep -q '"tuning":{.*"candidates":.*"chosen":true' "$TMP/out.html"
}

@test "a budget of one is no plural" {
  hogring compare --details "${quick[@]}" --strategies allreduce --workers 2 --seeds 2 --tune lr=0.1,0.2 --tune-budget 1samples >"$TMP/said"
  grep -q "^tuning: 1 sample for each strategy" "$TMP/said"
}

usual=(--epochs 1 --model softmax --quiet)

@test "a bare one chooses rate and momentum, the last round on three seeds, all at full length" {
  tuned "${both[@]}" "${usual[@]}" --seeds 2 --tune
  python3 - "$TMP/out.json" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
t = d["tuning"]
assert t["usual"] and t["unit"] == "samples"
for e in t["entries"]:
    last = max(x["rung"] for x in e["trials"])
    final = [x for x in e["trials"] if x["rung"] == last]
    assert all(x["budget"] == t["longest"] for x in e["trials"])
    assert len({x["seed"] for x in final}) >= 3 and len(final) % len({x["seed"] for x in final}) == 0
    assert {c["values"]["momentum"] for c in e["candidates"]} == {0, 0.9}
    rates = sorted({c["values"]["lr"] for c in e["candidates"]})
    assert rates[:8] == [0.00625 * 2**k for k in range(8)] and len(rates) == (11 if e["widened"] else 8)
    mean = lambda v: sum(x["score"] for x in final if x["values"] == v) / sum(x["values"] == v for x in final)
    assert e["chosen"] == max((x["values"] for x in final), key=mean) or mean(e["chosen"]) >= max(mean(x["values"]) for x in final)
    assert sum(x["samples"] for x in e["trials"]) == e["samples"]
    assert abs(e["choice"]["difference"] - (mean(e["chosen"]) - mean(e["choice"]["rival"]))) < 1e-12
    for r in d["runs"]:
        if r["strategy"] == e["strategy"]:
            assert r["lr"] == e["chosen"]["lr"]
assert any("at the values chosen" in s for s in d["comparison"]["sentences"])
END
  digests='d["tuning"], [r["weights_digest"] for r in d["runs"]]'
  json "$TMP/out.json" "$digests" >"$TMP/first"
  tuned "${both[@]}" "${usual[@]}" --seeds 2 --tune # to the bit
  [ "$(json "$TMP/out.json" "$digests")" = "$(cat "$TMP/first")" ]
}

@test "equal weights and equal entries share one search, and a rate of one's own stays" {
  tuned --strategies allreduce,ps-sync,ssp:lr=0.1:momentum=0,ssp,ssp "${usual[@]}" --tune
  [ "$(json "$TMP/out.json" '[(e["same_as"], len(e["trials"]) > 20) for e in d["tuning"]["entries"]]')" = "[(None, True), ('allreduce', False), (None, False), (None, True), ('ssp', False)]" ]
  [ "$(json "$TMP/out.json" 'd["runs"][0]["lr"] == d["runs"][1]["lr"], d["runs"][2]["lr"], d["runs"][3]["lr"] == d["runs"][4]["lr"]')" = "(True, 0.1, True)" ]
}

@test "a bare one of adam has rates alone, around a given one where there is one" {
  tuned --strategies ssp "${usual[@]}" --optimizer adam --tune
  [ "$(json "$TMP/out.json" 'sorted(c["values"]["lr"] for c in d["tuning"]["entries"][0]["candidates"])[3] in (0.001, 0.000125), list(d["tuning"]["entries"][0]["chosen"])')" = "(True, ['lr'])" ]
  tuned --strategies ssp "${usual[@]}" --lr 0.8 --momentum 0.5 --tune
  [ "$(json "$TMP/out.json" '{c["values"]["momentum"] for c in d["tuning"]["entries"][0]["candidates"]} == {0, 0.5}, 0.8 in [c["values"]["lr"] for c in d["tuning"]["entries"][0]["candidates"]]')" = "(True, True)" ]
}

@test "where the best of a bare one lies at an edge, three rates beyond it are tried once" {
  tuned --strategies allreduce "${usual[@]}" --lr 0.0001 --tune
  [ "$(json "$TMP/out.json" 'd["tuning"]["entries"][0]["widened"], max(c["values"]["lr"] for c in d["tuning"]["entries"][0]["candidates"]), d["tuning"]["entries"][0]["at_edge"]')" = "(True, 0.0128, {'lr': 'largest'})" ]
}

@test "the whole cost of a bare one is said before the first trial, and not gone beyond" {
  hogring compare --clock virtual --workers 3 "${both[@]}" --epochs 1 --model softmax --tune --json "$TMP/out.json" >/dev/null 2>"$TMP/stderr"
  most=$(sed -n 's/.*: trials take at most \([0-9,]*\) samples.*/\1/p' "$TMP/stderr" | tr -d ,)
  [ "$(json "$TMP/out.json" "sum(t['budget'] for e in d['tuning']['entries'] for t in e['trials']) <= $most")" = True ]
  hogring compare "${own[@]}" "${both[@]}" --epochs 1 --batch-size 256 --model softmax --tune 2>/dev/null >"$TMP/stdout"
  grep -q "^! few updates in the shortest trials, .*: allreduce [0-9]*[,;]" "$TMP/stdout"
}

@test "a bare one side by side, in virtual time" {
  tuned "${both[@]}" "${usual[@]}" --tune
  mv "$TMP/out.json" "$TMP/turns.json"
  tuned "${both[@]}" "${usual[@]}" --tune --concurrent
  digests='[r["weights_digest"] for r in d["runs"]]'
  [ "$(json "$TMP/out.json" "$digests")" = "$(json "$TMP/turns.json" "$digests")" ]
}

@test "what cannot be tuned is refused" {
  refused 2 "expected LOW:HIGH" compare --tune lr=0.5:0.005
  refused 2 "expected LOW:HIGH" compare --tune lr=0:1
  refused 2 "expected NAME=VALUES" compare --tune lr
  refused 2 "a single value leaves nothing to choose" compare --tune lr=0.5
  refused 2 "cannot be tuned" compare --tune epochs=1,2
  refused 2 "cannot be tuned" compare --tune model=mlp,cnn
  refused 2 "cannot be tuned" compare --tune seed=1,2
  refused 2 "unknown option; did you mean --lr" compare --tune lf=1,2
  refused 2 "given twice" compare --tune lr=1,2 --tune lr=3,4
  refused 2 "is in it twice" compare --tune lr=0.1,0.1
  refused 2 "expected one of the two" compare --lr 0.1 --tune lr=0.1,0.2
  refused 2 "not with --concurrent in real time" compare --concurrent --tune lr=0.1,0.2
  refused 2 "not with --concurrent in real time" compare --concurrent --tune
  refused 2 "what goes on has its values" compare --checkpoint-dir "$TMP/c" --resume --tune
  refused 2 "with values and without" compare --tune --tune lr=0.1,0.2
  refused 2 "expected [NAME=VALUES]" compare --tune ""
  refused 2 "no entry of --strategies has a rate" compare --strategies ssp:lr=0.1:momentum=0 --tune
  refused 2 "each strategy needs" compare --tune --tune-budget 100samples
  refused 2 "give --tune too" compare --tune-budget 5Ksamples
  refused 2 "expected samples" compare --tune lr=0.1,0.2 --tune-budget 5s
  refused 2 "no entry of --strategies obeys it" compare --strategies allreduce --tune staleness=1,2
}
