#!/usr/bin/env python3
"""hogring forecast beside what it forecast: combinations that were fixed before anything was measured, on the real clock.

    validate.py --draw                       write combinations.txt anew (a fixed seed: the same list)
    validate.py build/hogring [--json FILE] [--only N] [--prefix "COMMAND ..."]
                                             forecast and measure, a group after the other: about 5 minutes

A group is a model, its data and a batch size: one forecast (2 s of timing), then its combinations, measured twice, in turns. No combination
is one of the runs that a forecast times. The summary stands in the last lines: quantiles of the relative error of samples/s, and the ranking
of a group's combinations beside the naive rule "one worker's rate times N". --only N: the first N groups; --prefix: in front of each hogring.
"""
import argparse, itertools, json, os, random, shlex, subprocess, sys, time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIST = HERE / "combinations.txt"
DEEP = "flatten, dense 512, relu, dense 512, relu, dense 10"
GROUPS = [("digits", "softmax", 64), ("digits", "mlp", 16), ("digits", "mlp", 64), ("digits", "mlp", 256), ("digits", "cnn", 16), ("digits", "cnn", 64),
          ("digits", DEEP, 32), ("digits", DEEP, 128), ("fashion-mnist", "softmax", 128), ("fashion-mnist", "mlp", 32), ("fashion-mnist", "lenet", 64)]
STRATEGIES = ["allreduce", "ps-sync", "ps-async", "ssp", "hogwild", "local-sgd", "elastic-averaging"]
WORKERS, SERVERS, A_GROUP, PROCESSORS = [1, 2, 3, 4, 5, 6, 8, 12], [1, 2, 3], 10, 2

def timed(strategy, workers, servers):
    """Would a forecast on two processors time it? (src/experiment/forecast/anchors.c)"""
    P = PROCESSORS
    return (strategy, workers, servers) in {("allreduce", 1, 0), ("allreduce", P, 0), ("allreduce", 2 * P, 0), ("hogwild", P, 0), ("ps-async", 1, 1),
                                            ("ps-async", P, 1), ("ps-async", 3 * P, 1), ("ps-async", P, 2), ("ps-async", 3 * P, 2), ("ps-sync", P, 1),
                                            ("ps-sync", 3 * P, 1), ("elastic-averaging", 2 * P, 1)}

def draw():
    numbers = random.Random(1812_06162)
    lines = []
    for data, model, batch in GROUPS:
        rows = [(s, w, n if s in ("ps-sync", "ps-async", "ssp", "elastic-averaging") else 0)
                for s, w, n in itertools.product(STRATEGIES, WORKERS, SERVERS)]
        rows = sorted(r for r in set(rows) if not timed(*r))
        # As many of each strategy as can be, so that those without servers are not drowned.
        kinds = (STRATEGIES * 2)[:A_GROUP] if len(lines) % 2 else (STRATEGIES[::-1] * 2)[:A_GROUP]
        for kind in kinds:
            row = numbers.choice([r for r in rows if r[0] == kind])
            rows.remove(row)
            lines.append("\t".join(map(str, (data, model, batch, *row))))
    LIST.write_text("# data, model, batch size a worker, strategy, workers, servers: drawn by validate.py --draw before anything was measured\n"
                    + "\n".join(lines) + "\n")

def run(hogring, words):
    done = subprocess.run(hogring + words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr[-400:]}")
    return json.loads(done.stdout)

def forecast(hogring, group):
    data, model, batch = group
    document = run(hogring, ["forecast", "--data", data, "--model", model, "--batch-size", batch, "--strategies", ",".join(STRATEGIES), "--workers",
                             ",".join(map(str, WORKERS)), "--servers", ",".join(map(str, SERVERS)), "--json", "-"])["forecast"]
    return {(r["strategy"], r["workers"], r["servers"]): r for r in document["rows"]}, document

def measure(hogring, group, row, seconds):
    data, model, batch = group
    words = ["train", "--data", data, "--model", model, "--batch-size", batch, "--strategy", row[0], "--workers", str(row[1]), "--lr", "0.0001",
             "--epochs", "1000000", "--max-seconds", str(seconds), "--quiet", "--json", "-"] + (["--servers", str(row[2])] if row[2] else [])
    return run(hogring, words)["runs"][0]["samples_per_s"]

def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]

def kendall(a, b):
    """tau-b of two lists."""
    def sign(x):
        return (x > 0) - (x < 0)
    pairs = [(sign(a[i] - a[j]), sign(b[i] - b[j])) for i in range(len(a)) for j in range(i)]
    ties = [sum(1 for p in pairs if p[k]) for k in (0, 1)]
    return sum(x * y for x, y in pairs) / max(1e-9, (ties[0] * ties[1]) ** 0.5)

