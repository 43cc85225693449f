#!/usr/bin/env bats
# Data that would train as something else are refused or pointed at, before they are trained on.
load support

# table FILE HEADER EXPRESSION [N]: N lines of a Python expression over i.
table() { python3 -c 'import sys; print(sys.argv[2]); [print(*eval(sys.argv[3]), sep=",") for i in range(int((sys.argv[4:] or [400])[0]))]' "$@" >"$1"; }
trains() { hogring train --workers 1 --epochs 1 --max-steps 5 --model "flatten, dense $1" "${@:2}" 2>"$TMP/stderr"; }

@test "labels that look like values are refused, unless --task classify says that they are classes" {
  table "$TMP/y" x,price "(i / 400, 1000 * i)"
  refused 2 "the labels (column 2, price) look like values and not like classes: 400 different numbers in 400 samples. --task regress predicts values, --task classify makes a class of each" train --data "$TMP/y"
  refused 2 "look like values" compare --data "$TMP/y"
  table "$TMP/scores" x,progression "(i, 25 + i * i % 214 + i % 3)" 442
  refused 2 "different numbers in 442 samples. --task regress" train --data "$TMP/scores"
  table "$TMP/scores" x,progression "(i, 25 + i % 214)" 442
  refused 2 "214 different numbers in 442 samples. --task regress" compare --data "$TMP/scores"
  hogring data pack "$TMP/y" --out "$TMP/packed" >/dev/null
  refused 2 "look like values" train --data "$TMP/packed"
  trains 400 --data "$TMP/y" --task classify --quiet --record "$TMP/trace"
  hogring replay "$TMP/trace" --quiet >/dev/null
  table "$TMP/y" x,score "(i, i % 8 / 2)"
  refused 2 "is not whole. --task regress" train --data "$TMP/y"
  refused 2 "--task cluster: expected auto, classify or regress" train --task cluster
  trains 8 --data "$TMP/y" --classes 0,0.5,1,1.5,2,2.5,3,3.5 --quiet
  table "$TMP/other" x,score "(i, i / 7)"
  refused 2 "look like values and not like classes (only test samples have \"0.14285714285714285\"): --task regress predicts values" train --data "$TMP/y" --test "$TMP/other"
}

@test "honest classes are trained on: digits, letters, a hundred of two samples each" {
  trains 10 --data digits --quiet
  table "$TMP/c" x,letter "(i % 13, chr(97 + i % 26))"
  trains 26 --data "$TMP/c" --quiet
  [ ! -s "$TMP/stderr" ]
  table "$TMP/c" x,id "(i % 100, i % 100)" 200
  trains 100 --data "$TMP/c" --quiet
  [ "$(grep -c . "$TMP/stderr")" -le 1 ] # which samples are held out is chance
  table "$TMP/c" x,id "(i % 100, 7 * (i % 100))" 200
  trains 100 --data "$TMP/c" --quiet
  grep -q "100 different numbers label 200 samples: each is taken for a class" "$TMP/stderr"
}

@test "data of a single class get a warning, and labels above 2^53 are as many classes as they are" {
  table "$TMP/one" x,kind "(i, 'a')" 40
  trains 1 --data "$TMP/one" --quiet
  grep -q "all 40 samples have the same label: there is nothing to learn" "$TMP/stderr"
  table "$TMP/ids" x,id "(i % 3, 10**19 + i % 3)" 60
  trains 3 --data "$TMP/ids" --quiet
  [ ! -s "$TMP/stderr" ]
}

@test "what is doubtful about labels and columns is said before training" {
  table "$TMP/two" y,x,label "(i % 4, i % 5, i % 2)"
  trains 2 --data "$TMP/two"
  grep -q "data     $TMP/two, label in column 3, label" "$TMP/stderr"
  [ "$(grep -c "is taken to be column 3, label, and not column 1, y: --label-column" "$TMP/stderr")" = 1 ]
  trains 2 --data "$TMP/two" --label-column label
  ! grep -q "label in\|taken to be" "$TMP/stderr" || return 1
  table "$TMP/na" x,kind "(i % 5, ['a', 'NA', 'none', 'nan'][i % 4])"
  trains 4 --data "$TMP/na" --quiet
  grep -q "missing values among the labels are taken for a class like any other: NA, nan (--missing drop leaves such rows out)$" "$TMP/stderr"
  trains 4 --data "$TMP/na" --classes NA,nan,a,none --quiet
  [ ! -s "$TMP/stderr" ]
}

