#!/usr/bin/env bats
# Classes have names, and a model knows its own: data are numbered by name, or refused by name.
load support

# Heaps of points at places of their own: cat, dog and eel. heaps FILE NAME...: 40 of each.
heaps() {
  python3 - "$TMP/$1" "${@:2}" <<'PY'
import random, sys
at, r = {"cat": (0, 0), "dog": (4, 0), "eel": (0, 4)}, random.Random(3)
lines = [f"{at[k][0] + r.gauss(0, .5):.4f},{at[k][1] + r.gauss(0, .5):.4f},{k}\n" for k in sys.argv[2:] for _ in range(40)]
r.shuffle(lines)
open(sys.argv[1], "w").write("a,b,kind\n" + "".join(lines))
PY
}

trains() { hogring train --workers 2 --batch-size 8 --epochs 5 --quiet "$@"; }

@test "eval numbers labels by the model's names, and refuses the names it does not know" {
  heaps pets cat dog; heaps swimmers dog eel; heaps all cat dog eel
  trains --data "$TMP/pets" --model "flatten, dense 2" --keep 1 --checkpoint-dir "$TMP/two" >/dev/null
  trains --data "$TMP/all" --model "flatten, dense 3" --keep 1 --checkpoint-dir "$TMP/three" >/dev/null
  hogring eval "$TMP/three" --data "$TMP/swimmers" --expect accuracy=0.95 --json "$TMP/e.json" >"$TMP/out"
  grep -q "^eel  *[0-9]* " "$TMP/out"; grep -q "cat *dog *eel$" "$TMP/out"
  [ "$(json "$TMP/e.json" '[c["name"] for c in d["classes"]], d["classes"][0]["samples"], sum(c["samples"] - sum(c["taken_for"].values()) for c in d["classes"]) == round(d["test_accuracy"] * sum(c["samples"] for c in d["classes"]))')" = "(['cat', 'dog', 'eel'], 0, True)" ]
  refused 2 "has samples of class \"eel\", which $TMP/two/step-00000020 does not know: it has cat, dog" eval "$TMP/two" --data "$TMP/swimmers"
  cp "$TMP"/three/step-*/model.safetensors "$TMP/m.safetensors"
  hogring eval "$TMP/m.safetensors" --data "$TMP/swimmers" --expect accuracy=0.95
  hogring data pack "$TMP/swimmers" --out "$TMP/packed" >/dev/null
  hogring eval "$TMP/three" --data "$TMP/packed" --expect accuracy=0.95
  refused 2 "has samples of class \"eel\"" eval "$TMP/two" --data "$TMP/packed"
  hogring inspect "$TMP/three" | grep -q "hogring.class_names = cat,dog,eel"
}

@test "resume and --init-weights know the classes of what they take" {
  heaps pets cat dog; heaps swimmers dog eel
  trains --data "$TMP/pets" --model "flatten, dense 2" --keep 1 --checkpoint-dir "$TMP/two" >/dev/null
  sed 's/cat/eel/' "$TMP/pets" > "$TMP/renamed" # eel comes behind dog: other numbers
  refused 2 "has samples of class \"eel\", which $TMP/two/step-00000020 does not know" train --data "$TMP/renamed" --model "flatten, dense 2" --epochs 9 --quiet --resume "$TMP/two"
  trains --data "$TMP/pets" --model "flatten, dense 3" --classes eel,dog,cat --keep 1 --checkpoint-dir "$TMP/three" >/dev/null
  trains --data "$TMP/pets" --model "flatten, dense 3" --epochs 7 --resume "$TMP/three" --json "$TMP/resumed" >/dev/null
  trains --data "$TMP/pets" --model "flatten, dense 3" --classes eel,dog,cat --epochs 7 --json "$TMP/whole" >/dev/null
  [ "$(json "$TMP/resumed" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/whole" 'd["runs"][0]["weights_digest"]')" ]
  [ "$(json "$TMP/whole" 'd["config"]["data"]["options"]["classes"]')" = eel,dog,cat ]
  trains --data "$TMP/swimmers" --model "flatten, dense 2" --init-weights "$TMP/two" >/dev/null 2>"$TMP/stderr"
  grep -q "its classes are cat, dog, here they are dog, eel" "$TMP/stderr"
}

