#!/usr/bin/env python3
"""Exported models beside onnxruntime: every layer, the built-in models, scale and normalisation.

    python3 -m venv v && v/bin/pip install onnx onnxruntime numpy
    HOGRING=build/hogring v/bin/python tests/peers/onnx_export.py [NAME ...]

Each model is trained for some steps, exported, checked by onnx.checker (full_check), and run by onnxruntime over the
samples in batches of 1, 7 and 64. Logits and probabilities may differ from hogring's by 1e-5 of the largest output,
values by that of their largest distance from the mean.
"""
import json, os, subprocess, sys, tempfile
from pathlib import Path

import numpy, onnx, onnxruntime

TOLERANCE, BATCHES, SAMPLES = 1e-5, (1, 7, 64), 128
HOGRING = os.environ.get("HOGRING", "build/hogring")

# name: (data, options of train). Data: rgb (bytes 3x12x10), grey (floats 1x9x9), rows (12 features of unlike scales).
CASES = {
    "softmax": ("rgb", ["--model", "softmax"]),
    "mlp": ("rgb", ["--model", "mlp", "--normalize"]),
    "cnn": ("rgb", ["--model", "cnn", "--normalize"]),
    "lenet": ("lenet", ["--model", "lenet"]),
    "vgg-small": ("rgb", ["--model", "vgg-small"]),
    "resnet8": ("rgb", ["--model", "resnet8", "--normalize"]),
    "rows": ("rows", ["--model", "mlp", "--normalize"]),
    "rows-smooth": ("rows", ["--model", "flatten, dense 9, gelu, dense 8, tanh, dense 7, sigmoid, batchnorm, dense 3"]),
    "rows-as-images": ("rows", ["--model", "conv 4 1x1, batchnorm, relu, residual (conv 4 1x1), flatten, dense 3"]),
    "rows-dropped-first": ("rows", ["--model", "dropout 0.1, residual (conv 12 1x1), globalavgpool, flatten, dense 3"]),
    "convolutions": ("rgb", ["--model", "conv 6 3x2 stride 2 pad 1, gelu, conv 8 3x3 dilation 2 pad 2 groups 2, tanh, "
                                        "conv 5 1x1, sigmoid, flatten, dense 4"]),
    "pools": ("rgb", ["--model", "conv 4 3x3, avgpool 3 stride 2 pad 1, tanh, maxpool 3 stride 1 pad 1, maxpool 2x1 stride 1, "
                                 "avgpool 2, flatten, dense 4"]),
    "groupnorm": ("grey", ["--model", "conv 6 3x3, groupnorm 3, relu, flatten, groupnorm 6, dense 4", "--normalize"]),
    "batchnorm": ("grey", ["--model", "batchnorm, conv 4 3x3, batchnorm, relu, flatten, batchnorm, dense 4", "--normalize"]),
    "residual": ("grey", ["--model", "conv 4 3x3, residual (conv 4 3x3 pad 1, relu, residual (conv 4 1x1) shortcut (conv 4 1x1, "
                                     "batchnorm)), dropout 0.3, globalavgpool, flatten, residual (dense 4, relu, dense 4), dense 4"]),
    "residual-of-input": ("grey", ["--model", "residual (conv 1 3x3 pad 1), flatten, dense 4"]),
    "ends-in-dropout": ("rows", ["--model", "flatten, dense 3, dropout 0.5"]),
    "bce": ("rgb", ["--model", "flatten, dense 4", "--loss", "bce"]),
    "bce-single": ("pairs", ["--model", "flatten, dense 6, relu, dense 1", "--loss", "bce", "--normalize"]),
    "mse": ("rgb", ["--model", "flatten, dense 4", "--loss", "mse"]),
    "mse-single": ("pairs", ["--model", "flatten, dense 1", "--loss", "mse"]),
    "stamps": ("stamps", ["--model", "flatten, dense 8, relu, dense 3", "--normalize"]),
    "values": ("values", ["--model", "mlp", "--task", "regress", "--normalize"]),
    "logistic": ("sparse", ["--model", "logistic"]),
    "svm": ("sparse", ["--model", "svm"]),
}


