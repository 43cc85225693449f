"""What --log and --tensorboard wrote, compared with the JSON of the same runs.

    metrics.py log FILE.jsonl RESULTS.json         the lines add up to what the JSON says
    metrics.py board DIR RESULTS.json              TensorBoard's reader finds the same values
    metrics.py purged DIR FILE.jsonl               a run that was resumed: each step, with the log's loss, rate, norm
    metrics.py records FILE                        TFRecords, by hand: prints wall time, step, tags
Prints what differs, and exits 1.
"""
import json, math, struct, sys
from collections import Counter, defaultdict
from pathlib import Path

wrong = []

def same(what, got, want, rtol=1e-6):
    if got is None or want is None:
        if got is not want:
            wrong.append(f"{what}: {got}, wanted {want}")
    elif not math.isclose(got, want, rel_tol=rtol, abs_tol=1e-9):
        wrong.append(f"{what}: {got!r}, wanted {want!r}")

def load(path):
    """All lines are whole."""
    text = Path(path).read_bytes()
    assert text.endswith(b"\n"), "the last line is torn"
    return [json.loads(line) for line in text.splitlines()]

def name_of(run):
    return f"{run['strategy']}/seed-{run['seed']}"

def check_run(run, lines):
    name = name_of(run)
    by = defaultdict(list)
    for line in lines:
        by[line["event"]].append(line)
    if lines[0]["event"] != "start" or lines[-1]["event"] != "end":
        wrong.append(f"{name}: from {lines[0]['event']} to {lines[-1]['event']}")
    end, steps = by["end"][0], by["step"]
    same(f"{name}: exit", end["exit"], 0)
    if end["weights_digest"] != run["weights_digest"]:
        wrong.append(f"{name}: digest {end['weights_digest']}")
    points = [{k: v for k, v in e.items() if k in run["curve"][0]} for e in by["evaluation"]]
    if points != run["curve"]:
        wrong.append(f"{name}: evaluations {points}, wanted {run['curve']}")
    same(f"{name}: steps", max(s["step"] for s in steps), run["steps"])
    counted = [s for s in steps if "dropped" not in s]
    same(f"{name}: samples", sum(s["batch"] for s in counted), run["samples"])
    same(f"{name}: dropped", len(steps) - len(counted), run["dropped"]["gradients"] if run["dropped"] else 0)
    if run["conflicts"]: # of a sparse model: blocks of rows, one behind the other, and an objective that is no mean
        check_blocks(name, steps)
    for epoch, point in enumerate([] if run["conflicts"] else run["curve"], 1):
        its = [s for s in counted if s["epoch"] == epoch]
        same(f"{name}: loss of epoch {epoch}", sum(s["loss"] * s["batch"] for s in its) / sum(s["batch"] for s in its), point["train_loss"])
    for w, time in enumerate(run["time"]["workers"]):
        mine = [s for s in steps if s["worker"] == w]
        if not mine or mine[-1]["epoch"] < len(run["curve"]):
            continue # it found no batch in the last epoch
        for kind in ("load", "compute", "communicate", "wait"):
            same(f"{name}: {kind} of worker {w}", sum(s[kind + "_s"] for s in mine), time[kind])
        if [s["seconds"] for s in mine] != sorted(s["seconds"] for s in mine):
            wrong.append(f"{name}: worker {w} goes back in time")
    if run["staleness"] and not run["conflicts"]:
        stale = Counter(int(s["staleness"]) for s in counted if s["staleness"] is not None)
        if [stale.get(i, 0) for i in range(len(run["staleness"]["histogram"]))] != run["staleness"]["histogram"] or \
           sum(stale.values()) != sum(run["staleness"]["histogram"]):
            wrong.append(f"{name}: staleness {stale}, wanted {run['staleness']['histogram']}")

def check_blocks(name, steps):
    done = 0
    for s in sorted(steps, key=lambda s: s["step"]):
        if not 0 < s["batch"] <= 256 or s["step"] != done + s["batch"] or s["samples"] != s["step"]:
            wrong.append(f"{name}: block {s} behind row {done}")
        if s["norm"] is not None or s["staleness"] is not None or not s["loss"] >= 0:
            wrong.append(f"{name}: block {s}")
        done = s["step"]

