#!/usr/bin/env python3
"""page_check.py PAGE [JSON] [DOM]: is a page of hogring's strict HTML that stands on its own, holds the document it was
made from, and has its conclusion and table without scripts? And what a browser's scripts have made of it (DOM, as
chromium.py writes it): can screen readers follow it, and are its numbers those of the document? Names what is wrong
and exits 1."""
import base64, hashlib, json, math, re, sys
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input", "col"}
wrong = []


class Checker(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.stack, self.ids, self.refers, self.heads, self.tables, self.script, self.data = [], set(), [], [], [], [], []
        self.text, self.cells, self.svg = "", None, None

    def bad(self, what):
        wrong.append(f"line {self.getpos()[0]}: {what}")

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if len(given) != len(attributes):
            self.bad(f"<{tag}> has an attribute twice")
        if tag not in VOID:
            self.stack.append(tag)
        if "id" in given:
            if given["id"] in self.ids:
                self.bad(f"id {given['id']} twice")
            self.ids.add(given["id"])
        for name in ("aria-labelledby", "aria-describedby"):
            self.refers += given.get(name, "").split()
        if tag == "a" and given["href"].startswith("#"):
            self.refers.append(given["href"][1:])
        for name, value in attributes:
            if name.startswith("on") or name in ("src", "srcset", "action") or (name == "href" and not value.startswith("#")):
                self.bad(f"<{tag} {name}={value!r}>")
        if re.fullmatch("h[1-6]", tag):
            self.heads.append(int(tag[1]))
        if tag == "table":
            self.tables.append({"caption": False, "class": given.get("class", ""), "rows": []})
        if tag == "th" and given.get("scope") not in ("row", "col"):
            self.bad("<th> without scope")
        if tag == "tr" and self.tables:
            self.tables[-1]["rows"].append([])
        if tag in ("th", "td"):
            self.text = ""
        if tag == "caption":
            self.tables[-1]["caption"] = True
        if tag == "script":
            self.into = self.data if given.get("type") == "application/json" else self.script
        if tag == "svg" and given.get("role") == "img":
            self.svg = set()
        elif tag == "svg" and self.svg is None and given.get("aria-hidden") != "true":
            self.bad("<svg> that is neither a picture nor hidden")
        if tag in ("title", "desc") and self.svg is not None:
            self.svg.add(tag)

    def handle_startendtag(self, tag, attributes):
        self.bad(f"<{tag}/>")

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.bad(f"</{tag}> closes something else")
        if tag in ("th", "td") and self.tables and self.tables[-1]["rows"]:
            self.tables[-1]["rows"][-1].append(self.text.strip())
        if tag == "svg":
            if self.svg is not None and self.svg != {"title", "desc"}:
                self.bad("a picture without title and description")
            self.svg = None

    def handle_data(self, data):
        self.text += data
        if self.stack and self.stack[-1] == "script":
            self.into.append(data)


def check_structure(page, checker):
    if checker.stack:
        wrong.append(f"not closed: {checker.stack}")
    for name in checker.refers:
        if name not in checker.ids:
            wrong.append(f"nothing has the id {name}")
    if checker.heads[:1] != [1] or checker.heads.count(1) != 1:
        wrong.append("not one <h1> that comes first")
    for before, after in zip(checker.heads, checker.heads[1:]):
        if after > before + 1:
            wrong.append(f"<h{after}> after <h{before}>")
    for table in checker.tables:
        if not table["caption"]:
            wrong.append("a table without caption")
        if len({len(row) for row in table["rows"]}) > 1:
            wrong.append(f"rows of several lengths: {table['class']}: {sorted({len(row) for row in table['rows']})}")
    for landmark in ("<header>", "<main id=\"main\"", "<footer>"):
        if page.count(landmark) != 1:
            wrong.append(f"{page.count(landmark)} times {landmark}")
    for match in re.findall(r"\b(?:nan|-?inf|NaN|undefined|Infinity)\b|\[object", re.sub(r"<script.*?</script>", "", page, flags=re.S)):
        wrong.append(f"the page says {match}")


def check_source(page, checker):
    """What the file has: nothing runs but the one script; data that end in it alone; and the conclusion."""
    if not page.startswith("<!DOCTYPE html>\n<html lang=\"en\">"):
        wrong.append("no doctype or language")
    policy = re.search(r"'sha256-([^']+)'", page)
    real = base64.b64encode(hashlib.sha256("".join(checker.script).encode()).digest()).decode()
    if not policy or policy[1] != real:
        wrong.append(f"src/show/page/page.html: the script's hash is {real}")
    if "<" in "".join(checker.data) or page.count("<script") != 2:
        wrong.append("data that could break out of their script")
    if "{{" in page.split("<script")[0]:
        wrong.append("a brace of the template is left")
    if not re.search(r"<p class=\"conclusion\">[^<]*[.!?a-z]</p>", page):
        wrong.append("no conclusion without scripts")
    return json.loads("".join(checker.data))


def check_static(page, checker, document):
    """A row a strategy, without scripts: the mean of its accuracies."""
    rows = checker.tables[0]["rows"] if checker.tables else []
    labels = [run["label"] for run in document["runs"]]
    if document["comparison"]:
        labels = list(dict.fromkeys(labels))
    if [row[0] for row in rows[1:]] != labels:
        return wrong.append(f"without scripts: rows {[row[0] for row in rows[1:]]} instead of {labels}")
    for row in rows[1:]:
        values = [run["test_accuracy"] for run in document["runs"] if run["label"] == row[0] and run["test_accuracy"] is not None]
        if values and rows[0][1] == "test accuracy, %" and abs(float(row[1]) - 100 * sum(values) / len(values)) > 0.0051:
            wrong.append(f"without scripts: {row[0]} has {row[1]} %")


def table_of(checker, name):
    return next((table["rows"] for table in checker.tables if name in table["class"].split()), None)


def is_near(text, value):
    try:
        return math.isclose(float(text), value, rel_tol=2e-5, abs_tol=1e-9)
    except ValueError:
        return text == "–"


def check_curves(checker, document):
    """Mean, least and most at each evaluation, again from the document."""
    rows = table_of(checker, "curve-values")
    if rows is None:
        return wrong.append("no table of curves")
    head, groups, checked = rows[0], {}, 0
    for run in document["runs"]:
        groups.setdefault(run["label"], []).append(run["curve"])
    several = "runs" in head
    for label, curves in groups.items():
        shown = [row for row in rows[1:] if row[0] == label]
        if max(map(len, curves)) > 40:
            continue  # thinned
        if len(shown) != max(map(len, curves)):
            wrong.append(f"{label}: {len(shown)} evaluations")
        for i, row in enumerate(shown):
            points = [curve[i] for curve in curves if i < len(curve)]
            for key, title, factor in (("train_loss", "Train loss", 1), ("test_loss", "Test loss", 1), ("test_accuracy", "Test accuracy, %", 100)):
                values = [point[key] * factor for point in points if point[key] is not None]
                if title not in head or not values:
                    continue
                at = head.index(title)
                want = [sum(values) / len(values), min(values), max(values)]
                for text, value in zip(row[at:at + (3 if several else 1)], want):
                    checked += 1
                    if not is_near(text, value):
                        wrong.append(f"{label}, {title}: {text} instead of {value}")
            if not is_near(row[head.index("samples")], sum(point["samples"] for point in points) / len(points)):
                wrong.append(f"{label}: samples {row[head.index('samples')]}")
    if not checked:
        wrong.append("no number of a curve was compared")


def check_results(checker, document):
    rows, compared = table_of(checker, "results"), 0
    for row in rows[1:]:
        runs = [run for run in document["runs"] if row[0].startswith(run["label"])]
        for key, title, factor in (("test_accuracy", "Test accuracy, %", 100), ("test_loss", "Test loss", 1), ("updates", "updates", 1)):
            values = [run[key] for run in runs if run[key] is not None]
            if title not in rows[0] or not values:
                continue
            text, mean = row[rows[0].index(title)].split(" ± ")[0], factor * sum(values) / len(values)
            compared += 1
            if not math.isclose(float(text), mean, rel_tol=6e-3, abs_tol=1e-4):
                wrong.append(f"{row[0]}: {title} {text} instead of {mean}")
    if not compared:
        wrong.append("no number of the table was compared")


def check_comparisons(checker, document):
    """A row a test, in the document's order: sizes in points or as a ratio, p, and the verdict."""
    tests, rows = (document.get("comparison") or {}).get("comparisons", []), table_of(checker, "tests") or [[]]
    if len(rows) - 1 != len(tests):
        return wrong.append(f"{len(rows) - 1} rows of {len(tests)} comparisons")
    for row, test in zip(rows[1:], tests):
        factor = 100 if test["metric"] == "accuracy" else 1
        size = test["difference"] if test["ratio"] is None else test["ratio"]
        want = [] if size is None else [factor * x for x in [size] + (test["interval"] or [])]
        got = [float(x) for x in re.findall(r"[-+]?[\d.]+(?:e[-+]?\d+)?", row[4])]
        if len(got) != len(want) or not all(math.isclose(g, w, rel_tol=6e-3, abs_tol=1e-9) for g, w in zip(got, want)):
            wrong.append(f"{row[0]}, {row[1]}: {row[4]} instead of {want}")
        if test["p_adjusted"] is not None and not math.isclose(float(row[6]), test["p_adjusted"], rel_tol=6e-2):
            wrong.append(f"{row[0]}, {row[1]}: p {row[6]} instead of {test['p_adjusted']}")
        if [row[0], row[1], row[3], row[8]] != [test["a"], test["b"], str(test["n"]), test["verdict"]]:
            wrong.append(f"{row} instead of {test}")


def check_times(checker, document):
    """Shares of loading, computing, communicating and waiting in the time of all workers."""
    rows = table_of(checker, "times")
    for row in rows[1:] if rows else ():
        for phase in ("load", "compute", "communicate", "wait"):
            times = [run["time"] for run in document["runs"] if run["label"] == row[0]]
            whole = sum(time[name] for time in times for name in ("load", "compute", "communicate", "wait", "absent"))
            want, got = 100 * sum(time[phase] for time in times) / whole, float(row[rows[0].index(f"{phase}, %")])
            if abs(got - want) > 0.051:
                wrong.append(f"{row[0]}: {phase} {got} % instead of {want}")


def check_staleness(checker, document):
    rows = table_of(checker, "stale-values")
    if rows is None:
        return
    for label in {row[0] for row in rows[1:]}:
        want = sum(sum(run["staleness"]["histogram"]) for run in document["runs"] if run["label"] == label)
        got = sum(float(row[2]) for row in rows[1:] if row[0] == label)
        if got != want:
            wrong.append(f"{label}: {got} updates by staleness, and {want} in the document")


def parsed(path):
    page, checker = open(path, encoding="utf-8").read(), Checker()
    checker.feed(page)
    checker.close()
    check_structure(page, checker)
    return page, checker


def main():
    page, checker = parsed(sys.argv[1])
    data = check_source(page, checker)
    document = json.load(open(sys.argv[2])) if len(sys.argv) > 2 else None
    if document and data["documents"][0]["document"] != document:
        wrong.append("the document within the page is not that of the JSON file")
    if document and document.get("runs"):
        check_static(page, checker, document)
    if len(sys.argv) > 3:
        _, checker = parsed(sys.argv[3])
        check_curves(checker, document)
        check_results(checker, document)
        check_comparisons(checker, document)
        check_staleness(checker, document)
        check_times(checker, document)
    print("\n".join(f"{sys.argv[1]}: {line}" for line in wrong[:20]) or f"{sys.argv[1]}: good")
    return 1 if wrong else 0


sys.exit(main())
