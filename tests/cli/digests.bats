#!/usr/bin/env bats
# --json FILE,digests=N: digests of all tensors at steps, a pure read; and what the JSON has for who runs it again.
load support

run=(train --quiet --workers 3 --seed 3 --epochs 2 --max-steps 26)
drivers=("" "--launch process" "--clock virtual" "--clock explore:5")

# same STRATEGY...: with digests and without the run has the same weights, and the last digests are of them.
same() {
  local n
  hogring "${run[@]}" --strategy "$@" --json "$TMP/plain.json" >/dev/null
  for n in 1 2; do hogring "${run[@]}" --strategy "$@" --json "$TMP/$n.json",digests=3 >/dev/null; done
  python3 -IS - "$TMP"/{plain,1,2}.json <<'PY' || { echo "$*"; return 1; }
import json, sys
plain, one, two = (json.load(open(path))["runs"][0] for path in sys.argv[1:])
assert plain["weights_digest"] and plain["weights_digest"] == one["weights_digest"], "digests change it"
assert one["step_digests"] and one["step_digests"] == two["step_digests"], "not the same again"
PY
}

@test "digests at steps change no bit, and are the same again" {
  for s in $(strategies '$4 == "term"'); do
    for driver in "${drivers[@]}"; do same $s $driver; done
    [ "$(json "$TMP/1.json" '[s["step"] for s in d["runs"][0]["step_digests"]]')" = "[3, 6, 9, 12, 15, 18, 21, 24, 26]" ]
  done
  for s in $(strategies '$4 == "input"'); do
    for driver in "--clock virtual" "--clock explore:5"; do same $s $driver; done
  done
}

@test "they are of each tensor: of a checkpoint of that step, too" {
  hogring "${run[@]}" --json "$TMP/d.json",digests=13 >/dev/null
  hogring "${run[@]}" --checkpoint-dir "$TMP/c" --checkpoint-every 13 --json "$TMP/c.json" >/dev/null
  [ "$(json "$TMP/c.json" 'd["runs"][0]["step_digests"]')" = None ]
  python3 - "$TMP" <<'END'
import json, sys
parts = json.load(open(sys.argv[1] + "/d.json"))["runs"][0]["step_digests"][0]
files = json.load(open(sys.argv[1] + "/c/step-00000013/manifest.json"))
assert parts["step"] == 13
saved = {}
def look(x):
    if isinstance(x, dict):
        for k, v in x.items():
            if isinstance(v, str): saved[k] = v
            look(v)
    elif isinstance(x, list):
        for v in x: look(v)
look(files)
compared = [k for k in parts["parts"] if k in saved]
assert len(compared) >= 12, (compared, saved)
assert all(parts["parts"][k] == saved[k] for k in compared)
assert [k for k in parts["parts"] if k not in saved] == ["worker.0.loss", "worker.1.loss", "worker.2.loss"]
END
}

@test "of compare, strategies whose bits do not repeat have none, and are said not to" {
  hogring compare --quiet --strategies allreduce,ps-async,gossip --workers 2 --epochs 1 --json "$TMP/d.json",digests=5 >/dev/null
  [ "$(json "$TMP/d.json" '[(r["repeats"], r["step_digests"] is None) for r in d["runs"]]')" = "[(True, False), (False, True), (True, False)]" ]
}

@test "where digests mean nothing they are refused in a line" {
  refused 2 "its bits are not reproducible in real time" train --json "$TMP/j",digests=5 --strategy ps-async --workers 2
  refused 2 "not with --checkpoint-dir" train --json "$TMP/j",digests=5 --checkpoint-dir "$TMP/c"
  refused 2 "where all rest" simulate --json "$TMP/j",digests=5 --strategy ps-async --compress int8
  refused 2 "where all rest" simulate --json "$TMP/j",digests=5 --strategy hogwild --on-loss continue
  refused 2 "empty only at the ends of epochs" train --json "$TMP/j",digests=5 --workers 1 --pipeline 2,schedule=pipedream
  refused 2 "expected 1317 or more" train --json "$TMP/j",digests=1 --epochs 1000000 --model softmax --workers 2 --strategy allreduce
  refused 2 "is not supported with --model logistic" train --json "$TMP/j",digests=5 --model logistic
  refused 2 "a whole number" train --json "$TMP/j",digests=x
  refused 2 "--json digests=N: where to?" train --json digests=5
}

@test "what was given is enough to run it again" {
  hogring compare --quiet --strategies 'allreduce:algorithm=ring,local-sgd:sync-every=4' --lr '0.01,"0.02"' --seeds 2 --workers 3 \
    --max-steps 9 --timeout 20s --normalize --json "$TMP/1.json" >/dev/null
  python3 - "$TMP/1.json" >"$TMP/args" <<'END'
import json, sys
given = json.load(open(sys.argv[1]))["given"]
del given["json"]
for name, value in given.items():
    print("--" + name + ("" if value == "on" else "=" + value))
END
  mapfile -t again <"$TMP/args"
  hogring compare "${again[@]}" --json "$TMP/2.json" >/dev/null
  digests='[(r["label"], r["seed"], r["weights_digest"]) for r in d["runs"]]'
  [ "$(json "$TMP/1.json" "$digests")" = "$(json "$TMP/2.json" "$digests")" ]
  [ "$(json "$TMP/1.json" 'd["bits"] == json.load(open("'"$TMP/2.json"'"))["bits"] and d["bits"]["kernels"].startswith(d["runs"][0]["kernels"])')" = True ]
  [ "$(json "$TMP/2.json" 'min(r["cpu_seconds"] for r in d["runs"]) > 0')" = True ]
}

@test "runs side by side send all of their results" {
  run=(compare --quiet --strategies allreduce,ps-sync --model softmax --workers 2 --epochs 1 --seeds 2)
  hogring "${run[@]}" --json "$TMP/turn.json",digests=5 >/dev/null
  hogring "${run[@]}" --concurrent --json "$TMP/beside.json",digests=5 >/dev/null
  for f in turn beside; do json "$TMP/$f.json" '[r["step_digests"] for r in d["runs"]]' >"$TMP/$f"; done
  cmp "$TMP/turn" "$TMP/beside"
  run=(compare --quiet --strategies allreduce,allreduce:momentum=0 --model "flatten, dense 16, relu, dense 10" --workers 2 --epochs 1)
  for split in "--pipeline 2" "--tensor-parallel 2"; do
    hogring "${run[@]}" $split --concurrent --json "$TMP/split.json" >/dev/null
    [ "$(json "$TMP/split.json" 'len(d["runs"])')" = 2 ]
  done
}
