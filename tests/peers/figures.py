"""FIGURES.md: a page of sections ("## Heading"), of which a run replaces those that it measured."""
import contextlib, os, re, sys, tempfile, textwrap


FIRST = "Beside the newest peers"  # stands before all others
# Rows of it, and how README calls them.
QUOTED = {"`mlp`, 2 workers, `allreduce`": "`mlp` on 2 workers", "`cnn`, 2 workers, `allreduce`": "`cnn` on 2", "`resnet8` at 3x32x32, 1 worker": "`resnet8` on one",
          "all_reduce of 1M, shared buffers": "all_reduce of 1 MiB"}


class Captured:
    text = ""


@contextlib.contextmanager
def captured():
    """What this process and its children print, for the page; shown when it is over."""
    kept, what = os.dup(1), Captured()
    with tempfile.TemporaryFile("w+") as file:
        sys.stdout.flush()
        os.dup2(file.fileno(), 1)
        try:
            yield what
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            what.text = file.read()
            print(what.text, end="", flush=True)


def replaced(page, heading, body):
    """The page with this section instead of the one it had, or behind all others."""
    section = f"## {heading}\n\n{body.strip()}\n"
    sections = re.split(r"^(?=## )", page, flags=re.M)
    at = [i for i, text in enumerate(sections) if text.startswith(f"## {heading}\n")]
    if at:
        sections[at[0]] = section
    else:
        sections.insert(1 if heading == FIRST else len(sections), section)
    return "\n".join(text.strip() + "\n" for text in sections)


def read(path):
    """The page; of one that is not there yet the title."""
    if not os.path.exists(path):
        return "# Figures of speed\n"
    with open(path) as file:
        return file.read()


def write(path, heading, facts, command, text, as_it_is=False):
    page = read(path)
    where = f"{facts['cpu']}, {facts['processors']} processors, {facts['when']}, load {facts['loadavg'][0]} before it: `{command}`"
    body = text if as_it_is else f"{where}\n\n```\n{text.strip()}\n```"
    with open(path, "w") as file:
        file.write(replaced(page, heading, body))


def measured(table):
    """The first cells of its rows that have figures."""
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ") and "left out:" not in line]
    return [cells[0][2:] for cells in rows if cells[0] != "| work"]


def lost(page, table):
    """Rows with figures on the page that this table would put none in the place of."""
    there = page.split(f"## {FIRST}\n")[1].split("\n## ")[0] if f"## {FIRST}\n" in page else ""
    return [row for row in measured(there) if row not in measured(table)]


# --- what README quotes ---

LINK = "- [tests/peers/FIGURES.md](tests/peers/FIGURES.md): speed on processors, divided by that of the fastest of PyTorch, JAX, Open MPI and others"


def quote(page):
    """README's line about the page: what it says of the rows that are ratios of training, in its own figures."""
    table = page.split(f"## {FIRST}\n")[1].split("\n## ")[0] if f"## {FIRST}\n" in page else ""
    said = []
    for name, words in QUOTED.items():
        row = next((line for line in table.splitlines() if line.startswith(f"| {name} ")), None)
        ratio = re.search(r"\| ([0-9.]+)x \[", row or "")
        if ratio:
            said.append(f"{words} {ratio[1]}x")
    what = f": {', '.join(said)}" if said else " (MPICH, LIBLINEAR)"
    return textwrap.fill(f"{LINK}{what}; `make peers` measures it here.", 100, subsequent_indent="  ")


QUOTE = re.compile(r"^- \[tests/peers/FIGURES\.md\].*(?:\n  .*)*", re.M)


def quote_in(readme, path):
    """README has the page's figures, and no others."""
    with open(path) as file:
        wanted = quote(file.read())
    with open(readme) as file:
        text = file.read()
    with open(readme, "w") as file:
        file.write(QUOTE.sub(lambda _: wanted, text))


if __name__ == "__main__":  # figures.py README PAGE: does README quote the page?
    with open(sys.argv[1]) as readme, open(sys.argv[2]) as page:
        wanted, there = quote(page.read()), QUOTE.findall(readme.read())
    if there != [wanted]:
        sys.exit(f"README says\n  {there}\nand the page\n  {wanted}")
