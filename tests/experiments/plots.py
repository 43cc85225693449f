"""One picture an experiment, by gnuplot, a panel for each [plot] section of its .ini file:

    curves = test_loss over seconds     means over seeds at each evaluation, a line a cell
    points = workers                    the measure over an option, with 95 % intervals
    where  = selector, lines = option   which cells; points: which options tell lines apart
    measure, title, xlabel, ylabel, log = x | y | xy, yrange = [0:2], xrange
"""
import os, subprocess

from intervals import mean, mean_interval
from measures import Measure, field
from spec import Mistake

# Okabe and Ito's colours for all kinds of colour vision, as in src/show/plot/drawing.c.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
POINTS = (7, 5, 9, 11, 13, 6, 4, 8)
WIDTH, HEIGHT = 470, 400


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def constants(cells):
    """Names of what is the same in all cells, and so need not be said in a legend."""
    names = {name for cell in cells for name in ("case", *cell.varied)}
    return {name for name in names if len({cell.value(name) for cell in cells}) == 1} if len(cells) > 1 else set()


def groups_of(cells, same):
    """[(label, cells)] that differ in nothing but the options in `same`."""
    groups = {}
    for cell in cells:
        groups.setdefault(cell.label(without=same), []).append(cell)
    return list(groups.items())


def curve(runs, x, y):
    """Means over seeds at each evaluation; ends where the shortest run or a number does."""
    rows = []
    for points in zip(*(run["curve"] for run in runs)):
        row = mean([field(point, x) for point in points]), mean([field(point, y) for point in points])
        rows.append(row)
    return rows


def curves_panel(panel, table):
    y, _, x = panel["curves"].partition(" over ")
    cells = table.select(panel.get("where"))
    lines = [(cell.label(without=constants(cells)), curve(table.runs[cell], x, y)) for cell in cells]
    labels = {"seconds": "seconds, virtual", "test_loss": "test loss", "test_accuracy": "test accuracy (%)"}
    if table.experiment.one_at_a_time:
        labels["seconds"] = "seconds"
    return lines, labels.get(x, x), labels.get(y, y), "with lines"


def points_panel(panel, table):
    along, chosen, lines = panel["points"], table.select(panel.get("where")), []
    for label, cells in groups_of(chosen, {along} | constants(chosen)):
        rows = []
        for place, cell in enumerate(cells):
            x = place if along == "case" else cell.number(along)
            numbers = [value.number for value in table.values(cell)]
            centre, low, high = mean_interval(numbers)
            rows.append((x, centre, min(numbers) if "y" in panel.get("log", "") and low <= 0 else low, high))
        lines.append((label, rows))
    return lines, along, table.measure.text, "with yerrorlines"


def data_blocks(lines, number):
    for place, (_, rows) in enumerate(lines):
        yield f"$p{number}_{place} << END"
        yield from (" ".join(f"{value:.9g}" for value in row) for row in rows)
        yield "END"


def panel_script(name, panel, table, number):
    if "measure" in panel:
        table = table.with_measure(Measure(panel["measure"]))
    if ("curves" in panel) == ("points" in panel):
        raise Mistake(f"[plot {name}]: expected curves = ... or points = ...")
    lines, xlabel, ylabel, style = (curves_panel if "curves" in panel else points_panel)(panel, table)
    yield from data_blocks(lines, number)
    yield f"set title {quoted(panel.get('title', name))}"
    yield f"set xlabel {quoted(panel.get('xlabel', xlabel))}; set ylabel {quoted(panel.get('ylabel', ylabel))}"
    yield "unset logscale; set xtics auto"
    yield f"set format x '{'%.0s%c' if xlabel == 'samples' else '%g'}'"  # 20000 as 20k
    yield f"set format y '{'%.1s%c' if 'samples' in ylabel else '%g'}'"
    everything = "[0:*]" if "curves" in panel else "[*:*]"
    yield f"set xrange {panel.get('xrange', everything)}; set yrange {panel.get('yrange', '[*:*]')}"
    for axis in panel.get("log", ""):
        yield f"set logscale {axis} {2 if axis == 'x' else 10}"
    if panel.get("points") and "curves" not in panel:
        places = sorted({row[0] for _, rows in lines for row in rows})
        cases = [cell.label() for cell in table.select(panel.get("where"))]
        names = cases if panel["points"] == "case" else [f"{x:g}" for x in places]
        yield "set xtics (" + ", ".join(f"{quoted(text)} {x:g}" for text, x in zip(names, places)) + ")"
    yield "plot " + ", \\\n ".join(
        f"$p{number}_{place} {style} lc rgb '{COLORS[place % len(COLORS)]}' lw 2 pt {POINTS[place % len(POINTS)]} ps 0.8 "
        f"dt {place // len(COLORS) + 1} title {quoted(label)}" for place, (label, _) in enumerate(lines))


def script(path, plots, table):
    columns = min(len(plots), 2)
    rows = (len(plots) + columns - 1) // columns
    terminal = "pngcairo" if path.endswith(".png") else "svg dynamic"
    yield f"set terminal {terminal} size {WIDTH * columns},{HEIGHT * rows} font 'sans-serif,12' background rgb 'white'"
    yield f"set output {quoted(path)}"
    yield "set offsets graph 0.03, graph 0.03, 0, 0"
    yield "set border 3 lc rgb '#404040'; set tics nomirror out; set grid lc rgb '#dddddd' lt 1 lw 0.8"
    yield "set key below samplen 2 width 1 font ',11' noenhanced; set title font ',13' noenhanced"
    yield "set xlabel noenhanced offset 0,0.4; set ylabel noenhanced"
    yield f"set multiplot layout {rows},{columns}"
    for number, (name, panel) in enumerate(plots.items()):
        yield from panel_script(name, panel, table, number)
    yield "unset multiplot"


def draw(path, table):
    """Writes the experiment's panels, as .svg or .png; gnuplot's complaint is a Mistake."""
    text = "\n".join(script(path, table.experiment.plots, table)) + "\n"
    done = subprocess.run(["gnuplot"], input=text, capture_output=True, text=True)
    if done.returncode != 0 or not os.path.getsize(path):
        raise Mistake(f"{table.experiment.name}: gnuplot: {done.stderr.strip()}")
