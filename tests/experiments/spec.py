"""An experiment as its .ini file says it, and the grid of runs that follows from it.

    [experiment]
    title   = what is compared
    finding = the published finding, in words
    source  = who published it
    seeds   = 5                      judged runs of each cell: --seed 1 to 5
    command = simulate               or train, or compare with one of its --strategies; `clock = real` runs one at a time on all processors
    measure = seconds to test_loss 0.6           (measures.py says which there are)
    remark  = what a reader should know of the result
    prepare = data pack --out FILE   a hogring command that makes a file, once

    [options]       of every run, as hogring's own: name = value; an empty value means a bare flag
    [vary]          name = a | b | c: every combination is a cell
    [case NAME]     options of its own, multiplied with what it leaves open of [vary]
    [tune]          name = a | b | c: each cell gets the value whose measure is best over two other
                    seeds (101, 102), so that none is crippled and the judged seeds choose nothing
    [claim NAME]    judge = ratio | difference | slope | optimum | holds (judges.py), says = words
    [plot NAME]     panels of the picture (plots.py)

An option given as `-` is left out: a case can take back what [options] says.
"""
import configparser, itertools, os

TUNING_SEEDS = (101, 102)
PARTS = {"micro-batches": ("pipeline", "micro-batches"), "pipeline-schedule": ("pipeline", "schedule")}


class Mistake(Exception):
    """Something an author of an .ini file should repair."""


class Cell:
    """One point of the grid: options, without a seed. `varied` is what tells it from others."""

    def __init__(self, case, options, varied):
        self.case, self.varied = case, varied
        self.options = {name: value for name, value in options.items() if value != "-"}

    def label(self, without=()):
        words = [self.case] if self.case and "case" not in without else []
        return ", ".join(words + [f"{name} {value}" for name, value in self.varied.items() if name not in without]) or "all"

    def value(self, name):
        return self.case if name == "case" else self.options.get(name)

    def number(self, name):
        try:
            return float(self.value(name))
        except (TypeError, ValueError):
            raise Mistake(f"{name} of '{self.label()}' is {self.value(name)!r}, no number") from None

    def matches(self, selector):
        return all(self.value(name) in values for name, values in selector.items())

    def arguments(self, seed, tuned=None):
        options = dict(self.options, **(tuned or {}), seed=str(seed))
        return [word for name, value in options.items() for word in typed(name, value)]


def typed(name, value):
    """Words of the command line; keys that are parts of an option are said behind it."""
    if name in PARTS:
        return [f"--{PARTS[name][0]}", f"{PARTS[name][1]}={value}"]
    return [f"--{name}", value] if value else [f"--{name}"]


def selector_of(text):
    """'workers=8 strategy=ssp|ps-async' as {name: [values]}."""
    chosen = {}
    for word in (text or "").split():
        name, equals, values = word.partition("=")
        if not equals:
            raise Mistake(f"selector '{text}': expected name=value, not '{word}'")
        chosen[name] = values.split("|")
    return chosen


def choices(section):
    return {name: [value.strip() for value in values.split("|")] for name, values in section.items()}


def combinations(lists):
    return [dict(zip(lists, values)) for values in itertools.product(*lists.values())]


class Experiment:
    def __init__(self, path):
        self.name = os.path.splitext(os.path.basename(path))[0]
        ini = configparser.ConfigParser(interpolation=None)
        ini.optionxform = str
        try:
            with open(path, encoding="utf-8") as file:
                ini.read_file(file)
            head = ini["experiment"]
            self.title, self.finding, self.source, self.measure = (head[key] for key in ("title", "finding", "source", "measure"))
        except (configparser.Error, KeyError) as error:
            raise Mistake(f"{path}: {error}") from None
        self.command, self.remark = head.get("command", "simulate"), head.get("remark", "")
        self.prepare = [line for line in head.get("prepare", "").splitlines() if line]
        self.seeds = range(1, head.getint("seeds", 5) + 1)
        self.one_at_a_time = head.get("clock", "virtual") == "real"
        part = lambda name: dict(ini[name]) if ini.has_section(name) else {}
        named = lambda kind: {key[len(kind) + 1:]: dict(ini[key]) for key in ini.sections() if key.startswith(kind + " ")}
        self.options, self.vary, self.tune = part("options"), choices(part("vary")), choices(part("tune"))
        self.cases, self.claims, self.plots = named("case") or {"": {}}, named("claim"), named("plot")
        self.cells = [Cell(case, {**self.options, **varied, **own}, varied)
                      for case, own in self.cases.items() for varied in combinations(self.open_to(own))]

    def open_to(self, own):
        """What a case leaves to be varied."""
        return {name: values for name, values in self.vary.items() if name not in own}

    def select(self, text):
        found = [cell for cell in self.cells if cell.matches(selector_of(text))]
        if not found:
            raise Mistake(f"{self.name}: no cell is '{text}'")
        return found

    def one(self, text):
        found = self.select(text)
        if len(found) > 1:
            raise Mistake(f"{self.name}: '{text}' is not one cell but {len(found)}: {'; '.join(cell.label() for cell in found)}")
        return found[0]

    def tunings(self):
        return combinations(self.tune) if self.tune else []
