"""Training beside PyTorch: `mlp` on Fashion-MNIST, 2 workers, batch 64 a worker, samples/s."""
import os, random

from cells import Cell, Load, interval, judge, median, ratio, which

HERE = os.path.dirname(os.path.abspath(__file__))
# (id, strategy of ours, mode of torch_train.py, must, stretch)
CONTESTS = (("T2", "allreduce", "ddp", 3, 4), ("H1", "hogwild", "hogwild", 1.2, 1.45))


def python_with_torch():
    for python in ("/usr/bin/python3", which("python3")):
        if python and Cell([python, "-c", "import torch"], {}, 60).ended == "ok":
            return python
    return None


def samples_a_second(cell):
    row = cell.rows[0] if cell.rows else {}
    row = row.get("runs", [row])[0]
    return row.get("samples_per_s")


def run(options, tell):
    python, epochs = python_with_torch(), "1" if options.quick else "2"
    rounds = options.rounds if options.quick else min(options.rounds, 7)
    if not python:
        print("\ntraining: skipped: no python3 with torch (Debian: python3-torch)")
        return []
    shared = ["--workers", "2", "--lr", "0.02", "--epochs", epochs]
    commands = {}
    for _, strategy, mode, _, _ in CONTESTS:
        commands["hogring", strategy] = [options.hogring, "train", "--quiet", "--data", "fashion-mnist", "--strategy", strategy,
                                         "--batch-size", "64", "--json", "-", *shared]
        commands["torch", mode] = [python, os.path.join(HERE, "torch_train.py"), "--mode", mode, "--model", "mlp",
                                   "--batch", "64", *shared]
    samples = {who: [] for who in commands}
    load = Load()
    for number in range(rounds):
        for who in random.sample(list(commands), len(commands)):
            cell = Cell(commands[who], {"OMP_NUM_THREADS": "1"} if who[0] == "torch" else {}, 2 * options.limit, whole=True)
            samples[who].append(samples_a_second(cell))
            if samples[who][-1] is None:
                tell(f"{' '.join(who)}: {cell.ended}: {cell.error[:120]}")
        tell(f"training, round {number + 1} of {rounds}")
    load = load.so_far()
    print(f"\ntraining: mlp on Fashion-MNIST, 2 workers, batch 64 a worker, {epochs} epochs, samples/s, median of {rounds} rounds; "
          f"load from others {100 * load['others']:.1f} %, steal {100 * load['steal']:.1f} %")
    answer = []
    for name, strategy, mode, must, stretch in CONTESTS:
        ours, theirs = samples["hogring", strategy], samples["torch", mode]
        result = ratio(ours, theirs)
        verdict = judge(result, must, stretch, load)
        shown = [f"{median(known):10.0f}" if known else f"{'-':>10}"
                 for known in ([x for x in line if x is not None] for line in (ours, theirs))]
        print(f"  {name:3} {strategy:10} {shown[0]}   PyTorch {mode:8} {shown[1]} {interval(result)} {must}x {stretch}x  {verdict}")
        answer.append({"id": name, "ours": strategy, "theirs": mode, "must": must, "stretch": stretch, "load": load,
                       **(result or {}), "verdict": verdict, "samples_ours": ours, "samples_theirs": theirs})
    return answer
