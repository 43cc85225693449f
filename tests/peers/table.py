"""The table: hogring beside the newest peers, each at its best setting, in turns.

Every peer is a process that trains when it is told to (serve.py); hogring is launched for each round (`bench train`, which
measures the roof beside it). First each setting of a peer is tried; those within NEAR of the best take part in the rounds,
where each contender has a window in each round. The peer with the largest median is the one that a row is held against.
"""
import json, os, subprocess, time

import contenders, venv
from allreduce import K, M, MPI, Contest
from cells import Cell, Load
from contenders import Point
from peer_process import Peer

NEAR, MOST, WINDOW = 1.15, 3, 0.5
HERE = os.path.dirname(os.path.abspath(__file__))
MLP = "flatten, dense 256, relu, dense 128, relu, dense 10"
DENSE = "flatten, dense 2048, relu, dense 2048, relu, dense 10"


class Row:
    """One line of the table. peers: {"torch": ..., ...}, the settings that each may have."""

    def __init__(self, name, what, model, shape, batch, strategy, workers, precision, peers):
        self.name, self.what, self.model, self.shape, self.batch = name, what, model, shape, batch
        self.strategy, self.workers, self.precision, self.peers = strategy, workers, precision, peers


def torch_settings(precision, images):
    return [{"compile": compiled, "channels_last": last, "precision": precision}
            for compiled in (False, True) for last in ((False, True) if images else (False,))]


def plain(precision, compiled=(False,)):
    return [{"compile": way, "precision": precision} for way in compiled]


def with_and_without_amx(settings):
    """oneDNN's AMX is not there on every machine that has AMX: PyTorch 2.15 ends in a virtual one (no palette is told of)."""
    with open("/proc/cpuinfo") as info:
        there = "amx_bf16" in info.read()
    return settings + [{**setting, "amx": False} for setting in settings if there]


def pairs(mode):
    ways = [{"compile": False, "static": False, "pinned": False}, {"compile": False, "static": False, "pinned": True},
            {"compile": True, "static": False, "pinned": True}]
    if mode == "ddp":
        ways.append({"compile": False, "static": True, "pinned": True})
    return {"torch_pairs": [{"mode": mode, **way} for way in ways]}


def rows():
    image, color = (1, 28, 28), (3, 32, 32)
    found = [Row("mlp-ddp", "`mlp`, 2 workers, `allreduce` / PyTorch DDP (gloo)", "mlp", image, 64, "allreduce", 2, "float32", pairs("ddp")),
             Row("mlp-hogwild", "`mlp`, 2 workers, `hogwild` / PyTorch Hogwild", "mlp", image, 64, "hogwild", 2, "float32", pairs("hogwild")),
             Row("cnn-ddp", "`cnn`, 2 workers, `allreduce` / PyTorch DDP (gloo)", "cnn", image, 64, "allreduce", 2, "float32", pairs("ddp"))]
    for precision in ("float32", "bfloat16"):
        end = "" if precision == "float32" else "-bf16"
        ways = with_and_without_amx if end else list
        all_three = {"torch": ways(torch_settings(precision, False)), "jax": plain(precision),
                     "tensorflow": ways(plain(precision, (False, True)))}
        if not end:
            found.append(Row("mlp", "`mlp`, 1 worker / PyTorch, JAX, TensorFlow", "mlp", image, 64, "allreduce", 1, precision, all_three))
        for model in ("lenet", "vgg-small", "resnet8"):
            found.append(Row(model + end, f"`{model}` at 3x32x32, 1 worker / PyTorch", model, color, 64, "allreduce", 1, precision,
                             {"torch": ways(torch_settings(precision, True))}))
        found.append(Row("dense" + end, "dense 2048, 2048, 10 at batch 256, 1 worker / PyTorch, JAX, TensorFlow", DENSE, image, 256,
                         "allreduce", 1, precision, all_three))
    return found


