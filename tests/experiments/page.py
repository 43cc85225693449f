"""results.json, which holds what was found, and results.md, which is made from nothing else."""
import json, os, shlex

from intervals import mean, mean_interval
from spec import typed

MEANING = """Each experiment checks a published finding: how it was run, what came out, and a verdict. A verdict
rests on a 95 % interval (Student's t over seeds, paired where two cells are compared): **reproduced** when
the whole interval lies in what the claim expects, **not reproduced** when none of it does, **undecided**
otherwise. Seconds are virtual (`hogring simulate`: gradients are computed, the clock is simulated) unless
it says real; virtual runs give the same figures on every machine with the same GEMM kernels. Where a
table says *tuned*, the setting was chosen for each row alone, on two seeds that are not judged.
A cell with `>` did not reach its target (or had failed) in so many of its runs: those count as their bound."""


def rounded(number):
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:,.0f}"


def span(finding):
    low, high = (rounded(finding[end]) if abs(finding[end]) != float("inf") else "inf" for end in ("low", "high"))
    return f"{rounded(finding['value'])} [{low if low != 'inf' else '-inf'}, {high}]"


def row_of(cell, table):
    values = table.values(cell)
    centre, low, high = mean_interval([value.number for value in values])
    return {"cell": cell.label(), "tuned": table.tuned[cell], "mean": centre, "low": low, "high": high,
            "censored": sum(value.censored for value in values), "seeds": len(values),
            **({"chosen": chosen} if any(chosen := [run.get("chosen", {}) for run in table.runs[cell]]) else {})}


def shell_loops(experiment):
    """The runs as a shell says them, one block of loops a case; tuned options stand as variables."""
    for own in experiment.cases.values():
        free = experiment.open_to(own)
        options = {**experiment.options, **own}
        line = ["build/hogring", experiment.command]
        for name, value in options.items():
            if value != "-" and name not in free:
                line += typed(name, shlex.quote(value) if value else value)
        line += [word for name in [*free, *experiment.tune] for word in typed(name, f"\"${name.replace('-', '_')}\"")]
        loops = [f"for {name.replace('-', '_')} in {shlex.join(values)}; do" for name, values in free.items()]
        loops.append(f"for seed in {' '.join(map(str, experiment.seeds))}; do")
        yield " ".join(loops) + "\n  " + " ".join(line + ["--seed $seed"]) + "\n" + "; ".join(["done"] * len(loops))


def means_of(claim, table):
    """Of the two cells that a difference is between."""
    if claim["judge"] != "difference":
        return {}
    return {"means": [mean([value.number for value in table.values(claim[name])]) for name in ("to", "of")]}


def entry_of(experiment, table, findings, about):
    claims = [{"name": name, "says": claim["says"], "expected": claim["expected"], "judge": claim["judge"],
               **means_of(claim, table), **finding._asdict()} for (name, claim), finding in zip(experiment.claims.items(), findings)]
    return {"title": experiment.title, "finding": experiment.finding, "source": experiment.source,
            "measure": experiment.measure, "remark": experiment.remark, "seeds": len(experiment.seeds),
            "prepare": experiment.prepare, "commands": list(shell_loops(experiment)), "tune": experiment.tune,
            "rows": [row_of(cell, table) for cell in experiment.cells], "claims": claims, **about}


def chosen(value, choices):
    """What tuning chose; at the edge of its choices something beyond might be better still."""
    return value + (" (edge)" if len(choices) > 1 and value in (choices[0], choices[-1]) else "")


def choices_of(row):
    """What hogring's own --tune chose, a value a seed: "lr 0.01 0.02 0.01"."""
    names = dict.fromkeys(name for values in row.get("chosen", []) for name in values)
    return ", ".join(" ".join([name] + [f"{values[name]:g}" for values in row["chosen"] if name in values]) for name in names)


def figures(entry):
    tuned, own = list(entry["tune"]), any("chosen" in row for row in entry["rows"])
    heads = [entry["measure"], "mean", "95 % interval"] + [f"tuned {name}" for name in tuned] + ["chosen"] * own
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in entry["rows"]:
        bound = f"> {row['censored']} of {row['seeds']}" if row["censored"] else ""
        cells = [row["cell"], f"{rounded(row['mean'])} {bound}".strip(), f"{rounded(row['low'])} to {rounded(row['high'])}"]
        cells += [chosen(row["tuned"][name], entry["tune"][name]) for name in tuned]
        yield "| " + " | ".join(cells + [choices_of(row)] * own) + " |"


def pairs(entry):
    """What differences are between."""
    rows = [claim for claim in entry["claims"] if "means" in claim]
    if rows:
        yield f"| {entry['measure']} | to | of | of - to | 95 % interval | verdict |\n|---|---|---|---|---|---|"
    text = "{:.2f}".format if "accuracy" in entry["measure"] else rounded  # percent, or what has no scale
    for claim in rows:
        to, of = (text(number) for number in claim["means"])
        yield f"| {claim['name']} | {to} | {of} | {text(claim['value'])} | {text(claim['low'])} to {text(claim['high'])} | **{claim['verdict']}** |"


def section(name, entry):
    yield f"## {entry['title']}\n"
    yield f"**Finding.** {entry['finding']} *({entry['source']})*\n"
    for claim in entry["claims"]:
        yield f"- **{claim['verdict'].capitalize()}**: {claim['says']} Expected {claim['expected']}; found {span(claim)}."
    if entry["remark"]:
        yield "\n" + entry["remark"]
    yield f"\n![{entry['title']}]({name}.svg)\n"
    yield from pairs(entry)
    yield ""
    yield from figures(entry)
    how = f"{entry['seeds']} seeds, {entry['seconds']:.0f} s, {entry['when']}, {entry['machine']}, hogring {entry['version']}"
    yield f"\n<details><summary>How it was run: {how}</summary>\n\n```"
    yield from (f"build/hogring {line}" for line in entry["prepare"])
    for option, values in entry["tune"].items():
        yield f"# {option}: the best of {', '.join(values)} on seeds 101 and 102; the table says which"
    yield "\n".join(entry["commands"]) + "\n```\n</details>\n"


def render(report):
    yield "# What the experiments show\n"
    yield f"Made by `{report['command']}`, {report['when']}, {report['seconds']:.0f} s; each says below how it was run, and on what."
    yield "Do not edit: `tests/experiments/run.py` writes it.\n"
    yield MEANING + "\n"
    yield "| experiment | claim | verdict | found | expected |\n|---|---|---|---|---|"
    for entry in report["experiments"].values():
        anchor = "".join(c for c in entry["title"].lower().replace(" ", "-") if c.isalnum() or c in "-_")
        for place, claim in enumerate(entry["claims"]):
            title = f"[{entry['title']}](#{anchor})" if place == 0 else ""
            yield f"| {title} | {claim['says']} | **{claim['verdict']}** | {span(claim)} | {claim['expected']} |"
    yield ""
    for name, entry in report["experiments"].items():
        yield from section(name, entry)


def read(folder):
    try:
        with open(os.path.join(folder, "results.json")) as file:
            return json.load(file)
    except FileNotFoundError:
        return {"experiments": {}}


def write(folder, report):
    with open(os.path.join(folder, "results.json"), "w") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    with open(os.path.join(folder, "results.md"), "w") as file:
        file.write("\n".join(render(report)))
