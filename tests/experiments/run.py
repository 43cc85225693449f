#!/usr/bin/env python3
"""Runs tests/experiments/*.ini and writes one page of results with pictures.

    make experiments                all of them: tests/experiments/results/results.md
    make experiments ONLY="a b"     these again; the others keep what they have
    tests/experiments/run.py --quick     two seeds, no tuning, into build/experiments/quick: to see that it works
    tests/experiments/run.py --check     only read the .ini files
    tests/experiments/run.py --page      only write the page again from results.json

Exits 0 whatever the verdicts: a finding that is not reproduced is a result. 2 when an .ini file is wrong.
"""
import sys
sys.dont_write_bytecode = True
import argparse, glob, os, platform, re, subprocess, time

import judges, page, plots
from measures import Measure
from runs import HOGRING, Runner, run_experiment
from spec import Experiment, Mistake, typed

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RESULTS = os.path.join(HERE, "results")


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="experiments, by the names of their files [all]")
    parser.add_argument("--quick", action="store_true", help="two seeds, no tuning, results under build/")
    parser.add_argument("--check", action="store_true", help="read the files, run nothing")
    parser.add_argument("--page", action="store_true", help="write the page again, run nothing")
    parser.add_argument("--reuse", action="store_true", help="take runs that are under build/experiments/runs already")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="runs at a time [processors]")
    return parser.parse_args(arguments)


def experiments_of(names):
    paths = sorted(glob.glob(os.path.join(HERE, "*.ini")))
    known = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    for name in names:
        if name not in known:
            raise Mistake(f"no experiment '{name}'; there are {', '.join(known)}")
    return [Experiment(path) for path, name in zip(paths, known) if not names or name in names]


def check(experiment, flags):
    """What can be wrong before anything runs: options hogring does not know, claims nobody can judge."""
    for cell in experiment.cells:
        for name in [*cell.options, *experiment.tune]:
            if typed(name, "")[0] not in flags:
                raise Mistake(f"{experiment.name}: hogring {experiment.command} has no --{name}")
    Measure(experiment.measure)
    for name, claim in experiment.claims.items():
        judges.expected_range(claim["expected"])
        if claim["judge"] not in judges.JUDGES:
            raise Mistake(f"{experiment.name}: [claim {name}]: no judge '{claim['judge']}'")
        for key in ("of", "to", "beside of", "beside to"):
            if key in claim and claim["judge"] != "optimum":
                experiment.one(claim[key])
        experiment.select(claim.get("where"))
    for panel in experiment.plots.values():
        experiment.select(panel.get("where"))


def flags_of(command):
    text = subprocess.run([HOGRING, "help", command, "--all"], cwd=ROOT, capture_output=True, text=True).stdout
    return set(re.findall(r"^  (--[a-z0-9-]+)", text, re.MULTILINE))


def machine():
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())
    return f"{model}, {len(os.sched_getaffinity(0))} processors, Linux {platform.release()}"


def now():
    return time.strftime("%Y-%m-%d %H:%M")


def version():
    done = subprocess.run([HOGRING, "--version"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip().removeprefix("hogring ")


def tell(text):
    print(f"  ... {text}", file=sys.stderr, flush=True)


def perform(experiment, runner, folder):
    """Run, judge, draw; the entry of results.json."""
    began = time.monotonic()
    table = run_experiment(experiment, runner)
    findings = [judges.judge(claim, table) for claim in experiment.claims.values()]
    for ending in ("svg",) if folder == RESULTS else ("svg", "png"):  # png: to look at
        plots.draw(os.path.join(folder, f"{experiment.name}.{ending}"), table)
    about = {"seconds": round(time.monotonic() - began, 1), "when": now(), "machine": machine(), "version": version()}
    entry = page.entry_of(experiment, table, findings, about)
    print(f"{experiment.title} ({about['seconds']:.0f} s)")
    for claim in entry["claims"]:
        print(f"  {claim['verdict']:14} {claim['says']} Expected {claim['expected']}; found {page.span(claim)}.")
    print("\n".join(page.pairs(entry)))
    return entry


def save(report, folder):
    """After each experiment, so that an interrupted run keeps what it has."""
    report["experiments"] = dict(sorted(report["experiments"].items()))
    for name in ("machine", "version"):  # of the days when all entries were of one
        common = report.pop(name, None)
        for entry in report["experiments"].values():
            entry.setdefault(name, common)
    report["seconds"] = sum(entry["seconds"] for entry in report["experiments"].values())
    report.update(command="make experiments", when=now())
    page.write(folder, report)


def shortened(experiment):
    experiment.seeds, experiment.tune = range(1, 3), {
        name: [values[len(values) // 2]] for name, values in experiment.tune.items()}


def perform_all(chosen, runner, folder):
    """One that cannot be run does not keep the others from it; how many could not."""
    report, failed = page.read(folder), 0
    for experiment in chosen:
        try:
            report["experiments"][experiment.name] = perform(experiment, runner, folder)
            save(report, folder)
        except Mistake as mistake:
            print(f"experiments: {mistake}", file=sys.stderr)
            failed += 1
    return failed


def main():
    options = options_of(sys.argv[1:])
    sys.stdout.reconfigure(line_buffering=True)
    folder = os.path.join(ROOT, "build", "experiments", "quick") if options.quick else RESULTS
    os.makedirs(folder, exist_ok=True)
    if options.page:
        page.write(folder, page.read(folder))
        return 0
    try:
        chosen = experiments_of(options.names)
        for experiment in chosen:
            check(experiment, flags_of(experiment.command))
    except Mistake as mistake:
        print(f"experiments: {mistake}", file=sys.stderr)
        return 2
    if options.check:
        return 0
    for experiment in chosen if options.quick else []:
        shortened(experiment)
    failed = perform_all(chosen, Runner(ROOT, options.jobs, options.reuse, tell), folder)
    print(f"\n{os.path.relpath(os.path.join(folder, 'results.md'))}")
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
