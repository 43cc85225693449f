#!/usr/bin/env bats
# Models, losses and weights from elsewhere: inspect, --loss, --init-weights, eval --model.
load support

@test "inspect prints a model's shapes, parameters and work" {
  hogring inspect resnet8 --input 3x32x32 --classes 100 >"$TMP/table"
  grep -q '^5.shortcut.0 .*conv 32 1x1 stride 2 .*(32, 16, 16) .* 544 ' "$TMP/table"
  grep -q '^total .* 84228 ' "$TMP/table"
  hogring inspect "flatten, dense 10" --json - >"$TMP/json"
  [ "$(json "$TMP/json" 'd["params"], d["layers"][1]["output"], d["madds_forward"]')" = "(7850, [10], 7840.0)" ]
  refused 2 '--model transformer: the transformers here are gpt-nano, gpt-micro, ' train --model transformer
  refused 2 '--model lstm: there are no recurrent layers' compare --model lstm
  refused 2 'not a file, and as a model: model: layer 0 "resnet9": unknown layer, did you mean "resnet8"' inspect resnet9
  refused 3 "batches of 18446744073709551615 samples is too large" inspect mlp --batch-size 18446744073709551615
  refused 2 "--input 28x28: expected channels, height and width" inspect mlp --input 28x28
  refused 3 "$TMP/none" inspect "$TMP/none"
}

@test "losses are kept in the checkpoint, and clear when they do not fit" {
  hogring train "${quick[@]}" --loss mse --checkpoint-dir "$TMP/c" --json "$TMP/train.json"
  hogring eval "$TMP/c" --json "$TMP/eval.json"
  [ "$(json "$TMP/train.json" 'd["runs"][0]["test_loss"] < 0.2')" = True ]
  [ "$(json "$TMP/eval.json" 'round(d["test_loss"], 5)')" = "$(json "$TMP/train.json" 'round(d["runs"][0]["test_loss"], 5)')" ]
  hogring train "${quick[@]}" --loss mse --model "flatten, dense 1"
  refused 2 "--loss hinge: expected auto, cross-entropy, bce, mse or huber" train --loss hinge
  refused 2 "tells 2 classes apart, the data has 10" train --loss bce --model "flatten, dense 1"
  refused 2 "--loss mse:0.1: expected" train --loss mse:0.1
  refused 2 "--loss cross-entropy:1: expected 0 to below 1" train --loss cross-entropy:1
}

# A state_dict as PyTorch's users save it: $1 the file, $2 the classes.
write_weights() {
  python3 - "$1" "$2" <<'PY'
import json, struct, sys
path, classes = sys.argv[1], int(sys.argv[2])
tensors = {"1.weight": ("F32", [64]), "1.bias": ("F32", [64]), "1.running_mean": ("F32", [64]), "1.running_var": ("F32", [64]),
           "1.num_batches_tracked": ("I64", []), "2.weight": ("F32", [classes, 64]), "2.bias": ("F32", [classes])}
header, data = {}, b""
for name, (dtype, shape) in tensors.items():
    count = 1
    for n in shape: count *= n
    bytes_ = struct.pack("<q", 7) if dtype == "I64" else struct.pack(f"<{count}f", *((i % 13) / 13 + 0.1 for i in range(count)))
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(bytes_)]}
    data += bytes_
text = json.dumps(header).encode()
open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
PY
}

# The file as NumPy's format has it, read without NumPy: it is not asked for.
@test "eval --outputs writes what the last layer gives, a row a test sample" {
  hogring train "${quick[@]}" --checkpoint-dir "$TMP/c" --json "$TMP/train.json" >/dev/null
  hogring eval "$TMP/c" --outputs "$TMP/out.npy" | grep -q "test accuracy"
  python3 - "$TMP/out.npy" "$(json "$TMP/train.json" 'd["config"]["data"]["test"]')" <<'END'
import array, ast, math, sys
file = open(sys.argv[1], "rb").read()
assert file[:8] == b"\x93NUMPY\x01\x00"
head = 10 + int.from_bytes(file[8:10], "little")
shape = ast.literal_eval(file[10:head].decode())
assert shape == {"descr": "<f4", "fortran_order": False, "shape": (int(sys.argv[2]), 10)}, shape
values = array.array("f", file[head:])
assert len(values) == 10 * int(sys.argv[2]) and all(map(math.isfinite, values))
best = {max(range(10), key=values[i : i + 10].__getitem__) for i in range(0, len(values), 10)}
assert len(best) == 10, best
END
}

