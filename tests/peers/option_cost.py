#!/usr/bin/env python3
"""What an option costs: CPU time and seconds of runs with it and of runs without, in turn.

    tests/peers/option_cost.py record|save|timeline [ROUNDS] [TRAIN OPTIONS...]

A round is three runs one right after the other, in an order drawn anew: plain, plain again (which
says how far the machine can be trusted) and with the option. All make the same steps, so a ratio of
seconds is one of steps a second. Prints ratios of sums with bootstrap intervals of 95 % over the
rounds. Exit 1 where the upper end of what was asked for is missed: record 5 % of CPU time; save
2 % of CPU time and of seconds (cnn, a save a second); timeline 3 % of CPU time.
"""
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

COSTS = {  # option, its runs, the most that each ratio may be
    "record": (["--record", "{}/run.trace"],
               "--strategy ps-async --workers 2 --data fashion-mnist --batch-size 64 --lr 0.02 --max-steps 1500", {"CPU": 1.05}),
    "save": (["--checkpoint-dir", "{}/saves", "--overwrite", "--checkpoint-every", "1s"],
             "--model cnn --workers 2 --data fashion-mnist --batch-size 64 --lr 0.02 --max-steps 400", {"CPU": 1.02, "seconds": 1.02}),
    "timeline": (["--timeline", "{}/timeline.json"],
                 "--workers 2 --data fashion-mnist --batch-size 64 --lr 0.02 --max-steps 1500", {"CPU": 1.03}),
}


def run(arguments):
    """CPU seconds of all its threads, and seconds of training, without evaluation."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run([os.environ.get("HOGRING", "build/hogring"), "train", "--quiet", "--json", "-", *arguments], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    one = json.loads(said)["runs"][0]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"CPU": cpu, "seconds": one["seconds"], "saves": (one["saves"] or {"written": 0})["written"]}


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
    option, options, limits = COSTS[sys.argv[1]]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    options = sys.argv[3:] or options.split()
    runs = {"plain": [], "again": [], "with it": []}
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for arm in draw.sample(sorted(runs), 3):
                runs[arm].append(run(options + ([word.format(folder) for word in option] if arm == "with it" else [])))
    print(f"{rounds} rounds of: {' '.join(options)}")
    print(f"with it: {' '.join(option).replace('{}/', '')}; checkpoints a run, median: {median([r['saves'] for r in runs['with it']])}")
    missed = False
    for what in "CPU", "seconds":
        print(f"{what}, median:", ", ".join(f"{median([r[what] for r in all]):.3f} s {arm}" for arm, all in runs.items()))
        for arm in "again", "with it":
            mean, low, high = ratio([(a[what], b[what]) for a, b in zip(runs["plain"], runs[arm])], draw)
            print(f"  {arm:>8} / plain: {mean:.4f}, 95 % interval {low:.4f} to {high:.4f}")
        missed |= high > limits.get(what, float("inf"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
