#!/usr/bin/env bats
# --task regress: from a table to a comparison, a prediction, and what is refused.
load support

# refused_late TEXT ARGUMENTS...: exits with 1 and says TEXT.
refused_late() {
  local text=$1 got=0
  shift
  hogring "$@" >"$TMP/stdout" 2>"$TMP/stderr" || got=$?
  [ "$got" = 1 ] && grep -qF -- "$text" "$TMP/stderr"
}

houses() { # price is linear in what is known, but for noise; rent follows it
  awk 'BEGIN { srand(3); print "rooms,area,year,price,rent"
    for (i = 0; i < 600; i++) { r = 1 + int(rand() * 6); a = 20 * r + rand() * 30; y = 1950 + int(rand() * 70)
      p = 50 + 3 * a + 10 * r + (y - 1950) / 2 + 20 * (rand() - .5)
      printf "%d,%.2f,%d,%.3f,%.3f\n", r, a, y, p, p / 30 + rand() } }' >"$1"
}

@test "eval says of each target what is left: mean, deviation, and the largest with its row" {
  houses "$TMP/h.csv"
  hogring train --data "$TMP/h.csv" --target price,rent --normalize --epochs 3 --quiet --checkpoint-dir "$TMP/c" >/dev/null
  hogring eval "$TMP/c" --json "$TMP/e.json" --worst 1000 >"$TMP/out"
  hogring predict "$TMP/c" --data "$TMP/h.csv" --out "$TMP/p.csv" >/dev/null 2>&1
  python3 - "$TMP" <<'PY'
import csv, json, re, sys
tmp = sys.argv[1]
truth, said = (list(csv.DictReader(open(f"{tmp}/{f}.csv"))) for f in "hp")
d = json.load(open(f"{tmp}/e.json"))
rows = [w["row"] for w in d["worst"]]  # of the test samples
shown = re.findall(r"residuals: mean (\S+), deviation (\S+), largest (\S+) \(row (\d+)\)", open(f"{tmp}/out").read())
assert len(rows) > 50 and len(d["targets"]) == len(shown) == 2
for t, line in zip(d["targets"], shown):
    left = {r: float(truth[r - 1][t["name"]]) - float(said[r - 1][t["name"]]) for r in rows}
    r, mean = t["residuals"], sum(left.values()) / len(left)
    assert r["row"] == max(left, key=lambda k: abs(left[k]))
    assert abs(r["largest"] - left[r["row"]]) < 1e-3 and abs(r["mean"] - mean) < 1e-3
    assert abs(r["deviation"] - (sum((x - mean) ** 2 for x in left.values()) / len(left)) ** 0.5) < 1e-3
    assert abs((r["mean"] ** 2 + r["deviation"] ** 2) ** 0.5 - t["rmse"]) < 1e-6 * t["rmse"]
    for number, key in zip(line, ("mean", "deviation", "largest", "row")):
        assert abs(float(number) - r[key]) <= 1e-3 * abs(r[key])
PY
}