def make(kind, folder, draw):
    """Write samples for training into a folder or file, and those for testing as X.npy; returns (data, X)."""
    if kind == "sparse":
        x = (draw.random((256, 20)) < 0.3) * draw.normal(size=(256, 20)).round(3)
        path = folder / "rows.libsvm"
        path.write_text("".join(f"{1 if row.sum() > 0 else -1} " + " ".join(f"{i + 1}:{v}" for i, v in enumerate(row) if v) + "\n"
                                for row in x))
        return path, x.astype("f4")
    shape = {"rgb": (3, 12, 10), "grey": (9, 9), "rows": (12,), "pairs": (5,), "values": (6,), "stamps": (4,), "lenet": (28, 28)}[kind]
    classes = {"rows": 3, "stamps": 3, "pairs": 2}.get(kind, 4)
    y = draw.integers(0, classes, 2 * SAMPLES)
    x = draw.normal(size=(2 * SAMPLES, *shape)) + y.reshape(-1, *[1] * len(shape)) * 0.5
    if kind in ("rgb", "lenet"):
        x = (x * 40 + 100).clip(0, 255).astype("u1")
    elif kind in ("rows", "pairs"):
        x = x * 10.0 ** (numpy.arange(shape[0]) % 3 - 1)
    elif kind == "stamps":  # what float32 cannot tell apart
        x = 1.7e9 + 10 * x
    x = x if x.dtype == "u1" or kind == "stamps" else x.astype("f4")
    if kind == "values":  # the first large beside its spread
        y = numpy.stack([1.7e9 + 50 * x.sum(axis=1), x[:, 0] - x[:, 1]], axis=1)
    for split, part in (("train", slice(0, SAMPLES)), ("test", slice(SAMPLES, None))):
        numpy.save(folder / f"X_{split}.npy", x[part])
        numpy.save(folder / f"y_{split}.npy", y[part].astype("f8" if kind == "values" else "i4"))
    return folder, x[SAMPLES:]


def run(*words):
    done = subprocess.run([HOGRING, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")


def far(ours, theirs):
    if ours.dtype == numpy.float64:  # values, whose mean loses nothing
        mean = ours.mean(axis=0)
        return float((abs(ours - theirs) / abs(ours - mean).max(axis=0)).max())
    return float(abs(ours - theirs).max() / abs(ours).max())


def check(name, folder):
    kind, options = CASES[name]
    read = folder / "data"  # it is not written to
    read.mkdir()
    data, x = make(kind, read, numpy.random.default_rng(7))
    file, saved = folder / "model.onnx", folder / "c"
    run("train", "--data", data, *options, "--epochs", 2, "--workers", 1, "--quiet", "--checkpoint-dir", saved, "--export", file)
    new = data if kind == "sparse" else read / "X_test.npy"
    run("predict", saved, "--data", new, "--out", folder / "p.npy", "--json", folder / "p.json")
    ours = [numpy.load(folder / "p.npy")]
    if kind != "sparse":
        run("eval", saved, "--data", data, "--outputs", folder / "logits.npy")
        ours.append(numpy.load(folder / "logits.npy"))
    assert ours[0].std(axis=0).max() > (0 if name == "values" else 1e-4) * abs(ours[0]).max(), "all samples give the same: nothing is compared"
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    shape = session.get_inputs()[0].shape[1:]
    x = x.astype("f8" if "double" in session.get_inputs()[0].type else "f4").reshape(-1, *shape)
    worst = 0
    for batch in BATCHES:
        parts = [session.run(None, {"input": x[i:i + batch]}) for i in range(0, len(x), batch)]
        theirs = [numpy.concatenate(column) for column in zip(*parts)]
        worst = max([worst] + [far(a, b) for a, b in zip(ours, theirs)])
    described = {entry.key: entry.value for entry in model.metadata_props}
    outputs = [o.name for o in session.get_outputs()]
    if name != "values":
        assert [c["name"] for c in json.load(open(folder / "p.json"))["classes"]] == json.loads(described["class_names"])
    assert outputs == (["values"] if name == "values" else ["scores"] if "mse" in name or name == "svm" else ["probabilities", "logits"]), outputs
    print(f"{name:20} {'x'.join(map(str, shape)):10} {worst:.1e}", "" if worst <= TOLERANCE else "  TOO FAR", flush=True)
    return worst <= TOLERANCE


def main():
    print(f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}: largest difference over the largest output")
    good = True
    for name in sys.argv[1:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            good = check(name, Path(folder)) and good
    sys.exit(not good)


main()
