"""Who takes part in the all-reduce, and with which settings. A setting is a name, and what turns a
list of points into a command and an environment."""
import os
from collections import namedtuple

from cells import Cell, which

# loop: "barrier" or "back-to-back"
Point = namedtuple("Point", "loop bytes")
# most: bytes above which the setting is known to hang, or None
Setting = namedtuple("Setting", "peer name command environment most", defaults=(None,))


def mpi_launcher(kind):
    """(mpicc, mpirun) of "openmpi" or "mpich": Debian's names, else the plain ones when they are it."""
    compiler, launcher = which(f"mpicc.{kind}"), which(f"mpirun.{kind}", f"mpiexec.{kind}")
    if compiler and launcher:
        return compiler, launcher
    compiler, launcher = which("mpicc"), which("mpirun", "mpiexec")
    if compiler and launcher:
        said = os.popen(f"{launcher} --version 2>&1").read()
        if ("Open MPI" in said or "OpenRTE" in said) == (kind == "openmpi"):
            return compiler, launcher
    return None


def open_mpi(launcher, program, ranks, crowded, scratch):
    base = [launcher, "-n", str(ranks), "--mca", "btl_vader_backing_directory", scratch]
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TMPDIR": scratch}
    base += ["--oversubscribe", "--bind-to", "none"] if crowded else ["--bind-to", "core"]

    def setting(name, parameters):
        words = [word for pair in parameters.items() for word in ("--mca", *pair)]
        return Setting("Open MPI", name or "default", base + words + [program], environment)

    tuned = {f"tuned {k}": {"coll_tuned_use_dynamic_rules": "1", "coll_tuned_allreduce_algorithm": str(k)}
             for k in range(1, 7)}
    others = {"coll/sm": {"coll_sm_priority": "100"}, "coll/han": {"coll_han_priority": "100"}}
    ways = {"": {}, **tuned, **others}
    # As shipped, this pml wants a network card's transports, and there is none.
    transports = {"": {}, "ucx": {"pml": "ucx", "pml_ucx_tls": "any", "pml_ucx_devices": "any"}}
    if crowded:
        waits = {"yield": {"mpi_yield_when_idle": "1"}, "no yield": {"mpi_yield_when_idle": "0"}}
        rows = [(wait, way) for wait in waits for way in ways]
        settings = [setting(" ".join(filter(None, (way, wait))), {**ways[way], **waits[wait]}) for wait, way in rows]
        settings += [setting("ucx yield", {**transports["ucx"], **waits["yield"]})]
        return settings
    settings = [setting(" ".join(filter(None, (way, transport))), {**ways[way], **transports[transport]})
                for transport in transports for way in ways]
    settings += [setting("ob1", {"pml": "ob1"}),
                 setting("ob1 no cma", {"pml": "ob1", "btl_vader_single_copy_mechanism": "none"})]
    return settings


def mpich(launcher, program, ranks, crowded, scratch):
    base = [launcher, "-n", str(ranks)] + ([] if crowded else ["-bind-to", "core"]) + [program]
    posix, intra = "MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM", "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"
    ways = {"auto": {}, "release_gather": {posix: "release_gather"},
            "no device": {"MPIR_CVAR_DEVICE_COLLECTIVES": "none"}}
    for algorithm in ("recursive_doubling", "reduce_scatter_allgather", "smp", "nb"):
        ways[algorithm] = {posix: "mpir", "MPIR_CVAR_DEVICE_COLLECTIVES": "none", intra: algorithm}
    if not crowded:
        return [Setting("MPICH", name, base, dict(ways[name], TMPDIR=scratch)) for name in ways]
    # There it takes tens of milliseconds a call whatever the algorithm, so only some are tried.
    return [Setting("MPICH", f"{name} polls {polls}", base,
                    dict(ways[name], MPIR_CVAR_POLLS_BEFORE_YIELD=polls, TMPDIR=scratch))
            for name, polls in (("auto", "0"), ("auto", "1"), ("no device", "0"), ("no device", "1"))]


