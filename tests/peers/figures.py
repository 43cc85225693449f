"""FIGURES.md: a page of sections ("## Heading"), of which a run replaces those that it measured."""
import contextlib, os, re, sys, tempfile


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
        sections.append(section)
    return "\n".join(text.strip() + "\n" for text in sections)


def write(path, heading, facts, command, text):
    with open(path) as file:
        page = file.read()
    where = f"{facts['cpu']}, {facts['processors']} processors, {facts['when']}, load {facts['loadavg'][0]} before it: `{command}`"
    with open(path, "w") as file:
        file.write(replaced(page, heading, f"{where}\n\n```\n{text.strip()}\n```"))
