"""Runs hogring over a grid and keeps each run's JSON under build/experiments/runs."""
import concurrent.futures, hashlib, json, os, shlex, subprocess

from intervals import mean
from measures import Measure
from spec import TUNING_SEEDS, Mistake


HOGRING = os.environ.get("HOGRING", os.path.join("build", "hogring"))  # from the top of the repository


class Runner:
    """jobs: runs at a time, each on one processor; reuse: take runs that are there already."""

    def __init__(self, root, jobs, reuse, tell):
        self.root, self.jobs, self.reuse, self.tell = root, jobs, reuse, tell
        self.folder = os.path.join(root, "build", "experiments", "runs")
        os.makedirs(self.folder, exist_ok=True)

    def hogring_says(self, arguments, one_processor=False):
        environment = dict(os.environ, HOGRING_CPUS="1") if one_processor else None
        done = subprocess.run([HOGRING, *arguments], cwd=self.root, env=environment, capture_output=True, text=True)
        return done.returncode, done.stderr

    def prepare(self, experiment):
        """Files (--out) that are older than the command are made anew."""
        for line in experiment.prepare:
            words = shlex.split(line)
            made = os.path.join(self.root, words[words.index("--out") + 1])
            if os.path.exists(made):
                if os.path.getmtime(made) > os.path.getmtime(os.path.join(self.root, HOGRING)):
                    continue
                os.remove(made)
            code, words = self.hogring_says(words)
            if code != 0:
                raise Mistake(f"{experiment.name}: hogring {line}: {words.strip()}")

    def run(self, command, arguments, alone):
        """The run's JSON. A run that ended with 1, since its loss was no number, is one without a curve."""
        name = hashlib.sha256(" ".join([command, *arguments]).encode()).hexdigest()[:16]
        path = os.path.join(self.folder, name + ".json")
        if not (self.reuse and os.path.exists(path)):
            code, words = self.hogring_says([command, *arguments, "--quiet", "--json", path], not alone)
            if code == 1 and "not finite" in words:
                with open(path, "w") as file:
                    json.dump({"runs": [{"curve": [], "ended": words}]}, file)
            elif code != 0 and not (code == 1 and "training diverged" in words):  # with a curve
                raise Mistake(f"exit code {code}: hogring {shlex.join([command, *arguments])}: {words.strip()}")
        with open(path) as file:
            document = json.load(file)
        if "tuning" in document:
            document["runs"][0]["chosen"] = document["tuning"]["entries"][0]["chosen"]
        return document["runs"][0]

    def many(self, experiment, lines, what):
        jobs = 1 if experiment.one_at_a_time else self.jobs
        self.tell(f"{experiment.name}: {len(lines)} runs{what}")
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(lambda line: self.run(experiment.command, line, experiment.one_at_a_time), lines))


class Table:
    """Runs by cell and seed, read through one measure. Judges and plots know nothing else."""

    def __init__(self, experiment, runs, tuned, measure):
        self.experiment, self.runs, self.tuned, self.measure = experiment, runs, tuned, measure
        self.nseeds, self.less_is_better = len(experiment.seeds), measure.less_is_better
        self.select = experiment.select

    def values(self, cell):
        cell = self.experiment.one(cell) if isinstance(cell, str) else cell
        return [self.measure.of(run) for run in self.runs[cell]]

    def with_measure(self, measure):
        return Table(self.experiment, self.runs, self.tuned, measure)


def tune(experiment, runner, measure):
    """{cell: the options of [tune] that are best over the tuning seeds}."""
    tunings = experiment.tunings()
    if len(tunings) < 2:
        return {cell: tunings[0] if tunings else {} for cell in experiment.cells}
    tries = [(cell, tuned, seed) for cell in experiment.cells for tuned in tunings for seed in TUNING_SEEDS]
    runs = runner.many(experiment, [cell.arguments(seed, tuned) for cell, tuned, seed in tries], " to tune")
    tried = {}
    for (cell, tuned, _), run in zip(tries, runs):
        tried.setdefault(cell, {}).setdefault(tuple(tuned.items()), []).append(run)
    best = lambda options: min(options, key=lambda option: badness(options[option], measure))
    return {cell: dict(best(options)) for cell, options in tried.items()}


def badness(runs, measure):
    """Fewest failures first, then the measure; where some failed, how far they came."""
    values = [measure.of(run) for run in runs]
    failures = sum(value.censored for value in values)
    if failures:
        return failures, mean([Measure.final(run, "test_loss").number for run in runs])
    return 0, mean([value.number for value in values]) * (1 if measure.less_is_better else -1)


def run_experiment(experiment, runner):
    measure = Measure(experiment.measure)
    runner.prepare(experiment)
    tuned = tune(experiment, runner, measure)
    # All cells of one seed, then those of the next: what else the machine does in real time hits all alike.
    lines = [cell.arguments(seed, tuned[cell]) for seed in experiment.seeds for cell in experiment.cells]
    runs = runner.many(experiment, lines, "")
    by_cell = {cell: runs[place::len(experiment.cells)] for place, cell in enumerate(experiment.cells)}
    return Table(experiment, by_cell, tuned, measure)
