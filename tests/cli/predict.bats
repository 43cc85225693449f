#!/usr/bin/env bats
# A trained model on new data: what is read, what is refused, what is written.
load support

# flowers FILE N SEED [HEADER]: rows of three kinds that a line tells apart; without labels where HEADER lacks "kind".
flowers() {
  python3 - "$@" <<'END'
import csv, random, sys
file, n, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
names = sys.argv[4].split("|") if len(sys.argv) > 4 else ["petal length", "petal width", "a,b", "kind"]
kinds = ["red, spotted", 'oak "tall"', "eel"]
draw = random.Random(seed)
with open(file, "w", newline="") as out:
    rows = csv.writer(out)
    rows.writerow(names)
    for i in range(n):
        k = draw.randrange(3)
        row = {"petal length": round(draw.gauss(10 * k, 2), 3), "petal width": round(draw.gauss(-k, 0.5), 3),
               "a,b": round(draw.gauss(300 * k, 100), 3), "kind": kinds[k], "id": f"n{i}"}
        rows.writerow([row[name] for name in names])
END
}

train_flowers() {
  flowers "$TMP/train.csv" 300 1
  hogring train --data "$TMP/train.csv" --model mlp --epochs 3 --workers 2 --normalize --quiet --checkpoint-dir "$TMP/m" >/dev/null
}

# answers ARGUMENTS...: CSV on stdout.
answers() { hogring predict "$@" 2>"$TMP/stderr"; }

@test "columns are found by name, in any order, and others are left out" {
  train_flowers
  flowers "$TMP/whole.csv" 50 7
  answers "$TMP/m" --data "$TMP/whole.csv" >"$TMP/whole"
  [ ! -s "$TMP/stderr" ]
  flowers "$TMP/new.csv" 50 7 'id|a,b|petal width|petal length'
  answers "$TMP/m" --data "$TMP/new.csv" | cmp - "$TMP/whole"
  [ "$(cat "$TMP/stderr")" = "hogring: $TMP/new.csv: column \"id\" is left out: the model does not know it" ]
  tr , ';' <"$TMP/whole.csv" | sed '1s/;b"/,b"/; s/red; spotted/red, spotted/' >"$TMP/semicolons.csv"
  answers "$TMP/m" --data "$TMP/semicolons.csv" | cmp - "$TMP/whole"
  # By place: without a header, with the label and without.
  tail -n +2 "$TMP/whole.csv" >"$TMP/bare.csv"
  answers "$TMP/m" --data "$TMP/bare.csv" | cmp - "$TMP/whole"
  grep -q "has no header: its columns are taken in the order of the training data" "$TMP/stderr"
  cut -d, -f1-3 "$TMP/bare.csv" >"$TMP/three.csv"
  answers "$TMP/m" --data "$TMP/three.csv" | cmp - "$TMP/whole"
  head -n 1 "$TMP/whole" | grep -qF 'row,class,probability,eel,"oak ""tall""","red, spotted"'
}

@test "what does not fit the model is refused with the reason" {
  train_flowers
  m=$TMP/m/step-00000012
  flowers "$TMP/few.csv" 5 7 'a,b|id'
  refused 3 "few.csv: has no columns \"petal length\", \"petal width\", which $m was trained on; it has \"a,b\", \"id\"" predict "$TMP/m" --data "$TMP/few.csv"
  flowers "$TMP/twice.csv" 5 7 'a,b|petal width|petal length|a,b'
  refused 3 'column 4 is called "a,b", as one before it' predict "$TMP/m" --data "$TMP/twice.csv"
  printf '1,2\n3,4\n' >"$TMP/two.csv"
  refused 3 "two.csv: line 1: 2 columns, expected 3, the features of $m, or one more, the label" predict "$TMP/m" --data "$TMP/two.csv"
  printf 'petal length,petal width,"a,b"\n1,2,3\n1,nan,3\n' >"$TMP/nan.csv"
  refused 3 'nan.csv: line 3, column 2, petal width: "nan", expected a finite number' predict "$TMP/m" --data "$TMP/nan.csv"
  printf 'petal length,petal width,"a,b"\n1,2,3\n1,,3\n' >"$TMP/gap.csv"
  refused 3 'gap.csv: line 3, column 2, petal width: "", expected a finite number' predict "$TMP/m" --data "$TMP/gap.csv"
  head -n 1 "$TMP/train.csv" >"$TMP/head.csv"
  refused 3 "head.csv: holds no sample" predict "$TMP/m" --data "$TMP/head.csv"
  : >"$TMP/empty.csv"
  refused 3 "empty.csv: holds no line" predict "$TMP/m" --data "$TMP/empty.csv"
  refused 3 "digits: its samples are 1x8x8 (64 numbers), expected 3x1x1 (3)" predict "$TMP/m" --data digits
  refused 2 "--classes: $m has the names of its classes: eel, oak" predict "$TMP/m" --data "$TMP/train.csv" --classes a,b,c
  refused 2 "--index-base: is not supported for csv data" predict "$TMP/m" --data "$TMP/train.csv" --index-base 1
  refused 2 "of which samples? --data NEW.csv" predict "$TMP/m"
  refused 2 "which checkpoint?" predict --data digits
  refused 3 "nowhere: no checkpoint" predict nowhere --data digits
  refused 3 "--out $TMP/none/x.csv" predict "$TMP/m" --data "$TMP/train.csv" --out "$TMP/none/x.csv"
  refused 2 "there is one stdout" predict "$TMP/m" --data "$TMP/train.csv" --out - --json -
  for name in o.txt o.NPY csv; do
    refused 2 "--out $TMP/$name: expected a name that ends in .csv or .npy" predict "$TMP/m" --data "$TMP/train.csv" --out "$TMP/$name"
  done
  refused 2 "--top 4: expected at most 3, the classes" predict "$TMP/m" --data "$TMP/train.csv" --top 4
  refused 2 "--top: is not supported for" predict "$TMP/m" --data "$TMP/train.csv" --top 2 --out "$TMP/x.npy"
}

