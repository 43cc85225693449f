"""The all-reduce beside Open MPI, MPICH and gloo, each at its best setting for each size.

A scouting round finds every peer's best setting per point; then rounds of only those and ours, in
random order. What a point gets is the median over rounds of each launch's median."""
import random

import contenders
from cells import Load, interval, judge, median, ratio
from contenders import Point

K, M = 1 << 10, 1 << 20
MPI = ("Open MPI", "MPICH", "Intel MPI")
NEAR = 1.25   # times the best of its peer: scouted twice
HOPELESS = 8  # times slower than the best peer of its kind in scouting: not carried into the rounds


def points_of(ranks, options):
    if ranks == 2:
        sizes = [4, 64, 256, 2 * K, 16 * K, 64 * K, M, 8 * M, 64 * M] + ([256 * M] if options.large else [])
        small = [4, 64]
    else:
        sizes, small = [4, 16 * K, 64 * K, M, 8 * M], []
    if options.quick:
        sizes = [4, 16 * K, M, 8 * M] if ranks == 2 else [4, 64 * K, M]
        small = small[:1]
    # A peer that hangs does so at a large size: those come last.
    return [Point("back-to-back", size) for size in small] + [Point("barrier", size) for size in sizes]


def targets(ranks, crowded, point):
    """(id, ours, against, must, stretch) of PERFORMANCE: those that this point belongs to."""
    size, found = point.bytes, []
    if crowded:
        if size <= 64:
            found += [("B1", "process", "best", 1, 2)]
        elif 16 * K <= size <= 64 * K:
            found += [("B1", "process", "best", 3, 10)]
        elif size >= M:
            found += [("B2", "process", "best", 2, 4)]
        return found
    many = ranks > 2
    if size <= 64:
        found += [("A1", "process", "MPI", 1.5, 2)]
    elif 256 <= size <= 2 * K:
        found += [("A2", "process", "MPI", 2, 4)]
    elif size == 16 * K:
        found += [("A2", "process", "MPI", 4, 8)]
    elif 64 * K <= size <= 8 * M:
        found += [("A3", "process", "MPI", *((2, 4) if many else (4, 8)))]
    elif size >= 16 * M:
        found += [("A4", "process", "MPI", *((2, 3) if many else (3, 5)))]
    if size <= K:
        found += [("A5", "process", "gloo", 50, 100)]
    elif 16 * K <= size <= 256 * K:
        found += [("A5", "process", "gloo", 10, 20)]
    elif size >= M:
        found += [("A5", "process", "gloo", 4, 8)]
    return found + [("A9", "copy-in", "MPI", 1.2, 1.6)]


def settings_of(peers, ranks, crowded, scratch):
    settings = []
    for name, make in (("Open MPI", contenders.open_mpi), ("MPICH", contenders.mpich), ("Intel MPI", contenders.intel_mpi)):
        if name in peers:
            settings += make(peers[name]["launcher"], peers[name]["program"], ranks, crowded, scratch)
    if "gloo" in peers:
        settings += contenders.gloo(peers["gloo"]["program"], ranks, crowded)
    return settings


