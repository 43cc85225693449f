#!/usr/bin/env bats
# Models for other programs: --export FILE.onnx.
load support

# A Python with onnx, onnxruntime and NumPy: PYTHON= names another than python3.
python=${PYTHON:-python3}
needs_runtime() { "$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || skip "no onnxruntime (PYTHON= names another Python)"; }

@test "train and inspect export the same model, whose file has opset 13" {
  hogring train "${quick[@]}" --checkpoint-dir "$TMP/c" --export "$TMP/a.onnx" | grep -q "^export  *$TMP/a.onnx$"
  hogring inspect "$TMP/c" --export "$TMP/b.onnx" | tail -n 1 | grep -q "/step-00000023 is written to $TMP/b.onnx$"
  cmp "$TMP/a.onnx" "$TMP/b.onnx"
  # ir_version 7, producer_name: the first bytes of a ModelProto.
  [ "$(head -c 11 "$TMP/a.onnx" | od -An -c | tr -d ' \n')" = '\b\a022\ahogring' ]
}

@test "what cannot be exported is refused before training begins" {
  refused 2 "--export: it is made of the last checkpoint; give --checkpoint-dir too" train "${quick[@]}" --export "$TMP/x.onnx"
  refused 2 "--export $TMP/x.pt: expected a name that ends in .onnx" train "${quick[@]}" --checkpoint-dir "$TMP/c" --export "$TMP/x.pt"
  refused 3 "--export $TMP/none/x.onnx" train "${quick[@]}" --checkpoint-dir "$TMP/c" --export "$TMP/none/x.onnx"
  python3 -c 'print(*(f"{u} 1:{u % 5} 2:1 3:4" for u in range(20)), sep="\n")' >"$TMP/r.libsvm"
  refused 2 "mf is a table of users and items" train --data "$TMP/r.libsvm" --model mf --checkpoint-dir "$TMP/c" --export "$TMP/x.onnx"
  refused 2 "--export: is not supported for mlp, which is no checkpoint" inspect mlp --export "$TMP/x.onnx"
  refused 2 "which is no checkpoint" inspect "$TMP/r.libsvm" --export "$TMP/x.onnx"
  refused 2 "--export: unknown option" compare --export "$TMP/x.onnx"
  [ ! -e "$TMP/c" ] && [ ! -e "$TMP/x.onnx" ] || return 1
}

@test "onnxruntime gives what hogring gives, of every layer and model" {
  needs_runtime
  HOGRING=${HOGRING:-build/hogring} "$python" tests/peers/onnx_export.py >"$TMP/out" || { cat "$TMP/out"; return 1; }
}

@test "the program of the manual page runs" {
  needs_runtime
  hogring train "${quick[@]}" --checkpoint-dir "$TMP/c" --export "$TMP/digits.onnx" >/dev/null
  hogring help predict | sed -n '/^    import/,/^    print/s/^    //p' >"$TMP/page.py"
  gunzip -c data/digits/t10k-images-idx3-ubyte.gz >"$TMP/images"
  "$python" - "$TMP/images" "$TMP/X.npy" <<'END'
import numpy, sys
numpy.save(sys.argv[2], numpy.frombuffer(open(sys.argv[1], "rb").read()[16:], "u1").reshape(-1, 1, 8, 8))
END
  (cd "$TMP" && "$python" page.py) >"$TMP/said"
  hogring predict "$TMP/c" --data digits 2>/dev/null | sed -n '2,6p' | cut -d, -f2 >"$TMP/want"
  head -n 5 "$TMP/said" | cut -d' ' -f1 | cmp - "$TMP/want"
}

@test "a module of PyTorch takes the weights, strictly, and gives the same outputs" {
  /usr/bin/python3 -c 'import torch' 2>/dev/null || skip "no /usr/bin/python3 with torch (Debian: python3-torch)"
  gunzip -c data/digits/t10k-images-idx3-ubyte.gz >"$TMP/images"
  for m in mlp "conv 4 3x3 pad 1, batchnorm, relu, residual (conv 4 3x3 pad 1, groupnorm 2) shortcut (conv 4 1x1), maxpool 2 pad 1, \
conv 6 3x3 stride 2 pad 2 dilation 2 groups 2, gelu, avgpool 2 stride 1, tanh, globalavgpool, flatten, layernorm, dropout 0.1, dense 9, sigmoid, dense 10"; do
    rm -rf "$TMP/c"
    hogring train --model "$m" --epochs 1 --quiet --checkpoint-dir "$TMP/c" >/dev/null
    hogring eval "$TMP/c" --outputs "$TMP/o.npy" >/dev/null
    hogring inspect "$TMP/c" --pytorch >"$TMP/net.py"
    /usr/bin/python3 - "$TMP" <<'END'
import sys; sys.path.insert(0, "tests/peers")
import numpy, torch
from oracle import load_safetensors
space, folder = {}, sys.argv[1]
exec(open(folder + "/net.py").read(), space)
net = space["Net"]()
net.load_state_dict(load_safetensors(folder + "/c/latest/model.safetensors"), strict=True)
x = numpy.frombuffer(open(folder + "/images", "rb").read()[16:], "u1").reshape(-1, 1, 8, 8) / 16
theirs, ours = net.eval()(torch.tensor(x, dtype=torch.float32)).detach().numpy(), numpy.load(folder + "/o.npy")
assert abs(theirs - ours).max() < 1e-5 * abs(ours).max(), abs(theirs - ours).max()
END
  done
  tail -n 5 "$TMP/net.py" | grep -q 'load_file("'"$TMP"'/c/step-00000023/model.safetensors")'
}

@test "what is no network has no module" {
  refused 2 "--pytorch: is not supported for mlp, which is no checkpoint" inspect mlp --pytorch
  python3 -c 'print(*(f"{u % 2} 1:{u % 5} 2:1 3:4" for u in range(20)), sep="\n")' >"$TMP/r.libsvm"
  hogring train --data "$TMP/r.libsvm" --model logistic --quiet --checkpoint-dir "$TMP/c" >/dev/null
  refused 2 "is no network" inspect "$TMP/c" --pytorch
}