@test "the accuracy that is counted in the CSV is eval's, and npy has the same numbers" {
  for loss in cross-entropy mse bce; do
    hogring train "${quick[@]}" --model mlp --loss $loss --checkpoint-dir "$TMP/$loss" >/dev/null
    hogring eval "$TMP/$loss" --json "$TMP/eval.json" --outputs "$TMP/outputs.npy" >/dev/null
    answers "$TMP/$loss" --data digits >"$TMP/$loss.csv"
    hogring predict "$TMP/$loss" --data digits --out "$TMP/$loss.npy" --json "$TMP/$loss.json" >/dev/null 2>&1
    hogring predict "$TMP/$loss" --data digits --top 3 --out - >"$TMP/top" 2>/dev/null
    python3 - "$TMP" $loss <<'END'
import csv, json, math, struct, sys
folder, loss = sys.argv[1:]
def npy(path):
    data = open(path, "rb").read()
    shape = eval(data[10:10 + int.from_bytes(data[8:10], "little")])["shape"]
    flat = struct.unpack(f"<{shape[0] * shape[1]}f", data[10 + int.from_bytes(data[8:10], "little"):])
    return [flat[i * shape[1]:(i + 1) * shape[1]] for i in range(shape[0])]
rows = list(csv.DictReader(open(f"{folder}/{loss}.csv")))
outputs, columns = npy(f"{folder}/outputs.npy"), npy(f"{folder}/{loss}.npy")
evaluated, said = json.load(open(f"{folder}/eval.json")), json.load(open(f"{folder}/{loss}.json"))
answered = {c["name"]: c["answers"] for c in evaluated["classes"]}
assert len(rows) == len(columns) == said["samples"] == 359
for i, (row, x, p) in enumerate(zip(rows, outputs, columns)):
    if loss == "cross-entropy":
        total = sum(math.exp(v - max(x)) for v in x)
        want = [math.exp(v - max(x)) / total for v in x]
    else:
        want = [1 / (1 + math.exp(-v)) for v in x] if loss == "bce" else x
    assert all(abs(a - b) <= 1e-6 for a, b in zip(want, p)), (want, p)
    assert row["row"] == str(i + 1)
    assert all(abs(float(row[str(c)]) - p[c]) <= 1e-6 for c in range(10))
    assert row["class"] == str(max(range(10), key=lambda c: x[c]))
    assert row["score" if loss == "mse" else "probability"] == row[row["class"]]
for c in said["classes"]:
    assert c["samples"] == answered[c["name"]] == sum(row["class"] == c["name"] for row in rows)
top = list(csv.reader(open(f"{folder}/top")))
word = "score" if loss == "mse" else "probability"
assert top[0] == f"row,class,{word},class_2,{word}_2,class_3,{word}_3".split(","), top[0]
for row, p in zip(top[1:], columns):
    ranked = sorted(range(10), key=lambda c: -p[c])[:3]
    assert row[1::2] == [str(c) for c in ranked], row
END
  done
}

