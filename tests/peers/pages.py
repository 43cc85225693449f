"""The table as it stands in FIGURES.md: medians, where they lie with 95 %, and what was said on the way."""
import table
from allreduce import size_name, time_name
from cells import middle, ratio

STEADY = 0.05  # a roof that wavers more gives no share, as in the program


def known(values):
    return [value for value in values or [] if value is not None]


def rate_name(rate):
    return f"{rate:,.0f}"


def between(values, name):
    """"12,300 [12,100, 12,400]" """
    if not known(values):
        return "-"
    typical, low, high = middle(known(values))
    return f"{name(typical)} [{name(low)}, {name(high)}]"


def times(result):
    return f"{result['ratio']:.2f}x [{result['low']:.2f}, {result['high']:.2f}]" if result else "-"


def best(theirs):
    """Of the contenders that gave figures, the one of the largest median."""
    with_figures = [one for one in theirs if known(one["samples"])]
    return max(with_figures, key=lambda one: middle(known(one["samples"]))[0]) if with_figures else None


def share(roofs):
    if len(roofs) < 3:
        return "-"
    typical, low, high = middle([side for roof in roofs for side in (roof["roof_before"], roof["roof_after"])])
    if high - low > STEADY * typical:
        return f"none: the roof wavered by {100 * (high - low) / typical:.1f} %"
    of_roof = middle([2 * roof["flops_per_s"] / (roof["roof_before"] + roof["roof_after"]) for roof in roofs])
    if of_roof[0] > 1:
        return f"none: {100 * of_roof[0]:.0f} % cannot be"
    return f"{100 * of_roof[0]:.0f} % [{100 * of_roof[1]:.0f}, {100 * of_roof[2]:.0f}]"


def training_lines(rows):
    yield "| work | batch a worker | hogring, samples/s | best other, samples/s | ratio | share of the roof |"
    yield "|---|---|---|---|---|---|"
    for row in table.rows():
        found, what = rows.get(row.name), row.what.split(" / ")[0] + (", bfloat16" if row.precision == "bfloat16" else "")
        if found is None or "left out" in found:
            yield f"| {what} | {row.batch} | - | - | left out: {found['left out'] if found else 'not measured yet'} | |"
            continue
        other = best(found["theirs"])
        result = ratio(found["ours"], other["samples"]) if other else None
        yield (f"| {what} | {row.batch} | {between(found['ours'], rate_name)} | {other['who'] if other else '-'}: "
               f"{between(other['samples'], rate_name) if other else '-'} | {times(result)} | {share(found['roofs'])} |")


def allreduce_lines(found):
    yield "| work | hogring, us | best MPI, us | ratio |"
    yield "|---|---|---|---|"
    for point in found["points"]:
        where = "shared buffers" if point["buffers"] == "shared" else "malloc"
        loop = ", back to back" if point["loop"] == "back-to-back" else ""
        result = ratio(point["theirs"], point["ours"]) if known(point["theirs"]) and known(point["ours"]) else None
        yield (f"| all_reduce of {size_name(point['bytes'])}, {where}{loop} | {between(point['ours'], time_name)} | "
               f"{point['who'] or '-'}: {between(point['theirs'], time_name)} | {times(result)} |")


def roof_lines(rows):
    """One for each number of threads and kind: what the tile did beside all of the rows."""
    seen = {}
    for found in rows.values():
        for roof in found.get("roofs", []):
            seen.setdefault((roof["kind"], roof["threads"]), []).extend((roof["roof_before"], roof["roof_after"]))
    for (kind, threads), sides in sorted(seen.items()):
        yield f"{threads} thread{'s' if threads > 1 else ''}, {kind}: {between([side / 1e9 for side in sides], lambda x: f'{x:.0f}')} GFLOP/s"


def load_lines(rows):
    busiest = max((found["load"] for found in rows.values() if "load" in found), key=lambda load: load["others"] + load["steal"], default=None)
    if busiest:
        quotable = "" if max(busiest["others"], busiest["steal"]) <= 0.05 else ": the figures are not to be quoted"
        yield (f"Others took at most {100 * busiest['others']:.1f} % of the processors in a row (the host: {100 * busiest['steal']:.1f} %); load average then "
               f"{busiest['loadavg']}, of which the measurement itself makes up to 2{quotable}.")


def processor(facts):
    """"an AMD EPYC with AVX-512 and AVX512_BF16 (Zen 5), a virtual machine": the name alone may be that of several."""
    flags, family = facts["flags"], facts.get("family")
    wide = " and ".join(name for name, flag in (("AVX-512", "avx512f"), ("AVX512_BF16", "avx512_bf16")) if flag in flags) or "AVX2"
    zen = "AMD" in facts["cpu"] and {23: "Zen 1 or 2", 25: "Zen 4" if "avx512f" in flags else "Zen 3", 26: "Zen 5"}.get(family)
    return (f"{'an' if facts['cpu'][0] in 'AEIOU' else 'a'} {facts['cpu']} with {wide}{f' ({zen})' if zen else ''}"
            f"{', a virtual machine' if 'hypervisor' in flags else ''}")


def table_text(kept, facts):
    rows = kept["rows"]
    dates = sorted(found["when"] for found in rows.values())
    lines = [f"{facts['processors']} processors of {processor(facts)}, Linux {facts['kernel']}, {dates[0]} to {dates[-1]}, load average "
             f"{' '.join(facts['loadavg'])} before the last rows. " + ", ".join(f"{name} {version}" for name, version in kept["versions"].items()) + ".",
             *load_lines(rows), "",
             "Medians of interleaved rounds, and in brackets where they lie with 95 %; each peer at the best of its settings (compile or not,",
             "channels_last or not, pinned or not, autocast for bfloat16), found by trying all; one worker is one thread on one processor. The",
             "roof is what register tiles do out of L1 on as many threads, measured before and after each round: "
             + ("; ".join(roof_lines(rows)) or "none here") + ".", "", *training_lines(rows)]
    if "allreduce" in rows:
        lines += ["", "Two processes, float sum; medians over rounds of each launch's median:", "", *allreduce_lines(rows["allreduce"])]
    lines += ["", "All peers, samples/s: with an interval, those that took part in the rounds; without, those that were tried before them and far slower.", ""]
    for row in table.rows():
        found = rows.get(row.name, {})
        in_rounds = {one["who"]: between(one["samples"], rate_name) for one in found.get("theirs", [])}
        others = {who: rate_name(rate) for who, rate in found.get("tried", {}).items() if who not in in_rounds}
        if in_rounds or others:
            lines.append(f"- {row.name}: " + "; ".join(f"{who} {rate}" for who, rate in {**in_rounds, **others}.items()))
    lines += ["", *(f"- note: {note}" for note in [*kept["notes"], *rows.get("allreduce", {}).get("notes", [])])]
    return "\n".join(lines)
