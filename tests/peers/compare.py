#!/usr/bin/env python3
"""hogring beside its peers on this machine, in one run: the ratio of medians, with a bootstrap 95 %
interval, next to the targets. An idle machine gives the only figures worth quoting.

    make peers                              the table beside the newest peers, a quarter of an hour
    make peers PEERS="--rows mlp,lenet"     chosen rows of it; the page keeps the others
    make peers PEERS=--quick                few rounds and sizes: to see that it works
    make peers PEERS=--all                  every part: half an hour more
    make peers PEERS="--only NAME"          avx2, primitives, allreduce, training, pipelines, convolutions, sparse, virtual, layers, store

`make peers-venv` gets the newest peers from PyPI. Each part becomes a section of FIGURES.md here, unless it is --quick; build/peers.json
has all figures. Exits 0 unless somebody's sum is wrong. What is not installed is skipped, and said so; Debian: libopenmpi-dev
openmpi-bin libmpich-dev mpich libgloo-dev g++ liblinear-dev, and python3-torch where there is no such environment.
"""
import sys
sys.dont_write_bytecode = True
import argparse, glob, json, os, platform, shutil, subprocess, tempfile, time

import allreduce, contenders, figures, pages, pipelines, primitives, table, training, venv
from cells import adopt_orphans, end_family, signals_raise, which

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build")
PROGRAMS = os.path.join(BUILD, "peers")
PAGE = os.path.join(HERE, "FIGURES.md")


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rounds and sizes: to see that it works")
    parser.add_argument("--only", choices=[name for name, _, _ in PARTS])
    parser.add_argument("--all", action="store_true", help="every part, not the table alone")
    parser.add_argument("--rows", help=f"of the table: {','.join(table.NAMES)} [all]")
    parser.add_argument("--build-limit", type=float, default=240, help="seconds that a peer may compile a network [240]")
    parser.add_argument("--rounds", type=int, help="interleaved rounds [7; quick 3]")
    parser.add_argument("--ranks", help="numbers of ranks [2,4,8; quick 2,4]")
    parser.add_argument("--large", action="store_true", help="256M too")
    parser.add_argument("--limit", type=float, default=60, help="seconds that one launch may take [60]")
    parser.add_argument("--scout-limit", type=float, help="the same in scouting [20; quick 5]")
    parser.add_argument("--page", default=PAGE, help="whose sections are replaced")
    parser.add_argument("--json", default=os.path.join(BUILD, "peers.json"))
    options = parser.parse_args(arguments)
    options.rounds = max(3, options.rounds or (3 if options.quick else 7))
    options.scout_limit = options.scout_limit or (5 if options.quick else 20)
    options.ranks = [int(n) for n in (options.ranks or ("2,4" if options.quick else "2,4,8")).split(",")]
    options.hogring, options.programs = os.path.join(BUILD, "hogring"), PROGRAMS
    options.rows = options.rows and options.rows.split(",")
    unknown = set(options.rows or []) - set(table.NAMES)
    if unknown:
        parser.error(f"--rows {','.join(unknown)}: expected some of {', '.join(table.NAMES)}")
    if venv.missing():
        parser.error(venv.missing())
    options.only = options.only or (None if options.all else "table")
    return options


# --- what is here ---

def cache_sizes():
    sizes = {}
    for folder in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*"):
        level, kind, size = (open(f"{folder}/{name}").read().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            sizes[f"L{level}"] = int(size.rstrip("KM")) * (1 << 20 if size.endswith("M") else 1 << 10)
    return sizes or {"L1": 32 << 10, "L2": 512 << 10, "L3": 16 << 20}


def machine():
    with open("/proc/cpuinfo") as file:
        lines = file.read().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "?")
    family = next((int(line.split(":")[1]) for line in lines if line.startswith("cpu family")), None)
    flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), [])
    return {"cpu": model, "processors": len(os.sched_getaffinity(0)), "caches": cache_sizes(),
            "kernel": platform.release(), "architecture": platform.machine(),
            "page_bytes": os.sysconf("SC_PAGE_SIZE"), "loadavg": open("/proc/loadavg").read().split()[:3],
            "when": time.strftime("%Y-%m-%d %H:%M"), "flags": flags, "family": family}


