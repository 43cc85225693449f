"""timeline_check.py TIMELINE [RESULT.json] - is a file of --timeline what it should be?

Its events are those of timeline.schema.json (checked here, without a library); on a track spans nest and do not
overlap; a message has two ends, in their order, each in a span or at its edge; and with the run's JSON the categories
of each worker's spans add up to its account.
"""
import json
import os
import sys
from decimal import Decimal

SCHEMA = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "timeline.schema.json")))


def fits(value, schema):
    """As much of JSON Schema as ours needs."""
    import re
    if "$ref" in schema:
        return fits(value, SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]])
    kinds = {"integer": int, "number": (int, Decimal), "string": str, "object": dict, "array": list}
    return (("type" not in schema or isinstance(value, kinds[schema["type"]]))
            and ("const" not in schema or value == schema["const"])
            and ("enum" not in schema or value in schema["enum"])
            and ("minimum" not in schema or value >= schema["minimum"])
            and ("minLength" not in schema or len(value) >= schema["minLength"])
            and ("pattern" not in schema or re.search(schema["pattern"], value))
            and ("required" not in schema or all(key in value for key in schema["required"]))
            and ("properties" not in schema or all(fits(value[key], schema["properties"][key])
                                                   for key in value if key in schema["properties"]))
            and (schema.get("additionalProperties", True) or all(key in schema["properties"] for key in value))
            and ("oneOf" not in schema or sum(bool(fits(value, one)) for one in schema["oneOf"]) == 1))


def read(path):
    """The events; of a run that was killed the array has no end, and perhaps the last line none."""
    text = open(path).read()
    if not text.rstrip().endswith("]"):
        text = text[:text.rindex("}") + 1] + "]"
    return json.loads(text, parse_float=Decimal)


def check_track(track, events):
    """Spans in the order of their begin, as viewers sort them: stable. Returns the seconds of each category."""
    sums, open_until, steps, end = {}, Decimal(0), [], None
    for event in sorted((e for e in events if e["ph"] in "BEX"), key=lambda e: e["ts"]):
        if event["ph"] == "B":
            assert not steps, f"{track}: a step in a step: {event}"
            assert event["ts"] >= open_until, f"{track}: a step begins in a span: {event}"
            steps.append(event)
        elif event["ph"] == "E":
            assert steps, f"{track}: a step ends that did not begin: {event}"
            assert event["ts"] >= open_until, f"{track}: a step ends in a span: {event}"
            steps.pop()
        else:
            assert event["ts"] >= open_until, f"{track}: spans overlap: {event}, one lasts until {open_until}"
            if event["cat"] in ("load", "compute", "communicate", "wait"):
                assert end is None or event["ts"] == end, f"{track}: a gap before {event}"
                end = event["ts"] + event["dur"]
            elif event["cat"] == "cut":
                assert not steps, f"{track}: a cut in a step: {event}"
                end = event["ts"] + event["dur"]
            open_until = event["ts"] + event["dur"]
            sums[event["cat"]] = sums.get(event["cat"], Decimal(0)) + event["dur"]
    return {cat: us / 1000000 for cat, us in sums.items()}


def check_messages(events, spans):
    import bisect
    begun = {}
    for track, of in spans.items():
        of.sort()
        begun[track] = [begin for begin, _ in of]
    ends = {}
    for event in events:
        if event["ph"] in "sf":
            ends.setdefault(event["id"], {}).setdefault(event["ph"], []).append(event)
    for number, of in ends.items():
        assert len(of.get("s", [])) == len(of.get("f", [])) == 1, f"message {number}: {of}"
        sent, came = of["s"][0], of["f"][0]
        assert sent["ts"] <= came["ts"], f"message {number} came before it was sent"
        assert (sent["pid"], sent["tid"]) != (came["pid"], came["tid"]) or True
        for end in (sent, came):
            track = (end["pid"], end["tid"])
            at = bisect.bisect_right(begun.get(track, []), end["ts"])
            assert at and any(b <= end["ts"] <= e for b, e in spans[track][max(0, at - 3):at]), \
                f"an end of message {number} is in no span: {end}"
    return len(ends)


def check(events, result=None):
    assert isinstance(events, list) and events
    for event in events:
        assert any(fits(event, one) for one in SCHEMA["items"]["oneOf"]), f"not in the schema: {event}"
    tracks, names, spans = {}, {}, {}
    for event in events:
        key = (event["pid"], event["tid"])
        if event["ph"] == "M":
            names.setdefault(key, {})[event["name"]] = event["args"]
            continue
        tracks.setdefault(key, []).append(event)
        if event["ph"] == "X":
            spans.setdefault(key, []).append((event["ts"], event["ts"] + event["dur"]))
    for key in tracks:
        assert "thread_name" in names.get(key, {}), f"track {key} has no name"
    sums = {key: check_track(names[key]["thread_name"]["name"], of) for key, of in tracks.items()}
    messages = check_messages(events, spans)
    if result is not None:
        for run, of in enumerate(result["runs"], 1):
            for rank, account in enumerate(of["time"]["workers"]):
                for cat in ("load", "compute", "communicate", "wait"):
                    told, kept = float(sums.get((run, rank + 1), {}).get(cat, 0)), account[cat]
                    assert abs(told - kept) <= 1e-6 + 1e-6 * kept, \
                        f"run {run}, rank {rank}: {cat} {told} s in the timeline, {kept} s in the account"
    return {"events": len(events), "tracks": len(tracks), "messages": messages,
            "names": sorted({n["thread_name"]["name"] for n in names.values() if "thread_name" in n})}


if __name__ == "__main__":
    print(json.dumps(check(read(sys.argv[1]), json.load(open(sys.argv[2])) if len(sys.argv) > 2 else None)))
