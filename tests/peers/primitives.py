"""The ring beside a queue of bare items (P1), the sum kernel beside a copy (P3), and the all-reduce
beside the least that it could take (A6, A7); our matrix products beside OpenBLAS's (P5, P6);
the fused update beside one of every replica (P4)."""
import random

import contenders
from allreduce import K, M, size_name, time_name
from cells import Cell, Load, interval, judge, median, ratio
from contenders import Point

# (ours, theirs, must of Mops/s): the same words moved. Eight of their small items share a line; each
# of ours has one, whatever is written into it.
PAIRS = (("ours, 1 word of 64 B", "theirs, 8 B items", 1.0), ("ours, 1 word, in runs", "theirs, 8 B items", 1.0),
         ("ours, all 64 B", "theirs, 64 B items", 1.2), ("ours, all 64 B, in runs", "theirs, 64 B items", 1.2))


def load_line(load):
    return f"load from others {100 * load['others']:.1f} %, steal {100 * load['steal']:.1f} %"


def rings(options, program):
    load = Load()
    cell = Cell([program, str(options.rounds)], {}, 5 * options.limit)
    load = load.so_far()
    rows = {row["name"]: row for row in cell.rows}
    print(f"\nsingle-producer rings, a processor a side, {options.rounds} rounds; {load_line(load)}")
    if cell.ended != "ok":
        print(f"  no result: {cell.ended}: {cell.error}")
    answer = []
    for ours, theirs, most in PAIRS:
        if ours not in rows or theirs not in rows:
            continue
        for what, unit, must, stretch, less in (("mops", "Mops/s", most, 1.2, False), ("trip_ns", "ns a round trip", 1.05, 1.0, True)):
            a, b = rows[ours][what], rows[theirs][what]
            if not a:  # runs have no round trip
                continue
            result = ratio(a, b)
            verdict = judge(result, must, stretch, load, less)
            print(f"  P1  {ours:23} {median(a):8.1f}   {theirs:18} {median(b):8.1f} {unit:16} {interval(result)} "
                  f"{'<=' if less else '>='} {must}x, {stretch}x  {verdict}")
            answer.append({"id": "P1", "ours": ours, "theirs": theirs, "unit": unit, "must": must, "stretch": stretch, **(result or {}),
                           "verdict": verdict, "samples_ours": a, "samples_theirs": b, "load": load})
    return answer