def summary(rows, groups):
    def line(name, errors):
        if errors:
            print(f"{name:28s} {len(errors):4d}  error 50 % {100 * quantile(errors, .5):6.1f} %  90 % {100 * quantile(errors, .9):6.1f} %  "
                  f"max {100 * max(errors):6.1f} %  within 15 %: {100 * sum(e <= .15 for e in errors) / len(errors):3.0f} %", flush=True)
    line("all", [r["error"] for r in rows])
    line("naive: one worker times N", [r["naive_error"] for r in rows])
    for kind in STRATEGIES:
        line(kind, [r["error"] for r in rows if r["strategy"] == kind])
    line("ranks <= processors", [r["error"] for r in rows if r["workers"] + r["servers"] <= PROCESSORS])
    line("ranks > processors", [r["error"] for r in rows if r["workers"] + r["servers"] > PROCESSORS])
    line("gradient below 0.2 ms", [r["error"] for r in rows if r["gradient_s"] < 2e-4])
    line("gradient above 0.2 ms", [r["error"] for r in rows if r["gradient_s"] >= 2e-4])
    line("(measured twice: difference)", [r["wavered"] for r in rows])
    print(f"in the printed range: {sum(r['inside'] for r in rows)} of {len(rows)}")
    mean = lambda name: sum(g[name] for g in groups) / len(groups)
    print(f"ranking in {len(groups)} groups: Kendall tau {mean('tau'):.2f} (naive {mean('naive_tau'):.2f}); fastest found in {sum(g['found'] for g in groups)} "
          f"(naive {sum(g['naive_found'] for g in groups)}); speed of the one chosen over the fastest {100 * mean('worth'):.0f} % (naive {100 * mean('naive_worth'):.0f} %)")

def judge(found, measured, naive, rates):
    best = max(rates)
    def worth(scores):
        return rates[max(range(len(scores)), key=lambda i: scores[i])] / best
    return {"tau": kendall(found, rates), "naive_tau": kendall(naive, rates), "found": worth(found) == 1, "naive_found": worth(naive) == 1,
            "worth": worth(found), "naive_worth": worth(naive)}

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hogring", nargs="?")
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--only", type=int, default=len(GROUPS))
    parser.add_argument("--prefix", default="")
    parser.add_argument("--seconds", type=float, default=0.8)
    a = parser.parse_args()
    if a.draw:
        return draw()
    hogring = shlex.split(a.prefix) + [a.hogring]
    combinations = [l.split("\t") for l in LIST.read_text().splitlines() if not l.startswith("#")]
    rows, groups, began = [], [], time.time()
    order = list(dict.fromkeys(tuple(c[:3]) for c in combinations))
    for group in order[:a.only]:
        mine = [(c[3], int(c[4]), int(c[5])) for c in combinations if tuple(c[:3]) == group]
        load = os.getloadavg()[0]
        said, document = forecast(hogring, group)
        rates = [[measure(hogring, group, row, a.seconds)] for row in mine]
        for rate, row in zip(rates, mine):
            rate.append(measure(hogring, group, row, a.seconds))
        alone = document["alone_samples_per_s"]
        print(f"{group[0]}, {group[1]}, batch {group[2]}: one worker {alone:.0f}/s, load {load:.1f}", flush=True)
        for row, rate in zip(mine, rates):
            assert not said[row]["timed"], row  # else draw() does not know what a forecast times
            real = sum(rate) / 2
            r = dict(strategy=row[0], workers=row[1], servers=row[2], data=group[0], model=group[1], batch=int(group[2]), load=load, measured=real,
                     forecast=said[row]["samples_per_s"], error=abs(said[row]["samples_per_s"] / real - 1), naive_error=abs(alone * row[1] / real - 1),
                     wavered=abs(rate[0] - rate[1]) / real, inside=said[row]["samples_per_s_low"] <= real <= said[row]["samples_per_s_high"],
                     gradient_s=int(group[2]) / alone)
            rows.append(r)
            print(f"  {row[0]:17s} {row[1]:2d} workers {row[2] or '-'} servers  forecast {r['forecast']:10.0f}  measured {rate[0]:10.0f} {rate[1]:10.0f}  "
                  f"error {100 * (r['forecast'] / real - 1):+6.1f} %{'' if r['inside'] else '  outside'}", flush=True)
        found = [said[row]["samples_per_s"] for row in mine]
        groups.append(judge(found, rates, [alone * row[1] for row in mine], [sum(r) / 2 for r in rates]))
    if a.json:
        Path(a.json).write_text(json.dumps({"rows": rows, "groups": groups}, indent=1) + "\n")
    print(f"\n{len(rows)} combinations in {time.time() - began:.0f} s, load average {os.getloadavg()[0]:.1f} at the end")
    summary(rows, groups)

if __name__ == "__main__":
    main()