@test "targets that are large beside their spread lose nothing: CSV, npy, eval, of networks and of sparse rows" {
  local model
  awk 'BEGIN { srand(5); print "u,v,when"; for (i = 0; i < 600; i++) { u = rand(); printf "%.4f,%.4f,%.3f\n", u, rand(), 1.7e9 + 30 * u + rand() } }' >"$TMP/a.csv"
  awk -F, 'NR > 1 { print $3 " 1:1 2:" $1 " 3:" $2 }' "$TMP/a.csv" >"$TMP/b.libsvm"
  for model in a.csv:mlp b.libsvm:linear; do
    hogring train --data "$TMP/${model%:*}" --model "${model#*:}" --task regress --epochs 20 --workers 1 --quiet --checkpoint-dir "$TMP/$model" >/dev/null
    hogring predict "$TMP/$model" --data "$TMP/${model%:*}" --out "$TMP/p.csv" --json "$TMP/p.json" >/dev/null
    hogring predict "$TMP/$model" --data "$TMP/${model%:*}" --out "$TMP/p.npy" >/dev/null
    hogring eval "$TMP/$model" --outputs "$TMP/o.npy" --json "$TMP/e.json" $([ $model = b.libsvm:linear ] || echo --worst 500) >/dev/null
    python3 - "$TMP" <<'PY'
import array, json, sys
tmp = sys.argv[1]
def matrix(name):
    data = open(f"{tmp}/{name}", "rb").read()
    at = 10 + int.from_bytes(data[8:10], "little")
    assert b"'<f8'" in data[:at]
    return list(array.array("d", data[at:]))
def rmse(pairs): return (sum((a - b) ** 2 for a, b in pairs) / len(pairs)) ** 0.5
truth = [float(line.split(",")[-1]) for line in open(f"{tmp}/a.csv").readlines()[1:]]
said = [float(line.split(",")[-1]) for line in open(f"{tmp}/p.csv").readlines()[1:]]
d, values = json.load(open(f"{tmp}/e.json")), json.load(open(f"{tmp}/p.json"))["values"][0]
assert said == matrix("p.npy") and len(said) == 600
assert rmse(list(zip(truth, said))) < 1.5, "the spread is 8.7"
assert abs(values["mean"] - sum(x - 1.7e9 for x in said) / 600 - 1.7e9) < 1e-5 and (values["min"], values["max"]) == (min(said), max(said))
# Sums may be in another order where other numbers of samples are computed at once.
assert all(min(abs(value - other) for other in said) < 1e-4 for value in matrix("o.npy"))
for w in d["worst"] or []:
    assert abs(float(w["truth"]) - truth[w["row"] - 1]) < 0.02 and abs(float(w["answer"]) - said[w["row"] - 1]) < 0.02
if d["worst"]:
    assert abs(rmse([(truth[w["row"] - 1], said[w["row"] - 1]) for w in d["worst"]]) - d["test_fit"]["rmse"]) < 1e-6
    r = d["targets"][0]["residuals"]
    assert abs((r["mean"] ** 2 + r["deviation"] ** 2) ** 0.5 - d["test_fit"]["rmse"]) < 1e-6
PY
  done
}

@test "values are predicted in their own units, in tables, JSON, eval and predict" {
  houses "$TMP/h.csv"
  hogring train --data "$TMP/h.csv" --target price,rent --normalize --epochs 20 --quiet --checkpoint-dir "$TMP/c" \
    --details --json "$TMP/a.json" --time-to rmse=20 --expect rmse=20 >"$TMP/out" 2>"$TMP/said"
  head -2 "$TMP/out" | tr -s ' \n' ' ' | grep -q "test test test test train .*strategy rmse mae R2 loss loss"
  grep -q "target: test rmse 20" "$TMP/out"
  [ "$(json "$TMP/a.json" 'd["config"]["task"], d["config"]["loss"], d["runs"][0]["targets"], d["runs"][0]["test_accuracy"], d["runs"][0]["test_fit"]["r2"] > 0.9, d["runs"][0]["target_seconds"] > 0, [p["test_fit"] is not None for p in d["runs"][0]["curve"]].count(True)')" = "('regress', 'mse', 2, None, True, True, 20)" ]
  hogring eval "$TMP/c" --data "$TMP/h.csv" --json "$TMP/e.json" >"$TMP/out"
  grep -q "^  target 1, price: rmse " "$TMP/out"
  [ "$(json "$TMP/e.json" 'd["test_fit"]')" = "$(json "$TMP/a.json" 'd["runs"][0]["test_fit"]')" ]
  [ "$(json "$TMP/e.json" '[t["name"] for t in d["targets"]], abs(sum(t["rmse"] for t in d["targets"]) / 2 - d["test_fit"]["rmse"]) < 1e-12')" = "(['price', 'rent'], True)" ]
  refused_late "--expect rmse=0.1: reached " eval "$TMP/c" --data "$TMP/h.csv" --expect rmse=0.1
  cut -d, -f1-3 "$TMP/h.csv" | head -3 >"$TMP/new.csv"
  hogring predict "$TMP/c" --data "$TMP/new.csv" >"$TMP/out"
  head -1 "$TMP/out" | grep -qx "row,price,rent"
  [ "$(wc -l <"$TMP/out")" = 3 ]
}

