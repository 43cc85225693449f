"""One cell: one launch of a program, limited in time, whose standard output is JSON lines.

A cell that overruns is ended with everything that it started: launchers put their ranks into
sessions of their own, so the processes are found by a mark in their environment.
"""
import ctypes, itertools, json, os, random, shutil, signal, subprocess, sys, tempfile, time

MARK = "HOGRING_PEERS_CELL"
_numbers = itertools.count()


def _prctl(*words):
    try:
        ctypes.CDLL(None).prctl(*words, 0, 0, 0)
    except (OSError, AttributeError):
        pass


def adopt_orphans():
    """Ranks whose launcher was killed become ours: their CPU time is known as ours, and end_family finds them."""
    _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def end_with_parent():
    """For a child, before it becomes another program: it is told to end when this process does, killed or not."""
    _prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def signals_raise():
    """What ends this process runs `finally`, as Ctrl-C does."""
    def leave(number, frame):
        sys.exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)


def end_family():
    """Kill all that this process, which adopts orphans, has started and that still lives; wait for them."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    while True:
        for pid in _family(os.getpid())[0] - {os.getpid()}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _marked(mark):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                pass
    return found


def _end(process, mark):
    for sig, patience in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
        for pid in {process.pid, *_marked(mark)}:
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                pass
        until = time.monotonic() + patience
        while time.monotonic() < until and (process.poll() is None or _marked(mark)):
            time.sleep(0.05)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


class Cell:
    """rows: the JSON objects printed; ended: "ok", "time limit" or "failed"; error: the last words."""

    def __init__(self, command, environment=None, limit=60.0, whole=False):
        mark = f"{os.getpid()}.{next(_numbers)}"
        env = dict(os.environ, **(environment or {}), **{MARK: mark})
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            began = time.monotonic()
            try:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                           env=env, start_new_session=True, preexec_fn=end_with_parent)
            except OSError as failure:
                self.rows, self.ended, self.error, self.seconds = [], "failed", str(failure), 0.0
                return
            self.ended = "ok"
            try:
                if process.wait(limit) != 0:
                    self.ended = "failed"
            except subprocess.TimeoutExpired:
                self.ended = "time limit"
            except BaseException:
                _end(process, f"{MARK}={mark}".encode())
                raise
            if self.ended != "ok":
                _end(process, f"{MARK}={mark}".encode())
            self.seconds = time.monotonic() - began
            self.code = process.returncode
            out.seek(0), err.seek(0)
            self.rows = _objects(out.read(), whole)
            self.error = " ".join(err.read().split())[-300:]


def _objects(text, whole):
    rows = []
    for piece in [text] if whole else text.splitlines():
        try:
            rows.append(json.loads(piece))
        except ValueError:
            pass
    return [row for row in rows if isinstance(row, dict)]


def _family(root):
    """`root` and all that it has started and still lives; processor time, in ticks, of each, and of those that it has waited for."""
    parent, ticks = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                words = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        parent[int(name)], ticks[int(name)] = int(words[1]), sum(map(int, words[11:15]))  # utime, stime, and children's
    family, found = {root}, True
    while found:
        found = {pid for pid, of in parent.items() if of in family} - family
        family |= found
    return family, ticks


def _family_ticks(root):
    family, ticks = _family(root)
    return sum(ticks.get(pid, 0) for pid in family)


class Load:
    """The share of the processors' time that others took (and the host: steal) since it was made: neither this process nor what it has
    started, which may go on from row to row."""

    def __init__(self):
        self.own, self.busy, self.steal, self.total = self._now()

    @staticmethod
    def _now():
        with open("/proc/stat") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        second = os.sysconf("SC_CLK_TCK")
        own = _family_ticks(os.getpid()) / second
        user, nice, system, idle, iowait, irq, softirq, steal = ticks
        return own, (user + nice + system) / second, steal / second, sum(ticks) / second

    def so_far(self):
        own, busy, steal, total = self._now()
        total = max(total - self.total, 1e-9)
        others = max(0.0, (busy - self.busy) - (own - self.own)) / total
        return {"others": round(others, 4), "steal": round((steal - self.steal) / total, 4),
                "loadavg": " ".join(open("/proc/loadavg").read().split()[:3])}


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def middle(values):
    """(median, low, high): where the median lies with 95 %, from order statistics, as hr_middle of the program has it."""
    ordered, n = sorted(values), len(values)
    out, term = 0, 0.5 ** n
    tail = term
    while True:
        term *= (n - out) / (out + 1)
        tail += term
        if 2 * tail > 0.05:
            return median(ordered), ordered[out], ordered[n - 1 - out]
        out += 1


def ratio(over, under, draws=2000):
    """median(over) / median(under) with a bootstrap 95 % interval over the rounds that have both;
    None below three such rounds."""
    pairs = [(a, b) for a, b in zip(over, under) if a is not None and b is not None]
    if len(pairs) < 3:
        return None
    chance = random.Random(1)
    values = []
    for _ in range(draws):
        drawn = chance.choices(pairs, k=len(pairs))
        values.append(median([a for a, _ in drawn]) / median([b for _, b in drawn]))
    values.sort()
    return {"ratio": median([a for a, _ in pairs]) / median([b for _, b in pairs]), "rounds": len(pairs),
            "low": values[int(0.025 * draws)], "high": values[int(0.975 * draws) - 1]}


def judge(result, must, stretch, load, less_is_better=False):
    """What may be said of a ratio: nothing, when others used the machine or the rounds disagree."""
    if result is None:
        return "no result"
    if load["others"] > 0.05 or load["steal"] > 0.05:
        return "not judged (load)"
    if result["high"] - result["low"] > 0.2 * result["ratio"]:
        return "interval too wide"
    if less_is_better:
        return "stretch" if result["high"] <= stretch else "must" if result["high"] <= must else "MISSED"
    return "stretch" if result["low"] >= stretch else "must" if result["low"] >= must else "MISSED"


def interval(result):
    if result is None:
        return f"{'-':>7} {'':15}"
    return f"{result['ratio']:6.2f}x {'[%.2f, %.2f]' % (result['low'], result['high']):15}"


def which(*names):
    return next((path for path in map(shutil.which, names) if path), None)
