#!/usr/bin/env bats
# Data of every format trains; packing changes nothing.
load support

# Two heaps of points (three for CIFAR's size) in every format, from one generator.
make_data() {
  python3 - "$TMP" <<'PY'
import random, struct, sys
from pathlib import Path
top, r = Path(sys.argv[1]), random.Random(5)
samples = [([r.gauss(3 * (i % 3) - 3, .7), r.gauss(2 - 4 * (i % 3 == 1), .7)], i % 3) for i in range(600)]
(top / "a.csv").write_text("u,v,kind\n" + "".join(f"{x[0]:.5f},{x[1]:.5f},{'abc'[y]}\n" for x, y in samples))
(top / "a.tsv").write_text("".join(f"{'abc'[y]}\t{x[0]:.5f}\t{x[1]:.5f}\n" for x, y in samples))
(top / "a.txt").write_text("".join(f"{y} 1:{x[0]:.5f} 2:{x[1]:.5f}\n" for x, y in samples))
def npy(name, descr, shape, data):
    header = str({"descr": descr, "fortran_order": False, "shape": shape}) + "\n"
    (top / "npy" / name).write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data)
(top / "npy").mkdir()
for split, part in ("train", samples[:500]), ("test", samples[500:]):
    npy(f"X_{split}.npy", "<f4", (len(part), 2), b"".join(struct.pack("<2f", *x) for x, _ in part))
    npy(f"y_{split}.npy", "<i8", (len(part),), b"".join(struct.pack("<q", y) for _, y in part))
(top / "cifar").mkdir()
for i, name in enumerate([f"data_batch_{k}.bin" for k in range(1, 6)] + ["test_batch.bin"]):
    (top / "cifar" / name).write_bytes(b"".join(bytes([y]) + bytes([20 + 100 * y] * 1024 + [r.randrange(256)] * 2048) for y in (r.randrange(3) for _ in range(60))))
PY
}

trains() { hogring train --workers 2 --batch-size 8 --epochs 1 --quiet --lr 0.02 "$@"; }
linear=(--model "flatten, dense 3")

@test "CSV, TSV, libsvm and npy data train to a sensible accuracy in one epoch" {
  make_data
  trains --data "$TMP/a.csv" "${linear[@]}" --expect accuracy=0.9
  trains --data "$TMP/a.tsv" --header no --label-column 1 "${linear[@]}" --expect accuracy=0.9
  trains --data "$TMP/a.txt" --index-base 1 --features 2 "${linear[@]}" --expect accuracy=0.9
  trains --data "$TMP/npy" "${linear[@]}" --expect accuracy=0.9
}

@test "CIFAR data train, on one channel of three" {
  make_data
  hogring train --data "$TMP/cifar" --model "flatten, dense 10" --batch-size 8 --epochs 3 --quiet --lr 0.002 --expect accuracy=0.6
}

@test "packed data give the weights of their source, and eval and compare take them" {
  make_data
  for source in a.csv a.txt npy cifar; do
    model="flatten, dense $([ $source = cifar ] && echo 10 || echo 3)"
    hogring data pack --data "$TMP/$source" --out "$TMP/p.hrp"
    hogring data verify "$TMP/p.hrp"
    trains --data "$TMP/$source" --model "$model" --json "$TMP/a.json"
    trains --data "$TMP/p.hrp" --model "$model" --json "$TMP/b.json" --checkpoint-dir "$TMP/c.$source"
    for key in 'd["runs"][0]["weights_digest"]' 'd["config"]["data"]["digest"]' 'd["config"]["data"]["test"]'; do
      [ "$(json "$TMP/a.json" "$key")" = "$(json "$TMP/b.json" "$key")" ]
    done
  done
  hogring eval "$TMP/c.a.csv" --data "$TMP/a.csv" --test 0.5 --expect accuracy=0.9
  trains --data "$TMP/a.csv" --split last --checkpoint-dir "$TMP/c.last"
  hogring data pack --data "$TMP/a.csv" --split last --out "$TMP/p.hrp"
  refused 2 "options of its data that --data $TMP/p.hrp does not take" train --resume "$TMP/c.last" --data "$TMP/p.hrp" --epochs 99
  hogring compare --data "$TMP/a.csv" "${linear[@]}" --strategies allreduce,hogwild --epochs 1 --quiet >/dev/null
}