@test "a run that is resumed, packed or in processes ends with the same bits" {
  houses "$TMP/h.csv"
  local want run=(--target price --normalize --loss huber:0.5 --workers 2 --quiet)
  hogring train --data "$TMP/h.csv" "${run[@]}" --epochs 4 --json "$TMP/a.json" >/dev/null
  want=$(json "$TMP/a.json" 'd["runs"][0]["weights_digest"], d["runs"][0]["curve"][-1]["test_fit"]["mae"]')
  hogring train --data "$TMP/h.csv" "${run[@]}" --epochs 4 --launch process --json "$TMP/b.json" >/dev/null
  [ "$(json "$TMP/b.json" 'd["runs"][0]["weights_digest"], d["runs"][0]["curve"][-1]["test_fit"]["mae"]')" = "$want" ]
  hogring train --data "$TMP/h.csv" "${run[@]}" --epochs 4 --max-steps 20 --checkpoint-dir "$TMP/c" >/dev/null
  hogring train --resume "$TMP/c" --data "$TMP/h.csv" --quiet --json "$TMP/b.json" >/dev/null
  [ "$(json "$TMP/b.json" 'd["runs"][0]["weights_digest"], d["runs"][0]["curve"][-1]["test_fit"]["mae"]')" = "$want" ]
  hogring data pack "$TMP/h.csv" --target price --out "$TMP/h.hrp" >/dev/null
  hogring data verify "$TMP/h.hrp"
  hogring train --data "$TMP/h.hrp" --task regress "${run[@]:2}" --epochs 4 --json "$TMP/b.json" >/dev/null
  [ "$(json "$TMP/b.json" 'd["runs"][0]["weights_digest"], d["runs"][0]["curve"][-1]["test_fit"]["mae"]')" = "$want" ]
  refused 2 "its labels are values, expected --task regress" train --data "$TMP/h.hrp"
  hogring train --data "$TMP/h.csv" "${run[@]}" --strategy ps-async --epochs 2 --record "$TMP/t" --json "$TMP/a.json" >/dev/null
  hogring replay "$TMP/t" --data "$TMP/h.csv" --quiet --json "$TMP/b.json" >/dev/null
  [ "$(json "$TMP/b.json" 'd["runs"][0]["weights_digest"], d["runs"][0]["test_fit"]')" = "$(json "$TMP/a.json" 'd["runs"][0]["weights_digest"], d["runs"][0]["test_fit"]')" ]
}

@test "several strategies are compared by their rmse, and drawn" {
  houses "$TMP/h.csv"
  hogring compare --data "$TMP/h.csv" --target price --normalize --epochs 4 --seeds 3 --quiet --time-to rmse=60 \
    --strategies allreduce,allreduce:lr=1e-5 --json "$TMP/a.json" >"$TMP/out"
  grep -q "^RMSE: allreduce.* has the best mean, [0-9.]* over 3 seeds" "$TMP/out"
  grep -q "^Target: allreduce.* reached rmse 60 first" "$TMP/out"
  [ "$(json "$TMP/a.json" '[c["metric"] for c in d["comparison"]["comparisons"]]')" = "['rmse', 'target_seconds', 'target_samples']" ]
  hogring compare --data "$TMP/h.csv" --target price --normalize --epochs 4 --seeds 3 --quiet --time-to rmse=60 --concurrent \
    --strategies allreduce,allreduce:lr=1e-5 --json "$TMP/c.json" >/dev/null
  [ "$(json "$TMP/c.json" '[(c["difference"], c["verdict"]) for c in d["comparison"]["comparisons"] if c["metric"] == "rmse"]')" = \
    "$(json "$TMP/a.json" '[(c["difference"], c["verdict"]) for c in d["comparison"]["comparisons"] if c["metric"] == "rmse"]')" ]
  refused 2 "--target-mae: unknown option" compare --target-mae 0.5
  [ "$(json "$TMP/a.json" 'd["comparison"]["metric"], d["comparison"]["strategies"][0]["test_rmse"]["mean"] < d["comparison"]["strategies"][1]["test_rmse"]["mean"]')" = "('rmse', True)" ]
}

