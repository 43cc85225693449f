#!/usr/bin/env python3
"""Checks the rules that a reader relies on; exits 1 and names every place that breaks one.

- a room of src/ includes and calls only itself and those above it in the order below, a folder of a room likewise; every folder
  stands in its room and has a README; stats, encode, search, pipeline,
  kernels, nn, optim, data, formats and checkpoint base only, but tiles kernels, products both, nn all three, formats data and images. Calls are read from the symbols of
  the object files, so lint wants a build
- no circle of calls between files, but for those listed below; the list shrinks; in folders whose
  files have an order (FILE_ORDER), nothing calls what stands above it
- every header begins with its name and compiles alone; those of MPI (_mpi.h) are the compiler's affair where MPI is
- src/python and src/packaging are no rooms: they have no C, and nothing here is told of them but their columns
- no two files define the same tag
- lines have at most 100 columns; how long a function or a file is, its reader judges
- in bats files nothing stands that fails unnoticed
- a source or header that a comment names exists (system headers stand in <>), and so does every file that a README names
- the words and the cases that tests/PROMISES.md names are there
- atomics stand in shm/atom.h alone; exit() and printf() in bench, cli, report and base/log alone
"""
import base64, hashlib, re, subprocess, sys
from pathlib import Path

# Rooms of src/ in their order, and the folders of each in theirs. A room that is named as one of its folders is that folder.
ROOMS = {
    "base": ["base", "stats", "encode", "search", "terminal"],
    "math": ["kernels", "tiles", "products"],
    "comm": ["shm", "observe", "launch", "plan", "netsim", "trace", "group", "machines", "store", "compress"],
    "nn": ["pipeline", "nn", "optim"],
    "data": ["images", "data", "formats", "checkpoint"],
    "strategies": ["strategy", "server", "strategies"],
    "options": ["options"],
    "train": ["session", "sparse", "stages", "worker", "drive", "serial", "virtual", "state", "train"],
    "model": ["net", "predict", "sample", "export"],
    "show": ["report", "verdict", "json", "metrics", "page", "plot", "timeline"],
    "experiment": ["watch", "compare", "forecast", "policy", "gate", "bench", "verify"],
    "cli": ["manual", "cli"],
}
ORDER = [folder for folders in ROOMS.values() for folder in folders]
BASE_ONLY = {"stats", "encode", "search", "terminal", "pipeline", "kernels", "tiles", "products", "compress", "nn", "optim", "images", "data", "formats", "checkpoint"}
BESIDE_BASE = {("tiles", "kernels"), ("products", "kernels"), ("products", "tiles"), ("compress", "kernels"), ("nn", "kernels"), ("nn", "tiles"), ("nn", "products"), ("formats", "data"), ("formats", "images")}
# Calls against the order that are still there: (from, to).
UPWARD = set()
# Circles of calls that are still there.
CIRCLES = []
# Folders whose files have an order, from the bottom: nothing calls what stands after it.
FILE_ORDER = {
    "kernels": "select bf16 team elementwise norm pool rows smooth",
    "tiles": "block attention micro narrow lanes winograd micro_bf16 micro_amx tile_roof",
    "products": "pack product_blocks product gemm_naive gemm_check blas ready gemm product_amx product_bf16 patches patches_amx patches_bf16 winograd roofs",
    "session": "carve machine_bits saved target_scale model_input cut result reading save launcher",
    "worker": "conditions input outcome compute_buffers staged gradient worker",
    "drive": "leader replay record losses losses_multinode quiesce calibrate serve drive_threads",
    "serial": "gradient_pool serial drive_explore drive_replay",
    "virtual": "message_queue simulator drive_virtual",
    "state": "model_tensors state model_file",
    "train": "evaluate areas multinode shared_memory optimizer_setup pipeline_setup prepare announce dense_result fits run what_if",
    "forecast": "noise pace anchors forecast report",
}
found = []

def complain(path, line, text):
    found.append(f"{path}:{line}: {text}")

def place(file):
    return next((str(p) for p in Path("src").rglob(Path(file).name + ".*c") if p.parent.name == Path(file).parent.name), file)

def may_use(folder, other):
    if folder in BASE_ONLY and other not in (folder, "base"):
        return (folder, other) in BESIDE_BASE
    return ORDER.index(other) <= ORDER.index(folder)

def check_includes(path, lines):
    folder = path.parts[-2]
    for number, line in enumerate(lines, 1):
        match = re.match(r'#include "([a-z]+)/', line)
        if not match or match[1] == "hogring":
            continue
        other = match[1]
        if other not in ORDER:
            complain(path, number, f"include of unknown folder {other}")
        elif not may_use(folder, other):
            complain(path, number, f"{folder} may not include {other}")

