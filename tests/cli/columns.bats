#!/usr/bin/env bats
# Tables as people have them: columns are chosen, words and holes become numbers, and eval and predict do the same to raw rows.
load support

# Ten rows with an identifier, words, holes and decimal commas.
people() {
  cat >"$TMP/people.csv" <<'CSV'
# exported
id;sex;age;fare;port;lives
1;male;22,5;7,25;S;no
2;female;38;71,25;C;yes
3;female;;7,75;S;yes
4;female;35;53,5;S;yes
5;male;NA;8;Q;no
6;male;?;8,5;Q;no
7;male;54;51,75;S;no
8;male;2;21;;no
9;female;27;11,25;S;yes
10;female;14;30;C;yes
CSV
}
recipe=(--drop id --one-hot auto --missing mean)
info() { hogring data info --data "$TMP/people.csv" --json "$TMP/info.json" "$@" >"$TMP/out" 2>"$TMP/err"; json "$TMP/info.json" 'd["shape"][0], d["train"], d["test"]'; }

@test "columns are dropped, chosen, and of words one-hot; missing values become means or end their rows" {
  people
  [ "$(info "${recipe[@]}")" = "(7, 8, 2)" ]
  [ "$(info --columns age,fare --missing mean)" = "(2, 8, 2)" ]
  [ "$(info --columns 3,4 --missing drop)" = "(2, 6, 1)" ]
  grep -q "rows left out.*: 3" "$TMP/err"
  [ "$(info --columns sex,fare --one-hot sex)" = "(3, 8, 2)" ]
}

@test "a checkpoint knows what was done: eval and predict take raw rows, in any order of columns" {
  people
  hogring train --data "$TMP/people.csv" "${recipe[@]}" --model softmax --workers 1 --batch-size 4 --epochs 2 --quiet --checkpoint-dir "$TMP/run"
  hogring eval "$TMP/run" --json "$TMP/eval.json" >/dev/null
  [ "$(json "$TMP/eval.json" 'sum(c["support"] if "support" in c else c["samples"] for c in d["classes"])')" = 2 ]
  hogring predict "$TMP/run" --data "$TMP/people.csv" --out "$TMP/a.csv"
  python3 - "$TMP" <<'PY'
import sys
rows = [l.split(";") for l in open(sys.argv[1] + "/people.csv").read().split("\n")[1:] if l]
order = [5, 3, 1, 4, 2]  # without the identifier
open(sys.argv[1] + "/other.csv", "w").write("".join("|".join(r[i].replace(",", ".") for i in order) + "\n" for r in rows))
PY
  hogring predict "$TMP/run" --data "$TMP/other.csv" --out "$TMP/b.csv"
  diff "$TMP/a.csv" "$TMP/b.csv"
  sed 's/;S;/;Z;/' "$TMP/people.csv" >"$TMP/unseen.csv"
  hogring predict "$TMP/run" --data "$TMP/unseen.csv" --out "$TMP/c.csv" 2>"$TMP/err"
  grep -q "taken as none: 5" "$TMP/err"
  cut -d";" -f1,2,4- "$TMP/people.csv" | tail -n +2 >"$TMP/less.csv"
  refused 3 "has no column \"age\"" predict "$TMP/run" --data "$TMP/less.csv"
}

@test "resuming reads the table as before, to the same weights" {
  people
  run=(train --data "$TMP/people.csv" "${recipe[@]}" --split stratified --model softmax --workers 2 --batch-size 4 --quiet)
  hogring "${run[@]}" --epochs 4 --json "$TMP/a.json"
  hogring "${run[@]}" --epochs 2 --checkpoint-dir "$TMP/run"
  hogring train --resume --checkpoint-dir "$TMP/run" --epochs 4 --quiet --json "$TMP/b.json"
  [ "$(json "$TMP/a.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/b.json" 'd["runs"][0]["weights_digest"]')" ]
}

@test "what a table cannot become is refused with its place and the option that helps" {
  people
  refused 3 "line 3, column 2, sex: \"male\"" data info --data "$TMP/people.csv"
  refused 3 "--missing mean" data info --data "$TMP/people.csv" --columns age
  refused 2 "--drop: column 6 is the label" data info --data "$TMP/people.csv" --label-column lives --drop lives
  refused 2 "--drop nobody: expected a name of the header" data info --data "$TMP/people.csv" --drop nobody
  refused 2 "no column is left" data info --data "$TMP/people.csv" --drop id,sex,age,fare,port
  refused 2 "is no feature" data info --data "$TMP/people.csv" --columns age --one-hot sex
  refused 2 "--missing maybe" data info --data "$TMP/people.csv" --missing maybe
  refused 2 "--split evenly" data info --data "$TMP/people.csv" --split evenly
  refused 2 "--drop: is not supported for idx data" data info digits --drop 1
  refused 2 "--split stratified: is not supported with --task regress" data info --data "$TMP/people.csv" --columns fare --target age --task regress --split stratified
  { echo name,x,y; for i in $(seq 40); do echo "n$i,$i,$((i % 2))"; done; } >"$TMP/names.csv"
  refused 3 "--drop 1 leaves it out" data info --data "$TMP/names.csv" --one-hot auto
  printf 'a,y\n"1,234",0\n"2,345",1\n' >"$TMP/thousands.csv"
  refused 3 "without a mark for thousands" data info --data "$TMP/thousands.csv"
}

