#!/usr/bin/env python3
"""Checks the rules that a reader relies on; exits 1 and names every place that breaks one.

- a folder of src/ includes only itself and those above it in the order below; kernels, nn, optim,
  data and checkpoint include base only, and nn its kernels
- every header compiles alone
- functions have at most 60 lines, source files 400 (tests 450), headers 250, lines 100 columns
- a test program that is named exists
- atomics stand in shm/atom.h alone; exit() and printf() in cli, report and base/log alone
"""
import re, subprocess, sys
from pathlib import Path

ORDER = ["base", "shm", "launch", "plan", "netsim", "trace", "group", "store", "kernels", "nn", "optim", "data", "checkpoint", "sparse", "strategy",
         "train", "report", "plot", "cli"]
BASE_ONLY = {"kernels", "nn", "optim", "data", "checkpoint"}
found = []

def complain(path, line, text):
    found.append(f"{path}:{line}: {text}")

def check_includes(path, lines):
    folder = path.parts[1]
    for number, line in enumerate(lines, 1):
        match = re.match(r'#include "([a-z]+)/', line)
        if not match or match[1] == "hogring":
            continue
        other = match[1]
        if other not in ORDER:
            complain(path, number, f"include of unknown folder {other}")
        elif other != folder and (folder in BASE_ONLY and other != "base" and (folder, other) != ("nn", "kernels") or ORDER.index(other) > ORDER.index(folder)):
            complain(path, number, f"{folder} may not include {other}")

def check_functions(path, lines):
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            if number - start > 60:
                complain(path, start, f"a function of {number - start} lines")
            start = None

def check_words(path, lines):
    name = str(path)
    for number, line in enumerate(lines, 1):
        if len(line) > 100:
            complain(path, number, f"{len(line)} columns")
        for test in re.findall(r"\btests/[a-z/]+/test_\w+\.c\b", line):
            if not Path(test).exists():
                complain(path, number, f"there is no {test}")
        if re.search(r"\batomic_(load|store|fetch|exchange|compare)|_Atomic\b|memory_order", line) and path.parts[0] == "src" and name != "src/shm/atom.h":
            complain(path, number, "atomics belong into shm/atom.h")
        if path.parts[0] == "src" and path.parts[1] not in ("cli", "report") and name not in ("src/base/log.c", "src/base/error.c"):
            if re.search(r"(?<![a-z_])(exit|printf|puts)\(", line):
                complain(path, number, "prints or exits below cli")

def check_headers_alone(headers, compiler):
    for header in headers:
        flags = ["-std=c11", "-D_GNU_SOURCE", "-DHR_ISA_SUFFIX=_plain", "-Iinclude", "-Isrc", "-Itests"]
        run = subprocess.run([compiler, *flags, "-fsyntax-only", "-x", "c", str(header)], capture_output=True, text=True)
        if run.returncode:
            complain(header, 1, "does not compile alone: " + run.stderr.splitlines()[0])

def main():
    compiler = sys.argv[1] if len(sys.argv) > 1 else "cc"
    files = sorted(p for top in ("src", "include", "tests") for pattern in ("*.[ch]", "*.[ch]pp") for p in Path(top).rglob(pattern) if "peers" not in p.parts)
    for path in files:
        lines = path.read_text().split("\n")
        limit = 250 if path.suffix in (".h", ".hpp") else 450 if path.parts[0] == "tests" else 400
        if len(lines) > limit:
            complain(path, 1, f"{len(lines)} lines, at most {limit}")
        if path.parts[0] == "src":
            check_includes(path, lines)
        check_functions(path, lines)
        check_words(path, lines)
    check_headers_alone([p for p in files if p.suffix == ".h" and p.parts[0] != "tests"], compiler)
    print("\n".join(found) or f"lint: {len(files)} files, nothing found")
    return 1 if found else 0

sys.exit(main())
