#!/usr/bin/env python3
"""Judges, measures and intervals against answers that can be computed by hand."""
import sys
sys.dont_write_bytecode = True
import math, unittest

from intervals import mean_interval, t_quantile
from judges import judge
from measures import GUESSING, Measure, Value
from runs import badness
from spec import Cell


class Figures:
    """A table of figures that no run made: {workers: one number a seed}; None is censored at 100."""

    less_is_better = True

    def __init__(self, rows):
        self.rows = {str(workers): numbers for workers, numbers in rows.items()}
        self.nseeds = len(next(iter(rows.values())))

    def select(self, _):
        return [Cell("", {"workers": workers}, {}) for workers in self.rows]

    def values(self, cell):
        key = cell if isinstance(cell, str) else cell.value("workers")
        return [Value(100 if number is None else number, number is None) for number in self.rows[key]]


def verdict_of(rows, **claim):
    return judge({"judge": "ratio", "of": "1", "to": "8", **claim}, Figures(rows))


class Judges(unittest.TestCase):
    def test_quantiles_are_those_of_the_tables(self):
        for freedom, quantile in ((1, 12.706), (4, 2.776), (9, 2.262), (30, 2.042)):
            self.assertAlmostEqual(t_quantile(freedom), quantile, places=3)

    def test_an_interval_is_the_mean_and_t_standard_errors(self):
        self.assertEqual([round(end, 3) for end in mean_interval([1, 2, 3])], [2, -0.484, 4.484])
        self.assertEqual(mean_interval([5])[1:], (-math.inf, math.inf))

    def test_a_ratio_is_geometric_and_paired(self):
        found = verdict_of({1: [10, 40, 20], 8: [2, 8, 4]}, expected="4.9 .. 5.1")
        self.assertEqual((round(found.value, 6), found.verdict), (5, "reproduced"))

    def test_an_interval_on_both_sides_is_undecided(self):
        self.assertEqual(verdict_of({1: [10, 14], 8: [2, 2]}, expected="> 5.5").verdict, "undecided")
        self.assertEqual(verdict_of({1: [10, 10.1], 8: [2, 2]}, expected="> 5.5").verdict, "not reproduced")

    def test_what_is_censored_proves_nothing_on_its_side(self):
        slow = {1: [None, 99], 8: [2, 2]}
        self.assertEqual(verdict_of(slow, expected="> 40").verdict, "reproduced")
        self.assertEqual(verdict_of(slow, expected="< 60").verdict, "undecided")
        fast = {1: [200, 201], 8: [None, None]}
        self.assertEqual(verdict_of(fast, expected="> 1.5").verdict, "undecided")

    def test_nothing_is_neither_more_nor_less(self):
        for expected in ("> 1", "< 1"):
            self.assertEqual(verdict_of({1: [2, 2], 8: [2, 2]}, expected=expected).verdict, "not reproduced")

    def test_a_slope_is_the_exponent(self):
        found = verdict_of({1: [8, 8], 2: [4, 4.1], 4: [2, 2]}, judge="slope", along="workers", expected="-1.1 .. -0.9")
        self.assertEqual((round(found.value, 2), found.verdict), (-1, "reproduced"))

    def test_a_rule_holds_up_to_the_last_within_the_margin(self):
        rows = {32: [1, 1], 64: [1.1, 1.1], 128: [1.5, 1.5], 256: [1, 1]}
        found = verdict_of(rows, judge="holds", along="workers", margin="0.2", expected="63 .. 65")
        self.assertEqual((round(found.value), found.verdict), (64, "reproduced"))
        rows[128] = rows[64]
        self.assertEqual(verdict_of(rows, judge="holds", along="workers", margin="0.2", expected="32 .. 300").verdict, "undecided")


class Measures(unittest.TestCase):
    run_of = staticmethod(lambda *losses: {"curve": [{"seconds": 1.0 + i, "test_loss": loss} for i, loss in enumerate(losses)]})

    def test_a_target_is_crossed_between_evaluations(self):
        to_half = Measure("seconds to test_loss 0.5").of
        self.assertEqual(to_half(self.run_of(1.0, 0.75, 0.25)), (2.5, False))
        self.assertEqual(to_half(self.run_of(0.4, 0.3)), (1.0, False))
        self.assertEqual(to_half(self.run_of(1.0, 0.9)), (2.0, True))
        self.assertEqual(to_half(self.run_of(1.0, None)), (2.0, True))

    def test_a_loss_worse_than_guessing_counts_as_guessing(self):
        for loss in (None, 7e25):
            self.assertEqual(Measure("final test_loss").of(self.run_of(1.0, loss)), (GUESSING, True))

    def test_tuning_prefers_what_arrives_then_what_came_far(self):
        measure, first = Measure("seconds to test_loss 0.5"), self.run_of(1.0, 0.5)
        later, near, far = self.run_of(1.0, 0.8, 0.5), self.run_of(1.0, 0.6), self.run_of(1.0, 0.9)
        scores = [badness(runs, measure) for runs in ([first, first], [later, later], [later, near], [near, near], [near, far])]
        self.assertEqual(scores, sorted(scores))
        self.assertEqual(len(set(scores)), len(scores))

    def test_a_run_that_stopped_reaches_nothing(self):
        stopped = {"curve": []}
        self.assertEqual(Measure("seconds to test_loss 0.5").of(stopped), (math.inf, True))
        self.assertEqual(Measure("final test_accuracy").of(stopped), (10.0, True))
        self.assertEqual(verdict_of({1: [math.inf, 3], 8: [2, 2]}, expected="> 1").verdict, "undecided")


if __name__ == "__main__":
    unittest.main()