@test "large inputs get a hint, and are named first when the loss rose or was not finite" {
  table "$TMP/large" a,b,kind "(150 + i % 5, 200 + 3 * (i % 7), 'ab'[i % 2])"
  trains 2 --data "$TMP/large" --lr 50 || true
  grep -q "features have maximum 154 and more: --normalize would bring them to about 1" "$TMP/stderr"
  hogring train --data "$TMP/large" --model "flatten, dense 8, relu, dense 8, relu, dense 8, relu, dense 2" --lr 1e6 --epochs 9 --quiet 2>"$TMP/stderr" && return 1
  grep -q "maximum of the inputs is 218: try --normalize first" "$TMP/stderr"
  hogring train --data "$TMP/large" --model "flatten, dense 8, relu, dense 8, relu, dense 8, relu, dense 2" --lr 1e6 --epochs 9 --quiet --normalize 2>"$TMP/stderr" || true
  ! grep -q "try --normalize" "$TMP/stderr"
}

@test "a model whose inputs were of another scale is used with a warning" {
  python3 - "$TMP" <<'PY'
import struct, sys
from pathlib import Path
top = Path(sys.argv[1])
rows = [[i % 251, 255 - i % 7, 9 * i % 256] for i in range(60)]
def npy(folder, name, descr, shape, data):
    (top / folder).mkdir(exist_ok=True)
    header = str({"descr": descr, "fortran_order": False, "shape": shape}) + "\n"
    (top / folder / name).write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data)
for split in ("train", "test"):
    for folder in ("bytes", "floats"):
        npy(folder, f"y_{split}.npy", "|u1", (60,), bytes(i % 2 for i in range(60)))
    npy("bytes", f"X_{split}.npy", "|u1", (60, 3), b"".join(map(bytes, rows)))
    npy("floats", f"X_{split}.npy", "<f4", (60, 3), b"".join(struct.pack("<3f", *(v / 255 for v in r)) for r in rows))
(top / "csv").write_text("".join(f"{a},{b},{c},{i % 2}\n" for i, (a, b, c) in enumerate(rows)))
PY
  trains 2 --data "$TMP/bytes" --quiet --checkpoint-dir "$TMP/model"
  said="its inputs had maximum 1 (features times 0.00392157), those of $TMP/csv have 255 (times 1)"
  hogring eval "$TMP/model" --data "$TMP/csv" 2>"$TMP/stderr"
  grep -qF "$said" "$TMP/stderr"
  trains 2 --data "$TMP/csv" --quiet --init-weights "$TMP/model"
  grep -qF "$said" "$TMP/stderr"
  hogring eval "$TMP/model" --data "$TMP/floats" 2>"$TMP/stderr"
  hogring eval "$TMP/model" --data "$TMP/bytes" 2>>"$TMP/stderr"
  [ "$(grep -c "its inputs had maximum" "$TMP/stderr")" = 0 ] # divided by the user: the same inputs
  trains 2 --data "$TMP/csv" --quiet --normalize --checkpoint-dir "$TMP/scaled"
  trains 2 --data "$TMP/csv" --quiet --init-weights "$TMP/scaled"
  grep -q "was trained with --normalize, and here inputs are as they are" "$TMP/stderr"
  trains 2 --data "$TMP/csv" --quiet --normalize --init-weights "$TMP/scaled"
  [ ! -s "$TMP/stderr" ]
}

@test "one large feature beside small ones gets a hint, and all of about one size none" {
  python3 -c '
import random, sys
r = random.Random(1)
for name, scales in ("mixed", (6, 150, 2)), ("alike", (6, 40, 9)):
    with open(sys.argv[1] + "/" + name, "w") as f:
        f.write("a,b,c,kind\n")
        for _ in range(60): f.write(",".join(f"{r.random() * s:.2f}" for s in scales) + "," + r.choice("xy") + "\n")' "$TMP"
  hogring train --data "$TMP/mixed" --model softmax --epochs 1 2>"$TMP/stderr" >/dev/null
  grep -qE "c has maximum [0-9.]+, b 1[0-9.]+: --normalize would put them on one scale" "$TMP/stderr"
  hogring train --data "$TMP/alike" --model softmax --epochs 1 2>"$TMP/stderr" >/dev/null
  ! grep -q -- "--normalize" "$TMP/stderr"
}

@test "features of unlike scales get a hint, once" {
  table "$TMP/s" km,grams,kind "(i % 5, 5000 * (i % 7), 'ab'[i % 2])"
  trains 2 --data "$TMP/s"
  grep -q "km has maximum 4, grams 30000: --normalize" "$TMP/stderr"
  hogring compare --data "$TMP/s" --model "flatten, dense 2" --strategies allreduce,hogwild --max-steps 3 >/dev/null 2>"$TMP/stderr"
  [ "$(grep -c "km has maximum" "$TMP/stderr")" = 1 ]
  trains 2 --data "$TMP/s" --normalize
  ! grep -q -- "km goes" "$TMP/stderr"
}