class Contest:
    """One number of ranks."""

    def __init__(self, ranks, processors, peers, hogring, options, scratch, tell):
        self.ranks, self.hogring, self.options, self.tell = ranks, hogring, options, tell
        self.crowded = ranks > processors
        self.points = points_of(ranks, options)
        self.settings = [setting for setting in settings_of(peers, ranks, self.crowded, scratch)
                         if not options.quick or setting.name in contenders.QUICK]
        self.peers = [name for name in (*MPI, "gloo") if name in peers]
        self.scouted, self.best, self.samples = [], {}, {}
        self.wrong, self.notes, self.facts, self.load = [], [], {}, {}
        self.hopeless, self.wanted = HOPELESS, None  # wanted: {(kind, point)} of ours; None: all

    # --- one launch ---

    def _note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def _take(self, who, row, point, into):
        if row["wrong"]:
            self.wrong.append(f"{who}, {self.ranks} ranks, {point.bytes} bytes: {row['wrong']} elements are wrong")
        else:
            into[point] = row["time_us"]["p50"]

    def _run_peer(self, setting, points, limit, extra=()):
        rows, cell = contenders.run_peer(setting, points, limit, extra)
        times = {}
        for point, row in rows.items():
            self._take(f"{setting.peer} ({setting.name})", row, point, times)
        for fact in cell.rows:
            if "library" in fact:
                self.facts[setting.peer] = fact
        if cell.ended == "time limit":
            self._note(f"{setting.peer} ({setting.name}): stopped after {limit:.0f} s")
        elif cell.ended == "failed":
            self._note(f"{setting.peer} ({setting.name}): failed: {cell.error[:120]}")
        return times

    def _run_ours(self, kind, words, point):
        row, cell = contenders.run_ours(self.hogring, self.ranks, point, words, self.options.limit)
        times = {}
        if row:
            self._take(f"hogring ({kind})", row, point, times)
        else:
            self._note(f"hogring ({kind}), {point.bytes} bytes: {cell.ended}: {cell.error[:120]}")
        return times.get(point)

    # --- scouting ---

    def scout(self):
        extra = ["--scout", "yes", "--seconds", "0.03", "--least", "5"]
        for setting in self.settings:
            self.scouted.append((setting, self._run_peer(setting, self.points, self.options.scout_limit, extra)))
        self._find_best()
        # One look may have met somebody else's work: those that came near are looked at again.
        for setting, times in [] if self.options.quick else self.scouted:
            near = [point for point, time in times.items() if time < NEAR * self.best[setting.peer, point][0]]
            again = self._run_peer(setting, near, self.options.scout_limit, extra) if near else {}
            times.update({point: min(time, times[point]) for point, time in again.items() if point in times})
        self._find_best()
        self._drop_hopeless()

    def _find_best(self):
        for setting, times in self.scouted:
            for point, time in times.items():
                known = self.best.get((setting.peer, point))
                if known is None or time < known[0]:
                    self.best[setting.peer, point] = (time, setting)

    def _drop_hopeless(self):
        for (peer, point), (time, setting) in list(self.best.items()):
            kind = MPI if peer in MPI and not self.crowded else self.peers if self.crowded else (peer,)
            fastest = min(self.best[p, point][0] for p in kind if (p, point) in self.best)
            if time > self.hopeless * fastest:
                self.samples[peer, point] = []  # said in the table, not run again

    # --- rounds ---

    def _peer_cells(self):
        cells = {}
        for (peer, point), (_, setting) in self.best.items():
            if (peer, point) not in self.samples:
                cells.setdefault(id(setting), (setting, []))[1].append(point)
        return [(setting.peer, setting, points) for setting, points in cells.values()]

    def _our_cells(self):
        cells = []
        copy_in, back_to_back = self.options.copy_in, self.options.back_to_back
        for point in self.points:
            loop = [] if point.loop == "barrier" else back_to_back
            kinds = dict(contenders.OURS)
            if copy_in is not None and not self.crowded:
                kinds["copy-in"] = ["--launch", "process", *copy_in]
            if loop is not None:
                cells += [(kind, [*words, *loop], [point]) for kind, words in kinds.items()
                          if self.wanted is None or (kind, point) in self.wanted]
        return cells

    def rounds(self):
        cells = self._peer_cells() + self._our_cells()
        load = Load()
        chance = random.Random()
        for number in range(self.options.rounds):
            chance.shuffle(cells)
            for who, what, points in cells:
                if who in self.peers:
                    times = self._run_peer(what, points, self.options.limit)
                else:
                    times = {points[0]: self._run_ours(who, what, points[0])}
                for point in points:
                    line = self.samples.setdefault((who, point), [None] * self.options.rounds)
                    line[number] = times.get(point)
            self.tell(f"round {number + 1} of {self.options.rounds}")
        self.load = load.so_far()

    # --- the table ---

    def typical(self, who, point):
        known = [t for t in self.samples.get((who, point), []) if t is not None]
        return median(known) if known else None

    def strongest(self, against, point):
        """The fastest peer at this point: of both MPIs, of all, or gloo."""
        among = MPI if against == "MPI" else self.peers if against == "best" else (against,)
        known = [(self.typical(peer, point), peer) for peer in among if self.typical(peer, point) is not None]
        return min(known)[1] if known else None

    def results(self):
        for point in self.points:
            for name, kind, against, must, stretch in targets(self.ranks, self.crowded, point):
                peer = self.strongest(against, point)
                both = self.samples.get((kind, point)) and peer
                result = ratio(self.samples[peer, point], self.samples[kind, point]) if both else None
                missing = (kind, point) not in self.samples
                yield {"id": name, "ranks": self.ranks, "loop": point.loop, "bytes": point.bytes, "ours": kind,
                       "ours_us": self.typical(kind, point), "thread_us": self.typical("thread", point),
                       "against": peer or against, "setting": self.best[peer, point][1].name if peer else None,
                       "theirs_us": self.typical(peer, point) if peer else None,
                       "must": must, "stretch": stretch, **(result or {"ratio": None, "low": None, "high": None}),
                       "verdict": "not measured" if missing else judge(result, must, stretch, self.load)}

    def to_json(self):
        return {"ranks": self.ranks, "crowded": self.crowded, "load": self.load, "facts": self.facts,
                "notes": self.notes, "results": list(self.results()),
                "scouting": [{"peer": setting.peer, "setting": setting.name,
                              "us": {f"{p.loop} {p.bytes}": t for p, t in times.items()}}
                             for setting, times in self.scouted],
                "samples_us": [{"who": who, "loop": p.loop, "bytes": p.bytes, "rounds": line}
                               for (who, p), line in self.samples.items()]}


