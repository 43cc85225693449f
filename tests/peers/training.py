"""Training beside PyTorch, beside independent trainers of our own, and beside the limit that the
machine's matrix products set: `mlp` and `cnn` on Fashion-MNIST, batch 64 a worker, samples/s."""
import os, random, resource, threading

import venv
from cells import Cell, Load, interval, judge, median, ratio, which

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH, WORKERS = 64, 2
# Floating-point operations of a sample, forward and backward, no gradient of the network's input.
FLOP = {"mlp": 2 * (2 * 784 * 256 + 3 * 256 * 128 + 3 * 128 * 10),
        "cnn": 2 * (2 * 784 * 9 * 32 + 3 * 196 * 288 * 64 + 3 * 3136 * 128 + 3 * 128 * 10)}
# Steps of a launch: enough to time, few enough for seven rounds of all.
STEPS = {"mlp": 900, "cnn": 100}

SLOW = "--inject slow:1x2"        # worker 1 takes twice as long
TROUBLE = "--inject slow:*x3@10%"  # a tenth of all steps take three times as long
ACCURACY, ACCURACY_EPOCHS = 0.86, 5  # of H1's second half, on the test split

# (id, model, ours, what it is held against, must, stretch); ours: strategy, workers, further options
CONTESTS = (
    ("T1", "mlp", ("allreduce", 1), ("torch", "single"), 1.05, 1.15),
    ("T1", "cnn", ("allreduce", 1), ("torch", "single"), 1.3, 1.6),
    ("T2", "mlp", ("allreduce", 2), ("torch", "ddp"), 3, 4),
    ("T2", "cnn", ("allreduce", 2), ("torch", "ddp"), 1.5, 1.9),
    ("T3", "mlp", ("allreduce", 2), ("alone", "2 trainers"), 0.85, 0.93),
    ("T3", "cnn", ("allreduce", 2), ("alone", "2 trainers"), 0.97, 0.99),
    ("T4", "mlp", ("allreduce", 2), ("limit", "GEMM"), 0.65, 0.80),
    ("T4", "cnn", ("allreduce", 2), ("limit", "GEMM"), 0.70, 0.88),
    ("H1", "mlp", ("hogwild", 2), ("torch", "hogwild"), 1.2, 1.45),
    ("H1", "mlp", ("hogwild", 2, "accuracy"), ("torch", "hogwild", "accuracy"), 1.2, 1.45),
    ("H2", "mlp", ("hogwild", 2), ("ours", "allreduce", 2), 0.95, 1.05),
    ("H2", "mlp", ("hogwild", 2, SLOW), ("ours", "allreduce", 2, SLOW), 1.3, 1.45),
    ("H5", "mlp", ("ps-async", 2, SLOW), ("ours", "allreduce", 2, SLOW), 1.3, 1.45),
    ("H5", "mlp", ("ssp", 2, "--staleness 4 " + TROUBLE), ("ours", "allreduce", 2, TROUBLE), 1.08, 1.13),
)
ASYNCHRONOUS = ("ps-async", "ssp", "hogwild")  # a step is one worker's minibatch


def python_with_torch():
    for python in (venv.python(), "/usr/bin/python3", which("python3")):
        if python and Cell([python, "-c", "import torch"], {}, 60).ended == "ok":
            return python
    return None


def samples_a_second(cell):
    row = cell.rows[0] if cell.rows else {}
    return row.get("runs", [row])[0].get("samples_per_s")


def inverse_time(curve):
    """1 / seconds until test accuracy ACCURACY, between evaluations on a straight line: of two such figures, the larger is the faster."""
    before = (0.0, 0.0)
    for seconds, accuracy in curve:
        if accuracy >= ACCURACY:
            part = (ACCURACY - before[1]) / (accuracy - before[1])
            return 1 / (before[0] + part * (seconds - before[0]))
        before = (seconds, accuracy)
    return None


