#!/usr/bin/env bats
# The samples that a model gets most wrong: eval --worst, --worst-sheet.
load support

@test "the samples with the largest loss are listed, as the outputs have it" {
  hogring train "${quick[@]}" --model mlp --checkpoint-dir "$TMP/m" >/dev/null
  hogring eval "$TMP/m" --worst 7 --outputs "$TMP/x.npy" --json "$TMP/e.json" >"$TMP/out"
  grep -q "^7 of 359 test samples, the largest loss first$" "$TMP/out"
  python3 - "$TMP" <<'END'
import gzip, json, math, struct, sys
worst = json.load(open(sys.argv[1] + "/e.json"))["worst"]
x = struct.unpack("<3590f", open(sys.argv[1] + "/x.npy", "rb").read()[128:])
y = gzip.open("data/digits/t10k-labels-idx1-ubyte.gz").read()[8:]
p = []
for i in range(359):
    e = [math.exp(v) for v in x[10 * i:10 * i + 10]]
    p.append([v / sum(e) for v in e])
ranked = sorted(range(359), key=lambda i: p[i][y[i]])[:7]
assert [w["row"] for w in worst] == [i + 1 for i in ranked], worst
for w, i in zip(worst, ranked):
    answer = max(range(10), key=lambda c: p[i][c])
    assert (w["truth"], w["answer"]) == (str(y[i]), str(answer))
    assert abs(w["probability"] - p[i][answer]) < 1e-5 and abs(w["truth_probability"] - p[i][y[i]]) < 1e-5
    assert abs(w["loss"] + math.log(p[i][y[i]])) < 1e-4
rows = [line.split() for line in open(sys.argv[1] + "/out").read().split("largest loss first\n")[1].splitlines()[1:]]
assert [r[:3] for r in rows] == [[str(w["row"]), w["truth"], w["answer"]] for w in worst], rows
END
}

@test "rows are those of the file that test samples were held out of" {
  python3 -c '
import random
draw = random.Random(3)
print("x,kind")
for i in range(100): print(i, draw.choice(["a long name, quoted", "b"]).join(["\""] * 2), sep=",")' >"$TMP/p.csv"
  hogring train --data "$TMP/p.csv" --model softmax --epochs 1 --quiet --lr 1e-4 --checkpoint-dir "$TMP/m" >/dev/null 2>&1
  hogring eval "$TMP/m" --data "$TMP/p.csv" --worst 20 --json "$TMP/e.json" 2>/dev/null >"$TMP/out"
  sed -n '/largest loss first/,$p' "$TMP/out" | awk 'length > 80 { print; bad = 1 } END { exit bad }'
  python3 - "$TMP" <<'END'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1] + "/p.csv")))
worst = json.load(open(sys.argv[1] + "/e.json"))["worst"]
assert len({w["row"] for w in worst}) == 20
for w in worst:
    assert rows[w["row"] - 1]["kind"] == w["truth"], w
END
}

@test "a sheet of images is a PNG, of grey and of coloured ones" {
  hogring train "${quick[@]}" --checkpoint-dir "$TMP/m" >/dev/null
  hogring eval "$TMP/m" --worst-sheet "$TMP/sheet.png" >"$TMP/out"
  grep -q "^20 of 359 test samples" "$TMP/out"
  hogring eval "$TMP/m" --worst 3 --worst-sheet "$TMP/three.png" >/dev/null
  size() { python3 -c 'import struct, sys; d = open(sys.argv[1], "rb").read(); assert d[:8] == b"\x89PNG\r\n\x1a\n"; print(*struct.unpack(">II", d[16:24]))' "$1"; }
  [ "$(size "$TMP/sheet.png")" = "896 904" ]
  [ "$(size "$TMP/three.png")" = "544 238" ]
}

@test "what has no worst samples, or no images, is refused" {
  hogring train "${quick[@]}" --checkpoint-dir "$TMP/m" >/dev/null
  refused 2 "--worst 0: expected at least 1" eval "$TMP/m" --worst 0
  refused 2 "--worst 2000: expected at most 1000 with --worst-sheet" eval "$TMP/m" --worst 2000 --worst-sheet "$TMP/s.png"
  refused 2 "expected a name that ends in .png" eval "$TMP/m" --worst-sheet "$TMP/s.svg"
  refused 3 "--worst-sheet $TMP/none/s.png" eval "$TMP/m" --worst-sheet "$TMP/none/s.png"
  hogring data make sparse --out "$TMP/r.libsvm" --rows 200 --features 50 --nonzeros 5 >/dev/null
  hogring train --data "$TMP/r.libsvm" --model logistic --epochs 1 --quiet --checkpoint-dir "$TMP/l" >/dev/null
  refused 2 "--worst: is not supported for logistic" eval "$TMP/l" --data "$TMP/r.libsvm" --worst 3
  refused 2 "rows of 50 numbers, and no images" eval "$TMP/l" --data "$TMP/r.libsvm" --worst-sheet "$TMP/s.png"
  [ ! -e "$TMP/s.png" ]
}