@test "the labels of Debian's images give eval's accuracy" {
  images=/usr/share/datasets/fashion-mnist
  [ -d $images ] || skip "no dataset-fashion-mnist"
  hogring train --data fashion-mnist --model softmax --max-steps 100 --quiet --checkpoint-dir "$TMP/m" >/dev/null
  hogring eval "$TMP/m" --data fashion-mnist --json "$TMP/e" >/dev/null
  answers "$TMP/m" --data $images/t10k-images-idx3-ubyte.gz >"$TMP/csv"
  counted=$(zcat $images/t10k-labels-idx1-ubyte.gz | tail -c +9 | od -An -v -tu1 -w1 | tr -d ' ' |
    paste -d, - <(tail -n +2 "$TMP/csv" | cut -d, -f2) | awk -F, '$1 == $2 { n++ } END { print n }')
  [ "$counted" = "$(json "$TMP/e" 'round(d["test_accuracy"] * 10000)')" ]
}

@test "images as rows of a table, and bytes as the training data were scaled" {
  hogring train "${quick[@]}" --model cnn --checkpoint-dir "$TMP/m" >/dev/null
  answers "$TMP/m" --data digits >"$TMP/want"
  python3 - "$TMP" <<'END'
import gzip, sys
# The built-in digits stand in the repository as IDX files: bytes to 16.
images = gzip.open("data/digits/t10k-images-idx3-ubyte.gz", "rb").read()[16:]
n = len(images) // 64
head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({n}, 8, 8), }}".ljust(117) + "\n"
open(sys.argv[1] + "/x.npy", "wb").write(b"\x93NUMPY\x01\x00v\x00" + head.encode() + images)
with open(sys.argv[1] + "/x.csv", "w") as out:
    for i in range(n):
        print(*(repr(b / 16) for b in images[64 * i:64 * i + 64]), sep=",", file=out)
END
  answers "$TMP/m" --data "$TMP/x.npy" | cmp - "$TMP/want"
  answers "$TMP/m" --data "$TMP/x.csv" | cmp - "$TMP/want"
}

@test "images of another shape of as many numbers are refused, rows are taken" {
  hogring train "${quick[@]}" --checkpoint-dir "$TMP/m" >/dev/null
  python3 - "$TMP" <<'END'
import os, sys
def npy(path, shape, descr, data):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00v\x00" + head.encode() + data)
for name, shape in ("rows", (20, 64)), ("same", (20, 1, 8, 8)), ("last", (20, 8, 8, 1)), ("wide", (20, 4, 16)):
    folder = f"{sys.argv[1]}/{name}"
    os.mkdir(folder)
    for split in "train", "test":
        npy(f"{folder}/X_{split}.npy", shape, "|u1", bytes(i * 7 % 17 for i in range(20 * 64)))
        npy(f"{folder}/y_{split}.npy", (20,), "|u1", bytes(i % 10 for i in range(20)))
END
  answers "$TMP/m" --data "$TMP/same/X_test.npy" >"$TMP/want"
  answers "$TMP/m" --data "$TMP/rows/X_test.npy" | cmp - "$TMP/want"
  hogring eval "$TMP/m" --data "$TMP/same" >/dev/null
  hogring eval "$TMP/m" --data "$TMP/rows" >/dev/null
  for shape in "last 8x8x1" "wide 1x4x16"; do
    said="its samples are ${shape#* } (C, H, W), expected 1x8x8, as $TMP/m/step-"
    refused 3 "$said" predict "$TMP/m" --data "$TMP/${shape% *}/X_test.npy"
    refused 3 "$said" predict "$TMP/m" --data "$TMP/${shape% *}"
    refused 3 "$said" eval "$TMP/m" --data "$TMP/${shape% *}"
  done
}

