"""A peer that trains when it is told to, so that rounds of it and of others take turns.

A line of JSON comes in for each round: {"key": ..., "seconds": ..., what "build" needs}; a line goes out:
{"samples_per_s": ...} or {"error": ...}. What a key means is built, compiled and warmed up when it first comes,
and stays; between rounds nothing runs.
"""
import json, sys, time, traceback

WARMUP = 3


def widths(layers):
    """Of the dense layers in "flatten, dense 256, relu, ..."."""
    return [int(layer.split()[1]) for layer in layers.split(", ") if layer.startswith("dense")]


def timed(run, count, seconds):
    """Steps a second of run(n), which makes n steps and returns when they are done."""
    began = time.perf_counter()
    steps = 0
    while True:
        run(count)
        steps += count
        elapsed = time.perf_counter() - began
        if elapsed >= seconds:
            return steps / elapsed


def stepping(run, batch):
    """round_of(seconds) -> samples/s, of run(n), which makes n steps; some are made now, to warm up."""
    for _ in range(WARMUP):
        run(1)
    began = time.perf_counter()
    run(2)
    step = (time.perf_counter() - began) / 2
    count = max(1, int(0.02 / step))
    return lambda seconds: batch * timed(run, count, seconds)


def serve(build, whole=False):
    """build(question) returns run(n) for a batch of question["batch"] samples; whole: it returns round_of itself."""
    out, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    known = {}
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if question["key"] not in known:
                made = build(question)
                known[question["key"]] = made if whole else stepping(made, question["batch"])
            answer = {"samples_per_s": known[question["key"]](question["seconds"])}
        except Exception as failure:  # of any library: said, and the next question is answered
            traceback.print_exc()
            answer = {"error": f"{type(failure).__name__}: {failure}"[:200]}
        print(json.dumps(answer), file=out, flush=True)