class Runner:
    """Knows how to launch a contender and what figure it gives, in samples/s."""

    def __init__(self, options, python, limit_program, tell):
        self.options, self.python, self.limit_program, self.tell = options, python, limit_program, tell
        self.shares = {}

    def ours(self, model, strategy, workers, further="", cpus=None):
        steps = STEPS[model] * (workers if strategy in ASYNCHRONOUS else 1)
        whole = further == "accuracy"
        length = ["--epochs", str(ACCURACY_EPOCHS)] if whole else ["--epochs", "10", "--max-steps", str(steps), *further.split()]
        command = [self.options.hogring, "train", "--quiet", "--data", "fashion-mnist", "--model", model, "--strategy", strategy,
                   "--workers", str(workers), "--batch-size", str(BATCH), "--lr", "0.02", *length, "--json", "-"]
        cell = Cell((["taskset", "-c", cpus] if cpus else []) + command, {}, 2 * self.options.limit, whole=True)
        figure = samples_a_second(cell)
        if whole and figure is not None:
            return inverse_time([(p["seconds"], p["test_accuracy"]) for p in cell.rows[0]["runs"][0]["curve"]])
        if figure is None:
            self.tell(f"{model} {strategy} {workers}: {cell.ended}: {cell.error[:120]}")
        elif strategy == "allreduce" and workers == WORKERS and not further:
            self.shares.setdefault(model, []).append(cell.rows[0]["runs"][0]["time"])
        return figure

    def alone(self, model):
        """As many trainers that know nothing of one another, each on a processor of its own."""
        figures = [None] * WORKERS
        cpus = sorted(os.sched_getaffinity(0))

        def one(i):
            figures[i] = self.ours(model, "allreduce", 1, cpus=str(cpus[i % len(cpus)]))

        threads = [threading.Thread(target=one, args=(i,)) for i in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return None if None in figures else sum(figures)

    def torch(self, model, mode, further=""):
        if not self.python:
            return None
        whole = further == "accuracy"
        length = ["--epochs", str(ACCURACY_EPOCHS), "--curve"] if whole else ["--steps", str(STEPS[model])]
        cell = Cell([self.python, os.path.join(HERE, "torch_train.py"), "--mode", mode, "--model", model, "--batch", str(BATCH),
                     "--workers", str(WORKERS), "--lr", "0.02", *length],
                    {"OMP_NUM_THREADS": "1"}, 2 * self.options.limit, whole=True)
        figure = samples_a_second(cell)
        if figure is None:
            self.tell(f"{model} torch {mode}: {cell.ended}: {cell.error[:120]}")
        elif whole:
            return inverse_time(cell.rows[0]["curve"])
        return figure

    def limit(self, model):
        if not self.limit_program:
            return None
        cell = Cell([self.limit_program, str(WORKERS)], {}, self.options.limit)
        return cell.rows[0]["gflops"] * 1e9 / FLOP[model] if cell.rows else None

    def figure(self, who):
        kind, model, *rest = who
        return {"ours": self.ours, "torch": self.torch, "alone": lambda m, _: self.alone(m),
                "limit": lambda m, _: self.limit(m)}[kind](model, *rest)


def sides(contest):
    _, model, ours, against, _, _ = contest
    return ("ours", model, *ours), (against[0], model, *against[1:])


def print_shares(shares):
    """T5: what of a step is neither forward nor backward: sums and updates. T6: the loader's share."""
    for model, times in shares.items():
        parts = {name: median([t[name] for t in times]) for name in ("compute", "communicate", "wait", "load", "forward", "backward")}
        total = sum(parts[name] for name in ("compute", "communicate", "wait", "load"))
        update = max(0.0, parts["compute"] - parts["forward"] - parts["backward"])
        print(f"  T5  {model}: communicate {100 * parts['communicate'] / total:.1f} % + update {100 * update / total:.1f} % "
              f"(<= 20 % mlp), waiting {100 * parts['wait'] / total:.1f} % of the workers' time, 2 workers, allreduce")
        print(f"  T6  {model}: loading {100 * parts['load'] / total:.1f} % (<= 2 %, 0.5 %)")


def page_faults(options):
    """T6: minor faults a step, once memory is warm: what 800 steps take more than 200."""
    counts = []
    for steps in (200, 800):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        Cell([options.hogring, "train", "--quiet", "--data", "fashion-mnist", "--workers", str(WORKERS), "--batch-size", str(BATCH),
              "--epochs", "3", "--max-steps", str(steps)], {}, options.limit, whole=True)
        counts.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before)
    return (counts[1] - counts[0]) / 600


def run(options, limit_program, tell):
    python, rounds = python_with_torch(), options.rounds if options.quick else min(options.rounds, 7)
    if not python:
        print("\ntraining: no python3 with torch (Debian: python3-torch): held against ourselves and the limit only")
    runner = Runner(options, python, limit_program, tell)
    contenders = list(dict.fromkeys(side for contest in CONTESTS for side in sides(contest)))
    samples = {who: [] for who in contenders}
    load = Load()
    for number in range(rounds):
        for who in random.sample(contenders, len(contenders)):
            samples[who].append(runner.figure(who))
        tell(f"training, round {number + 1} of {rounds}")
    load = load.so_far()
    print(f"\ntraining: Fashion-MNIST, batch {BATCH} a worker, samples/s, median of {rounds} rounds; "
          f"load from others {100 * load['others']:.1f} %, steal {100 * load['steal']:.1f} %")
    answer = [judged(contest, samples, load) for contest in CONTESTS]
    print_shares(runner.shares)
    print(f"  T6  page faults a step: {page_faults(options):.2f}; allocations: tests/unit/train/test_footprint.c")
    return answer


def further_of(ours):
    further = ours[2] if len(ours) > 2 else ""
    return f"1 / seconds to accuracy {ACCURACY}" if further == "accuracy" else further


def judged(contest, samples, load):
    name, model, ours, against, must, stretch = contest
    mine, theirs = (samples[side] for side in sides(contest))
    result = ratio(mine, theirs)
    verdict = judge(result, must, stretch, load)
    shown = [f"{median(known):9.{0 if median(known) > 10 else 4}f}" if known else f"{'-':>9}"
             for known in ([x for x in line if x is not None] for line in (mine, theirs))]
    print(f"  {name:3} {model} {ours[0]:9} x{ours[1]} {shown[0]}   {' '.join(map(str, against[:2])):16} {shown[1]} {interval(result)} "
          f"{must} {stretch}  {verdict}" + (f"  ({further_of(ours)})" if further_of(ours) else ""))
    return {"id": name, "model": model, "ours": list(ours), "against": list(against), "must": must, "stretch": stretch, "load": load,
            **(result or {}), "verdict": verdict, "samples_ours": mine, "samples_against": theirs}