@test "--classes says what the data of a foreign model lack, in train, eval and data" {
  heaps pets cat dog; heaps all cat dog eel
  trains --data "$TMP/all" --model "flatten, dense 3" --keep 1 --checkpoint-dir "$TMP/three" >/dev/null
  python3 - "$TMP"/three/step-*/model.safetensors "$TMP/foreign.safetensors" <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
del header["__metadata__"]
text = json.dumps(header).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
PY
  foreign=("$TMP/foreign.safetensors" --model "flatten, dense 3" --data "$TMP/pets")
  refused 2 "has 3 outputs, expected 2, the classes (--classes says which ones the data lacks)" eval "${foreign[@]}" --classes cat,dog
  hogring eval "${foreign[@]}" --classes cat,dog,eel --expect accuracy=0.95
  hogring eval "${foreign[@]}" --data "$TMP/all" --expect accuracy=0.95 2>"$TMP/stderr"
  grep -q "does not say its classes: they are taken for cat, dog, eel" "$TMP/stderr"
  refused 2 "has samples of class \"dog\", which --classes does not know: it has cat, eel" data info "$TMP/pets" --classes cat,eel
  hogring data info "$TMP/pets" --classes cat,dog,eel | grep -q "classes   3"
  hogring data info digits --classes 12 | grep -q "classes   12"
  trains --data "$TMP/pets" --test "$TMP/all" --classes cat,dog,eel --model "flatten, dense 3" --record "$TMP/trace" >/dev/null
  hogring replay "$TMP/trace" >/dev/null
  refused 3 "only test samples have the label \"eel\"; --classes lists all classes when that is meant" train --data "$TMP/pets" --test "$TMP/all"
  printf '%s\n' '0 1:3 2:1' '1 1:2 3:5' '0 2:4' >"$TMP/ratings" # labels are users
  printf '2 1:3\n' >"$TMP/strangers"
  refused 3 "only test samples have the label \"2\"" train --model mf --data "$TMP/ratings" --test "$TMP/strangers"
  hogring train --model mf --data "$TMP/ratings" --test "$TMP/strangers" --classes 3 --quiet >/dev/null
}

# says_what_it_said RESULTS: its classes have the samples of the test set, and their right answers are its accuracy.
says_what_it_said() {
  [ "$(json "$1" '{(sum(c["samples"] for c in r["classes"]), abs(sum(c["samples"] - sum(c["taken_for"].values()) for c in r["classes"]) / 359 - r["test_accuracy"]) < 1e-12) for r in d["runs"]}')" = "{(359, True)}" ]
}

@test "train and compare say what the test samples were answered with, as eval does" {
  digits=(train --model softmax --epochs 2 --quiet --json "$TMP/t.json")
  for how in "--clock virtual" "--launch process" "--launch process --validation 0.2" "--early-stop accuracy,1 --lr 30 --epochs 4" "--clock explore:3 --strategy ps-async"; do
    hogring "${digits[@]}" $how >/dev/null 2>&1
    says_what_it_said "$TMP/t.json"
  done
  [ "$(json "$TMP/t.json" 'd["runs"][0]["best"]')" = None ]
  hogring compare --model softmax --strategies allreduce,ssp --seeds 2 --concurrent --epochs 1 --quiet --json "$TMP/c.json" >/dev/null
  says_what_it_said "$TMP/c.json"
  hogring "${digits[@]}" --checkpoint-dir "$TMP/run" >/dev/null
  hogring eval "$TMP/run" --json "$TMP/e.json" >/dev/null
  python3 -c 'import json, sys; a, b = (json.load(open(f)) for f in sys.argv[1:]); assert a["runs"][0]["classes"] == b["classes"]' "$TMP/t.json" "$TMP/e.json"
  heaps pets cat dog
  trains --data "$TMP/pets" --model "flatten, dense 2" --json "$TMP/p.json" >/dev/null
  [ "$(json "$TMP/p.json" '[c["name"] for c in d["runs"][0]["classes"]]')" = "['cat', 'dog']" ]
  hogring data make sparse --out "$TMP/s" --rows 100 >/dev/null
  hogring train --data "$TMP/s" --model logistic --epochs 1 --quiet --json "$TMP/s.json" >/dev/null
  [ "$(json "$TMP/s.json" 'd["runs"][0]["classes"]')" = None ]
}