@test "sparse models: with labels and without, features they do not know, ratings" {
  hogring data make sparse --out "$TMP/rows.libsvm" --rows 400 --features 300 >/dev/null
  for model in logistic svm; do
    hogring train --data "$TMP/rows.libsvm" --model $model --epochs 2 --workers 1 --quiet --checkpoint-dir "$TMP/$model" >/dev/null
    answers "$TMP/$model" --data "$TMP/rows.libsvm" >"$TMP/$model.csv"
    [ ! -s "$TMP/stderr" ]
    cut -d' ' -f2- "$TMP/rows.libsvm" | sed 's/$/ 900:1/' >"$TMP/bare"
    answers "$TMP/$model" --data "$TMP/bare" | cmp - "$TMP/$model.csv"
    grep -q "400 values of features that the model does not know (it has 300) are left out" "$TMP/stderr"
  done
  head -n 1 "$TMP/logistic.csv" | grep -qx "row,class,probability,-1,+1"
  head -n 1 "$TMP/svm.csv" | grep -qx "row,class,score"
  # In the training rows most answers are right.
  paste -d, <(cut -d' ' -f1 "$TMP/rows.libsvm") <(tail -n +2 "$TMP/logistic.csv" | cut -d, -f2) |
    awk -F, '$1 == $2 { n++ } END { exit n < 320 }'
  python3 -c 'print(*(f"{u} " + " ".join(f"{i}:{1 + (u + i) % 5}" for i in range(1, 9)) for u in range(1, 21)), sep="\n")' >"$TMP/r.libsvm"
  hogring train --data "$TMP/r.libsvm" --model mf --epochs 2 --quiet --checkpoint-dir "$TMP/mf" >/dev/null
  printf '3 1:0 8:0\n7 2:0\n' >"$TMP/q.libsvm"
  answers "$TMP/mf" --data "$TMP/q.libsvm" >"$TMP/mf.csv"
  [ "$(head -n 1 "$TMP/mf.csv")" = row,rating ]
  [ "$(wc -l <"$TMP/mf.csv")" = 4 ]
  printf '99 1:0\n' >"$TMP/q.libsvm"
  refused 2 'has samples of class "99"' predict "$TMP/mf" --data "$TMP/q.libsvm"
}

@test "PyTorch's files have the classes that --classes names" {
  hogring train "${quick[@]}" --checkpoint-dir "$TMP/m" >/dev/null
  python3 - "$TMP" <<'END'
import json, struct, sys
data = open(sys.argv[1] + "/m/latest/model.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
head = json.loads(data[8:8 + size])
del head["__metadata__"]
text = json.dumps(head).encode()
open(sys.argv[1] + "/torch.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
END
  refused 3 '--model says them' predict "$TMP/torch.safetensors" --data digits
  answers "$TMP/torch.safetensors" --data digits --model softmax --classes a,b,c,d,e,f,g,h,i,j >"$TMP/named"
  answers "$TMP/torch.safetensors" --data digits --model softmax >"$TMP/plain"
  head -n 1 "$TMP/named" | grep -qx "row,class,probability,a,b,c,d,e,f,g,h,i,j"
  head -n 1 "$TMP/plain" | grep -qx "row,class,probability,0,1,2,3,4,5,6,7,8,9"
  [ "$(tail -n +2 "$TMP/named" | cut -d, -f3-)" != "" ]
}

@test "a terminal has the first rows within its columns, a pipe all" {
  needs_terminal
  train_flowers
  flowers "$TMP/new.csv" 30 7
  for columns in 60 80; do
    script -qec "stty cols $columns; '${HOGRING:-build/hogring}' predict '$TMP/m' --data '$TMP/new.csv'" /dev/null >"$TMP/shown"
    grep -q "and 20 more: --out FILE.csv writes all" "$TMP/shown"
    [ $columns = 60 ] || grep -q " oak \"tall\" " "$TMP/shown" # whole
    tr -d '\r' <"$TMP/shown" | awk -v w=$columns 'length > w { print; bad = 1 } END { exit bad }'
  done
  [ "$(answers "$TMP/m" --data "$TMP/new.csv" | wc -l)" = 31 ]
}

@test "eval takes the label that the model was trained with, and refuses columns in another order" {
  flowers "$TMP/first.csv" 200 1 'kind|a,b|petal width|petal length'
  hogring train --data "$TMP/first.csv" --label-column kind --model mlp --workers 1 --epochs 5 --normalize --quiet --checkpoint-dir "$TMP/m" >/dev/null
  hogring eval "$TMP/m" --data "$TMP/first.csv" --expect accuracy=0.9 | head -n 1 >"$TMP/said"
  hogring eval "$TMP/m" --data "$TMP/first.csv" --label-column kind | head -n 1 | cmp - "$TMP/said"
  hogring eval "$TMP/m" --data "$TMP/first.csv" --label-column 1 | head -n 1 | cmp - "$TMP/said"
  flowers "$TMP/other.csv" 200 1 'kind|petal width|a,b|petal length'
  refused 3 'other.csv: has the columns that '"$TMP"'/m/step-00000025 was trained on in another order (feature 1 is "petal width", there "a,b")' \
    eval "$TMP/m" --data "$TMP/other.csv"
  sed '1s/petal width/sepal width/' "$TMP/first.csv" >"$TMP/named.csv"
  hogring eval "$TMP/m" --data "$TMP/named.csv" 2>"$TMP/stderr" | head -n 1 | cut -d: -f2 | cmp - <(cut -d: -f2 "$TMP/said")
  grep -q 'its columns have other names than those that .* was trained on: feature 2 is "sepal width", there "petal width"' "$TMP/stderr"
}