def compile_program(command, name):
    """The program's path, or None when it does not build here."""
    program = os.path.join(PROGRAMS, name)
    done = subprocess.run([*command, "-o", program], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"skipped: {name} does not build here: {' '.join(done.stderr.split())[:200]}")
        return None
    return program


def here(*names):
    return [os.path.join("tests", "peers", name) for name in names]


def build_peers():
    """{name: {"program", "launcher"}} of the all-reduce peers that are installed."""
    peers = {}
    for name, kind, packages in (("Open MPI", "openmpi", "libopenmpi-dev openmpi-bin"), ("MPICH", "mpich", "libmpich-dev mpich")):
        tools = contenders.mpi_launcher(kind)
        if not tools:
            print(f"skipped: no {name} (Debian: {packages})")
            continue
        program = compile_program([tools[0], "-std=c11", "-O3", "-march=native", *here("mpi_allreduce.c")], f"mpi_allreduce.{kind}")
        if program:
            peers[name] = {"program": program, "launcher": tools[1]}
    intel = venv.intel_mpi()
    if not intel:
        print("skipped: no Intel MPI (make peers-venv)")
    else:
        program = compile_program(["cc", "-std=c11", "-O3", "-march=native", *here("mpi_allreduce.c"), *intel["flags"], "-pthread", "-lm"],
                                  "mpi_allreduce.intel")
        if program:
            peers["Intel MPI"] = {"program": program, "launcher": intel["launcher"]}
    if not which("g++") or not os.path.exists("/usr/include/gloo/allreduce.h"):
        print("skipped: no gloo for C++ (Debian: libgloo-dev g++)")
        return peers
    program = compile_program(["g++", "-std=c++17", "-O3", "-march=native", *here("gloo_allreduce.cc"), "-lgloo", "-pthread"],
                              "gloo_allreduce")
    if program:
        peers["gloo"] = {"program": program, "launcher": None}
    return peers


def build_primitives():
    ours = ["-std=c11", "-D_GNU_SOURCE", "-O3", "-fopenmp-simd", "-Isrc", *(f"-iquote{room}" for room in glob.glob("src/*/")), "-Iinclude"]
    library = os.path.join("build", "libhogring.a")
    programs = {"limits": compile_program(["cc", *ours, *here("limits.c"), library, "-pthread", "-lm"], "limits")}
    programs["update"] = compile_program(["cc", *ours, *here("update.c"), library, "-pthread", "-lm"], "update")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "openblas"], capture_output=True, text=True).stdout.split()
    programs["gemm"] = compile_program(["cc", *ours, "-march=native", *here("gemm_shapes.c"), library, *flags, "-fopenmp", "-pthread", "-lm"],
                                       "gemm_shapes")
    tail = [library, *flags, "-lz", "-ljansson", "-lxxhash", "-fopenmp", "-pthread", "-lm"]
    programs["hogwild"] = compile_program(["cc", *ours, *here("hogwild_pairs.c"), *tail], "hogwild_pairs")
    object_file = compile_program(["cc", *ours, "-c", *here("spsc_ours.c")], "spsc_ours.o")
    if not which("g++"):
        print("skipped: the queue, for want of g++")
    elif object_file:
        programs["spsc"] = compile_program(["g++", "-std=c++17", "-O3", *here("spsc.cpp"), object_file, library, "-pthread"], "spsc")
    return programs


def build_limit():
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "openblas"], capture_output=True, text=True).stdout.split()
    return compile_program(["cc", "-std=c11", "-O2", *here("gemm_limit.c"), *flags, "-lopenblas", "-pthread"], "gemm_limit")


# --- the parts ---

