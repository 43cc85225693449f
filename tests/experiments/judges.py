"""From figures to verdicts. A judge turns a claim into one number a seed; the mean of these and its
95 % interval (Student's t over seeds) are held against what the claim expects:

    reproduced       the whole interval lies in what is expected
    not reproduced   no part of it does
    undecided        the interval has parts on both sides

A claim:  judge    = one of those below, with its own settings
          says     = the claim in words
          expected = `4 .. 6`, `> 1` or `< 0.5`
          measure  = another than the experiment's

Cells are chosen by selectors (`workers=8 strategy=ps-async`); seeds are paired: same data order,
same initial weights. Censored values (measures.py) are bounds, so they open the interval on their
side, and a verdict never rests on them.
"""
import math
from collections import namedtuple

from intervals import mean, mean_interval
from measures import Measure
from spec import Mistake

# numbers: one a seed. log: their means are geometric. up, down: the truth may lie higher, lower.
Evidence = namedtuple("Evidence", "numbers log up down")
Finding = namedtuple("Finding", "value low high verdict")


def opened(evidence, over, under):
    """Values above the line that are censored are larger in truth, those below it make it smaller."""
    return evidence._replace(up=any(v.censored for v in over), down=any(v.censored for v in under))


def ratio(claim, table):
    """of / to, each one cell; with `beside of` and `beside to`: that over theirs."""
    columns = [table.values(claim[name]) for name in ("of", "to")]
    columns += [table.values(claim[name]) for name in ("beside to", "beside of") if name in claim]
    signs = (1, -1, 1, -1)
    logs = [sum(sign * math.log(value.number) for sign, value in zip(signs, row)) for row in zip(*columns)]
    flat = lambda lists: [value for values in lists for value in values]
    return opened(Evidence(logs, True, False, False), flat(columns[0::2]), flat(columns[1::2]))


def difference(claim, table):
    """of - to, each one cell."""
    of, to = table.values(claim["of"]), table.values(claim["to"])
    return opened(Evidence([a.number - b.number for a, b in zip(of, to)], False, False, False), of, to)


def straight_line(xs, ys):
    """The slope of the least-squares line."""
    middle_x, middle_y = mean(xs), mean(ys)
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys)) / sum((x - middle_x) ** 2 for x in xs)


def slope(claim, table):
    """The exponent p of measure ~ along^p over the cells of `where`."""
    cells = table.select(claim.get("where"))
    xs = [math.log(cell.number(claim["along"])) for cell in cells]
    rows = list(zip(*(table.values(cell) for cell in cells)))
    if any(value.censored for row in rows for value in row):
        raise Mistake(f"slope along {claim['along']}: a value is censored; choose another measure")
    return Evidence([straight_line(xs, [math.log(value.number) for value in row]) for row in rows], False, False, False)


def optimum(claim, table):
    """How the best `of` changes with a doubling of `along`: per seed the value of `of` whose measure
    is best at each `along`, and the slope of a line through these over log2(along)."""
    cells = table.select(claim.get("where"))
    better = min if table.less_is_better else max
    groups = {}
    for cell in cells:
        groups.setdefault(cell.number(claim["along"]), []).append(cell)
    slopes = []
    for seed in range(table.nseeds):
        number = lambda cell: table.values(cell)[seed].number
        best = [better(group, key=number).number(claim["of"]) for group in groups.values()]
        slopes.append(straight_line([math.log2(along) for along in groups], best))
    return Evidence(slopes, False, False, False)


def holds(claim, table):
    """The largest `along` up to which the measure is within `margin` of the first cell's mean."""
    cells = sorted(table.select(claim.get("where")), key=lambda cell: cell.number(claim["along"]))
    sign, margin = (1 if table.less_is_better else -1), float(claim["margin"])
    base = mean([value.number for value in table.values(cells[0])])
    last, beyond = [], False
    for seed in range(table.nseeds):
        good = 0
        while good + 1 < len(cells) and sign * (table.values(cells[good + 1])[seed].number - base) <= margin:
            good += 1
        last.append(math.log(cells[good].number(claim["along"])))
        beyond |= good + 1 == len(cells)
    return Evidence(last, True, beyond, False)


JUDGES = {judge.__name__: judge for judge in (ratio, difference, slope, optimum, holds)}


def expected_range(text):
    """(least, most), both of which are still expected."""
    words = text.split()
    if len(words) == 2 and words[0] == ">":
        return math.nextafter(float(words[1]), math.inf), math.inf
    if len(words) == 2 and words[0] == "<":
        return -math.inf, math.nextafter(float(words[1]), -math.inf)
    if len(words) == 3 and words[1] == "..":
        return float(words[0]), float(words[2])
    raise Mistake(f"expected = {text}: expected `4 .. 6`, `> 1` or `< 0.5`")


def verdict(low, high, expected):
    least, most = expected_range(expected)
    if least <= low and high <= most:
        return "reproduced"
    return "not reproduced" if high < least or low > most else "undecided"


def judge(claim, table):
    if claim.get("judge") not in JUDGES:
        raise Mistake(f"judge = {claim.get('judge')}: expected one of {', '.join(JUDGES)}")
    if "measure" in claim:
        table = table.with_measure(Measure(claim["measure"]))
    evidence = JUDGES[claim["judge"]](claim, table)
    value, low, high = mean_interval(evidence.numbers)
    if evidence.log:
        value, low, high = (math.exp(end) if end < 700 else math.inf for end in (value, low, high))
    bottom = 0.0 if evidence.log else -math.inf
    low, high = (bottom if evidence.down else low), (math.inf if evidence.up else high)
    return Finding(value, low, high, verdict(low, high, claim["expected"]))
