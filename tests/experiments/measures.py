"""What is read from a run's JSON, as one number.

    seconds to test_loss 0.6     until the curve first crosses it (straight lines between
    samples to test_accuracy 80  evaluations); also updates to ..., epochs to ...
    final test_loss              at the last evaluation; also test_accuracy (in percent), train_loss
    milliseconds a step          seconds over updates of the whole model
    samples_per_s, staleness     of the whole run

What never reaches a target counts as its last evaluation, censored: the truth is worse. A loss that
is no number, or above that of guessing among ten classes (ln 10), counts as that, and is called
censored as well: the run failed, and by how much has no meaning.
"""
import math
from collections import namedtuple

Value = namedtuple("Value", "number censored")
GUESSING = math.log(10)


def field(point, name):
    value = point.get(name)
    if value is None or not math.isfinite(value):
        return 0.0 if name == "test_accuracy" else math.inf
    return 100 * value if name == "test_accuracy" else value


def first_crossing(curve, along, name, target):
    reached = (lambda y: y >= target) if name == "test_accuracy" else (lambda y: y <= target)
    before = None
    for point in curve:
        x, y = point[along], field(point, name)
        if reached(y):
            if before is None or not math.isfinite(before[1]) or y == before[1]:
                return Value(x, False)
            return Value(before[0] + (x - before[0]) * (target - before[1]) / (y - before[1]), False)
        before = x, y
    return Value(curve[-1][along] if curve else math.inf, True)


class Measure:
    """Parsed from the text above; `of(run)` is a Value; `less_is_better` says which way is good."""

    def __init__(self, text):
        self.text, words = text, text.split()
        self.less_is_better = not (text.startswith("final test_accuracy") or text == "samples_per_s")
        if len(words) == 4 and words[1] == "to":
            self.of = lambda run: first_crossing(run["curve"], words[0], words[2], float(words[3]))
        elif len(words) == 2 and words[0] == "final":
            self.of = lambda run: self.final(run, words[1])
        elif text == "milliseconds a step":
            self.of = lambda run: Value(1000 * run["seconds"] / run["steps"], False)
        elif text == "samples_per_s":
            self.of = lambda run: Value(run["samples_per_s"], False)
        elif text == "staleness":
            self.of = lambda run: Value(run["staleness"]["mean"], False)
        else:
            raise ValueError(f"measure '{text}': expected one of those in measures.py")

    @staticmethod
    def final(run, name):
        if not run["curve"]:
            return Value(10.0 if name == "test_accuracy" else GUESSING, True)
        number = field(run["curve"][-1], name)
        return Value(GUESSING, True) if name != "test_accuracy" and number > GUESSING else Value(number, False)
