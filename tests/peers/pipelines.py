"""Pipelines of two stages: beside one worker that accumulates the same micro-batches, and beside PyTorch 2's
torch.distributed.pipelining (gloo, two processes). Fashion-MNIST, 8 micro-batches, samples/s."""
import os, random

from cells import Cell, Load, interval, judge, median, ratio, which
from training import samples_a_second

HERE = os.path.dirname(os.path.abspath(__file__))
MICRO = 8
DENSE = "flatten, dense 2048, relu, dense 2048, relu, dense 2048, relu, dense 10"
# Eight layers of nearly equal cost: the first, of 784 inputs, has no gradient of them.
EVEN = "flatten, " + "dense 522, relu, " * 8 + "dense 10"
STEPS = {"even": 40, "mlp": 400, "cnn": 40, "dense": 24}
BATCH = {"even": 256, "mlp": 64, "cnn": 64, "dense": 64}
IDEAL = 2 * MICRO / (MICRO + 1)  # how much faster two equal stages can be

# (id, model, ours, against, must, stretch)
CONTESTS = (
    ("L1", "even", "pipeline", "accumulate", 0.90 * IDEAL, 0.96 * IDEAL),
    ("L2", "mlp", "pipeline, processes", "torch", 2, 3),
    ("L2", "cnn", "pipeline, processes", "torch", 2, 2.5),
    ("L3", "dense", "pipeline, processes", "torch", 1, 1.5),
)


def python_with_pipelining():
    for python in (os.environ.get("TORCH_PYTHON"), "/usr/bin/python3", which("python3")):
        if python and Cell([python, "-c", "import torch.distributed.pipelining"], {}, 120).ended == "ok":
            return python
    return None


class Runner:
    def __init__(self, options, python, tell):
        self.options, self.python, self.tell = options, python, tell

    def figure(self, model, who):
        cells = [self.torch(model, schedule) for schedule in ("1f1b", "gpipe")] if who == "torch" else [self.ours(model, who)]
        figures = [figure for figure in map(samples_a_second, cells) if figure is not None]
        if not figures:
            self.tell(f"{model} {who}: {cells[-1].ended if cells[-1] else 'not there'}")
        return max(figures, default=None)

    def ours(self, model, who):
        batch = BATCH[model]
        cut = ["--pipeline", f"2,micro-batches={MICRO}", "--batch-size", str(batch)]
        if who == "accumulate":
            cut = ["--accumulate", str(MICRO), "--batch-size", str(batch // MICRO)]
        text = {"even": EVEN, "dense": DENSE}.get(model, model)
        command = [self.options.hogring, "train", "--quiet", "--data", "fashion-mnist", "--model", text, "--workers", "1", *cut,
                   "--launch", "process" if "processes" in who else "thread", "--lr", "0.02", "--epochs", "10",
                   "--max-steps", str(STEPS[model]), "--json", "-"]
        return Cell(command, {}, 2 * self.options.limit, whole=True)

    def torch(self, model, schedule):
        if not self.python:
            return Cell(["false"])
        command = [self.python, os.path.join(HERE, "torch_pipeline.py"), "--model", model, "--schedule", schedule, "--batch", str(BATCH[model]),
                   "--micro", str(MICRO), "--steps", str(STEPS[model] // 2)]
        return Cell(command, {"OMP_NUM_THREADS": "1"}, 4 * self.options.limit, whole=True)


def judged(contest, samples, load):
    name, model, ours, against, must, stretch = contest
    mine, theirs = samples[model, ours], samples[model, against]
    result = ratio(mine, theirs)
    verdict = judge(result, must, stretch, load)
    shown = [f"{median(known):9.0f}" if known else f"{'-':>9}" for known in ([x for x in line if x is not None] for line in (mine, theirs))]
    print(f"  {name:3} {model:6} {ours:20} {shown[0]}   {against:11} {shown[1]} {interval(result)} {must:.2f} {stretch:.2f}  {verdict}")
    return {"id": name, "model": model, "ours": ours, "against": against, "must": must, "stretch": stretch, "load": load,
            **(result or {}), "verdict": verdict, "samples_ours": mine, "samples_against": theirs}


def run(options, tell):
    python, rounds = python_with_pipelining(), options.rounds if options.quick else min(options.rounds, 7)
    if not python:
        print("\npipelines: no python3 with torch >= 2.4 (TORCH_PYTHON=...): held against ourselves only")
    runner = Runner(options, python, tell)
    contests = [contest for contest in CONTESTS if python or contest[3] != "torch"]
    contenders = list(dict.fromkeys(side for _, model, ours, against, _, _ in contests for side in ((model, ours), (model, against))))
    samples, load = {who: [] for who in contenders}, Load()
    for number in range(rounds):
        for who in random.sample(contenders, len(contenders)):
            samples[who].append(runner.figure(*who))
        tell(f"pipelines, round {number + 1} of {rounds}")
    load = load.so_far()
    print(f"\npipelines: 2 stages, {MICRO} micro-batches, samples/s, median of {rounds} rounds; PyTorch by the faster of 1f1b and gpipe; "
          f"load from others {100 * load['others']:.1f} %, steal {100 * load['steal']:.1f} %, loadavg {load['loadavg']}")
    return [judged(contest, samples, load) for contest in contests]
