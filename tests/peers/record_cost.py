#!/usr/bin/env python3
"""What --record costs: CPU time of runs that are recorded and of runs that are not, in turn.

    tests/peers/record_cost.py [ROUNDS] [TRAIN OPTIONS...]

A round is three runs one right after the other, in an order drawn anew: plain, plain again (which
says how far the machine can be trusted) and recorded. Prints the ratio of sums with a bootstrap
interval of 95 % over the rounds. Target: upper end at most 1.05.
"""
import os
import random
import resource
import subprocess
import sys
import tempfile

DEFAULTS = "--strategy ps-async --workers 2 --data fashion-mnist --batch-size 64 --lr 0.02 --max-steps 1500".split()


def cpu_seconds(arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([os.environ.get("HOGRING", "build/hogring"), "train", "--quiet", *arguments], check=True,
                   stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median(values):
    return sorted(values)[len(values) // 2]


def ratio(pairs, draw):
    """Of sums, and its bootstrap interval of 95 %."""
    ratios = []
    for _ in range(5000):
        sample = draw.choices(pairs, k=len(pairs))
        ratios.append(sum(b for _, b in sample) / sum(a for a, _ in sample))
    ratios.sort()
    return sum(b for _, b in pairs) / sum(a for a, _ in pairs), ratios[124], ratios[4874]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    options = sys.argv[2:] or DEFAULTS
    times = {"plain": [], "again": [], "recorded": []}
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "run.trace")
        for _ in range(rounds):
            for arm in draw.sample(sorted(times), 3):
                times[arm].append(cpu_seconds(options + (["--record", trace] if arm == "recorded" else [])))
        size = os.path.getsize(trace)
    print(f"{rounds} rounds of: {' '.join(options)}")
    print("CPU seconds, median:", ", ".join(f"{median(t):.3f} {arm}" for arm, t in times.items()), f"; trace {size} bytes")
    for arm in "again", "recorded":
        mean, low, high = ratio(list(zip(times["plain"], times[arm])), draw)
        print(f"{arm:>8} / plain: {mean:.4f}, 95 % interval {low:.4f} to {high:.4f}")
    return 0 if high <= 1.05 else 1


if __name__ == "__main__":
    sys.exit(main())
