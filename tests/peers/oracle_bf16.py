#!/usr/bin/python3
"""PyTorch's bfloat16 autocast beside --precision bf16: same weights, same batch, both against double.

    python tests/peers/oracle_bf16.py        a Python with PyTorch 2.x (make peers-venv); a minute

For each list of layers: the root mean square of (result - double) over that of double, of the outputs
(evaluation) and of the gradients of all parameters together (training), for autocast and for hogring,
as geometric means over SEEDS weights and batches: where relu and pools bend, single roundings decide who
passes a gradient on, and one batch in ten is five times worse than the others, in either program. Ours may be no larger than autocast's: by their geometric means over the
lists, and for each list by no more than what roundings that fall otherwise make of it (SLACK). Weights
go in and out as in oracle.py.
"""
import copy, json, math, os, shutil, struct, sys, tempfile
import numpy as np
import torch

from oracle import LAYERS, LOSSES, Case, builtins, hogring, load_safetensors

SEEDS, SLACK = 12, 1.25


def say_bf16(path):
    """Metadata of a safetensors file, which say what eval computes in."""
    blob = open(path, "rb").read()
    size, = struct.unpack("<Q", blob[:8])
    header = json.loads(blob[8:8 + size])
    header["__metadata__"] = {"hogring.precision": "bf16"}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + blob[8 + size:])


def ours(case, folder):
    case.write(folder)
    say_bf16(f"{folder}/weights.safetensors")
    hogring("train", "--data", f"{folder}/data", *case.settings(), "--workers", 1, "--batch-size", len(case.x), "--epochs", 1, "--lr", 0, "--momentum", 0.5,
            "--init-weights", f"{folder}/weights.safetensors", "--checkpoint-dir", f"{folder}/one", "--quiet", "--precision", "bf16")
    said = hogring("eval", f"{folder}/weights.safetensors", "--model", case.builtin or case.text, "--data", f"{folder}/data", "--outputs", f"{folder}/out.npy")
    assert "computed in bf16" in said, said
    state = load_safetensors(f"{folder}/one/latest/trainer.safetensors")
    return torch.from_numpy(np.load(f"{folder}/out.npy")), {name: state[name + ".momentum_buffer"] for name, _ in case.net.named_parameters()}


def torchs(case, net, x, autocast):
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        with torch.no_grad():
            outputs = net.eval()(x)
        net.train()
        net.zero_grad()
        loss = case.value(net, x)
    loss.backward()
    return outputs, {name: p.grad for name, p in net.named_parameters()}


def error(got, want):
    """Root mean square over all tensors, of that of the reference."""
    lost = sum((g.double() - w).pow(2).sum().item() for g, w in zip(got, want))
    return math.sqrt(lost / max(sum(w.pow(2).sum().item() for w in want), 1e-300))


def errors(case):
    """((outputs, gradients) of autocast, of ours)."""
    folder = tempfile.mkdtemp(prefix="hogring-oracle-")
    try:
        own = ours(case, folder)
    finally:
        shutil.rmtree(folder)
    half = torchs(case, copy.deepcopy(case.net), case.x, True)
    double = torchs(case, copy.deepcopy(case.net).double(), case.x.double(), False)
    return [(error([r[0]], [double[0]]), error([r[1][n] for n in double[1]], list(double[1].values()))) for r in (half, own)]


def mean(values):
    return math.exp(sum(math.log(max(v, 1e-12)) for v in values) / len(values))


def check(name, case, ratios):
    found = [errors(case if seed == 1 else case.again(seed)) for seed in range(1, SEEDS + 1)]
    line, bad = [], False
    for k in range(2):
        half, own = (mean([e[r][k] for e in found]) for r in range(2))
        ratios[k].append(own / half)
        bad |= own > SLACK * half
        line.append(f"{1e3 * half:8.3f} {1e3 * own:8.3f} {own / half:5.2f}")
    print(f"  {name[:80]:80} {line[0]}  {line[1]}{'  LARGER' if bad else ''}", flush=True)
    return bad


def main():
    torch.set_num_threads(1)
    ratios, bad = ([], []), 0
    print(f"PyTorch {torch.__version__}: relative errors x 1000 of autocast, of hogring, and their ratio; {SEEDS} seeds")
    print(f"  {'':80} {'outputs':>23}  {'gradients':>23}")
    for text in LAYERS:
        bad += check(text, Case(text), ratios)
    for loss, smoothing, text, classes in LOSSES:
        if loss == "cross-entropy":
            bad += check(f"label smoothing {smoothing}: {text}", Case(text, classes=classes, loss=loss, smoothing=smoothing), ratios)
    for name, case in builtins():
        bad += check(f"{name} on {tuple(case.x.shape[1:])}", case, ratios)
    means = [mean(r) for r in ratios]
    print(f"  geometric mean of {len(ratios[0])} ratios: outputs {means[0]:.3f}, gradients {means[1]:.3f}")
    bad += max(means) > 1
    print("no larger than autocast's" if not bad else f"{bad} larger")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
