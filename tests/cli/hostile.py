#!/usr/bin/env python3
"""hostile.py FOLDER JSON...: documents that are anybody's: each of those given, with something else in places that a
seed draws (other types, huge numbers, markup, names of prototypes), one whose curves have 100,000 points, and one as
the first version wrote it: no labels, no comparison, and little of each run."""
import json, random, sys
from pathlib import Path

EVIL = ["</script><script>alert(1)</script>", "<!--<script>", "\"><img src=x onerror=alert(1)>", "\u202e gnp.exe \u0007", "__proto__", "constructor", "NaN", "",
        None, True, -1, 0, 1e308, -1e308, 5e-324, 2**53, [], {}, [[]], {"__proto__": {"n": 1}, "toString": 3, "hasOwnProperty": None}, "9" * 400]
KEPT = ("hogring", "config", "runs", "rows", "classes")


def spoil(value, draw, odds):
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        if key not in KEPT and draw.random() * odds < 1:
            value[key] = draw.choice(EVIL)
        elif isinstance(value[key], (dict, list)):
            spoil(value[key], draw, odds)
    if isinstance(value, dict) and draw.random() * odds < 1:
        value[draw.choice(["__proto__", "toString", "</script>", "constructor"])] = draw.choice(EVIL)


def main():
    folder, draw = Path(sys.argv[1]), random.Random(7)
    for path in sys.argv[2:]:
        for odds in (4, 30, 200):
            document = json.load(open(path))
            spoil(document, draw, odds)
            (folder / f"{Path(path).stem}-{odds}.json").write_text(json.dumps(document))
    document, kept = json.load(open(sys.argv[2])), ("strategy", "seed", "samples", "updates", "seconds", "samples_per_s", "test_loss", "test_accuracy", "curve")
    early = {"hogring": "0.0.1", "config": {"lr": 0.05}, "runs": [{key: run[key] for key in kept} for run in document["runs"]]}
    (folder / "early.json").write_text(json.dumps(early))
    for run in document["runs"][:2]:
        run["label"] = "</script><b>" + run["label"]
        run["curve"] = [{"samples": i, "seconds": i / 1e4, "epoch": i, "train_loss": 1 / (i + 1), "test_accuracy": None if i % 7 == 0 else draw.random()} for i in range(100000)]
    (folder / "long.json").write_text(json.dumps(document))


main()
