#!/usr/bin/env python3
"""soak.py BINARY [--seconds N] [--first-seed N] [--strategies a,b] [--no-servers] [--launch L]: see README.md."""
import argparse, collections, random, sys, time

import draw as drawing
from run_one import run_one


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else float("nan")


def tell(counts, pauses, seconds):
    print(f"{counts['runs']} runs in {seconds:.0f} s; {counts['losses']} ranks lost and outlived ({counts['workers']} workers, {counts['servers']} servers; "
          f"{counts['killed']} killed from outside), {counts['restarts']} started again")
    for who in ("worker", "server"):
        if pauses[who]:
            p = [1000 * s for s in pauses[who]]
            print(f"{who} lost, until an update offered afterwards was applied: median {quantile(p, 0.5):.0f} ms, p99 {quantile(p, 0.99):.0f}, most {max(p):.0f} ({len(p)})")
    print(f"samples: {counts['lost']} lost, {counts['again']} handed out or computed again, none unaccounted" if not counts["failed"] else f"{counts['failed']} runs FAILED")
    print("by strategy: " + ", ".join(f"{name} {n}" for name, n in sorted(counts["by"].items())))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first-seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--strategies")
    parser.add_argument("--no-servers", action="store_true")
    parser.add_argument("--launch", default="thread,process")
    parser.add_argument("--runs", type=int, default=10**9)
    arguments = parser.parse_args()
    known = drawing.strategies(arguments.binary)
    strategies = [known[name] for name in arguments.strategies.split(",")] if arguments.strategies else list(known.values())
    began, seed = time.monotonic(), arguments.first_seed
    counts, pauses = collections.Counter(), collections.defaultdict(list)
    counts["by"] = collections.Counter()
    print(f"soak: seeds from {seed}", flush=True)
    while time.monotonic() - began < arguments.seconds and counts["runs"] < arguments.runs:
        one = drawing.Draw(seed, strategies, not arguments.no_servers, arguments.launch.split(","))
        judged = run_one(arguments.binary, one)
        seed += 1
        counts["runs"] += 1
        counts["by"][one.strategy] += len(judged.losses)
        counts["killed"] += judged.killed
        counts["restarts"] += judged.restarts
        for loss in judged.losses:
            counts["losses"] += 1
            counts["servers" if loss["server"] else "workers"] += 1
            counts["lost"] += loss["samples_lost"]
            counts["again"] += loss["samples_again"]
            if loss["pause_s"] is not None:
                pauses["server" if loss["server"] else "worker"].append(loss["pause_s"])
        if judged.wrong:
            counts["failed"] += 1
            print(f"FAILED seed {seed - 1}: {'; '.join(judged.wrong)}\n  {judged.command}\n  killed from outside: {one.outside}", flush=True)
    tell(counts, pauses, time.monotonic() - began)
    sys.exit(1 if counts["failed"] else 0)


if __name__ == "__main__":
    main()
