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

@test "free text in a column that is left out stops nobody, however long it is" {
  python3 - "$TMP" <<'PY'
import random, sys
r, tmp = random.Random(1), sys.argv[1]
long, quoted = "free text " * 500, '"' + 'said ""so"", and\n' * 300 + '"'
rows = [(f"{r.random():.3f}", f"{r.random():.3f}", "cd"[i % 2]) for i in range(40)]
for name, texts in (("short", ("x", "x")), ("long", (long, quoted))):
    with open(f"{tmp}/{name}.csv", "w") as out:
        out.write("a,desc,b,more,kind\n")
        for i, (a, b, kind) in enumerate(rows):
            out.write(f"{a},{texts[0]},{b},{texts[1]},{kind}\n")
PY
  digest() { hogring train --data "$TMP/$1.csv" --model softmax --epochs 2 --quiet "${@:2}" | sed -n 's/^weights digest  \([0-9a-f]*\).*/\1/p'; }
  for how in "--drop desc,more" "--columns a,b"; do
    want=$(digest short $how)
    [ -n "$want" ] || return 1
    [ "$(digest long $how)" = "$want" ] || return 1
  done
  tail -n +2 "$TMP/long.csv" >"$TMP/bare.csv"
  [ "$(digest bare --drop 2,4)" = "$want" ]
  hogring train --data "$TMP/short.csv" --columns a,b --model softmax --epochs 2 --quiet --checkpoint-dir "$TMP/c" >/dev/null
  for file in short long bare; do hogring predict "$TMP/c" --data "$TMP/$file.csv" --out "$TMP/$file-out.csv" 2>/dev/null; done
  cmp "$TMP/short-out.csv" "$TMP/long-out.csv"
  cmp "$TMP/short-out.csv" "$TMP/bare-out.csv"
  refused 3 "line 2, column 2, desc: " train --data "$TMP/long.csv" --drop more
  refused 3 "the word is longer than 255 bytes" train --data "$TMP/long.csv" --drop more --one-hot auto
  refused 3 "the label is longer than 255 bytes" train --data "$TMP/long.csv" --columns a,b --label-column desc
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

@test "files beside a table, and later ones, need the columns of the features and the label, by name" {
  people
  cut -d";" -f2- "$TMP/people.csv" | tail -n +2 >"$TMP/no-id.csv"
  cut -d";" -f1-5 "$TMP/people.csv" | tail -n +2 >"$TMP/no-label.csv"
  awk -F";" -v OFS=";" '{ print $4, $5, $1, $2, $3 }' "$TMP/no-id.csv" >"$TMP/order.csv"
  sed 1,2d "$TMP/people.csv" >"$TMP/no-header.csv"
  run=(train --data "$TMP/people.csv" "${recipe[@]}" --model softmax --workers 1 --batch-size 4 --epochs 2 --quiet)
  hogring "${run[@]}" --test "$TMP/no-id.csv" >/dev/null
  hogring "${run[@]}" --label-column 6 --test "$TMP/order.csv" >/dev/null
  refused 3 "has no column \"lives\", the label" "${run[@]}" --test "$TMP/no-label.csv"
  hogring "${run[@]}" --label-column 6 --checkpoint-dir "$TMP/run" >/dev/null
  hogring eval "$TMP/run" --json "$TMP/a.json" >/dev/null
  hogring eval "$TMP/run" --data "$TMP/order.csv" --json "$TMP/b.json" >/dev/null
  [ "$(json "$TMP/a.json" 'd["test_loss"]')" = "$(json "$TMP/b.json" 'd["test_loss"]')" ]
  hogring eval "$TMP/run" --data "$TMP/no-header.csv" --label-column 6 --json "$TMP/b.json" >/dev/null
  [ "$(json "$TMP/a.json" 'd["test_loss"]')" = "$(json "$TMP/b.json" 'd["test_loss"]')" ]
  sed 1d "$TMP/no-id.csv" >"$TMP/bare.csv"
  refused 3 "line 1: 5 columns, expected 6" eval "$TMP/run" --data "$TMP/bare.csv" --label-column 5
  refused 2 "column 3 is one that the model learns from" eval "$TMP/run" --data "$TMP/people.csv" --label-column age
  hogring data pack --data "$TMP/people.csv" "${recipe[@]}" --out "$TMP/people.hrp" >/dev/null
  hogring eval "$TMP/run" --data "$TMP/people.hrp" --json "$TMP/b.json" >/dev/null
  [ "$(json "$TMP/a.json" 'd["test_loss"]')" = "$(json "$TMP/b.json" 'd["test_loss"]')" ]
  sed 's/;71,25;/;much;/' "$TMP/people.csv" >"$TMP/much.csv"
  refused 3 "line 4, column 4, fare: \"much\", expected a finite number, as the model was trained on" predict "$TMP/run" --data "$TMP/much.csv"
  rm -rf "$TMP/run"
  hogring train --data "$TMP/people.csv" --drop id,sex,port,lives --missing mean --target fare --model "flatten, dense 1" --epochs 1 --quiet --checkpoint-dir "$TMP/run" >/dev/null
  cut -d";" -f1,3 "$TMP/people.csv" | tail -n +2 >"$TMP/no-target.csv"
  refused 2 "--label-column fare: expected a name of the header" eval "$TMP/run" --data "$TMP/no-target.csv"
}

@test "a column that was dropped may lack a name, and rows without a label are left out where holes are" {
  printf '"",x,z,kind\n' >"$TMP/t.csv"
  for i in $(seq 40); do echo "$i,$((i % 7)),$((i % 5)),$([ $((i % 9)) = 0 ] && echo NA || echo k$((i % 2)))"; done >>"$TMP/t.csv"
  hogring train --data "$TMP/t.csv" --drop 1 --missing drop --model softmax --epochs 1 --quiet --checkpoint-dir "$TMP/run" >/dev/null 2>"$TMP/err"
  grep -q "rows left out, where something is missing: 4" "$TMP/err"
  hogring eval "$TMP/run" --json "$TMP/eval.json" >/dev/null
  [ "$(json "$TMP/eval.json" '[c["name"] for c in d["classes"]]')" = "['k0', 'k1']" ]
  sed '1s/""/g/; s/^7,/,/' "$TMP/t.csv" >"$TMP/groups.csv"
  hogring data info --data "$TMP/groups.csv" --split group:g --missing drop --json "$TMP/info.json" >/dev/null
  [ "$(json "$TMP/info.json" 'd["train"] + d["test"]')" = 35 ]
  refused 3 "the group is empty, expected a text or number: --missing drop" data info --data "$TMP/groups.csv" --split group:g
  # a feature that groups are made of stays a feature
  hogring eval "$TMP/run" --data "$TMP/t.csv" --split group:z --worst 3 --json "$TMP/eval.json" >/dev/null
  sed '/NA/d' "$TMP/t.csv" >"$TMP/whole.csv"
  hogring predict "$TMP/run" --data "$TMP/whole.csv" --out "$TMP/p.csv" >/dev/null
  python3 - "$TMP" <<'PY'
import csv, json, sys
kept = [i for i in range(1, 41) if i % 9]
said = {i: float(r["probability"]) for i, r in zip(kept, csv.DictReader(open(sys.argv[1] + "/p.csv")))}
for w in json.load(open(sys.argv[1] + "/eval.json"))["worst"]:
    assert abs(said[w["row"]] - w["probability"]) < 1e-5, w
PY
}

@test "predict leaves out rows with holes where training did, and numbers the others as the file does" {
  { echo x,z,kind && for i in $(seq 40); do echo "$((i % 7)),$((i % 5)),k$((i % 2))"; done; } >"$TMP/t.csv"
  sed '4s/^[^,]*/NA/' "$TMP/t.csv" >"$TMP/train.csv"
  hogring train --data "$TMP/train.csv" --missing drop --model softmax --workers 1 --epochs 1 --quiet --checkpoint-dir "$TMP/run" >/dev/null
  hogring predict "$TMP/run" --data "$TMP/t.csv" >"$TMP/whole"
  # rows 3, 4 and 40; a label that is missing is not looked at
  sed '4s/^[^,]*/NA/; 5s/,.*,/,,/; 9s/k.$//; 41s/^[^,]*/?/' "$TMP/t.csv" >"$TMP/holes.csv"
  hogring predict "$TMP/run" --data "$TMP/holes.csv" >"$TMP/holes" 2>"$TMP/err"
  sed '/^3,/d; /^4,/d; /^40,/d' "$TMP/whole" | diff - "$TMP/holes"
  grep -q "where something is missing: 3 (the first is row 3)" "$TMP/err"
  printf 'x,z\n,1\n2,NA\n' >"$TMP/none.csv"
  refused 3 "missing in each of its 2 rows" predict "$TMP/run" --data "$TMP/none.csv"
}

@test "a whole number is one word however it is written" {
  { echo p,x,y && for i in $(seq 1 30); do echo "$((i % 3 + 1)),$((i % 5)),$((i % 2))"; done; } | sed '4s/^[^,]*/1.0/' >"$TMP/t.csv"
  hogring train --data "$TMP/t.csv" --one-hot p --model softmax --workers 1 --epochs 1 --quiet --checkpoint-dir "$TMP/run" >/dev/null
  hogring predict "$TMP/run" --data "$TMP/t.csv" --out "$TMP/a.csv" >/dev/null
  sed '2,$s/^\([0-9.]*\),/+\1,/; 8,$s/^+\([0-9]\),/\1.0,/' "$TMP/t.csv" >"$TMP/forms.csv"
  hogring predict "$TMP/run" --data "$TMP/forms.csv" --out "$TMP/b.csv" >"$TMP/out" 2>&1
  ! grep -q "taken as none" "$TMP/out" || return 1
  diff "$TMP/a.csv" "$TMP/b.csv"
}

@test "decimal commas between semicolons need no header, and predict leaves no row out" {
  for i in $(seq 1 12); do echo "$((i % 5)),5;-$((i % 3)),2$i;$((i % 2))"; done >"$TMP/t.csv"
  cut -d";" -f1-2 "$TMP/t.csv" >"$TMP/x.csv"
  for missing in refuse mean; do
    rm -rf "$TMP/run"
    hogring train --data "$TMP/t.csv" --missing $missing --model softmax --workers 1 --epochs 1 --quiet --checkpoint-dir "$TMP/run" >/dev/null
    hogring predict "$TMP/run" --data "$TMP/t.csv" --out "$TMP/a.csv" >/dev/null
    hogring predict "$TMP/run" --data "$TMP/x.csv" --out "$TMP/b.csv" >/dev/null
    [ "$(wc -l <"$TMP/a.csv")" = 13 ]
    diff "$TMP/a.csv" "$TMP/b.csv"
  done
}

@test "what would be learned wrong in silence is refused or said" {
  table() { { echo "$1" && for i in $(seq 0 19); do echo "$(($i % 7)),$((i % 5)),$((i % 2))"; done; } | sed "7s/^[^,]*/$2/" >"$TMP/t.csv"; }
  for bad in inf 1e400 0x10; do
    table a,b,y "$bad"
    refused 3 "line 7, column 1, a: \"$bad\", expected a finite number: --drop" data info --data "$TMP/t.csv" --one-hot auto
  done
  table a,b,y TRUE
  hogring data info --data "$TMP/t.csv" --one-hot auto 2>&1 | grep -q "column 1 is taken for one of words, though 19 of its 20 fields are numbers: line 7"
  table a,a,y 1
  hogring data info --data "$TMP/t.csv" >/dev/null
  refused 3 "line 1: columns 1 and 2 have one name" data info --data "$TMP/t.csv" --missing mean
  refused 3 "line 1: columns 1 and 2 have one name" data info --data "$TMP/t.csv" --drop 1
  table y,b,y 1
  refused 3 "line 1: column 3 is called \"y\", as the label is" data info --data "$TMP/t.csv"
  table a,b,y 1
  refused 2 "--split group:a,b: 2 columns, expected one" data info --data "$TMP/t.csv" --split group:a,b
  hogring train --data "$TMP/t.csv" --test "$TMP/t.csv" --split last --model softmax --epochs 1 --quiet 2>&1 >/dev/null | grep -q -- "--split last holds nothing out"
  printf 'a,b,y\nNA,u,0\n1,NA,1\n' >"$TMP/holes.csv"
  refused 3 "something is missing in each of its 2 rows" data info --data "$TMP/holes.csv" --missing drop --one-hot b
  sed 2s/NA/2/ "$TMP/holes.csv" >"$TMP/hole.csv"
  refused 3 "line 3, column 2, b: \"NA\", expected a word: --missing mean" data info --data "$TMP/hole.csv" --one-hot b
}

@test "a model whose recipe is not right is refused" {
  people
  hogring train --data "$TMP/people.csv" "${recipe[@]}" --model softmax --workers 1 --epochs 1 --quiet --checkpoint-dir "$TMP/run" >/dev/null
  with() { # MESSAGE PYTHON: columns c of the recipe
    python3 - "$TMP" "$2" <<'PY'
import glob, json, struct, sys
f = open(glob.glob(sys.argv[1] + "/run/step*/model.safetensors")[0], "rb").read()
n = struct.unpack("<Q", f[:8])[0]
head = json.loads(f[8 : 8 + n])
recipe = json.loads(head["__metadata__"]["hogring.columns"])
c = recipe["columns"]
exec(sys.argv[2])
head["__metadata__"]["hogring.columns"] = json.dumps(recipe)
text = json.dumps(head).encode()
text += b" " * (-len(text) % 8)
open(sys.argv[1] + "/m.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + f[8 + n :])
PY
    refused 3 "$1" predict "$TMP/m.safetensors" --data "$TMP/people.csv"
  }
  with "has no mean" 'del c[1]["mean"]'
  with "has no mean" 'c[1]["mean"] = "3"'
  with "has no mean" 'c[1]["mean"] = 1e300'
  with "has none" 'c[0]["words"] = "male"'
  with "words of column 2 of its table are in no order" 'c[0]["words"].reverse()'
  with "the columns of its table are in no order" 'c[1]["column"] = 2'
  with "the columns of its table are in no order" 'recipe["of"] = -1'
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
  # groups that are all among the test samples hold nothing out a second time, and one is left to train on
  { echo g,x,y && for i in $(seq 0 40); do echo "$([ $i = 40 ] && echo c || echo g$((i % 2))),$i,$((i % 2))"; done; } >"$TMP/few.csv"
  for seed in 1 2 3 4 5 6; do
    hogring train --data "$TMP/few.csv" --split group:g --validation 0.3 --seed $seed --model softmax --workers 1 --epochs 1 --quiet >/dev/null
  done
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
  # train measures the same, and chooses by it
  hogring train --data "$TMP/rare.csv" --split stratified --model softmax --workers 2 --batch-size 8 --epochs 5 --class-weights balanced --keep best=roc_auc --checkpoint-dir "$TMP/run" --overwrite --json "$TMP/train.json" >"$TMP/out"
  [ "$(json "$TMP/train.json" 'd["runs"][0]["test_scores"]')" = "$(json "$TMP/with.json" '{k: d[k] for k in ("balanced_accuracy", "macro_f1", "roc_auc")}')" ]
  [ "$(json "$TMP/train.json" 'd["runs"][0]["best"]["metric"], d["runs"][0]["best"]["value"] == max(p["test_scores"]["roc_auc"] for p in d["runs"][0]["curve"])')" = "('roc_auc', True)" ]
  grep -q balanced "$TMP/out"
  hogring train --data "$TMP/rare.csv" --split stratified --model softmax --workers 1 --epochs 40 --early-stop macro_f1,2 --validation 0.3 --quiet --json "$TMP/stop.json" >/dev/null
  [ "$(json "$TMP/stop.json" '(lambda r: (r["best"]["value"] == max(p["validation_scores"]["macro_f1"] for p in r["curve"]), r["best"]["value"] == r["validation_scores"]["macro_f1"], r["test_scores"] is not None, r["curve"][-1]["test_scores"]))(d["runs"][0])')" = "(True, True, True, None)" ]
  hogring train --data digits --model softmax --epochs 1 --json "$TMP/even.json" >"$TMP/out"
  [ "$(json "$TMP/even.json" 'd["runs"][0]["test_scores"]["roc_auc"], d["runs"][0]["test_scores"]["macro_f1"] > 0.5')" = "(None, True)" ]
  ! grep -q balanced "$TMP/out" || return 1
  refused 2 "--early-stop roc_auc: is of 2 classes" train --data digits --early-stop roc_auc,3 --quiet
  for i in $(seq 30); do echo "$((i % 2)) $((i % 7 + 1)):1"; done >"$TMP/few.libsvm"
  refused 2 "--keep best macro_f1: is not measured of sparse" train --data "$TMP/few.libsvm" --strategy hogwild --model logistic --keep best=macro_f1 --checkpoint-dir "$TMP/none" --quiet
  refused 2 "--class-weights: 3 numbers, expected 2" train --data "$TMP/rare.csv" --class-weights 1,2,3 --quiet
  for list in 1,1, 1e-60,1 "1, 1"; do refused 2 "--class-weights $list: expected balanced" train --data "$TMP/rare.csv" --class-weights "$list" --quiet; done
  refused 2 "--class-weights heavy" train --data "$TMP/rare.csv" --class-weights heavy --quiet
}

@test "folds test each sample once, say mean and deviation, and eval knows which samples those were" {
  python3 - "$TMP/f.csv" <<'PY'
import random, sys
r = random.Random(2)
open(sys.argv[1], "w").write("x,z,who,kind\n" + "".join(f"{r.gauss(i % 5 == 0, 1):.4f},{r.gauss(0, 1):.4f},p{i // 7},{'rare' if i % 5 == 0 else 'often'}\n" for i in range(113)))
PY
  folds() { # OPTIONS...
    rm -rf "$TMP/run"
    hogring compare --strategies allreduce --data "$TMP/f.csv" --model softmax --workers 2 --batch-size 8 --epochs 2 --checkpoint-dir "$TMP/run" --json "$TMP/f.json" "$@" >"$TMP/out" 2>"$TMP/err"
  }
  folds --drop who --folds 5 --split stratified
  [ "$(json "$TMP/f.json" '[(r["fold"], r["test_samples"]) for r in d["runs"]], d["config"]["folds"]')" = "([(1, 23), (2, 23), (3, 23), (4, 22), (5, 22)], 5)" ]
  [ "$(json "$TMP/f.json" '(lambda s, a: (abs(s["mean"] - sum(a) / 5) < 1e-12, abs(s["sd"] ** 2 - sum((x - s["mean"]) ** 2 for x in a) / 4) < 1e-12))(d["comparison"]["strategies"][0]["test_balanced_accuracy"], [r["test_scores"]["balanced_accuracy"] for r in d["runs"]])')" = "(True, True)" ]
  grep -q 'standard deviation of 5 folds' "$TMP/out"
  for seed in 1 2 3 4 5; do
    hogring eval "$TMP/run/allreduce/seed-$seed" --worst 100 --json "$TMP/e$seed.json" >/dev/null
    [ "$(json "$TMP/e$seed.json" 'd["test_accuracy"]')" = "$(json "$TMP/f.json" "d['runs'][$((seed - 1))]['test_accuracy']")" ]
    json "$TMP/e$seed.json" '" ".join(str(w["row"]) for w in d["worst"])'
  done | tr ' ' '\n' | sort -n | cmp - <(seq 113)
  folds --folds 3 --split group:who --concurrent
  [ "$(json "$TMP/f.json" 'sum(r["test_samples"] for r in d["runs"]), [r["test_samples"] % 7 in (0, 1) for r in d["runs"]]')" = "(113, [True, True, True])" ]
  # a fold by itself is that of the comparison
  hogring train --strategy allreduce --data "$TMP/f.csv" --drop who --split fold:2/5,stratified --model softmax --workers 2 --batch-size 8 --epochs 2 --seed 2 --json "$TMP/one.json" --quiet >/dev/null
  folds --drop who --folds 5 --split stratified
  [ "$(json "$TMP/one.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/f.json" 'd["runs"][1]["weights_digest"]')" ]
  refused 2 "--folds: is not supported with --seeds" compare --data "$TMP/f.csv" --folds 3 --seeds 2 --quiet
  refused 2 "--folds 1: expected 2" compare --data "$TMP/f.csv" --folds 1 --quiet
  refused 2 "--split fold:6/5" train --data "$TMP/f.csv" --split fold:6/5 --quiet
  refused 2 "--test X: is not supported with folds" train --data "$TMP/f.csv" --split fold:1/5 --test 0.3 --quiet
  refused 2 "--test FILE: is not supported with folds" train --data "$TMP/f.csv" --split fold:1/5 --test "$TMP/f.csv" --quiet
}

@test "a label that is dropped moves aloud, and an npz file is refused with the way out of it" {
  printf 'a,b,label,z\n1,2,0,1\n2,3,1,0\n4,5,0,1\n5,6,1,1\n' >"$TMP/l.csv"
  hogring data info "$TMP/l.csv" --drop label >"$TMP/out" 2>"$TMP/err"
  grep -q 'column 3, the label by its name, is dropped.*column 4' "$TMP/err"
  hogring data info "$TMP/l.csv" --drop z >"$TMP/out" 2>"$TMP/err"
  [ ! -s "$TMP/err" ]
  : >"$TMP/a.npz"
  refused 3 "X_train.npy and y_train.npy, as python3 -c" data info "$TMP/a.npz"
}

@test "with groupnorm four workers are one worker with the whole batch, to the bit where sums are" {
  for n in 1 4; do
    hogring train --data digits --model "conv 6 3x3, groupnorm 3, relu, flatten, dense 10" --reduce repro --workers $n --global-batch-size 48 --max-steps 6 --quiet --json "$TMP/$n.json" >/dev/null
  done
  [ "$(json "$TMP/1.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/4.json" 'd["runs"][0]["weights_digest"]')" ]
}

@test "what is likely meant otherwise is said: samples tested on that are trained on, channels last, files not read" {
  printf 'x,y\n1,a\n2,b\n3,a\n' >"$TMP/t.csv"
  hogring data info --data "$TMP/t.csv" --test "$TMP/t.csv" 2>&1 | grep -q "is the file of --data, too"
  [ "$(hogring data info --data "$TMP/t.csv" 2>&1 >/dev/null)" = "" ]
  printf 'x,x,y\n1,2,a\n2,3,b\n3,4,a\n' >"$TMP/twice.csv"
  hogring data info --data "$TMP/twice.csv" 2>&1 | grep -q "two columns have one name"
  python3 - "$TMP" <<'PY'
import os, struct, sys
def npy(path, descr, shape, data):
    header = str({"descr": descr, "fortran_order": False, "shape": shape}) + "\n"
    open(path, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data)
for name, shape in ("last", (10, 8, 8, 3)), ("first", (10, 3, 8, 8)):
    os.mkdir(f"{sys.argv[1]}/{name}")
    npy(f"{sys.argv[1]}/{name}/X_train.npy", "|u1", shape, bytes(range(192)) * 10)
    npy(f"{sys.argv[1]}/{name}/y_train.npy", "|u1", (10,), bytes([0, 1] * 5))
PY
  hogring data info --data "$TMP/last" 2>&1 | grep -q "8 channels of 8x3"
  [ "$(hogring data info --data "$TMP/first" 2>&1 >/dev/null)" = "" ]
  cp "$TMP/first/X_train.npy" "$TMP/first/X_val.npy"
  hogring data info --data "$TMP/first" 2>&1 | grep -q "X_val.npy is not read"
}

@test "npy numbers of 16 bits are those of 32" {
  python3 - "$TMP" <<'PY'
import os, struct, sys
values = [i / 7 - 3 for i in range(116)] + [6e-8, -65504, 0, -1e-5]
for kind, letter in ("f2", "e"), ("f4", "f"):
    rounded = [struct.unpack("<e", struct.pack("<e", v))[0] for v in values]
    os.mkdir(f"{sys.argv[1]}/{kind}")
    for name, descr, shape, data in ("X", f"<{kind}", (40, 3), struct.pack(f"<120{letter}", *rounded)), ("y", "|u1", (40,), bytes([0, 1] * 20)):
        header = str({"descr": descr, "fortran_order": False, "shape": shape}) + "\n"
        open(f"{sys.argv[1]}/{kind}/{name}_train.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data)
PY
  for kind in f2 f4; do hogring data info --data "$TMP/$kind" --json "$TMP/$kind.json" >/dev/null; done
  [ "$(json "$TMP/f2.json" 'd["digest"]')" = "$(json "$TMP/f4.json" 'd["digest"]')" ]
}