@test "names, columns and paths of any bytes go through training, results, pages, checkpoints, traces and ONNX" {
  local X=$'th\xe9' d
  python3 - "$TMP" <<'END'
import os, sys
top = os.fsencode(sys.argv[1])
def table(name, head, labels):
    with open(os.path.join(top, name), "wb") as f:
        f.write(head + b"\n" + b"".join(b"%d,%d,%s\n" % (i * 37 % 11, i * 17 % 7, labels[i % 2]) for i in range(60)))
table(b"names", b"\xe9t\xe9,b,label", [b"caf\xe9", b"caf\xe8"])
table(b"column", b"a,b,th\xe9", [b"x", b"y"])
table(b"path\xe9", b"a,b,label", [b"x", b"\xc2\x9by"])
table(b"values", b"a,b,th\xe9", [b"1.5", b"2.5"])
END
  HOGRING=$(realpath "${HOGRING:-build/hogring}")
  cd "$TMP"
  for d in names column $'path\xe9' values; do
    more=(--data "$d" --workers 2 --epochs 2 --model "flatten, dense $([ $d = values ] && echo 1 || echo 2)" --quiet)
    [ $d != column ] || more+=(--label-column "$X")
    [ $d != values ] || more+=(--task regress)
    hogring train "${more[@]}" --json r.json --report r.html --log r.jsonl --checkpoint-dir "$X" --export m.onnx --overwrite >/dev/null
    hogring train "${more[@]}" --record trace >/dev/null
    hogring replay trace --quiet --json t.json >/dev/null
    [ "$(json r.json 'd["runs"][0]["weights_digest"]')" = "$(json t.json 'd["runs"][0]["weights_digest"]')" ]
    hogring compare "${more[@]}" --strategies allreduce,hogwild --json c.json --report c.html >/dev/null
    hogring eval "$X" --data "$d" --json e.json --report e.html >/dev/null
    hogring predict "$X" --data "$d" --json p.json --out p.csv >/dev/null
    hogring inspect "$X" --json i.json >/dev/null
    grep -aq "$([ $d = values ] && echo target || echo class)_names" m.onnx
    python3 - $d <<'END'
import glob, json, sys
for file in glob.glob("*.json") + glob.glob("*.html") + glob.glob("*.jsonl"):
    text = open(file, encoding="utf-8").read()
    if not file.endswith("html"):
        [json.loads(part) for part in ([text] if file.endswith("json") else text.splitlines())]
if sys.argv[1] == "names":
    run, evaluation = json.load(open("r.json"))["runs"][0], json.load(open("e.json"))
    assert [c["name"] for c in run["classes"]] == [c["name"] for c in evaluation["classes"]] == ["caf\\xE8", "caf\\xE9"]
    assert any(b"caf\xe9" in line for line in open("p.csv", "rb"))
END
  done
}

@test "data info says what train says of labels, and whether it refuses them" {
  awk 'BEGIN { print "a,y"; for (i = 0; i < 40; i++) print i % 7 "," (i * 13) % 40 }' >"$TMP/ids.csv"
  refused 2 "look like values" train --data "$TMP/ids.csv"
  hogring data info "$TMP/ids.csv" --json "$TMP/i.json" >/dev/null 2>"$TMP/err"
  grep -q "look like values" "$TMP/err"
  [ "$(json "$TMP/i.json" 'd["classes"]')" = 40 ]
  for how in "--classes 40" "--target y"; do
    hogring data info --data "$TMP/ids.csv" $how >/dev/null 2>"$TMP/err"
    [ ! -s "$TMP/err" ] || return 1
  done
}
