#!/usr/bin/env python3
"""What --compress gains on a slow link, and costs: seconds until an accuracy, bytes, and the accuracy in the end.

    tests/machines/compressors.py -m openmpi|mpich [-r 1gbit] [--seeds 5] [--hows none,bf16,...] HOGRING

Two machines of bed.py whose links are limited, a worker on each: mlp on Fashion-MNIST, 30 epochs of 12,000 samples. Seeds take turns,
and within a seed the compressors. Prints means and standard deviations over seeds, and how far each ends from none: the mean of
the differences by seed, with its 95 % interval, which "equal" says lies within MARGIN points.
"""
import argparse, json, statistics, subprocess, sys, tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET, MARGIN = 0.86, 1.0
T_975 = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}  # Student's t, by the number of seeds

def train(options, how, seed):
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/run.json"
        words = [options.hogring, "train", "--data", "fashion-mnist", "--workers", "2", "--epoch-size", "12000", "--epochs", "30",
                 "--lr-schedule", "cosine", "--time-to", f"accuracy={TARGET}", "--seed", str(seed), "--quiet", "--json", out,
                 *([] if how == "none" else ["--compress", how])]
        bed = [sys.executable, HERE / "bed.py", "-n", "2", "-r", options.rate, "-m", options.library, *words]
        done = subprocess.run(bed, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{how}, seed {seed}: exit code {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}")
        run = json.loads(Path(out).read_text())["runs"][0]
    reached = [point["samples"] for point in run["curve"] if point["test_accuracy"] >= TARGET]
    return {"MB sent": run["bytes"]["sent"] / 1e6, "seconds": run["seconds"], "until": run["target_seconds"], "after": reached[0] / 1e3 if reached else None,
            "accuracy": 100 * run["test_accuracy"]}

def mean(values, digits):
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return f"{len(known)} of {len(values)} seeds"
    return f"{statistics.mean(known):.{digits}f} ({statistics.stdev(known):.{digits}f})"

def distance(ours, none):
    """How far one ends from none, in points."""
    gaps = [a - b for a, b in zip(ours, none)]
    middle = statistics.mean(gaps)
    half = T_975[len(gaps)] * statistics.stdev(gaps) / len(gaps) ** 0.5
    return f"{middle:+.2f} ({middle - half:+.2f} to {middle + half:+.2f}){' equal' if -MARGIN < middle - half and middle + half < MARGIN else ''}"

def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-m", dest="library", choices=["openmpi", "mpich"], required=True)
    parser.add_argument("-r", dest="rate", default="1gbit")
    parser.add_argument("--seeds", type=int, choices=sorted(T_975), default=5)
    parser.add_argument("--hows", default="none,bf16,topk:1%,powersgd:2")
    parser.add_argument("hogring")
    options = parser.parse_args()
    hows = options.hows.split(",")
    runs = {how: [] for how in hows}
    for seed in range(1, options.seeds + 1):
        for how in hows:
            runs[how].append(train(options, how, seed))
    print(f"{options.library}, {options.rate}, {options.seeds} seeds, until {100 * TARGET:g} %")
    for how in hows:
        column = {name: [run[name] for run in runs[how]] for name in runs[how][0]}
        print(f"{how:12} {mean(column['MB sent'], 0):>16} MB {mean(column['seconds'], 1):>12} s, until {mean(column['until'], 1):>12} s "
              f"after {mean(column['after'], 1):>14} k samples, accuracy {mean(column['accuracy'], 2)}"
              + ("" if how == "none" or "none" not in runs else ", " + distance(column["accuracy"], [run["accuracy"] for run in runs["none"]])), flush=True)

main()