@test "large numbers with a small spread are told apart: CSV, npy, packed; by eval and predict, too" {
  python3 - "$TMP" <<'END'
import random, struct, sys
from pathlib import Path
top, r = Path(sys.argv[1]), random.Random(4)
t = [r.randrange(100) for _ in range(400)]
kinds = {"plain": lambda t: str(t), "stamp": lambda t: str(1700000000 + t), "utm": lambda t: f"{5812345 + t / 100:.2f}"}
for name, text in kinds.items():
    (top / f"{name}.csv").write_text("x,label\n" + "".join(f"{text(t)},{int(t >= 50)}\n" for t in t))
    (top / f"{name}.new").write_text("x\n" + text(48) + "\n")
def npy(path, kind, pack, shape, values):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", 118) + head.encode() + struct.pack(f"<400{pack}", *values))
for name, kind, pack in ("stamp", "<i8", "q"), ("utm", "<f8", "d"):
    (top / f"{name}.npy").mkdir()
    npy(top / f"{name}.npy/X_train.npy", kind, pack, "(400, 1)", [(float if pack == "d" else int)(kinds[name](t)) for t in t])
    npy(top / f"{name}.npy/y_train.npy", "<i8", "q", "(400,)", [int(t >= 50) for t in t])
END
  model=(--model "flatten, dense 8, relu, dense 2" --lr 0.2 --workers 2 --epochs 10 --quiet)
  hogring data pack "$TMP/stamp.csv" --out "$TMP/stamp.hrp" >/dev/null
  for data in plain.csv stamp.csv utm.csv stamp.npy utm.npy stamp.hrp; do
    hogring train --data "$TMP/$data" --normalize "${model[@]}" --checkpoint-dir "$TMP/c.$data" --json "$TMP/j.$data" 2>"$TMP/stderr"
    [ ! -s "$TMP/stderr" ]
    hogring eval "$TMP/c.$data" --data "$TMP/$data" --json "$TMP/e.json" >/dev/null
    [ "$(json "$TMP/e.json" 'd["test_loss"]')" = "$(json "$TMP/j.$data" 'd["runs"][0]["test_loss"]')" ]
    hogring predict "$TMP/c.$data" --data "$TMP/${data%.*}.new" 2>/dev/null | sed 1d | cut -c 1-8 >"$TMP/answer.$data"
    cmp "$TMP/answer.$data" "$TMP/answer.plain.csv"
  done
  digest='d["runs"][0]["weights_digest"]'
  [ "$(json "$TMP/j.stamp.csv" "$digest")" = "$(json "$TMP/j.stamp.npy" "$digest")" ]
  [ "$(json "$TMP/j.stamp.csv" "$digest")" = "$(json "$TMP/j.stamp.hrp" "$digest")" ]
  hogring train --data "$TMP/utm.csv" "${model[@]}" >/dev/null 2>"$TMP/stderr"
  grep -q "99 different values of feature 1, x, fall together into 3 as float32" "$TMP/stderr"
  hogring train --data "$TMP/plain.csv" "${model[@]}" 2>&1 >/dev/null | { ! grep "fall together"; }
}

@test "libsvm may begin with a byte order mark, and who leaves qid out says so" {
  printf '\xef\xbb\xbf1 1:2\n0 1:1 2:2\n1 2:1\n' >"$TMP/b.libsvm"
  hogring data info --data "$TMP/b.libsvm" >"$TMP/marked" 2>"$TMP/stderr"
  [ ! -s "$TMP/stderr" ]
  tail -c +4 "$TMP/b.libsvm" >"$TMP/c.libsvm"
  hogring data info --data "$TMP/c.libsvm" | grep digest | cmp - <(grep digest "$TMP/marked")
  printf '1 qid:1 1:2\n0 qid:1 1:1 2:2\n1 qid:2 2:1\n' >"$TMP/q.libsvm"
  hogring data info --data "$TMP/q.libsvm" 2>&1 >"$TMP/with" | grep -q "qid:N is left out"
  grep digest "$TMP/with" | cmp - <(grep digest "$TMP/marked")
  printf '\xef\xbb\xbf1:2\n' >"$TMP/new"
  hogring train --data "$TMP/b.libsvm" --model logistic --epochs 1 --quiet --checkpoint-dir "$TMP/c" >/dev/null
  hogring predict "$TMP/c" --data "$TMP/new" 2>/dev/null | grep -q "^1,"
}

@test "IDX labels with gaps make classes without samples, which is said" {
  mkdir "$TMP/idx"
  for split in train t10k; do
    printf '\0\0\10\3\0\0\0\4\0\0\0\1\0\0\0\1\1\2\3\4' >"$TMP/idx/$split-images-idx3-ubyte"
    printf '\0\0\10\1\0\0\0\4\0\377\0\377' >"$TMP/idx/$split-labels-idx1-ubyte"
  done
  hogring data info --data "$TMP/idx" 2>&1 >/dev/null | grep -q "256 classes, and 254 of them have no sample"
  hogring data info --data digits 2>&1 >/dev/null | { ! grep .; }
}

@test "a test file is used whole, and the options stand in the JSON" {
  make_data
  trains --data "$TMP/a.csv" --test "$TMP/a.csv" --label-column kind "${linear[@]}" --json "$TMP/out.json"
  [ "$(json "$TMP/out.json" 'd["config"]["data"]["test"]')" = 600 ]
  [ "$(json "$TMP/out.json" 'd["config"]["data"]["options"]["label-column"]')" = kind ]
}