def tell(text):
    print(f"  ... {text}", file=sys.stderr, flush=True)


def run_allreduce(options, facts, scratch):
    peers = build_peers()
    options.copy_in = contenders.option_that_works(options.hogring, contenders.COPY_IN)
    options.back_to_back = contenders.option_that_works(options.hogring, contenders.BACK_TO_BACK)
    for found, what in ((options.copy_in, "copy-in (A9)"), (options.back_to_back, "the back-to-back loop")):
        if found is None:
            print(f"not measured: {what}: this build's bench refuses the option")
    answer, wrong = [], []
    for ranks in options.ranks:
        contest = allreduce.Contest(ranks, facts["processors"], peers, options.hogring, options, scratch, tell)
        tell(f"all-reduce, {ranks} ranks: scouting {len(contest.settings)} settings")
        contest.scout()
        contest.rounds()
        allreduce.print_contest(contest)
        answer.append(contest.to_json())
        wrong += contest.wrong
    return answer, wrong


def run_convolutions(options):
    """P7, in processor time: a table of its own."""
    python = training.python_with_torch()
    if not python:
        print("\nconvolutions: skipped: no python3 with torch")
        return False
    print("\nconvolutions, one thread, beside PyTorch's (P7: >= 0.9x, 1.15x for 3x3 of 32 channels or more; lenet's 1.5x, 2.5x)")
    return subprocess.run([python, os.path.join(HERE, "conv_shapes.py"), str(min(options.rounds, 5))], cwd=ROOT).returncode == 0


def run_sparse(options, scratch):
    """Passes beside LIBLINEAR (>= 1x), the same objective at equal time, and H4 (>= 0.85, density <= 0.1 %)."""
    if not os.path.exists("/usr/include/linear.h"):
        print("\nsparse: skipped: no LIBLINEAR (Debian: liblinear-dev)")
        return False
    libraries = subprocess.run(["pkg-config", "--libs", "zlib", "jansson", "libxxhash", "inih", "openblas"], capture_output=True, text=True)
    program = compile_program(["cc", "-std=c11", "-D_GNU_SOURCE", "-O3", "-Iinclude", *here("liblinear.c"), os.path.join("build", "libhogring.a"),
                               "-llinear", *libraries.stdout.split(), "-fopenmp", "-pthread", "-lm"], "liblinear")
    for features in ("47236", "100000"):
        rows = os.path.join(scratch, f"rows-{features}.libsvm")
        subprocess.run([options.hogring, "data", "make", "sparse", "--out", rows, "--features", features], check=True, stdout=subprocess.DEVNULL)
        print("\nsparse models beside LIBLINEAR, one thread; two workers beside two trainers (H4: >= 0.85)", flush=True)
        if program:
            subprocess.run([program, rows, str(options.rounds)])


def run_command(options, *command):
    """One of the project's own measurements, as it stands."""
    print(f"\n$ {' '.join(command)}", flush=True)
    return subprocess.run(command, cwd=ROOT).returncode == 0


def part_primitives(options, facts, report):
    report["primitives"] = primitives.run(options, facts, build_primitives(), tell)


def part_allreduce(options, facts, report):
    report["allreduce"], report["wrong sums"] = run_allreduce(options, facts, options.scratch)


def part_training(options, facts, report):
    report["training"] = training.run(options, build_limit(), tell)


def part_pipelines(options, facts, report):
    report["pipelines"] = pipelines.run(options, tell)


def part_virtual(options, facts, report):
    return not options.quick and run_command(options, sys.executable, os.path.join("tests", "peers", "virtual.py"))


def part_layers(options, facts, report):
    return all([run_command(options, "build/hogring", "bench", "layers", "--model", model, "--batch-size", "64") for model in ("mlp", "cnn")])


def part_store(options, facts, report):
    return run_command(options, "build/hogring", "bench", "store", "--sweep", "--link", "200MB/s", "--sizes", "4M:4M")