@test "data info tells targets, and one that is the same everywhere" {
  printf 'a,b,y,z\n' >"$TMP/h.csv"
  for i in 1 2 3 4 5 6 7 8 9 10; do echo "$i,2,$((i * 2)),7" >>"$TMP/h.csv"; done
  hogring data info "$TMP/h.csv" --target y,z --test "$TMP/h.csv" --json "$TMP/a.json" >"$TMP/out"
  grep -q "1   min 2, mean 11, max 20, deviation 5.74456   y" "$TMP/out"
  grep -q "it is the same in all of them" "$TMP/out"
  [ "$(json "$TMP/a.json" '[t["deviation"] for t in d["targets"]][1], d["classes"]')" = "(0.0, 0)" ]
  refused 2 "target 2, z is 7 in all 10 training samples: there is nothing to learn of it" \
    train --data "$TMP/h.csv" --test "$TMP/h.csv" --target y,z
  hogring train --data "$TMP/h.csv" --test "$TMP/h.csv" --target y,z --task regress:none --epochs 1 --quiet --lr 1e-4 --json "$TMP/a.json" >/dev/null
  [ "$(json "$TMP/a.json" 'd["runs"][0]["test_fit"]["r2"]')" = None ]
}

@test "targets whose deviation is no number are refused as such" {
  { echo x,p; for i in 1 2 3 4 5 6; do echo "$i,${i}e300"; done; } >"$TMP/h.csv"
  refused 2 "too large for a double" train --data "$TMP/h.csv" --target p --task regress
}

@test "what is of classes is refused for values, and the other way round" {
  houses "$TMP/h.csv"
  local csv=(train --data "$TMP/h.csv" --target price)
  refused 2 "--task regress: is not supported for idx data (digits), whose labels are classes" train --task regress
  refused 2 "--target: is not supported for idx data (digits), whose labels are classes" train --target price
  printf '1.5 1:2 2:3\n2.5 1:1 2:1\n' >"$TMP/rows"
  refused 2 "--target: is not supported for libsvm data ($TMP/rows), whose labels are the values; expected --task regress" data info --data "$TMP/rows" --target price
  refused 2 "--expect: there is no accuracy where values are predicted" "${csv[@]}" --expect accuracy=0.5
  refused 2 "S of --loss cross-entropy: is not supported with --loss mse" "${csv[@]}" --loss auto:0.1
  refused 2 "--time-to accuracy=0.9: not with --task regress" "${csv[@]}" --time-to accuracy=0.9
  refused 2 "--loss bce: not with --task regress: it is of classes" "${csv[@]}" --loss bce
  refused 2 "--classes: is not supported where values are predicted" "${csv[@]}" --classes 3
  refused 2 "there is no accuracy where values are predicted; expected rmse, mae, r2 or loss" "${csv[@]}" --early-stop accuracy,3
  refused 2 "there is no rmse where classes are predicted; expected accuracy" train --keep best=rmse --checkpoint-dir "$TMP/k"
  refused 2 "--target: is not supported with --task classify" "${csv[@]}" --task classify
  refused 2 "--loss huber: not with --task classify or auto: it is of values" train --loss huber
  refused 2 "--time-to rmse=3: not with --task classify or auto: it is of values" train --time-to rmse=3
  refused 2 "--expect: there is no rmse where classes are predicted" train --expect rmse=3
  printf '1.5 1:2\n2.5 2:1\n3.5 1:1\n' >"$TMP/s.libsvm"
  for model in logistic svm mf; do refused 2 "--model $model: does not learn values" train --data "$TMP/s.libsvm" --task regress --model $model; done
  refused 2 "the last layer has 3 outputs, expected 1, the targets" "${csv[@]}" --model "flatten, dense 3"
  hogring train --epochs 1 --quiet --checkpoint-dir "$TMP/c" >/dev/null
  refused 2 "predicts classes" eval "$TMP/c" --data "$TMP/h.csv" --target price
}