def check_log(path, results):
    lines = load(path)
    runs = json.load(open(results))["runs"]
    for run in runs:
        check_run(run, [line for line in lines if line["run"] == name_of(run)])
    names = {line["run"] for line in lines}
    if names != {name_of(run) for run in runs}:
        wrong.append(f"runs {names}")

def reader(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "histograms": 0})
    events.Reload()
    return events

def check_board(folder, results):
    for run in json.load(open(results))["runs"]:
        events = reader(Path(folder) / name_of(run))
        loss, test = events.Scalars("loss/train"), events.Scalars("loss/test")
        if [e.step for e in loss] != list(range(1, run["steps"] + 1)):
            wrong.append(f"steps {[e.step for e in loss]}")
        if len(events.Scalars("lr")) != run["steps"] or len(events.Scalars("norm")) != run["steps"]:
            wrong.append("lr or norm of too few steps")
        ends = [round(p["epoch"] * run["steps"] / run["curve"][-1]["epoch"]) for p in run["curve"]]
        if [e.step for e in test] != ends:
            wrong.append(f"evaluations at {[e.step for e in test]}, wanted {ends}")
        for i, point in enumerate(run["curve"]):
            same("test loss", test[i].value, point["test_loss"])
            same("accuracy", events.Scalars("accuracy/test")[i].value, point["test_accuracy"])
            same("train loss", events.Scalars("loss/train_epoch")[i].value, point["train_loss"])
        past = {"samples": 0, "seconds": 0}
        for i, point in enumerate(run["curve"]):
            rate = (point["samples"] - past["samples"]) / (point["seconds"] - past["seconds"])
            same("samples/s", events.Scalars("throughput/samples_per_s")[i].value, rate, 1e-5)
            past = point
        if run["staleness"]:
            told = events.Histograms("staleness")
            histogram = Counter()
            for event in told:
                for limit, n in zip(event.histogram_value.bucket_limit, event.histogram_value.bucket):
                    histogram[int(limit)] += int(n)
            if [histogram[i] for i in range(len(run["staleness"]["histogram"]))] != run["staleness"]["histogram"]:
                wrong.append(f"staleness {histogram}")
            if [e.step for e in told] != [e.step for e in events.Scalars("staleness/mean")]:
                wrong.append("staleness at other steps than its mean")

def check_purged(folder, log):
    wanted = defaultdict(list)
    for line in load(log):
        if line["event"] == "step":
            wanted[line["step"]].append(line)
    events = reader(folder)
    last = {event.step: event for event in events.Scalars("loss/train")}  # one that was in hand stands twice
    if sorted(last) != sorted(wanted):
        wrong.append(f"steps {sorted(last)}")
    for event in last.values():
        its = wanted[event.step]
        same(f"loss of step {event.step}", event.value, sum(s["loss"] * s["batch"] for s in its) / sum(s["batch"] for s in its))
    for event in {event.step: event for event in events.Scalars("lr")}.values():
        same(f"lr of step {event.step}", event.value, wanted[event.step][-1]["lr"])
    points = [line["step"] for line in load(log) if line["event"] == "evaluation"]
    if [e.step for e in events.Scalars("loss/test")] != points:
        wrong.append(f"evaluations {[e.step for e in events.Scalars('loss/test')]}, wanted {points}")

def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff

def check_records(path):
    data, n = Path(path).read_bytes(), 0
    while data:
        length, = struct.unpack("<Q", data[:8])
        if struct.unpack("<I", data[8:12])[0] != crc32c(data[:8]) or \
           struct.unpack("<I", data[12 + length:16 + length])[0] != crc32c(data[12:12 + length]):
            wrong.append(f"record {n}: its checksum is wrong")
        data, n = data[16 + length:], n + 1
    print(n, "records")

what, *arguments = sys.argv[1:]
if what == "log":
    check_log(*arguments)
elif what == "board":
    check_board(*arguments)
elif what == "purged":
    check_purged(*arguments)
else:
    check_records(*arguments)
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(bool(wrong))