def size_name(size):
    for unit, name in ((M, "M"), (K, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def time_name(us):
    return "-" if us is None else f"{us:.2f}" if us < 100 else f"{us:.0f}"


def print_contest(contest):
    shape = "more ranks than processors" if contest.crowded else "a processor each"
    print(f"\nall-reduce, {contest.ranks} ranks ({shape}), float sum in place, us, median of "
          f"{contest.options.rounds} rounds")
    print(f"  load from others {100 * contest.load['others']:.1f} %, steal {100 * contest.load['steal']:.1f} %, "
          f"loadavg {contest.load['loadavg']}")
    for peer, fact in contest.facts.items():
        print(f"  {fact['library']}: cross-memory attach {'works' if fact['cma'] else 'does not work (no CMA)'}, "
              f"{fact['processors_a_rank']} processors a rank")
    print(f"  {'id':3} {'bytes':>6} {'loop':12} {'ours':8} {'us':>9} {'(thread)':>9} {'theirs':>9} {'ratio':>7} "
          f"{'95 %':15} {'must':>5} {'stretch':>7}  {'verdict':17} peer: setting")
    results = sorted(contest.results(), key=lambda r: r["id"])
    for name in sorted({r["id"] for r in results if r["verdict"] == "not measured"}):
        points = [f"{size_name(r['bytes'])} ({r['loop']})" for r in results if r["id"] == name and r["verdict"] == "not measured"]
        contest.notes.append(f"{name} not measured at {', '.join(points)}: this build's bench cannot")
    for r in (r for r in results if r["verdict"] != "not measured"):
        result = r if r["ratio"] is not None else None
        print(f"  {r['id']:3} {size_name(r['bytes']):>6} {r['loop']:12} {r['ours']:8} {time_name(r['ours_us']):>9} "
              f"{time_name(r['thread_us']):>9} {time_name(r['theirs_us']):>9} {interval(result)} {r['must']:>4}x "
              f"{r['stretch']:>6}x  {r['verdict']:17} {r['against']}: {r['setting'] or '-'}")
    for (peer, point), line in contest.samples.items():
        if not line:
            time, setting = contest.best[peer, point]
            contest.notes.append(f"{peer}, {size_name(point.bytes)}: {time_name(time)} us at its best ({setting.name}) "
                                 f"in scouting, over {contest.hopeless} times the best peer's: not run again")
    for peer in contest.peers:
        for point in contest.points:
            if (peer, point) not in contest.best:
                contest.notes.append(f"{peer}, {size_name(point.bytes)} ({point.loop}): no result with any setting")
    for note in contest.notes:
        print(f"  note: {note}")
