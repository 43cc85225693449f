#!/usr/bin/env python3
"""Stop one rank of a run (SIGSTOP) at a random moment, each rank of each strategy in turn.

The run has to name it, with its pid and what it was doing, before whoever waited for it; to end
with 4; and to do so within --timeout and a second (--slack).

usage: stopped_ranks.py [--quick] [--seed N] [--timeout SECONDS] [--slack SECONDS] [--abreast N]
HOGRING names the command; of a busy machine more slack than a second is asked.
"""
import argparse
import concurrent.futures
import os
import random
import re
import signal
import subprocess
import sys
import time

# Strategy, its options, servers. Epochs of digits are short, so that nobody is alone for long.
STRATEGIES = [
    ("allreduce", [], 0),
    ("allreduce", ["--algorithm", "ring", "--overlap", "on"], 0),
    ("ps-sync", ["--servers", "2"], 2),
    ("ps-async", ["--servers", "1"], 1),
    ("ssp", ["--staleness", "1", "--servers", "1"], 1),
    ("hogwild", [], 0),
    ("local-sgd", ["--sync-every", "4"], 0),
    ("elastic-averaging", ["--servers", "1"], 1),
    ("backup-workers:1", ["--servers", "1"], 1),
]


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def await_ranks(run, count):
    """The ranks' pids in the order of their start; None: the run was over before."""
    while run.poll() is None:
        ranks = children(run.pid)
        if len(ranks) == count:
            return sorted(ranks)
        time.sleep(0.002)
    return None


def stop_one(case, rank, delay, timeout, slack):
    """What is wrong with how the run ended; nothing: an empty list."""
    strategy, options, servers, workers = case
    command = [os.environ.get("HOGRING", "build/hogring"), "train", "--strategy", strategy,
               "--workers", str(workers), "--model", "softmax", "--epochs", "100000",
               "--launch", "process", "--timeout", f"{timeout}s", *options]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    ranks = await_ranks(run, workers + servers)
    if ranks is None:
        return [f"ended early: {run.communicate()[1]}"]
    time.sleep(delay)
    os.kill(ranks[rank], signal.SIGSTOP)
    began = time.monotonic()
    try:
        said = run.communicate(timeout=timeout + slack + 20)[1]
    except subprocess.TimeoutExpired:
        run.kill()
        return ["hangs"]
    took = time.monotonic() - began
    last = said.strip().splitlines()[-1] if said.strip() else ""
    named = re.search(rf"rank {rank}(, step \d+)?: pid {ranks[rank]} is stopped, while ", last)
    wrong = [] if named else ["does not name it"]
    if run.returncode != 4:
        wrong.append(f"exits with {run.returncode}")
    if took > timeout + slack:
        wrong.append(f"ends {took - timeout:.2f} s after --timeout")
    return wrong + [last] if wrong else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a rank of each kind, two workers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=1)
    parser.add_argument("--slack", type=float, default=1, help="after --timeout")
    parser.add_argument("--abreast", type=int, default=1, help="runs at a time")
    asked = parser.parse_args()
    moments = random.Random(asked.seed)
    cases = []
    for strategy, options, servers in STRATEGIES:
        for workers in [2] if asked.quick else [2, 3, 4]:
            if strategy == "backup-workers" and workers == 2:
                workers = 3
            ranks = range(workers + servers)
            for rank in [ranks[-1]] if asked.quick else ranks:
                cases.append(((strategy, options, servers, workers), rank, moments.random() * 0.5))
    with concurrent.futures.ThreadPoolExecutor(asked.abreast) as pool:
        ends = list(pool.map(lambda case: stop_one(*case, asked.timeout, asked.slack), cases))
    bad = 0
    for ((strategy, options, _, workers), rank, delay), wrong in zip(cases, ends):
        bad += bool(wrong)
        if wrong:
            print(f"{strategy} {' '.join(options)}, {workers} workers, rank {rank} stopped "
                  f"{delay:.3f} s after the start: {'; '.join(wrong)}")
    print(f"{len(cases) - bad} of {len(cases)} runs named the rank that was stopped, in time")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
