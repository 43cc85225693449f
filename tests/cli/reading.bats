#!/usr/bin/env bats
# Data for a checkpoint are read as its training data were, and tested on what training held out.
load support

# table FILE N SEED: two features, and a label of two words, a coin toss; 1 the first line of numbers.
table() { python3 -c '
import random, sys
draw = random.Random(int(sys.argv[3]))
rows = ["a,b,label"] + ["%.4f,%.4f,%s" % (draw.gauss(0, 1), draw.gauss(0, 1), draw.choice("pq")) for _ in range(int(sys.argv[2]))]
open(sys.argv[1], "w").write("\n".join(rows) + "\n")' "$@"; }

# In the folder of the test, for names as short as users have them.
inside() { HOGRING=$(realpath "${HOGRING:-build/hogring}"); cd "$TMP"; }

# trained DATA OPTIONS...: a checkpoint $TMP/c, and its figures in $TMP/t.json.
trained() {
  rm -rf "$TMP/c"
  hogring train --data "$@" --epochs 3 --workers 2 --quiet --checkpoint-dir "$TMP/c" --json "$TMP/t.json" >/dev/null 2>&1
}

# alike DATA [OPTIONS...]: eval of it says what training said, and nothing else.
alike() {
  local named=()
  [ -z "$1" ] || named=(--data "$1")
  shift
  hogring eval "$TMP/c" "${named[@]}" "$@" --json "$TMP/e.json" >/dev/null 2>"$TMP/stderr"
  [ ! -s "$TMP/stderr" ] || { cat "$TMP/stderr"; return 1; }
  local figures='(d["test_accuracy"], d["test_loss"], (d["test_fit"] or {}).get("rmse"))'
  [ "$(json "$TMP/e.json" "$figures")" = "$(json "$TMP/t.json" "[$figures for d in d['runs']][0]")" ] || { json "$TMP/e.json" "$figures"; return 1; }
}

# tested N: so many samples were.
tested() { grep -q "($1 samples" "$TMP/said" || { cat "$TMP/said"; return 1; }; }

@test "eval reads with the options of training, whatever the format" {
  inside
  python3 - <<'END'
import os, random, struct, zlib
draw = random.Random(1)
open("numbers.csv", "w").write("".join("%d,%d,%g,%d\n" % (draw.randrange(9), draw.randrange(9), draw.random(), i % 2) for i in range(100)))
open("rows.libsvm", "w").write("".join("%d 1:%.4f 2:%.4f 3:0.5\n" % (draw.choice((-1, 1)), draw.random(), draw.random()) for i in range(200)))
open("pairs.libsvm", "w").write("".join("%.3f,%.3f 1:%.4f 2:%.4f\n" % tuple(draw.random() for _ in range(4)) for i in range(60)))
def png(name, value):
    part = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    open(name, "wb").write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
                           + part(b"IDAT", zlib.compress(b"".join(b"\0" + bytes([value] * 8) for _ in range(8)))) + part(b"IEND", b""))
for kind in "ab":
    os.makedirs("pictures/" + kind)
    for i in range(5):
        png(f"pictures/{kind}/{i}.png", 9 * i + 90 * (kind == "b"))
END
  while read -r data options; do
    echo "$data $options"
    trained "$data" $options
    alike "$data"
    alike ""
  done <<END
numbers.csv --model softmax --header yes
numbers.csv --model softmax --test 0.5 --label-column 4
numbers.csv --model mlp --target 3,2 --normalize
numbers.csv --model mlp --target 3 --header yes --test 0.4 --validation 0.2
rows.libsvm --model logistic --index-base 0
rows.libsvm --model softmax --features 10 --index-base 0 --early-stop loss,1
rows.libsvm --model softmax --classes -1,0,1 --test 0.1
pairs.libsvm --model mlp --task regress --test 0.3
pictures --model softmax --resize 4x4 --test 0.4
digits --model softmax
END
}

@test "the data that it was trained on are known by their content, and tested on what was held out" {
  inside
  table train.csv 200 1 && table test.csv 100 2 && table watch.csv 50 3
  trained train.csv --model mlp --test test.csv --validation watch.csv
  alike ""
  alike train.csv
  cp train.csv copy.csv
  alike copy.csv
  # The test file itself is other data, of which all is tested: the same figure.
  hogring eval c --data test.csv --json e.json >said 2>stderr
  [ "$(json e.json 'd["test_loss"]')" = "$(json t.json 'd["runs"][0]["test_loss"]')" ]
  tested 100
  grep -q "test.csv: is not the data that c/step-.* was trained on: all its 100 samples are taken, and some may have been trained on" stderr
  [ "$(wc -l <stderr)" = 1 ]
  # What was tested on is gone: no other figure in its place.
  mv test.csv gone.csv
  refused 3 "test.csv" eval c --data train.csv
  refused 3 "the data of c/step-" eval c
  hogring eval c --data copy.csv >said 2>stderr # other data, for all that can be known
  grep -q "some may have been trained on" stderr
  # Packed, they are the same.
  trained train.csv --model mlp --test 0.1
  hogring data pack train.csv --test 0.1 --out train.hrp >/dev/null
  alike train.hrp
  # Rows appended make another file.
  cp train.csv longer.csv && printf '1,2,p\n' >>longer.csv
  hogring eval c --data longer.csv >said 2>stderr
  tested 201
  # Its name alone does not make a file the one that it was.
  mv longer.csv train.csv
  hogring eval c >said 2>stderr
  tested 201
  grep -q "train.csv: is not the data" stderr
  # One sample, of one class.
  printf 'a,b,label\n1,2,q\n' >one.csv
  hogring eval c --data one.csv >said 2>stderr
  tested 1
  hogring eval c --data one.csv --worst 1 2>stderr | grep -q "^ *1  q"
}