def part_table(options, facts, report):
    chosen = options.rows or table.NAMES
    report["table"] = table.run(options, build_peers() if "allreduce" in chosen else {}, facts, tell)
    report["wrong sums"] = report["table"]["rows"].get("allreduce", {}).get("wrong", [])
    text = pages.table_text(report["table"], facts)
    print(text)
    lost = figures.lost(figures.read(options.page), text)
    if lost:
        print(f"the page keeps its table: it has figures of {', '.join(lost)}, which are neither measured now nor in build/peers; "
              "make peers without --rows measures all")
    return not lost and any("left out" not in found for found in report["table"]["rows"].values())


def part_avx2(options, facts, report):
    """The rows of training, where nobody may use more than AVX2."""
    before = dict(os.environ)
    os.environ.update(table.AVX2)
    try:
        report["avx2"] = table.run(options, {}, facts, tell, avx2=True)
    finally:
        os.environ.clear()
        os.environ.update(before)
    print(" ".join(f"{name}={value}" for name, value in table.AVX2.items()) + "; XLA (JAX, and TensorFlow's) is left out:\nits products use AVX-512 all the same.\n")
    print(pages.table_text(report["avx2"], facts))
    return any("left out" not in found for found in report["avx2"]["rows"].values())


# Name, heading in FIGURES.md, and what measures it; False: there was nothing to measure with.
PARTS = [
    ("table", "Beside the newest peers", part_table),
    ("avx2", "Beside the newest peers, all kept to AVX2", part_avx2),
    ("primitives", "Primitives", part_primitives),
    ("allreduce", "All-reduce", part_allreduce),
    ("training", "Training", part_training),
    ("pipelines", "Pipelines", part_pipelines),
    ("convolutions", "Convolutions", lambda options, facts, report: run_convolutions(options)),
    ("sparse", "Sparse models", lambda options, facts, report: run_sparse(options, options.scratch)),
    ("virtual", "Virtual time", part_virtual),
    ("layers", "Layers", part_layers),
    ("store", "Store", part_store),
]


def run_part(options, facts, report, name, heading, part):
    with figures.captured() as printed:
        measured = part(options, facts, report) is not False
    if measured and not options.quick:
        command = ["tests/peers/compare.py", *sys.argv[1:], *(() if options.only else ("--only", name))]
        figures.write(options.page, heading, facts, " ".join(command), printed.text, as_it_is=name in ("table", "avx2"))
        if options.page == PAGE:
            figures.quote_in(os.path.join(ROOT, "README.md"), options.page)


def main():
    options = options_of(sys.argv[1:])
    sys.stdout.reconfigure(line_buffering=True)
    os.makedirs(PROGRAMS, exist_ok=True)
    adopt_orphans()
    signals_raise()
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # a setting of this shell is nobody's best
        os.environ.pop(name, None)
    facts, began = machine(), time.monotonic()
    report = {"machine": facts, "quick": options.quick, "rounds": options.rounds}
    caches = ", ".join(f"{level} {size >> 10} KiB" for level, size in sorted(facts["caches"].items()))
    print(f"{facts['cpu']}, {facts['processors']} processors, {caches}, Linux {facts['kernel']}, loadavg {' '.join(facts['loadavg'])}")
    # What the MPIs keep in files belongs into memory; and killed ranks leave theirs behind.
    options.scratch = tempfile.mkdtemp(prefix="hogring-peers-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        for name, heading, part in PARTS:
            if options.only in (None, name):
                run_part(options, facts, report, name, heading, part)
    finally:
        end_family()
        shutil.rmtree(options.scratch, ignore_errors=True)
    wrong = report.pop("wrong sums", [])
    report["wrong"], report["seconds"] = wrong, round(time.monotonic() - began, 1)
    with open(options.json, "w") as file:
        json.dump(report, file, indent=1)
    print(f"\n{report['seconds']:.0f} s; all figures: {os.path.relpath(options.json)}")
    for line in wrong:
        print(f"WRONG SUM: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
