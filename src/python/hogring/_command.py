"""The command as a child: options in, its JSON document out; its line of error is an exception."""

import json, os, re, shutil, signal, subprocess, sys, time
from pathlib import Path


class Error(Exception):
    """What hogring said, in its own line; exit_code, as `hogring help ci` has it; document: what it
    wrote to --json all the same (Comparison.of shows it), or None."""

    def __init__(self, line, exit_code, document=None):
        super().__init__(line)
        self.exit_code, self.document = exit_code, document


def path_of(name):
    """A file that was built into the package."""
    path = Path(__file__).with_name("built") / name
    if not path.exists():
        raise Error(f"{path}: is not there; pip install ./src/python builds it", 3)
    return str(path)


def help(words=""):
    """Print the command's help: on a command, a topic or an option; other words are searched."""
    run = subprocess.run(
        [path_of("hogring"), "help", *words.split()], capture_output=True, text=True
    )
    if run.returncode:
        raise Error(error_line(run.stderr.splitlines(), run.returncode), run.returncode)
    print(run.stdout, end="")


def arguments(options):
    """As options: lr=0.1 is --lr 0.1, tune=True is --tune, a list is joined by commas; None
    and False are left out."""
    out = []
    for name, value in options.items():
        value = value.item() if getattr(value, "ndim", None) == 0 else value  # NumPy's numbers
        flag = "--" + name.replace("_", "-")
        if value is True:
            out.append(flag)
        elif value is not None and value is not False:
            values = value if isinstance(value, (list, tuple)) else [value]
            out += [flag, ",".join(map(text, values))]
    return out


def text(value):
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def error_line(lines, exit_code):
    if exit_code < 0:
        return f"the command was ended by {signal.Signals(-exit_code).name}"
    said = [line[9:] for line in lines if re.match("hogring: (?!warning: )", line)]
    return (said or lines or [f"the command ended with exit code {exit_code}"])[-1]


class Progress:
    """A line that is drawn again and again, on a terminal and in a notebook; runs that have ended,
    and warnings, stay above it."""

    STAYS = re.compile(r"run \d+ of \d+  \S|hogring: (warning: |tun)")

    def __init__(self, wanted):
        self.live = sys.stderr.isatty() or "ipykernel" in sys.modules
        self.wanted, self.drawn, self.next = wanted, 0, 0.0

    def show(self, line):
        if re.search(r"(^|  )epoch [\d.e+]+/", line):
            if self.wanted and self.live and time.monotonic() >= self.next:
                self.next = time.monotonic() + 0.1
                line = line[: shutil.get_terminal_size().columns - 1]
                print("\r" + line.ljust(self.drawn), end="", file=sys.stderr, flush=True)
                self.drawn = len(line)
        elif self.STAYS.match(line) and (self.wanted or "warning" in line):
            self.clear()
            print(line, file=sys.stderr, flush=True)

    def clear(self):
        if self.drawn:
            print("\r" + " " * self.drawn, end="\r", file=sys.stderr, flush=True)
        self.drawn = 0


def run(command, options, data, progress=True):
    """Run it to its end, and return the document of --json; `data` is what HandedOver gives."""
    options = dict(options)
    wanted = options.pop("json", None)
    if options.get("help"):
        raise Error(f"--help: expected hogring.help({command!r})", 2)
    words = [path_of("hogring"), command, *arguments(options), *data.arguments, "--json", "-"]
    shown, lines = Progress(progress), []
    if shown.live and progress and not options.get("quiet") and not options.get("details"):
        words.append("--details")  # one line per evaluation
    out = os.memfd_create("hogring-json")
    try:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            pass_fds=data.fds,
            start_new_session=True,
            env={**os.environ, "HOGRING_PARENT": str(os.getpid())},
        )
        try:
            for line in child.stderr:
                lines = [*lines[-200:], data.named(line.rstrip("\n"))]
                shown.show(lines[-1])
            code = child.wait()
        except BaseException:  # Ctrl-C: the command stops after a step, and saves first
            child.terminate()
            stop(child)
            raise
        finally:
            shown.clear()
            child.stderr.close()
        document = Path(f"/proc/self/fd/{out}").read_bytes()
    finally:
        os.close(out)
    if document and wanted and wanted != "-":
        Path(wanted).write_bytes(document)
    document = json.loads(document) if document else None
    if code:
        failed = document and document.get("failed") or []
        said = [f"{run['label']}, seed {run['seed']}: {run['message']}" for run in failed]
        raise Error("; ".join(said) or error_line(lines, code), code, document)
    return document


def stop(child):
    """Until it is gone; what it says is read, or it would wait. A second Ctrl-C kills it."""
    try:
        child.communicate()
    except BaseException:
        child.kill()
        child.wait()
        raise
