"""Starts one drawn run, kills from outside, and judges how it ended."""
import json, os, signal, subprocess, tempfile, time

from draw import EPOCH

LONGEST_S = 60


class Judged:
    def __init__(self):
        self.wrong = []   # sentences
        self.losses = []  # as in JSON
        self.killed = 0   # from outside
        self.restarts = 0


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def kill_when_due(process, draw, judged):
    """Ranks are forked in their order, so the first list of children is by rank."""
    began, ranks = time.monotonic(), []
    for at, who in sorted(draw.outside):
        while time.monotonic() - began < at and process.poll() is None:
            if len(ranks) < draw.workers + draw.servers:
                ranks = children_of(process.pid)
            time.sleep(0.002)
        if process.poll() is None and who < len(ranks) and ranks[who] in children_of(process.pid):
            try:
                os.kill(ranks[who], signal.SIGKILL)
            except ProcessLookupError:  # it has just ended
                continue
            judged.killed += 1


def segments(pid):
    return {name for name in os.listdir("/dev/shm") if name.startswith(f"hogring.{pid}.")}


def account(draw, run, judged):
    """Every sample is trained on, lost, or was dropped."""
    scheduled = draw.epochs * EPOCH
    lost = sum(loss["samples_lost"] for loss in run["losses"])
    dropped = (run.get("dropped") or {}).get("samples", 0) if isinstance(run.get("dropped"), dict) else 0
    if run["samples"] + lost + dropped != scheduled:
        judged.wrong.append(f"{run['samples']} samples trained, {lost} lost, {dropped} dropped: not {scheduled}")


def acknowledged(run, judged):
    """What workers were told is in the weights."""
    if run["applied"] is not None and run["applied"] != run["updates"]:
        judged.wrong.append(f"{run['updates']} updates acknowledged, {run['applied']} in the weights")


def replay(binary, trace, digest, judged):
    done = subprocess.run([binary, "replay", trace, "--json", "-", "--quiet"], capture_output=True, text=True, timeout=LONGEST_S)
    if done.returncode != 0:
        judged.wrong.append(f"replay exits {done.returncode}: {done.stderr.strip()[-200:]}")
    elif json.loads(done.stdout)["runs"][0]["weights_digest"] != digest:
        judged.wrong.append("the replay has another digest")


def same_bits(binary, draw, run, judged):
    """As if nobody had been lost."""
    done = subprocess.run([binary, "train", *draw.unharmed, "--quiet", "--json", "-"], capture_output=True, text=True, timeout=LONGEST_S)
    if json.JSONDecoder().raw_decode(done.stdout)[0]["runs"][0]["weights_digest"] != run["weights_digest"]:
        judged.wrong.append("another digest than that of the run that lost nobody")


def run_one(binary, draw, record=False):
    judged = Judged()
    with tempfile.TemporaryDirectory() as folder:
        out, trace = os.path.join(folder, "out.json"), os.path.join(folder, "run.trace")
        command = [binary, "train", *draw.options, "--quiet", "--json", out] + (["--record", trace] if record else [])
        judged.command = " ".join(f"'{word}'" if " " in word or "(" in word else word for word in command)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        kill_when_due(process, draw, judged)
        try:
            _, said = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            judged.wrong.append(f"hangs: not over after {LONGEST_S} s")
            process.kill()
            process.communicate()
            return judged
        if process.returncode != 0:
            judged.wrong.append(f"exits {process.returncode}: {said.strip()[-300:]}")
            return judged
        with open(out) as f:
            run = json.load(f)["runs"][0]
        judged.losses, judged.restarts = run["losses"], run["restarts"]
        account(draw, run, judged)
        acknowledged(run, judged)
        if draw.repro or (draw.ends_term and all(loss["back"] for loss in run["losses"])):
            same_bits(binary, draw, run, judged)
        if record:
            replay(binary, trace, run["weights_digest"], judged)
    if segments(process.pid):
        judged.wrong.append(f"left in /dev/shm: {segments(process.pid)}")
    return judged
