#!/usr/bin/env python3
"""hogring --task regress against PyTorch and NumPy: weights after 50 full-batch steps of mse and of huber, and figures.

    regress_oracle.py build/hogring          wants torch and numpy; prints a line a case, exits 1 where one is too far off
"""
import json, math, struct, subprocess, sys, tempfile
from pathlib import Path
import numpy as np, torch

HOGRING, N, TEST, F, STEPS = sys.argv[1], 256, 64, 6, 50
LAYERS = "flatten, dense 16, tanh, dense 2"

def weights(folder):
    """{name: array} of the newest checkpoint's model."""
    raw = (sorted(Path(folder).glob("step-*"))[-1] / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + size])
    return {n: np.frombuffer(raw[8 + size + e["data_offsets"][0]:8 + size + e["data_offsets"][1]], "<f4").reshape(e["shape"]).copy()
            for n, e in head.items() if n != "__metadata__"}

def write(path, x, y):
    rows = ["a,b,c,d,e,f,y1,y2"] + [",".join(repr(float(v)) for v in (*p, *q)) for p, q in zip(x, y)]
    Path(path).write_text("\n".join(rows) + "\n")

def run(folder, *options):
    out = f"{folder}.json"
    subprocess.run([HOGRING, "train", "--data", f"{tmp}/train.csv", "--test", f"{tmp}/test.csv", "--target", "y1,y2", "--model", LAYERS,
                    "--workers", "1", "--batch-size", str(N), "--quiet", "--checkpoint-dir", folder, "--json", out, *options],
                   check=True, stdout=subprocess.DEVNULL)
    return json.loads(Path(out).read_text())["runs"][0]

def torch_run(start, x, y, loss):
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(F, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    net.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in start.items()})
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss(net(x), y).backward()
        optimizer.step()
    return net

bad = 0
rng = np.random.default_rng(1)
x = rng.normal(size=(N + TEST, F)).astype(np.float32)
y = np.stack([1e6 + 40 * np.sin(x[:, 0]) + 9 * x[:, 1], -3 + 0.01 * x[:, 2] * x[:, 3] + 0.03 * rng.standard_t(2, N + TEST)], 1)
with tempfile.TemporaryDirectory() as tmp:
    write(f"{tmp}/train.csv", x[:N], y[:N])
    write(f"{tmp}/test.csv", x[N:], y[N:])
    mean, deviation = y[:N].mean(0), y[:N].std(0)
    scaled = torch.from_numpy(((y[:N] - mean) / deviation).astype(np.float32))
    run(f"{tmp}/start", "--epochs", "1", "--lr", "1e-30", "--momentum", "0")
    start = weights(f"{tmp}/start")
    for name, loss, options in (("mse", torch.nn.MSELoss(), ["mse"]), ("huber", torch.nn.HuberLoss(), ["huber"]),
                                ("huber 0.3", torch.nn.HuberLoss(delta=0.3), ["huber:0.3"])):
        folder = f"{tmp}/{name.replace(' ', '')}"
        got = run(folder, "--loss", *options, "--epochs", str(STEPS), "--lr", "0.1", "--momentum", "0.9")
        net = torch_run(start, torch.from_numpy(x[:N]), scaled, loss)
        ours = weights(folder)
        worst = max(float(np.abs(ours[k] - v.numpy()).max()) for k, v in net.state_dict().items())
        moved = max(float(np.abs(ours[k] - start[k]).max()) for k in start)
        h = np.tanh(x[N:].astype(np.float64) @ ours["1.weight"].T + ours["1.bias"]) @ ours["3.weight"].T + ours["3.bias"]
        e = mean + deviation * h - y[N:]
        want = {"rmse": np.sqrt((e ** 2).mean(0)).mean(), "mae": np.abs(e).mean(0).mean(),
                "r2": (1 - (e ** 2).sum(0) / ((y[N:] - y[N:].mean(0)) ** 2).sum(0)).mean()}
        off = max(abs(got["test_fit"][k] - w) / abs(w) for k, w in want.items())
        good = worst < 2e-5 and moved > 0.1 and off < 1e-6
        bad += not good
        print(f"{name}: weights differ by {worst:.2g} (moved by {moved:.2g}), rmse, mae and r2 by {off:.2g} of them{'' if good else '  TOO FAR'}")
    try:
        from sklearn.linear_model import LinearRegression
        from sklearn import metrics
    except ImportError:
        print("scikit-learn is not installed: skipped")
    else:
        LAYERS = "flatten, dense 2"
        got = run(f"{tmp}/linear", "--epochs", "3000", "--lr", "0.1", "--momentum", "0.9")
        fit = LinearRegression().fit(x[:N].astype(np.float64), y[:N])
        p = fit.predict(x[N:].astype(np.float64))
        want = {"rmse": np.sqrt(metrics.mean_squared_error(y[N:], p, multioutput="raw_values")).mean(),
                "mae": metrics.mean_absolute_error(y[N:], p), "r2": metrics.r2_score(y[N:], p)}
        ours = weights(f"{tmp}/linear")["1.weight"] * deviation[:, None]
        worst = float((np.abs(ours - fit.coef_) / deviation[:, None]).max())
        off = max(abs(got["test_fit"][k] - w) / abs(w) for k, w in want.items())
        bad += not (worst < 1e-5 and off < 1e-4)
        print(f"linear: coefficients differ by {worst:.2g} deviations from least squares, figures by {off:.2g} of them")
sys.exit(bad > 0)