@test "splits: classes in proportion, groups whole, the last rows last" {
  { echo who,x,y; for i in $(seq 0 99); do echo "p$((i / 5)),$i,$((i % 10 == 0))"; done; } >"$TMP/t.csv"
  test_rows() {
    rm -rf "$TMP/run"
    hogring train --data "$TMP/t.csv" --drop who --model softmax --workers 1 --epochs 1 --quiet --checkpoint-dir "$TMP/run" "$@" >/dev/null
    hogring eval "$TMP/run" --worst 100 --json "$TMP/eval.json" >/dev/null
    json "$TMP/eval.json" 'sorted(w["row"] - 1 for w in d["worst"])'
  }
  [ "$(test_rows --split stratified)" != "$(test_rows --split random)" ]
  [ "$(json "$TMP/eval.json" 'len(d["worst"])')" = 20 ]
  test_rows --split stratified
  [ "$(json "$TMP/eval.json" 'sum(w["truth"] == "1" for w in d["worst"])')" = 2 ]
  [ "$(test_rows --split last)" = "[$(seq -s ', ' 80 99)]" ]
  rm -rf "$TMP/run"
  hogring train --data "$TMP/t.csv" --split group:who --model softmax --workers 1 --epochs 1 --quiet --checkpoint-dir "$TMP/run"
  hogring eval "$TMP/run" --worst 100 --json "$TMP/eval.json" >/dev/null
  [ "$(json "$TMP/eval.json" 'sorted(set(sum(w["row"] - 1 in range(5 * g, 5 * g + 5) for w in d["worst"]) for g in range(20))), len(d["worst"])')" = "([0, 5], 20)" ]
}

@test "rare classes: weights make them count, and eval says balanced accuracy, F1 and the ROC curve's area" {
  python3 - "$TMP/rare.csv" <<'PY'
import random, sys
r = random.Random(1)
rows = [(i % 10 == 0, r.gauss(0, 1)) for i in range(600)]
open(sys.argv[1], "w").write("x,z,kind\n" + "".join(f"{x + 1.2 * rare:.4f},{r.gauss(0, 1):.4f},{'rare' if rare else 'often'}\n" for rare, x in rows))
PY
  score() { # NAME OPTIONS...
    local name=$1
    shift
    rm -rf "$TMP/run"
    hogring train --data "$TMP/rare.csv" --split stratified --model softmax --workers 2 --batch-size 8 --epochs 5 --quiet --checkpoint-dir "$TMP/run" "$@" >/dev/null
    hogring eval "$TMP/run" --json "$TMP/$name.json" >/dev/null
  }
  score with --class-weights balanced
  score without
  [ "$(json "$TMP/with.json" 'd["classes"][1]["recall"] > 0.5')" = True ]
  [ "$(json "$TMP/without.json" 'd["classes"][1]["recall"] < 0.5')" = True ]
  [ "$(json "$TMP/with.json" 'abs(d["balanced_accuracy"] - sum(c["recall"] for c in d["classes"]) / 2) < 1e-12')" = True ]
  [ "$(json "$TMP/with.json" 'abs(d["macro_f1"] - sum(c["f1"] for c in d["classes"]) / 2) < 1e-12 and 0.6 < d["roc_auc"] < 1')" = True ]
  refused 2 "--class-weights: 3 numbers, expected 2" train --data "$TMP/rare.csv" --class-weights 1,2,3 --quiet
  refused 2 "--class-weights heavy" train --data "$TMP/rare.csv" --class-weights heavy --quiet
}

@test "with groupnorm four workers are one worker with the whole batch, to the bit where sums are" {
  for n in 1 4; do
    hogring train --data digits --model "conv 6 3x3, groupnorm 3, relu, flatten, dense 10" --reduce repro --workers $n --global-batch-size 48 --max-steps 6 --quiet --json "$TMP/$n.json" >/dev/null
  done
  [ "$(json "$TMP/1.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/4.json" 'd["runs"][0]["weights_digest"]')" ]
}