def check_words(path, lines):
    name = str(path)
    for number, line in enumerate(lines, 1):
        if len(line) > 100:
            complain(path, number, f"{len(line)} columns")
        if re.search(r"\batomic_(load|store|fetch|exchange|compare)|_Atomic\b|memory_order", line) and path.parts[0] == "src" and name != "src/comm/shm/atom.h":
            complain(path, number, "atomics belong into shm/atom.h")
        if path.parts[0] == "src" and path.suffix in (".c", ".h") and path.parts[-2] not in ("bench", "cli", "report") and name not in ("src/base/log.c", "src/base/error.c"):
            if re.search(r"(?<![a-z_])(exit|printf|puts)\(", line):
                complain(path, number, "prints or exits below cli")

def check_comments(path, there):
    """Sources and headers that a comment names are there; `there` has the ends of all paths."""
    text = path.read_text()
    for comment in re.finditer(r"/\*.*?\*/", text, re.S):
        for name in re.finditer(r"(?<![<\w./-])\w[\w./-]*\w\.[ch]\b", comment[0]):
            if name[0] not in there:
                complain(path, text.count("\n", 0, comment.start() + name.start()) + 1, f"there is no {name[0]}")

def check_tags(files):
    """A tag stands for one thing, whoever includes what."""
    first = {}
    for path in files:
        for match in re.finditer(r"^(?:struct|union|enum) (hr_\w+) \{", path.read_text(), re.M):
            if first.setdefault(match[1], path) != path:
                complain(path, 1, f"{match[1]} is another thing in {first[match[1]]}")

def check_readmes():
    """Files that a README names in backquotes are there: beside it, at the top, below src, or with their folder."""
    for readme in [Path("README.md"), *(p for top in ("src", "include", "tests", "data") for p in Path(top).rglob("README.md"))]:
        for number, line in enumerate(readme.read_text().split("\n"), 1):
            for name in re.findall(r"`([\w/.-]+\.(?:c|h|py|sh|bats|bash|txt|md|S))`", line):
                if not any((place / name).exists() for place in (readme.parent, Path("."), Path("src"), *(Path("src", room) for room in ROOMS), Path("include"), Path("tests/unit/train"))):
                    complain(readme, number, f"there is no {name}")

def check_promises():
    """What tests/PROMISES.md says was said is still said there, and each of its cases stands in its file."""
    promises, plain = Path("tests/PROMISES.md"), lambda text: " ".join(text.split())
    for number, line in enumerate(promises.read_text().split("\n"), 1):
        row = re.fullmatch(r"\| `(.*?)` \| (.*) \| `(.*?)` \| (.*) \|", line)
        for file, words in ((row[1], row[2]), (row[3], row[4])) if row else ():
            if not Path(file).exists() or plain(words) not in plain(Path(file).read_text()):
                complain(promises, number, f"{file} has no \"{words}\"")

def check_rooms():
    there = {p.parent for p in Path("src").rglob("*.[ch]")}
    meant = {Path("src", room) if room == folder else Path("src", room, folder) for room, folders in ROOMS.items() for folder in folders}
    for path in sorted(there ^ meant):
        complain(path, 1, "is not where ROOMS in tests/lint.py says" if path in there else "is in ROOMS of tests/lint.py, and not there")
    for path in sorted(there | {Path("src", room) for room in ROOMS}):
        if not (path / "README.md").exists():
            complain(path, 1, "has no README.md")

def check_shell(path, lines):
    for number, line in enumerate(lines, 1):
        passed_over = re.match(r"\s*(! |\[.*\] && [!\[])", line) and "||" not in line
        if passed_over and lines[number].strip() != "}":
            complain(path, number, "bash goes on where this fails: || return 1, or a line each")
        if re.search(r"(^|[|(;&]) *jq ", line):
            complain(path, number, "make test installs no jq; support.bash has json")

def first_includes(files):
    """Headers with which some .c file begins: the compiler has seen that these compile alone."""
    first = (re.search(r'^ *#include [<"]([^>"]+)[>"]', p.read_text(), re.M) for p in files if p.suffix == ".c")
    return {tuple(Path(match[1]).parts[-2:]) for match in first if match}

def check_headers_alone(headers, compiler, compiled):
    for header in (h for h in headers if h.parts[-2:] not in compiled):
        flags = ["-std=c11", "-D_GNU_SOURCE", "-DHR_ISA_SUFFIX=_plain", "-Iinclude", "-Isrc", *(f"-iquotesrc/{room}" for room in ROOMS), "-Itests"]
        run = subprocess.run([*compiler.split(), *flags, "-fsyntax-only", "-x", "c", str(header)], capture_output=True, text=True)
        if run.returncode:
            complain(header, 1, "does not compile alone: " + run.stderr.splitlines()[0])