@test "a column without a name is refused, and messages say which one was taken for the label" {
  table "$TMP/p" ,x,kind "(i, i % 5, 'ab'[i % 2])"
  refused 3 "line 1: column 1 has no name: row numbers that pandas wrote (to_csv(index=False) leaves them out)?" train --data "$TMP/p"
  table "$TMP/p" "Unnamed: 0,x,kind" "(i, i % 5, 'ab'[i % 2])"
  refused 3 "column 1 has no name" data info "$TMP/p"
  table "$TMP/p" '"","x","kind"' "(i, i % 5, 'ab'[i % 2])"
  refused 3 "column 1 has no name" data info "$TMP/p"
  table "$TMP/p" kind,x,weight "('ab'[i % 2], i % 5, i)"
  sed 's/^[ab],/0,/' "$TMP/p" >"$TMP/q" && mv "$TMP/q" "$TMP/numbers"
  refused 3 "(the label is column 3, weight; --label-column names another)" train --data "$TMP/p"
  refused 2 "has 2 outputs, expected 400, the classes ($TMP/numbers: 400 classes in column 3, weight)" train --data "$TMP/numbers" --label-column weight --model "flatten, dense 2" --task classify
  hogring data info "$TMP/p" --label-column kind | grep -q "^label     column 1, kind$"
}

@test "a time needs a unit; what is named in seconds and 0 do not" {
  for option in "--compute-time 10" "--compute-time exponential(10)" "--servers time=1" "--link 1GB/s,5" "--inject stall:1@step=5+3"; do
    refused 2 ": expected " simulate --quiet --strategy ps-sync --max-steps 1 ${option%% *} "${option#* }"
  done
  refused 2 "--timeout 30: expected a time with its unit, as 30s" train --timeout 30
  refused 2 "--timeout 30: expected a time with its unit" bench allreduce --timeout 30
  echo 1000 >"$TMP/times"
  refused 3 "times:1: expected one duration with its unit, as 9.8ms or 9800000ns" simulate --compute-time "trace:$TMP/times"
  hogring simulate --max-steps 2 --quiet --strategy ps-sync --servers time=0 --timeout 0 --max-seconds 30 --compute-time 2ms >/dev/null
  hogring help train --all | tr -s ' \n' ' ' | grep -q "trace:FILE (drawn from a text file, one time per line: 9.8ms; # begins a comment)"
}

@test "an expectation of 0 is one, and one that is not measured is refused at once" {
  run hogring train --max-steps 3 --quiet --expect loss=0
  [ "$status" = 1 ]
  [[ "$output" == *"--expect loss=0: allreduce direct, seed 1, reached "* ]]
  hogring train --max-steps 3 --quiet --expect accuracy=0 >/dev/null
  printf '0 1:1 2:3\n1 2:1\n0 1:1\n1 2:2\n1 1:2\n' >"$TMP/a.libsvm"
  for metric in roc_auc balanced macro_f1; do
    refused 2 "--expect $metric: is not measured of sparse models; expected accuracy or loss" \
      train --data "$TMP/a.libsvm" --model logistic --expect $metric=0.5
  done
}

@test "an accuracy above 1 is refused at once" {
  refused 2 "--expect accuracy=95: expected 0 to 1, as 0.95" train --expect accuracy=95
  refused 2 "--expect accuracy=95: expected 0 to 1" eval nowhere --expect accuracy=95
  refused 2 "--time-to accuracy=95: expected more than 0 to 1" train --time-to accuracy=95
}

@test "tensors that a model has no place for are named" {
  hogring train --quiet --epochs 1 --max-steps 2 --model "flatten, dense 12, relu, batchnorm, dense 10" --checkpoint-dir "$TMP/long" >/dev/null
  file=("$TMP"/long/step-*/model.safetensors)
  hogring train --quiet --max-steps 2 --model "flatten, dense 12, relu, batchnorm, dense 10" --init-weights "${file[0]}" 2>"$TMP/stderr" >/dev/null
  [ ! -s "$TMP/stderr" ]
  hogring train --quiet --max-steps 2 --model "flatten, dense 12, relu, dropout 0, dense 10" --init-weights "${file[0]}" 2>"$TMP/stderr" >/dev/null || true
  grep -q "the model has no place for 4 of 9 tensors, left out: 3.weight, 3.bias, 3.running_mean, 3.running_var" "$TMP/stderr"
}

@test "help says what bytes become and which arrays are read" {
  hogring help data | tr -s ' \n' ' ' >"$TMP/page"
  grep -q "uint8 of npy) become byte / 255" "$TMP/page"
  grep -q "int8 to int64, uint8 to uint64, float16, float32 or float64" "$TMP/page"
}
