#!/usr/bin/env bats
# Fine-tuning: weights from a file, a new last layer, and tensors that stay as they are.
load support

layers="flatten, dense 12, relu, dense"

# Images of 8x8 pixels, as the digits are: a row, or a column.
strokes() {
  python3 - "$TMP/strokes" <<'PY'
import random, sys
r, lines = random.Random(5), []
for i in range(300):
    kind = i % 2
    image = [[r.random() * .2 for x in range(8)] for y in range(8)]
    at = r.randrange(1, 7)
    for k in range(8):
        image[k if kind else at][at if kind else k] += .8
    lines.append(",".join(f"{v:.3f}" for row in image for v in row) + (",column" if kind else ",row"))
open(sys.argv[1], "w").write(",".join(f"p{i}" for i in range(64)) + ",kind\n" + "\n".join(lines) + "\n")
PY
}

# tensor DIR NAME: the digest of a tensor of the newest checkpoint.
tensor() {
  python3 - "$1/latest/model.safetensors" "$2" <<'PY'
import hashlib, json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
begin, end = json.loads(data[8:8 + size])[sys.argv[2]]["data_offsets"]
print(hashlib.sha256(data[8 + size + begin:8 + size + end]).hexdigest())
PY
}

@test "a new head on a frozen body, under every strategy, also where workers are lost" {
  strokes
  hogring train --quiet --model "$layers 10" --checkpoint-dir "$TMP/body" --epochs 3 >/dev/null
  tune=(--quiet --data "$TMP/strokes" --model "$layers 2" --init-weights "$TMP/body,replace-head" --freeze "1.*" --optimizer adamw --weight-decay 0.1 --workers 3 --batch-size 8 --epochs 3)
  for strategy in $(strategies); do
    hogring train "${tune[@]}" --strategy $strategy --checkpoint-dir "$TMP/$strategy" --overwrite >/dev/null 2>"$TMP/stderr"
    for name in 1.weight 1.bias; do [ "$(tensor "$TMP/$strategy" $name)" = "$(tensor "$TMP/body" $name)" ]; done
  done
  [ "$(grep -c "keeps it so" "$TMP/stderr")" = 0 ]
  hogring train "${tune[@]}" --freeze "3.weight" --epochs 1 >/dev/null 2>"$TMP/stderr"
  grep -qF -- "replace-head: 3.weight is drawn from the seed, and --freeze keeps it so" "$TMP/stderr"
  for strategy in local-sgd gossip elastic-averaging; do
    hogring train "${tune[@]}" --strategy $strategy --launch process --compute-time 5ms --on-loss continue --inject kill:1@step=1 --checkpoint-dir "$TMP/$strategy" --overwrite --json "$TMP/out.json" >/dev/null 2>"$TMP/stderr"
    [ "$(json "$TMP/out.json" 'len(d["runs"][0]["losses"]), d["runs"][0]["frozen_params"], d["config"]["freeze"]')" = "(1, 780, '1.*')" ]
    for name in 1.weight 1.bias; do [ "$(tensor "$TMP/$strategy" $name)" = "$(tensor "$TMP/body" $name)" ]; done
  done
}

@test "what is frozen stands in the banner, in comparisons and traces, and stays when a run goes on" {
  run=(--model "$layers 10" --freeze "1.*" --epochs 2)
  hogring train --details "${run[@]}" --checkpoint-dir "$TMP/c" --record "$TMP/t" --json "$TMP/whole.json" 2>"$TMP/stderr" >/dev/null
  grep -q "frozen   780 parameters, 2 of 4 tensors: 1.weight, 1.bias" "$TMP/stderr"
  hogring replay "$TMP/t" --quiet --json "$TMP/again.json" >/dev/null
  hogring train "${run[@]}" --max-steps 20 --checkpoint-dir "$TMP/half" --quiet >/dev/null
  refused 2 "it was trained with --freeze 1.*, this run has \"\"" train --resume --checkpoint-dir "$TMP/half" --epochs 2 --freeze none --quiet
  hogring train --resume --checkpoint-dir "$TMP/half" --epochs 2 --quiet --json "$TMP/resumed.json" >/dev/null
  for other in again resumed; do
    [ "$(json "$TMP/$other.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/whole.json" 'd["runs"][0]["weights_digest"]')" ]
  done
  hogring compare --model "$layers 10" --epochs 1 --quiet --strategies 'allreduce:freeze="1.*,3.bias",allreduce:freeze=1.*,allreduce' --json "$TMP/out.json" >"$TMP/stdout"
  grep -qF "freeze 1.*,3.bias" "$TMP/stdout"
  [ "$(json "$TMP/out.json" '[r["frozen_params"] for r in d["runs"]]')" = "[790, 780, 0]" ]
}