def kernel(options, facts, program):
    caches, load, answer = facts["caches"], Load(), []
    last = max(caches.values())
    levels = {level: size // 2 for level, size in sorted(caches.items())}
    levels["DRAM"] = max(min(4 * last, 256 * M), 2 * last)
    words = ",".join(f"{level}:{size}" for level, size in levels.items())
    print("\nsum of N streams into N, one thread, beside a copy of the same shape, GB/s loaded and stored")
    rows = [row for n in ((2, 4) if options.quick else (2, 4, 8))
            for row in Cell([program, "sum", str(n), str(max(options.rounds, 7)), words], {}, 2 * options.limit).rows]
    load = load.so_far()
    for row in rows:
        result = ratio(row["sum_gbs"], row["copy_gbs"])
        verdict = judge(result, 0.90, 0.97, load)
        print(f"  P3  N = {row['inputs']}  {row['level']:4} {size_name(row['bytes']):>6}  sum {median(row['sum_gbs']):7.1f}  "
              f"copy {median(row['copy_gbs']):7.1f} {interval(result)} >= 0.9x, 0.97x  {verdict}")
        answer.append({"id": "P3", **row, **(result or {}), "must": 0.90, "stretch": 0.97, "verdict": verdict, "load": load})
    print(f"  {load_line(load)}")
    return answer


def efficiency(options, facts, program, tell):
    """T_RMW over T_all-reduce, threads, as many ranks as processors (at most 8)."""
    ranks, last = min(facts["processors"], 8), max(facts["caches"].values())
    sizes = [64 * K, M, 64 * M] if options.quick else [64 * K, 256 * K, M, 4 * M, 8 * M, 16 * M, 64 * M]
    sizes += [256 * M] if options.large else []
    if ranks < 2:
        print("\nefficiency: skipped: one processor")
        return []
    cells = [(kind, size) for size in sizes for kind in ("rmw", "ours")]
    samples = {cell: [] for cell in cells}
    load = Load()
    for number in range(options.rounds):
        for kind, size in random.sample(cells, len(cells)):
            if kind == "rmw":
                rows = Cell([program, "rmw", str(ranks), str(size)], {}, options.limit).rows
                row = rows[0] if rows else None
            else:
                row, _ = contenders.run_ours(options.hogring, ranks, Point("barrier", size), contenders.OURS["thread"], options.limit)
            samples[kind, size].append(row["time_us"]["p50"] if row else None)
        tell(f"efficiency, round {number + 1} of {options.rounds}")
    load, answer = load.so_far(), []
    print(f"\nefficiency: everybody's a[i] *= k over its own bytes, over the all-reduce, {ranks} threads, us; {load_line(load)}")
    for size in sizes:
        # Between the last cache and four of it neither target speaks.
        name, must, stretch = (("A6", 0.80, 0.92) if ranks * size >= 4 * last else ("A7", 0.50, 0.70) if size <= last else ("", 0, 0))
        rmw, ours = samples["rmw", size], samples["ours", size]
        result = ratio(rmw, ours)
        verdict = judge(result, must, stretch, load) if name else ""
        shown = [time_name(median(known)) if known else "-" for known in ([x for x in line if x is not None] for line in (rmw, ours))]
        goal = f">= {must}x, {stretch}x" if name else ""
        print(f"  {name:3} {size_name(size):>6}  limit {shown[0]:>9}  all-reduce {shown[1]:>9} {interval(result)} {goal}  {verdict}")
        answer.append({"id": name, "bytes": size, "ranks": ranks, **(result or {}), "must": must, "stretch": stretch,
                       "verdict": verdict, "rmw_us": rmw, "ours_us": ours, "load": load})
    return answer


def products(options, program):
    """P5 on the dense layers; P6: shares of the multiply-add peak, of 1024^3 and of the layers of mlp at 128 samples or more."""
    load = Load()
    cell = Cell([program, str(min(options.rounds, 9)), "64,256" if options.quick else "32,64,128,256"], {}, 10 * options.limit)
    load = load.so_far()
    if cell.ended != "ok" or not cell.rows:
        print(f"\nproducts: no result: {cell.ended}: {cell.error}")
        return []
    *rows, total = cell.rows
    print(f"\nmatrix products, one thread, ours and OpenBLAS's, GFLOP/s of processor time; {load_line(load)}")
    for row in rows:
        print(f"  {row['layer']:8} {row['form']}  {row['M']:4} x {row['N']:4} x {row['K']:4}  ours {row['ours']:6.1f}  "
              f"OpenBLAS {row['openblas']:6.1f}  {row['ratio']:5.2f}x  of the peak {row['ours'] / row['fma_peak']:.2f}")
    large = [r["ours"] / r["fma_peak"] for r in rows if r["layer"].startswith("mlp") and max(r["M"], r["K"]) >= 128 and r["N"] > 10 < r["M"]]
    print(f"  P5  least {total['least']:.2f}x (>= 0.95x), geometric mean {total['geomean']:.2f}x (>= 1.15x, 1.4x)")
    print(f"  P6  layers of mlp without those of 10 outputs: {min(large):.2f} to {max(large):.2f} of the peak (>= 0.80, 0.88)")
    return [{"id": "P5", **total, "load": load}, *rows]


UPDATE = {2: (1.7, 1.9), 4: (2.1, 2.4), 8: (2.4, 2.8)}  # at 64 MiB


def updates(options, facts, program):
    """P4: the update fused with the reduction, beside an all-reduce with an update of each replica behind it."""
    sizes, answer = (64 * M, M) if options.quick else (64 * M, 8 * M, M), []
    print("\nreduce and update fused, beside all-reduce and an update of every replica, SGD with momentum, threads, ms")
    for ranks in UPDATE:
        load = Load()
        cell = Cell([program, str(ranks), str(options.rounds), ",".join(map(str, sizes))], {}, 2 * options.limit)
        load = load.so_far()
        if cell.ended != "ok":
            print(f"  no result: {cell.ended}: {cell.error}")
        for row in cell.rows:
            result, (must, stretch) = ratio(row["apart_ms"], row["fused_ms"]), UPDATE[ranks]
            named = row["bytes"] == 64 * M
            verdict = "WRONG WEIGHTS" if not row["same"] else judge(result, must, stretch, load) if named else ""
            print(f"  {'P4' if named else '':3} N = {ranks} {size_name(row['bytes']):>6}  fused {median(row['fused_ms']):8.3f}  apart "
                  f"{median(row['apart_ms']):8.3f} {interval(result)} {f'>= {must}x, {stretch}x' if named else ''}  {verdict}")
            answer.append({"id": "P4" if named else "", **row, **(result or {}), "must": must, "stretch": stretch,
                           "verdict": verdict, "load": load})
        if ranks > facts["processors"]:
            print(f"      {ranks} ranks on {facts['processors']} processors: crowded; {load_line(load)}")
        else:
            print(f"      {load_line(load)}")
    return answer


# H3: the model of PyTorch's mnist_hogwild example, and ours; steps of a round, must, stretch.
HOGWILD = {"net": ("conv 10 5x5, maxpool 2, relu, conv 20 5x5, maxpool 2, relu, flatten, dense 50, relu, dense 10", 60, 0.95, 0.99),
           "mlp": ("mlp", 60, 0.80, 0.92)}


def hogwild(options, program):
    """H3: hogwild through relaxed pairs, the product, beside racing vector loads and stores, steps/s."""
    print("\nhogwild through relaxed pairs of floats, beside racing vector loads and stores, 2 threads, batch 64, steps/s")
    answer = []
    for name, (model, steps, must, stretch) in HOGWILD.items():
        load = Load()
        cell = Cell([program, model, "2", str(max(9, options.rounds)), str(steps)], {}, 2 * options.limit)
        load = load.so_far()
        if cell.ended != "ok":
            print(f"  no result: {cell.ended}: {cell.error}")
        for row in cell.rows:
            result = ratio(row["pairs"], row["racy"])
            verdict = judge(result, must, stretch, load)
            print(f"  H3  {name:4} pairs {median(row['pairs']):8.0f}  racy {median(row['racy']):8.0f} {interval(result)} "
                  f">= {must}x, {stretch}x  {verdict}; {load_line(load)}")
            answer.append({"id": "H3", "model": name, **row, **(result or {}), "must": must, "stretch": stretch, "verdict": verdict,
                           "load": load})
    return answer


def run(options, facts, programs, tell):
    answer = {}
    if programs.get("gemm"):
        answer["products"] = products(options, programs["gemm"])
    if programs.get("update"):
        answer["updates"] = updates(options, facts, programs["update"])
    if programs.get("hogwild"):
        answer["hogwild"] = hogwild(options, programs["hogwild"])
    if programs.get("spsc"):
        answer["rings"] = rings(options, programs["spsc"])
    if programs.get("limits"):
        answer["kernel"] = kernel(options, facts, programs["limits"])
        answer["efficiency"] = efficiency(options, facts, programs["limits"], tell)
    return answer