def read_calls(objects):
    """{file: {file that it uses: names}}, files as folder/name: an object's symbols, all instruction sets' as one."""
    defines, wants, calls = {}, {}, {}
    run = subprocess.run(["nm", "-A", *map(str, objects)], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        path, kind, symbol = re.match(r"(.*?):[ 0-9a-f]* (\w) (\S+)$", line).groups()
        file = "/".join(Path(path).parts[-2:]).split(".")[0]
        if kind == "U":
            wants.setdefault(file, set()).add(symbol)
        elif kind in "TDBRVWC":
            defines[symbol] = file
    for file, symbols in wants.items():
        calls[file] = {}
        for symbol in sorted(symbols):
            if defines.get(symbol, file) != file:
                calls[file].setdefault(defines[symbol], []).append(symbol)
    return calls

def circles(calls):
    """Files that reach each other: Tarjan's strongly connected components of more than one file."""
    number, low, stack, out = {}, {}, [], []
    def visit(file):
        number[file] = low[file] = len(number)
        stack.append(file)
        for other in calls.get(file, ()):
            if other not in number:
                visit(other)
            if other in stack:
                low[file] = min(low[file], low[other])
        if low[file] == number[file]:
            at = stack.index(file)
            out.append(set(stack[at:]))
            del stack[at:]
    for file in calls:
        if file not in number:
            visit(file)
    return [circle for circle in out if len(circle) > 1]

def check_calls(build):
    # What was built of sources that are gone, or have become x.isa.c, does not count.
    sources = {str(p.with_suffix("")) for p in Path("src").rglob("*.[cS]")}
    objects = [o for o in sorted(Path(build).glob("src/**/*.o")) if re.sub(r"(\.isa)\.\w+$", r"\1", str(o.relative_to(build).with_suffix(""))) in sources]
    if not objects:
        return complain(build, 1, "no object files: make first")
    calls = read_calls(objects)
    for folder, order in FILE_ORDER.items():
        for name in order.split():
            if f"{folder}/{name}" not in {"/".join(Path(source).parts[-2:]).removesuffix(".isa") for source in sources}:
                complain("tests/lint.py", 1, f"there is no {folder}/{name}, which FILE_ORDER names")
    for file, others in calls.items():
        for other, symbols in others.items():
            folders = file.split("/")[0], other.split("/")[0]
            if folders[0] == folders[1] and folders[0] in FILE_ORDER:
                order = FILE_ORDER[folders[0]].split()
                lower, upper = file.split("/")[1], other.split("/")[1]
                if lower not in order or upper not in order:
                    complain("tests/lint.py", 1, f"{file} or {other} is missing in FILE_ORDER")
                elif order.index(lower) < order.index(upper):
                    complain(place(file), 1, f"stands below {upper} and calls it: {' '.join(symbols)}")
            if not may_use(*folders) and folders not in UPWARD:
                complain(place(file), 1, f"{folders[0]} may not use {folders[1]}: {' '.join(symbols)} of {other}")
    listed, still = [set(line.split()) for line in CIRCLES], circles(calls)
    for circle in still:
        if not any(circle <= known for known in listed):
            complain(place(min(circle)), 1, "a circle of calls: " + " ".join(sorted(circle)))
    for file in sorted(set().union(*listed) - set().union(*still)):
        complain("tests/lint.py", 1, f"{file} is in no circle any more: take it from CIRCLES")

def check_page():
    """A browser runs the page's script only where the policy of page.html has its hash."""
    page = Path("src/show/page")
    there = re.search(r"'sha256-([^']+)'", (page / "page.html").read_text())
    real = base64.b64encode(hashlib.sha256((page / "script.js").read_bytes()).digest()).decode()
    if not there or there[1] != real:
        complain(page / "page.html", 1, f"script.js has another hash: sha256-{real}")

def main():
    compiler = sys.argv[1] if len(sys.argv) > 1 else "cc"
    files = sorted(p for top in ("src", "include", "tests") for pattern in ("*.[ch]", "*.[ch]pp") for p in Path(top).rglob(pattern) if "peers" not in p.parts)
    there = {"/".join(p.parts[k:]) for top in ("src", "include", "tests") for p in Path(top).rglob("*.[ch]") for k in range(len(p.parts))}
    for path in files:
        check_comments(path, there)
        lines = path.read_text().split("\n")
        if path.parts[0] == "src":
            check_includes(path, lines)
        check_words(path, lines)
    for path in sorted(p for pattern in ("*.py", "*.sh") for p in Path("src").rglob(pattern)):
        check_words(path, path.read_text().split("\n"))
    for path in sorted(p for pattern in ("*.bats", "*.bash") for p in Path("tests/cli").glob(pattern)):
        check_shell(path, path.read_text().split("\n"))
    for path in files:
        if path.suffix == ".h" and not path.read_text().startswith(f"/* {path.name} - "):
            complain(path, 1, f"does not begin with /* {path.name} - ")
    check_headers_alone([p for p in files if p.suffix == ".h" and p.parts[0] != "tests" and not p.name.endswith("_mpi.h")], compiler, first_includes(files))
    check_tags(p for p in files if p.parts[0] != "tests")
    check_page()
    check_rooms()
    check_readmes()
    check_promises()
    check_calls(sys.argv[2] if len(sys.argv) > 2 else "build/release")
    print("\n".join(found) or f"lint: {len(files)} files, nothing found")
    return 1 if found else 0

sys.exit(main())
