"""compare and train, and what they give."""

import html, os, re, shlex, shutil
import pandas
from . import _command
from ._arrays import HandedOver, folder_in_memory, refuse
from ._model import load


def started(command, arrays, options, progress):
    if arrays[0] is not None and "data" in options:
        refuse("X and data: expected one of them")
    if isinstance(arrays[0], (str, os.PathLike)):
        refuse(
            f"X is {os.fspath(arrays[0])!r}; expected an array, or data={os.fspath(arrays[0])!r}"
        )
    with HandedOver(*arrays) as data:
        return _command.run(command, options, data, progress)


class Run:
    """One training run. Every field that it has in --json is an attribute (`hogring help json`):
    test_accuracy, seconds, weights_digest, ..."""

    def __init__(self, record, document, model=None):
        self.record, self.document, self.model = record, document, model

    def __getattr__(self, name):
        record = self.__dict__.get("record", {})
        if name in record:
            return record[name]
        raise AttributeError(f"a run has no {name!r}; it has {', '.join(record)}")

    @property
    def curve(self):
        """A row for each evaluation: samples, seconds, epoch, losses, accuracy."""
        return table_of(pandas.json_normalize(self.record["curve"]))

    def __repr__(self):
        score = score_text(self.record)
        return (
            f"<hogring.Run {self.label}: {score}, {self.updates} updates in {self.seconds:.3g} s>"
        )


def score_text(record):
    fit = record["test_fit"]
    if fit:
        return f"test rmse {fit['rmse']:.4g}"
    accuracy = record["test_accuracy"]
    return "no test accuracy" if accuracy is None else f"test accuracy {100 * accuracy:.2f} %"


def row_of(record):
    """What the command's table shows of a run."""
    time = record["time"]
    total = sum(time[part] for part in ("load", "compute", "communicate", "wait"))
    row = {key: record[key] for key in ("label", "strategy", "seed", "test_accuracy", "test_loss")}
    row.update(record["test_fit"] or {})
    for key in ("seconds", "target_seconds", "samples_per_s", "updates", "lr"):
        row[key] = record[key]
    row["staleness"], row["staleness_max"] = record["staleness"]["mean"], record["staleness"]["max"]
    row["wait"] = time["wait"] / total if total else None
    row["weights_digest"] = record["weights_digest"]
    return row


def table_of(rows):
    return pandas.DataFrame(rows).dropna(axis="columns", how="all")


def call_of(command, given):
    """hogring compare --epochs 5 --tune --seeds 5, as a call: what is not given, is said."""
    words, new = shlex.split(command)[2:], []
    for word, value in zip(words, [*words[1:], "--"]):
        name = word[2:].replace("-", "_")
        value = "True" if value.startswith("--") else value
        if word.startswith("--") and given.get(word[2:]) not in (value, "on"):
            new.append(f"{name}={value if re.fullmatch('True|[0-9.]+', value) else repr(value)}")
    return f"hogring.compare(..., {', '.join(new)})"


class Comparison(pandas.DataFrame):
    """The table of a comparison, one row per strategy, means over the seeds: a DataFrame.
    Beside it: verdict (text), runs (one row per run), curves (one row per evaluation),
    document (all of --json)."""

    _metadata = ["document"]

    @property
    def _constructor(self):
        return pandas.DataFrame

    @classmethod
    def of(cls, document):
        runs = pandas.DataFrame([row_of(record) for record in document["runs"]])
        by_label = runs.drop(columns=["seed", "staleness_max"]).groupby("label", sort=False)
        table = by_label.mean(numeric_only=True)
        score = "rmse" if "rmse" in table else "test_accuracy"
        if len(runs) > len(table) and score in table:
            table.insert(list(table).index(score) + 1, score + "_sd", by_label[score].std())
        out = cls(table.dropna(axis="columns", how="all"))
        out.document = document
        out.attrs["verdict"] = out.verdict
        return out

    @property
    def verdict(self):
        """What can be said, in the command's words."""
        comparison = self.document["comparison"] or {}
        text = "\n".join(comparison.get("conclusion", []))
        as_call = lambda found: call_of(found[0], self.document["given"])
        return re.sub("hogring compare --.*$", as_call, text, flags=re.MULTILINE)

    @property
    def runs(self):
        return table_of([row_of(record) for record in self.document["runs"]])

    @property
    def curves(self):
        points = []
        for record in self.document["runs"]:
            own = {"label": record["label"], "seed": record["seed"]}
            points += [{**own, **point} for point in record["curve"]]
        return table_of(pandas.json_normalize(points))

    def __repr__(self):
        table = self.to_string(
            float_format="{:.4g}".format, line_width=shutil.get_terminal_size().columns
        )
        return f"{table}\n\n{self.verdict}".rstrip()

    def _repr_html_(self):
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self.verdict.splitlines())
        return pandas.DataFrame(self)._repr_html_() + lines


def compare(X=None, y=None, strategies=None, *, X_test=None, y_test=None, progress=True, **options):
    """Train under several strategies, from the same weights, on the same samples in the same order.

    X, y         arrays, or a DataFrame; or data="digits", a file or a folder. Without X_test and
                 y_test a fifth is held out.
    strategies   names, with options of their own as "ssp:staleness=1"; default five
    options      of `hogring compare`: workers=4, epochs=5, tune=True, seeds=5, ...
    progress     False: say warnings alone

    Gives a DataFrame with .verdict, .runs and .curves. Raises hogring.Error.
    """
    if strategies is not None:
        options["strategies"] = strategies
    return Comparison.of(started("compare", (X, y, X_test, y_test), options, progress))


def train(X=None, y=None, *, X_test=None, y_test=None, progress=True, **options):
    """Train one model under one strategy; arguments as for compare, options of `hogring train`.

    Gives a Run, whose .model predicts. Its weights are kept in files with checkpoint_dir="runs/x"
    alone.
    """
    with folder_in_memory() as folder:
        if not {"checkpoint_dir", "resume", "digest_every"}.intersection(options):
            rarely = {"checkpoint_every": "1000000epochs", "keep": 1}
            options = {**rarely, **options, "checkpoint_dir": folder}
        document = started("train", (X, y, X_test, y_test), options, progress)
        record = document["runs"][0]
        model = load(record["checkpoint"]) if record["checkpoint"] else None
        if options.get("checkpoint_dir") == folder:
            record["checkpoint"] = None  # it is gone when this returns
        return Run(record, document, model)