@test "a pattern that is a mistake is refused before anything is trained" {
  refused 2 "--freeze 7.*: matches no trained tensor of the model, which has 1.weight, 1.bias, 3.weight, 3.bias" train --model "$layers 10" --freeze "1.*,7.*"
  refused 2 "--freeze *: matches all trained tensors" train --model "$layers 10" --freeze "*"
  refused 2 "there is an empty pattern" train --model "$layers 10" --freeze "1.*,,3.*"
  refused 2 "--freeze *running*: matches no trained tensor" train --model "flatten, dense 12, batchnorm, relu, dense 10" --freeze "*running*"
  refused 2 "--freeze: is not supported with --model logistic" train --model logistic --freeze "*"
  refused 2 "matches no trained tensor" compare --model "$layers 10" --freeze "x"
  deep="flatten$(printf ', dense 9, relu%.0s' {1..40}), dense 10"
  refused 2 "and 61 more; expected patterns" train --model "$deep" --freeze x
  refused 2 "--freeze" train --model "$layers 10" --freeze "$(printf 'a%.0s' {1..300})"
}

@test "all tensors that do not fit are named at once" {
  hogring train --quiet --model "flatten, dense 12, relu, dense 12, relu, batchnorm, dense 10" --max-steps 1 --checkpoint-dir "$TMP/c" >/dev/null
  file="$TMP/c/latest/model.safetensors"
  why="its tensors are not those of the model; missing: 7.weight, 7.bias; unlike: 1.weight is (12, 64), expected (13, 64), 1.bias is (12), expected (13), 3.weight is (12, 12), expected (12, 13); unknown: 5.weight, 5.bias, 5.running_mean, 5.running_var, 6.weight, 6.bias (another model, or another --data?)"
  other="flatten, dense 13, relu, dense 12, relu, relu, relu, dense 10"
  refused 3 "--init-weights: $file: $why" train --model "$other" --init-weights "$file"
  [ "$(grep -c replace-head "$TMP/stderr")" = 0 ] # it would not help
  refused 3 "$file: $why" eval "$file" --model "$other"
  deep="flatten, dense 12, relu$(printf ', dense 9, relu%.0s' {1..40}), dense 10"
  refused 3 "missing: 7.weight, 7.bias, 9.weight" train --model "$deep" --init-weights "$TMP/c"
  grep -qE "9.bias, [0-9.a-z, ]*\.(weight|bias) and [0-9]+ more; unlike: 3.weight is \(12, 12\), expected \(9, 12\), .*; unknown: 5.running_mean, 5.running_var, 6.weight, 6.bias \(another" "$TMP/stderr" ||
    { cat "$TMP/stderr"; false; }
}

@test "the rate is blamed for no weights that were not finite from the start, nor for what was done on purpose" {
  hogring train --quiet --model softmax --max-steps 1 --checkpoint-dir "$TMP/c" >/dev/null
  python3 - "$TMP/c/latest/model.safetensors" "$TMP/nan.safetensors" <<'END'
import json, struct, sys
raw = bytearray(open(sys.argv[1], "rb").read())
end = 8 + struct.unpack("<Q", raw[:8])[0]
at = end + json.loads(raw[8:end])["1.weight"]["data_offsets"][0] + 40
raw[at:at + 4] = struct.pack("<f", float("nan"))
open(sys.argv[2], "wb").write(raw)
END
  for how in "allreduce" "ps-async" "hogwild" "gossip" "ps-sync --launch process" "ps-async --clock virtual"; do
    refused 1 "1.weight has numbers that are not finite in the weights that the run begins with" train --quiet --model softmax --init-weights "$TMP/nan.safetensors" --strategy $how
    [ "$(grep -c -- "--lr" "$TMP/stderr")" = 0 ]
  done
  refused 1 "not finite" train --quiet --model softmax --inject nan:1@step=7
  [ "$(grep -c -- "--lr" "$TMP/stderr")" = 0 ]
  refused 1 "a smaller --lr may help" train --quiet --model mlp --lr 1e6
  hogring train --model mlp --lr 0 --epochs 3 --batch-size 4 >/dev/null 2>"$TMP/stderr"
  [ "$(grep -c "smaller --lr" "$TMP/stderr")" = 0 ]
}