@test "what is given wins, and where figures may differ a line says so" {
  inside
  table train.csv 200 1 && table test.csv 100 2
  trained train.csv --model mlp --test 0.1
  alike train.csv --test 0.1 --label-column label --header yes
  hogring eval c --data train.csv --test 0.5 >said 2>stderr
  tested 100
  grep -q -- "--test 0.5: c/step-.* was trained with 0.1" stderr
  hogring eval c --data train.csv --test test.csv >said 2>stderr
  tested 100
  grep -q -- "--test test.csv: c/step-.* was trained with none" stderr
  # Read otherwise they are the same data still: 20 are tested.
  awk -F, -v OFS=, 'NR == 1 { print $1, $2, "y", "z" } NR > 1 { print $1, $2, NR % 2, NR % 3 % 2 }' train.csv >two.csv
  trained two.csv --model softmax --label-column y --test 0.1
  hogring eval c --data two.csv --label-column z >said 2>stderr
  tested 20
  grep -q -- "--label-column z: c/step-.* was trained with y" stderr
  trained train.csv --model mlp --test 0.1 --classes q,p
  alike train.csv
  alike train.csv --classes p,q # numbered by the model's names
  # --test instead of the test data that it was trained with.
  trained train.csv --model mlp --test test.csv
  hogring eval c --data train.csv --test 0.2 >said 2>stderr
  tested 40
}

@test "what training held out is answered by predict as eval answers it" {
  inside
  python3 - <<'END'
import os, random, struct
draw = random.Random(1)
x, y = [[draw.random() for _ in range(3)] for _ in range(60)], [[draw.random() for _ in range(2)] for _ in range(60)]
open("plain.csv", "w").write("".join("%r,%r,%r,%r,%r\n" % (a, p, b, q, c) for (a, b, c), (p, q) in zip(x, y)))
open("named.csv", "w").write("a,p,b,q,c\n" + open("plain.csv").read())
open("rows.libsvm", "w").write("".join("%r,%r 1:%r 2:%r 3:%r\n" % (p, q, a, b, c) for (a, b, c), (p, q) in zip(x, y)))
os.mkdir("arrays")
for name, rows in ("X", x), ("y", y):
    head = str({"descr": "<f8", "fortran_order": False, "shape": (len(rows), len(rows[0]))}).ljust(117) + "\n"
    open(f"arrays/{name}_train.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode()
                                                 + b"".join(struct.pack("<d", v) for row in rows for v in row))
END
  while read -r data options; do
    echo "$data $options"
    trained "$data" --model mlp --test 0.25 --task regress $options
    hogring eval c --outputs e.npy >/dev/null 2>stderr
    hogring predict c --data "$data" --out p.npy >/dev/null 2>>stderr
    python3 - <<'END'
import struct
def rows(path): # of two values
    data = open(path, "rb").read()
    return list(struct.iter_unpack("<2d", data[10 + int.from_bytes(data[8:10], "little"):]))
held, answers = rows("e.npy"), iter(rows("p.npy"))
assert len(held) == 15
# Sums may be in another order where other numbers of samples are computed at once.
near = lambda a, b: all(abs(p - q) < 1e-5 for p, q in zip(a, b))
for row in held: # in the file's order
    assert any(near(row, other) for other in answers), row
END
  done <<END
plain.csv --target 2,4
named.csv --target q,p
rows.libsvm
arrays
END
  grep -q "arrays: these are its 15 test samples" stderr
}

@test "a whole number is one class, however it is written and whatever stands beside it" {
  inside
  table train.csv 120 1 && table test.csv 40 2
  for words in '1 0' '1 other' '12 other'; do
    read -r p q <<<"$words"
    for f in train test; do sed "s/,p$/,$p/; s/,q$/,$q/" $f.csv >$f.as.csv; done
    trained train.as.csv --model softmax --test test.as.csv
    alike ""
    # A test file that writes it otherwise, in training and in eval; the first form gives the name.
    awk -F, -v OFS=, 'NR > 1 && $3 + 0 { $3 = NR % 2 ? $3 ".0" : "+" $3 } { print }' test.as.csv >test.else.csv
    hogring eval c --data test.else.csv --json e.json >/dev/null 2>&1
    [ "$(json e.json 'd["test_loss"]')" = "$(json t.json 'd["runs"][0]["test_loss"]')" ]
    cp t.json first.json
    trained train.as.csv --model softmax --test test.else.csv
    [ "$(json t.json 'd["runs"][0]["weights_digest"]')" = "$(json first.json 'd["runs"][0]["weights_digest"]')" ]
    alike ""
    hogring predict c --data test.as.csv >answers 2>/dev/null
    head -n 1 answers | tr , '\n' | grep -qx "$p"
  done
}