def intel_mpi(launcher, program, ranks, crowded, scratch):
    """From a Python environment (venv.py). Without a fabric named it looks for a network first."""
    fixed = {"I_MPI_ROOT": os.path.dirname(os.path.dirname(launcher)), "I_MPI_FABRICS": "shm", "TMPDIR": scratch,
             "I_MPI_PIN": "0" if crowded else "1"}
    ways = {"default": {}, "pt2pt": {"I_MPI_COLL_INTRANODE": "pt2pt"}, "no shm collectives": {"I_MPI_COLL_INTRANODE_SHM_OPT": "0"}}
    ways |= {f"allreduce {k}": {"I_MPI_ADJUST_ALLREDUCE": k, "I_MPI_COLL_INTRANODE": "pt2pt"} for k in ("1", "2", "8")}
    ways |= {f"shm {kind}": {"I_MPI_SHM": kind} for kind in ("icx", "skx")}
    if crowded:
        ways = {f"{name} yield": {**way, "I_MPI_WAIT_MODE": "1"} for name, way in ways.items()} | {"default": {}}
    return [Setting("Intel MPI", name, [launcher, "-n", str(ranks), program], {**fixed, **way}) for name, way in ways.items()]


def gloo(program, ranks, crowded):
    ways = [(algorithm, "async") for algorithm in ("new", "new-bcube", "ring", "ring_chunked", "halving_doubling", "bcube")]
    ways += [(algorithm, wait) for algorithm in ("ring", "ring_chunked", "halving_doubling", "bcube")
             for wait in ("sync", "busy") if not (crowded and wait == "busy")]
    settings = []
    for algorithm, wait in ways:
        for pin in ("no",) if crowded else ("no", "yes"):
            name = f"{algorithm} {wait}" + (" pinned" if pin == "yes" else "")
            command = [program, "--ranks", str(ranks), "--algorithm", algorithm, "--wait", wait, "--pin", pin]
            # Callers that write before they read fill both sockets' buffers, and wait for ever.
            settings.append(Setting("gloo", name, command, {}, None if wait == "async" else 8 << 20))
    return settings


def run_peer(setting, points, limit, extra=()):
    """{point: row}, and the cell. A size at which the program dies is left out and the rest is tried
    once more; a size at which it hangs ends the matter."""
    wanted, got = [p for p in points if not setting.most or p.bytes <= setting.most], {}
    cell = Cell(["true"])
    for _ in range(2 if wanted else 0):
        sizes = ",".join(f"{p.bytes}{'b' if p.loop == 'back-to-back' else ''}" for p in wanted)
        cell = Cell([*setting.command, "--sizes", sizes, *extra], setting.environment, limit)
        for row in cell.rows:
            if "time_us" in row:
                got[Point(row["loop"], row["bytes"])] = row
        wanted = [p for p in wanted if p not in got][1:]
        if cell.ended != "failed" or not wanted:
            break
    return got, cell


QUICK = {"default", "ucx", "tuned 3", "tuned 6", "coll/sm", "yield", "coll/sm yield", "auto", "release_gather", "auto polls 1",
         "new-bcube async", "ring busy pinned", "halving_doubling busy pinned", "halving_doubling sync"}


# --- ours ---

OURS = {"process": ["--launch", "process"], "thread": ["--launch", "thread"]}
# The spellings of an option that may not be there yet, best first.
COPY_IN = (["--buffers", "private"], ["--transport", "copy"])
BACK_TO_BACK = (["--loop", "back-to-back"],)


def run_ours(hogring, ranks, point, options, limit):
    cell = Cell([hogring, "bench", "allreduce", "--ranks", str(ranks), "--sizes", f"{point.bytes}:{point.bytes}",
                 "--json", "-", *options], {}, limit, whole=True)
    row = next((row for answer in cell.rows for row in answer.get("rows", [])), None)
    if row and "time_us" not in row:
        row["time_us"] = {p: row[f"{p}_us"] for p in ("p10", "p50", "p90")}
    return row, cell


def option_that_works(hogring, spellings):
    """The first spelling that this build of hogring takes, or None."""
    for words in spellings:
        row, _ = run_ours(hogring, 2, Point("barrier", 64), words, 20)
        if row:
            return list(words)
    return None