@test "weights of a table's columns begin a run on the same columns alone" {
  awk -v OFS=, 'BEGIN { print "a,b,c,kind"; for (i = 0; i < 60; i++) print i % 7, i % 5, i % 3, i % 2 }' >"$TMP/first.csv"
  awk -F, -v OFS=, '{ print $3, $2, $1, $4 }' "$TMP/first.csv" >"$TMP/turned.csv"
  awk -F, -v OFS=, '{ print $2, NR == 1 ? "d" : $1, $3, $4 }' "$TMP/first.csv" >"$TMP/moved.csv"
  sed '1s/b/e/' "$TMP/first.csv" >"$TMP/renamed.csv"
  hogring train --data "$TMP/first.csv" "${quick[@]}" --checkpoint-dir "$TMP/c" >/dev/null
  hogring train --data "$TMP/first.csv" "${quick[@]}" --init-weights "$TMP/c" >/dev/null
  for head in "" ,replace-head; do
    refused 3 'turned.csv: has the columns that' train --data "$TMP/turned.csv" "${quick[@]}" --init-weights "$TMP/c$head"
    refused 3 '(feature 1 is "b", there "a")' train --data "$TMP/moved.csv" "${quick[@]}" --init-weights "$TMP/c$head"
  done
  refused 3 '(feature 1 is "b", there "a")' eval "$TMP/c" --data "$TMP/moved.csv"
  hogring train --data "$TMP/renamed.csv" "${quick[@]}" --init-weights "$TMP/c" >/dev/null 2>"$TMP/stderr"
  grep -q 'its columns have other names .*feature 2 is "e", there "b"' "$TMP/stderr"
  # Sparse rows have no names; where the first index is another, that is said.
  printf '1 0:1 2:1\n-1 0:2 2:1\n1 0:1 1:1\n-1 0:2 1:1\n' >"$TMP/zero.libsvm"
  printf '1 1:1 3:1\n-1 1:2 3:1\n1 1:1 2:1\n-1 1:2 2:1\n' >"$TMP/one.libsvm"
  for model in softmax "logistic --solver sgd"; do
    hogring train --data "$TMP/zero.libsvm" --model $model --epochs 1 --quiet --checkpoint-dir "$TMP/${model%% *}" >/dev/null
    hogring train --data "$TMP/one.libsvm" --model $model --epochs 1 --quiet --init-weights "$TMP/${model%% *}" >/dev/null 2>"$TMP/stderr"
    grep -q "its first feature is index 1, that of .* was 0" "$TMP/stderr"
  done
}

@test "weights of 64 and 16 bits begin a run with their values, and a pickle is refused with what converts it" {
  hogring train --quiet --data digits --model softmax --max-steps 3 --checkpoint-dir "$TMP/a" >/dev/null
  python3 - "$TMP" <<'PY'
import json, struct, sys
top = sys.argv[1]
blob = open(f"{top}/a/latest/model.safetensors", "rb").read()
size, = struct.unpack("<Q", blob[:8])
header = {k: v for k, v in json.loads(blob[8:8 + size]).items() if k != "__metadata__"}
floats = {k: struct.unpack(f"<{(v['data_offsets'][1] - v['data_offsets'][0]) // 4}f", blob[8 + size + v["data_offsets"][0]:8 + size + v["data_offsets"][1]]) for k, v in header.items()}
upper = lambda v: struct.unpack("<I", struct.pack("<f", v))[0] >> 16
kinds = {"F64": (lambda v: struct.pack("<d", v), lambda v: v), "F16": (lambda v: struct.pack("<e", v), lambda v: struct.unpack("<e", struct.pack("<e", v))[0]),
         "BF16": (lambda v: struct.pack("<H", upper(v)), lambda v: struct.unpack("<f", struct.pack("<I", upper(v) << 16))[0]), "F32": (lambda v: struct.pack("<f", v), None)}
def save(path, kind, values):
    head, data = {}, b""
    for k, v in values.items():
        piece = b"".join(map(kinds[kind][0], v))
        head[k] = {"dtype": kind, "shape": header[k]["shape"], "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
for kind in "F64", "F16", "BF16":
    save(f"{top}/{kind}.safetensors", kind, floats)
    save(f"{top}/{kind}-as-F32.safetensors", "F32", {k: [kinds[kind][1](v) for v in vs] for k, vs in floats.items()})
PY
  for kind in F64 F16 BF16; do
    for file in $kind $kind-as-F32; do
      hogring train --quiet --data digits --model softmax --max-steps 2 --init-weights "$TMP/$file.safetensors" --json "$TMP/$file.json" >/dev/null
    done
    [ "$(json "$TMP/$kind.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/$kind-as-F32.json" 'd["runs"][0]["weights_digest"]')" ]
  done
  : >"$TMP/w.pt"
  refused 3 "safetensors.torch.save_file" train --quiet --data digits --model softmax --init-weights "$TMP/w.pt"
}