@test "info and inspect tell what data hold" {
  make_data
  hogring data info --data "$TMP/a.csv" >"$TMP/info"
  grep -q "a.csv: csv" "$TMP/info"
  grep -q "480 train, 120 test" "$TMP/info"
  hogring inspect "$TMP/a.txt" | grep -q "sparse, 100 % stored"
  hogring inspect "$TMP/npy" --json - >"$TMP/out.json"
  [ "$(json "$TMP/out.json" 'd["shape"]')" = "[2, 1, 1]" ]
  hogring help | grep -q "^  data "
  hogring data --help | grep -q "hogring data pack"
}

@test "wrong data and wrong use are refused in one line" {
  make_data
  printf 'a,b\n1,2\nnan,3\n' >"$TMP/x"
  refused 3 "line 3, column 1, a: \"nan\", expected a finite number" train --data "$TMP/x"
  refused 2 "--header maybe: expected yes, no or auto" train --data "$TMP/a.csv" --header maybe
  refused 2 "--index-base 2: expected 0, 1 or auto" train --data "$TMP/a.txt" --index-base 2
  refused 2 "--test 0: expected more than 0" train --data "$TMP/a.csv" --test 0
  refused 2 "--features: is not supported for csv data" train --data "$TMP/a.csv" --features 3
  refused 2 "--test FILE: is not supported for idx data" train --test "$TMP/a.csv"
  refused 2 "--label-column nobody: expected a name of the header" train --data "$TMP/a.csv" --label-column nobody
  refused 2 "where to?" data pack --data "$TMP/a.csv"
  refused 2 "--out: is not supported for data info" data info --out x
  refused 2 "expected data pack, data verify, data info or data make" data park
  refused 2 "data: expected data pack" data
  refused 2 "data verify: which file?" data verify
  refused 2 "--header: is not supported for data verify" data verify "$TMP/a.csv" --header no
  refused 2 "--json: is not supported for data verify" data verify "$TMP/a.csv" --json -
  hogring data pack "$TMP/a.csv" --out "$TMP/p" --json - >"$TMP/out.json"
  [ "$(json "$TMP/out.json" 'd["train"]')" = 480 ]
  refused 3 "does not begin as packed data does" data verify "$TMP/a.csv"
  hogring data pack --data "$TMP/a.csv" --out "$TMP/p"
  printf 'x' | dd of="$TMP/p" bs=1 seek=600 conv=notrunc status=none
  refused 3 "section 0 (bytes 512 + 3840) is damaged" data verify "$TMP/p"
}

@test "data may lie as deep as a path of 1023 bytes reaches, and later commands find them there" {
  local deep="$TMP" how long
  while [ ${#deep} -lt 700 ]; do deep="$deep/$(printf 'd%.0s' {1..120})"; done
  mkdir -p "$deep"
  awk 'BEGIN { print "a,b,kind"; for (i = 0; i < 40; i++) print i % 7 "," i % 5 "," (i % 3 ? "cat" : "dog") }' >"$deep/x.csv"
  cp "$deep/x.csv" "$TMP/x.csv"
  hogring data info "$deep/x.csv" | grep -q "^classes   2"
  run=(--model softmax --epochs 2 --quiet)
  hogring train --data "$TMP/x.csv" "${run[@]}" --json "$TMP/a.json" >/dev/null
  hogring train --data "$deep/x.csv" "${run[@]}" --checkpoint-dir "$TMP/c" --record "$TMP/t" --json "$TMP/b.json" --report "$TMP/r.html" >/dev/null
  [ "$(json "$TMP/b.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/a.json" 'd["runs"][0]["weights_digest"]')" ]
  hogring replay "$TMP/t" --quiet >/dev/null
  hogring eval "$TMP/c" >/dev/null
  hogring predict "$TMP/c" --data "$deep/x.csv" >/dev/null
  hogring train --resume "$TMP/c" --epochs 3 --quiet >/dev/null
  printf 'a,a,kind\n1,2,cat\n2,3,dog\n3,4,cat\n' >"$deep/twice.csv"
  hogring data info "$deep/twice.csv" 2>&1 >/dev/null | grep -q "two columns have one name"
  mkdir "$deep/idx"
  python3 - "$deep/idx" <<'PY'
import struct, sys
for name, n in (("train", 6), ("t10k", 3)):
    open(f"{sys.argv[1]}/{name}-images-idx3-ubyte", "wb").write(struct.pack(">4i", 2051, n, 2, 2) + bytes(range(4 * n)))
    open(f"{sys.argv[1]}/{name}-labels-idx1-ubyte", "wb").write(struct.pack(">2i", 2049, n) + bytes(i % 3 for i in range(n)))
PY
  hogring data info "$deep/idx" | grep -q "^samples   6 train, 3 test"
  refused 3 "no data set" data info "$deep/none.csv"
  long=$(printf 'x%.0s' {1..1030})
  refused 2 "1030 bytes, expected at most 1023" data info "$long"
}