# What keeps everybody to AVX2, on processors that have more: as on most laptops.
AVX2 = {"HOGRING_ISA": "v3", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def rows_of_avx2():
    """Without XLA, whose products use AVX-512 all the same; and oneDNN has one limit, which leaves AMX out, too."""
    def is_kept(kind, setting):
        return setting.get("amx", True) and not (kind == "jax" or (kind == "tensorflow" and setting["compile"]))

    found = rows()
    for row in found:
        row.peers = {kind: [setting for setting in settings if is_kept(kind, setting)] for kind, settings in row.peers.items()}
    return found


# all_reduce: (loop, bytes), and of which buffers of ours
POINTS = {"shared": [Point("back-to-back", size) for size in (4, 256, 2 * K)] +
                    [Point("barrier", size) for size in (16 * K, 64 * K, M, 8 * M, 64 * M)],
          "malloc": [Point("barrier", size) for size in (16 * K, 64 * K, 256 * K, M)]}
NAMES = [row.name for row in rows()] + ["allreduce"]
LABELS = {"torch": "PyTorch", "jax": "JAX", "tensorflow": "TensorFlow", "torch_pairs": "PyTorch"}


# --- training ---

def last_processor():
    """Of one worker: the first has the interrupts."""
    return str(max(os.sched_getaffinity(0)))


def said(kind, setting):
    """A setting in words."""
    if kind in ("jax", "tensorflow"):
        words = ["jit"] if kind == "jax" else ["tf.function", *(["XLA"] if setting["compile"] else [])]
        return ", ".join(words + ([] if setting.get("amx", True) else ["without AMX"]))
    words = [word for word, wanted in (("compile", setting["compile"]), ("channels_last", setting.get("channels_last")),
                                       ("static graph", setting.get("static")), ("pinned", setting.get("pinned")),
                                       ("without AMX", not setting.get("amx", True))) if wanted]
    return ", ".join(words) or "eager"


class Training:
    def __init__(self, options, tell):
        self.options, self.tell, self.notes, self.running = options, tell, [], {}
        self.has_bf16 = "--precision" in subprocess.run([options.hogring, "help", "bench", "--all"], capture_output=True, text=True).stdout
        self.layers = {}

    def close(self):
        for peer in self.running.values():
            peer.close()
        self.running = {}

    def peer(self, row, kind, setting):
        """The process that does this, started when it is first needed; pairs' do not outlive their row."""
        amx = setting.get("amx", True)
        key = f"{kind} {amx}" if row.workers == 1 else (kind, row.name)
        if key in self.running and self.running[key].process.poll() is not None:
            self.running.pop(key)
        if key not in self.running:
            command = [venv.python(), os.path.join(HERE, f"{kind if kind == 'torch_pairs' else kind + '_steps'}.py")]
            pin = ["taskset", "-c", last_processor()] if row.workers == 1 else []
            environment = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": os.path.join(venv.folder(), "inductor-cache"),
                           **({} if amx else {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"})}
            self.running[key] = Peer(pin + command, os.path.join(self.options.programs, f"{kind}{'' if amx else '-without-amx'}.log"), environment)
        return self.running[key]

    def text(self, row):
        if " " in row.model:
            return row.model
        if row.model not in self.layers:
            shape = "x".join(map(str, row.shape))
            cell = Cell([self.options.hogring, "inspect", row.model, "--input", shape, "--json", "-"], {}, 30, whole=True)
            self.layers[row.model] = cell.rows[0]["model"]
        return self.layers[row.model]

    def theirs(self, row, kind, setting, seconds, limit):
        question = {"key": f"{row.name} {said(kind, setting)}", "seconds": seconds, "batch": row.batch, "shape": row.shape, "classes": 10,
                    "samples": 20000, "layers": self.text(row), "setting": setting}
        answer = self.peer(row, kind, setting).ask(question, limit)
        if "error" in answer:
            self.note(f"{row.name}: {LABELS[kind]} ({said(kind, setting)}): {answer['error']}")
        return answer.get("samples_per_s")

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            self.tell(text)

    def ours(self, row):
        """samples/s, and the round's roof."""
        command = [self.options.hogring, "bench", "train", "--model", row.model, "--input", "x".join(map(str, row.shape)), "--batch-size",
                   str(row.batch), "--strategy", row.strategy, "--workers", str(row.workers), "--rounds", "1", "--max-seconds", str(WINDOW),
                   "--json", "-", *(["--precision", "bf16"] if row.precision == "bfloat16" else [])]
        cell = Cell((["taskset", "-c", last_processor()] if row.workers == 1 else []) + command, {}, self.options.limit, whole=True)
        if not cell.rows:
            self.note(f"{row.name}: hogring: {cell.ended}: {cell.error[:160]}")
            return None, None
        found = cell.rows[0]["rows"][0]
        return found["samples_per_s"], {"kind": found["roof"]["kind"], "threads": row.workers, **found["roof"]["rounds"][0]}

    def scout(self, row):
        """What was tried, fastest first, as (samples/s, kind, setting): those near the first take part in the rounds."""
        tried = []
        for kind, settings in row.peers.items():
            for setting in settings:
                rates = [self.theirs(row, kind, setting, WINDOW / 2, self.options.build_limit) for _ in range(2)]
                if None not in rates:
                    tried.append((max(rates), kind, setting))
        return sorted(tried, key=lambda entry: -entry[0])

    def measure(self, row):
        if row.precision == "bfloat16" and not self.has_bf16:
            return {"left out": "this build of hogring has no --precision"}
        if not venv.python():
            return {"left out": "no Python environment with peers (make peers-venv)"}
        load, began = Load(), time.monotonic()
        tried = self.scout(row)
        kept = [(kind, setting) for rate, kind, setting in tried[:MOST] if rate * NEAR >= tried[0][0]]
        sides = ["ours", *range(len(kept))]
        samples, roofs = {side: [] for side in sides}, []
        for number in range(self.options.rounds):
            for side in sides if number % 2 else reversed(sides):
                if side == "ours":
                    rate, roof = self.ours(row)
                    roofs += [roof] if roof else []
                else:
                    rate = self.theirs(row, *kept[side], WINDOW, self.options.limit)
                samples[side].append(rate)
        if row.workers > 1:
            for key in [key for key in self.running if isinstance(key, tuple)]:
                self.running.pop(key).close()
        self.tell(f"{row.name}: {self.options.rounds} rounds, {time.monotonic() - began:.0f} s")
        theirs = [{"who": f"{LABELS[kind]} ({said(kind, setting)})", "samples": samples[i]} for i, (kind, setting) in enumerate(kept)]
        return {"ours": samples["ours"], "roofs": roofs, "theirs": theirs, "load": load.so_far(),
                "tried": {f"{LABELS[kind]} ({said(kind, setting)})": rate for rate, kind, setting in tried}}


# --- all_reduce ---

def measure_allreduce(options, peers, facts, scratch, tell):
    load = Load()
    options.copy_in = contenders.option_that_works(options.hogring, contenders.COPY_IN)
    options.back_to_back = contenders.option_that_works(options.hogring, contenders.BACK_TO_BACK)
    contest = Contest(2, facts["processors"], {name: peer for name, peer in peers.items() if name in MPI}, options.hogring, options, scratch, tell)
    contest.points = list(dict.fromkeys(POINTS["shared"] + POINTS["malloc"]))
    contest.hopeless, contest.kinds = 1.5, {"shared": "process", "malloc": "copy-in"}
    contest.wanted = {(contest.kinds[kind], point) for kind, points in POINTS.items() for point in points}
    tell(f"all_reduce: trying {len(contest.settings)} settings")
    contest.scout()
    contest.rounds()
    found = []
    for kind, points in POINTS.items():
        for point in points:
            peer = contest.strongest("MPI", point)
            found.append({"buffers": kind, "loop": point.loop, "bytes": point.bytes, "ours": contest.samples.get((contest.kinds[kind], point)),
                          "theirs": contest.samples[peer, point] if peer else None,
                          "who": f"{peer} ({contest.best[peer, point][1].name})" if peer else None})
    return {"points": found, "libraries": {peer: fact["library"] for peer, fact in contest.facts.items()}, "wrong": contest.wrong,
            "notes": contest.notes, "load": load.so_far()}


# --- all of it ---

def versions(allreduce):
    found = {LABELS[kind]: venv.version(package) for kind, package in (("torch", "torch"), ("jax", "jax"), ("tensorflow", "tensorflow-cpu"))}
    found["Intel MPI"] = venv.version("impi-rt")
    for name, said in (allreduce or {}).get("libraries", {}).items():
        found.setdefault(name, next((word for word in said.replace(",", " ").split() if word[:1].isdigit() or word[:2] in ("v4", "v5")), said))
    return {name: version for name, version in found.items() if version}


def run(options, peers, facts, tell, avx2=False):
    """Measures the rows that were chosen, and keeps what earlier runs found of the others: {name: row}."""
    store = os.path.join(options.programs, f"table{'.avx2' if avx2 else ''}{'.quick' if options.quick else ''}.json")
    try:
        with open(store) as file:
            kept = json.load(file)
    except (OSError, ValueError):
        kept = {}
    if options.quick or kept.get("cpu") != facts["cpu"]:
        kept = {"cpu": facts["cpu"], "rows": {}}
    training = Training(options, tell)
    chosen = options.rows or NAMES
    for row in rows_of_avx2() if avx2 else rows():
        if row.name in chosen:
            found = {"when": time.strftime("%Y-%m-%d %H:%M"), **training.measure(row)}
            if "left out" not in found or "ours" not in kept["rows"].get(row.name, {}):
                kept["rows"][row.name] = found
            else:
                tell(f"{row.name}: left out: {found['left out']}; the figures of {kept['rows'][row.name]['when']} stay")
    training.close()
    if "allreduce" in chosen and not avx2:
        kept["rows"]["allreduce"] = {"when": time.strftime("%Y-%m-%d %H:%M"), **measure_allreduce(options, peers, facts, options.scratch, tell)}
    kept["versions"], kept["notes"] = versions(kept["rows"].get("allreduce")), training.notes
    with open(store, "w") as file:
        json.dump(kept, file, indent=1)
    return kept
