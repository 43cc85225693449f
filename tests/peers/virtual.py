#!/usr/bin/env python3
"""Does virtual time tell the truth, and what does it cost?

    tests/peers/virtual.py                  all of it, some minutes
    tests/peers/virtual.py --only agree     real workers that sleep, and the same workers simulated
    tests/peers/virtual.py --only cost      set-up, memory and CPU time of 256 workers

agree: 8 workers whose gradients take a drawn time (they sleep until it has passed, so that few
processors suffice), the same options and seed on the real clock and on the virtual one. Time a step
within 10 %; staleness, as distributions, within a Kolmogorov-Smirnov distance of 0.1.
cost: mlp on Fashion-MNIST. CPU time a gradient of 256 simulated workers over that of 2 real ones, from
what a long run takes more than a short one, rounds interleaved; set-up is a run of one update.

Exits 1 when a row is missed. Real steps grow with what others do to the machine: the load is printed.
"""
import sys
sys.dont_write_bytecode = True
import argparse, json, os, resource, subprocess, time

from cells import Load, interval, median, ratio

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOGRING = os.environ.get("HOGRING", os.path.join(ROOT, "build", "hogring"))
WORKERS, TIME_OFF, DISTANCE = 8, 0.10, 0.1
SLEPT = ["--model", "softmax", "--batch-size", "8", "--workers", str(WORKERS), "--epochs", "1000", "--lr", "0.01",
         "--compute-time", "lognormal(10ms,0.3)"]
CASES = [(strategy, inject) for strategy in (["ps-async"], ["ssp", "--staleness", "3"])
         for inject in ([], ["--inject", "slow:3x2"])]
COSTLY = ["--strategy", "ps-async", "--data", "fashion-mnist", "--model", "mlp", "--batch-size", "64", "--epochs", "100",
          "--lr", "0.001", "--momentum", "0"]
MOST_CPU, MOST_SETUP, MOST_BYTES = 1.5, 2.0, 1.5 * 2**30


class Launch:
    """One run of hogring: its result, and what it took."""

    def __init__(self, clock, arguments, limit=300):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        done = subprocess.run([HOGRING, "train", "--quiet", "--clock", clock, "--json", "-", *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, check=False)
        if done.returncode:
            sys.exit(f"hogring {' '.join(arguments)}: {done.stderr.decode().strip()}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds = time.monotonic() - began
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.most_bytes = after.ru_maxrss * 1024  # of all children so far
        self.run = json.loads(done.stdout)["runs"][0]


# --- agreement ---

def step_ms(run):
    return 1e3 * run["seconds"] * run["workers"] / run["updates"]


def distance(one, other):
    """Kolmogorov-Smirnov: how far two distributions, given as counts, are apart at most."""
    below, most = [0.0, 0.0], 0.0
    for value in range(max(len(one), len(other))):
        for i, counts in enumerate((one, other)):
            below[i] += counts[value] / sum(counts) if value < len(counts) else 0
        most = max(most, abs(below[0] - below[1]))
    return most


def compared(strategy, inject, seed, steps):
    """How far the simulated step is off the real one, how far their staleness is apart, and both steps and means."""
    same = [*SLEPT, "--strategy", *strategy, *inject, "--seed", str(seed), "--max-steps", str(steps)]
    real, simulated = (Launch(clock, same).run for clock in ("real", "virtual"))
    return (step_ms(simulated) / step_ms(real) - 1, distance(*(run["staleness"]["histogram"] for run in (real, simulated))),
            step_ms(real), step_ms(simulated), real["staleness"]["mean"], simulated["staleness"]["mean"])


def agree(options):
    load, missed = Load(), 0
    print(f"{WORKERS} workers, gradients of lognormal(10ms,0.3), {options.steps} updates; medians of {options.seeds} seeds, [worst]\n"
          f"{'strategy':19} step, ms: real  simulated  simulated is off   staleness: real  simulated        distance")
    for strategy, inject in CASES:
        rows = [compared(strategy, inject, seed, options.steps) for seed in range(1, options.seeds + 1)]
        off, apart, real, simulated, stale, as_stale = (median(column) for column in zip(*rows))
        worst = max((row[0] for row in rows), key=abs), max(row[1] for row in rows)
        good = abs(off) <= TIME_OFF and apart <= DISTANCE
        missed += not good
        print(f"{' '.join(strategy[:1] + inject[1:]):19} {real:14.2f} {simulated:10.2f} {100 * off:+7.1f} % [{100 * worst[0]:+5.1f} %] "
              f"{stale:16.2f} {as_stale:10.2f} {apart:7.3f} [{worst[1]:.3f}]  {'ok' if good else 'MISSED'}", flush=True)
    print_load(load)
    return missed


def print_load(load):
    load = load.so_far()
    print(f"load from others {100 * load['others']:.0f} %, steal {100 * load['steal']:.0f} %, load average {load['loadavg']}\n")


# --- cost ---

def cost(options):
    load, shorter, longer = Load(), 512, 512 + 4000
    sides = {"simulated": ("virtual", 256), "real": ("real", 2)}
    taken, setups = {side: [] for side in sides}, []
    for _ in range(options.rounds):
        setups.append(Launch("virtual", [*COSTLY, "--workers", "256", "--max-steps", "1"]))
        for side, (clock, workers) in sides.items():
            runs = [Launch(clock, [*COSTLY, "--workers", str(workers), "--max-steps", str(n)]) for n in (shorter, longer)]
            taken[side].append((runs[1].cpu - runs[0].cpu) / (longer - shorter))
            most_bytes = runs[1].most_bytes
    result = ratio(taken["simulated"], taken["real"])
    setup_cpu = median([setup.cpu for setup in setups])
    rows = [
        ("CPU time a gradient, 256 simulated / 2 real", interval(result), f"<= {MOST_CPU}", result["ratio"] <= MOST_CPU),
        ("a run of one update: CPU time", f"{setup_cpu:.2f} s", f"<= {MOST_SETUP} s", setup_cpu <= MOST_SETUP),
        ("the same by the clock", f"{median([setup.seconds for setup in setups]):.2f} s", "", True),
        ("most memory", f"{most_bytes / 2**20:.0f} MiB", f"<= {MOST_BYTES / 2**20:.0f} MiB", most_bytes <= MOST_BYTES),
    ]
    print(f"mlp on Fashion-MNIST, batch 64, ps-async; CPU time a gradient, medians of {options.rounds} rounds: "
          + ", ".join(f"{side} {1e3 * median(times):.2f} ms" for side, times in taken.items()))
    for what, value, target, good in rows:
        print(f"  {what:45} {value:25} {target:12} {'ok' if good else 'MISSED'}")
    print_load(load)
    return sum(not good for *_, good in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("agree", "cost"))
    parser.add_argument("--seeds", type=int, default=5, help="of each agreement [5]")
    parser.add_argument("--steps", type=int, default=1600, help="updates of each agreement [1600]")
    parser.add_argument("--rounds", type=int, default=5, help="of the costs, at least 3 [5]")
    options = parser.parse_args()
    parts = {"agree": agree, "cost": cost}
    missed = sum(parts[name](options) for name in ([options.only] if options.only else parts))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