@test "weights from PyTorch are evaluated and gone on from" {
  model="flatten, batchnorm, dense 10"
  write_weights "$TMP/w.safetensors" 10
  hogring eval "$TMP/w.safetensors" --model "$model" | grep -q "test accuracy"
  refused 3 "--model says them" eval "$TMP/w.safetensors"
  hogring train --quiet --workers 1 --model "$model" --init-weights "$TMP/w.safetensors" --lr 0 --max-steps 1 --checkpoint-dir "$TMP/c"
  hogring inspect "$TMP/c" | grep -q "1.num_batches_tracked *() *I64"
  tail -c 4 "$TMP/w.safetensors" >"$TMP/last"
  [ "$(tail -c 4 "$TMP/c/latest/model.safetensors" | od -An -tx1)" = "$(od -An -tx1 "$TMP/last")" ]
  write_weights "$TMP/w9.safetensors" 9
  refused 3 "--init-weights: $TMP/w9.safetensors: its tensors are not those of the model; unlike: 2.weight is (9, 64), expected (10, 64), 2.bias is (9), expected (10) (another model, or another --data?); --init-weights FILE,replace-head draws the last layer from the seed" train --model "$model" --init-weights "$TMP/w9.safetensors"
  refused 3 "$TMP/none.safetensors" train --init-weights "$TMP/none.safetensors"
}

# left_out BATCHES OPTIONS...: what batchnorm leaves out is said, or nothing is.
norm="flatten, dense 16, batchnorm, relu, dense 10"
left_out() {
  hogring train --model "$norm" --epochs 1 --quiet "${@:2}" >/dev/null 2>"$TMP/err"
  grep -q "shares of one sample.*$1" "$TMP/err" || { cat "$TMP/err"; return 1; }
}

@test "batchnorm of one value a channel is refused where no share has two" {
  for s in allreduce ps-async hogwild local-sgd; do
    refused 2 "expected --batch-size 2 or more" train --model "$norm" --batch-size 1 --workers 2 --strategy $s
  done
  refused 2 "expected --batch-size 8 or more" train --model "$norm" --batch-size 4 --workers 2 --pipeline 2,micro-batches=4
  refused 2 "expected --batch-size 2 or more" train --model "$norm" --batch-size 1 --workers 2 --accumulate 4
  refused 2 "expected --batch-size 2 or more" train --model "$norm" --batch-size 1 --workers 1 --precision bf16 --tensor-parallel 2
  refused 2 "expected --global-batch-size 16 or more" train --model "$norm" --global-batch-size 8 --workers 2 --reduce repro:8
  refused 2 "expected more samples" train --model "$norm" --workers 4 --epoch-size 3
  printf 'a,b,y\n' >"$TMP/d.csv" # a file's memory is planned before its samples are counted
  for i in $(seq 40); do echo "$((i * 7 % 11)),$i,$((i % 2))"; done >>"$TMP/d.csv"
  hogring train --quiet --data "$TMP/d.csv" --model "flatten, batchnorm, dense 2" --batch-size 4 --workers 2 --max-steps 2 >/dev/null
  hogring train --quiet --model "conv 2 3x3, batchnorm, relu, flatten, dense 10" --batch-size 1 --workers 2 --max-steps 2 >/dev/null 2>"$TMP/err"
  [ ! -s "$TMP/err" ]
}

@test "shares of one sample, which batchnorm leaves out, are said" {
  left_out "the last batch of an epoch of 5 in 4" --workers 4 --batch-size 4 --epoch-size 21
  left_out "the last batch of an epoch of 1 " --workers 2 --batch-size 4 --epoch-size 29 --strategy ps-async
  left_out "a batch of 3 in 2" --workers 2 --global-batch-size 3 --epoch-size 30
  left_out "the last batch of an epoch of 5 in 8" --workers 2 --batch-size 16 --pipeline 2,micro-batches=4 --epoch-size 37
  hogring train --model "$norm" --epochs 1 --quiet --workers 2 --batch-size 4 --epoch-size 28 >/dev/null 2>"$TMP/err"
  [ ! -s "$TMP/err" ]
}

@test "built-in models follow the data" {
  for m in vgg-small resnet8; do hogring train --quiet --model $m --max-steps 2 --workers 1 >/dev/null; done
}
