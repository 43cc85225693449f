#!/usr/bin/env python3
"""Does a run's clock miss anything, and does its time add up? From outside, by the JSON alone.

    tests/peers/accounts.py [--hogring build/hogring] [--runs 200] [--side-by-side 1]

Each of eight strategies, 2, 4 and 8 workers, threads and processes: --runs one-epoch runs on the
digits. Prints for each strategy the worst over all its runs of
    sum        load + compute + communicate + wait, over workers x seconds (should be 1)
    busiest    the busiest worker's load + compute + communicate, over seconds (at most 1)
    wall       seconds, over the wall clock around training that the run itself tells (at most 1)
Then a load, a gradient, a link and a stall of known length, and the column that they should be in.
Exits 1 when a sum is off by more than 3 %, a run is shorter than its busiest worker, or a column is
off by more than 5 %. --side-by-side N keeps N runs going at a time: a busy machine.
"""
import argparse, json, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

STRATEGIES = ["allreduce", "ps-sync", "ps-async", "ssp", "hogwild", "local-sgd", "elastic-averaging", "backup-workers"]
FOUR = ["load", "compute", "communicate", "wait"]

def run(hogring, *options):
    command = [hogring, "train", "--quiet", "--json", "-", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)["runs"][0]

def figures(r):
    sums = [sum(w[k] for k in FOUR) for w in r["time"]["workers"]]
    busy = [s - w["wait"] for s, w in zip(sums, r["time"]["workers"])]
    total = sum(r["time"][k] for k in FOUR) / (r["workers"] * r["seconds"])
    return total, max(busy) / r["seconds"], r["seconds"] / r["wall_seconds"], max(abs(s / r["seconds"] - 1) for s in sums)

def strategies(args):
    good = True
    print(f"{'strategy':18} {'runs':>5} {'sum, least and most':>21} {'busiest':>8} {'wall':>6}")
    for strategy in STRATEGIES:
        jobs = [["--epochs", "1", "--strategy", strategy, "--workers", str(w), "--launch", how]
                for w in (2, 4, 8) for how in ("thread", "process") for _ in range(args.runs)]
        with ThreadPoolExecutor(args.side_by_side) as pool:
            all_of = [figures(r) for r in pool.map(lambda job: run(args.hogring, *job), jobs)]
        sums = [f[0] for f in all_of]
        busiest, wall, worker = (max(f[i] for f in all_of) for i in (1, 2, 3))
        print(f"{strategy:18} {len(jobs):5} {min(sums):10.6f} {max(sums):10.6f} {busiest:8.4f} {wall:6.3f}", flush=True)
        good = good and min(sums) > 0.97 and max(sums) < 1.03 and busiest <= 1 + 1e-9 and worker < 0.03
    return good

def injected(args):
    """(what, options, what the column should be, given the run)"""
    link = ["--transport", "copy", "--link", "1GB/s,20ms"]
    cases = [
        ("load 20 ms a batch", ["--inject", "load:*+20ms"], "load", lambda r: r["workers"] * r["steps"] * 0.020),
        ("gradient 20 ms", ["--compute-time", "20ms"], "compute", lambda r: r["workers"] * r["steps"] * 0.020),
        ("stall of 2 s", ["--inject", "stall:1@step=5+2s"], "wait", lambda r: r["workers"] * 2.0),
        ("link 2 x 20 ms a step", [*link, "--algorithm", "ring"], "communicate", lambda r: r["workers"] * r["steps"] * 0.040),
    ]
    good = True
    print(f"\n{'injected':24} {'column':12} {'expected s':>10} {'found s':>10} {'off by':>8}")
    for what, options, column, expected in cases:
        r = run(args.hogring, "--epochs", "2", "--strategy", "allreduce", "--workers", "2", *options)
        off = r["time"][column] / expected(r) - 1
        print(f"{what:24} {column:12} {expected(r):10.3f} {r['time'][column]:10.3f} {100 * off:7.2f}%")
        good = good and abs(off) <= 0.05
    return good

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hogring", default="build/hogring")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--side-by-side", type=int, default=1)
    args = parser.parse_args()
    good = strategies(args)
    good = injected(args) and good
    return 0 if good else 1

sys.exit(main())
