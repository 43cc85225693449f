#!/usr/bin/env python3
"""Estimates, not measurements: llvm-mca's float32 operations a cycle of the innermost loop of the tile of long products
(src/math/tiles/block.isa.c), on processors that nobody here has, and beside them on some that are known.
    tests/peers/mca.py        after make and make arm64; wants llvm-mca and binutils for both machines
LLVM 14 models neoverse-n1 as a Cortex-A57, whose units are half as wide, and every LLVM up to 19 apple-m1 as a Cyclone, which has
three vector units where an M1 has four."""
import re
import subprocess
import sys

ROWS = [("arm64", "neon", "apple-m1"), ("arm64", "neon", "neoverse-n1"), ("arm64", "plain", "apple-m1"), ("arm64", "plain", "neoverse-n1"),
        ("release", "v3", "skylake"), ("release", "v3", "znver3"), ("release", "v4", "skylake-avx512"), ("release", "plain", "znver3")]
VECTOR = r"\b(fmla|fmul|fadd|vfmadd\w+ps|v?mulps|v?addps)\b"
WIDTH = {"v": 4, "x": 4, "y": 8, "z": 16}  # floats of a register


def flops(line):
    """Of an instruction."""
    found = re.search(VECTOR, line)
    registers = re.findall(r"\bv(?=\d+\.4s)|(?<=%)[xyz](?=mm)", line)
    return found and registers and WIDTH[registers[0]] * (2 if "fm" in found[1] and "fmul" not in found[1] else 1) or 0


def innermost_loops(text):
    code = [line.split("\t") for line in text.splitlines() if re.match(r" +[0-9a-f]+:\t", line)]
    at = {int(words[0].strip(" :"), 16): i for i, words in enumerate(code)}
    code = [re.sub(r"\s*(<.*|//.*| # .*)", "", " ".join(words[1:])) for words in code]
    jumps = {}
    for i, line in enumerate(code):
        target = re.match(r"(?:b\S*|cb\S*|j\S*) .*?\b([0-9a-f]+)$", line)
        begin = at.get(int(target[1], 16)) if target else None
        if begin is not None and begin < i:
            jumps[begin, i] = code[begin:i]
    return [body for (b, e), body in jumps.items() if not any((b, e) != o and b <= o[0] and o[1] <= e for o in jumps)]


for build, level, cpu in ROWS:
    tools = "aarch64-linux-gnu-" if build == "arm64" else ""
    dump = subprocess.run([tools + "objdump", "-d", "--no-show-raw-insn", f"build/{build}/src/math/tiles/block.isa.{level}.o"],
                          check=True, capture_output=True, text=True).stdout
    # The loop that does most: a whole tile whose steps are known.
    loop = max(innermost_loops(dump), key=lambda body: (sum(map(flops, body)), -len(body)))
    target = ["-mtriple=aarch64"] if tools else ["-mtriple=x86_64"]
    said = subprocess.run(["llvm-mca", *target, f"-mcpu={cpu}", "-iterations=200"], input="\n".join(loop) + "\n", check=True,
                          capture_output=True, text=True)
    cycles = int(re.search(r"Total Cycles:\s+(\d+)", said.stdout)[1]) / 200
    done = sum(map(flops, loop))
    print(f"{level:6} {cpu:15} {done / cycles:6.1f} float32 operations a cycle ({len(loop)} instructions, {done} operations, {cycles:.1f} cycles)")
    sys.stdout.flush()
