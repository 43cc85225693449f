#!/usr/bin/env python3
"""What numpy makes of fixed values, as tests/unit/compress/oracle.h: halves, bytes, largest.

    python3 tests/peers/compress_oracle.py >tests/unit/compress/oracle.h
"""
import numpy as np

def inputs():
    bits = np.arange(560, dtype=np.uint64) * 2654435761 % 2**32  # Knuth's multiplicative hash
    exponents = 97 + np.arange(560) * 37 % 46                    # 2^-30 to 2^15: denormal halves as well
    x = (bits & 0x807fffff | exponents.astype(np.uint64) << 23).astype(np.uint32).view(np.float32)
    x[::7] = np.float16(np.abs(x[::7])) + np.spacing(np.float16(np.abs(x[::7]))).astype(np.float32) / 2  # ties
    x[5:560:31] = x[4]
    return x

def table(kind, name, values, text):
    rows = [", ".join(text(v) for v in values[i:i + 8]) for i in range(0, len(values), 8)]
    print(f"static const {kind} {name}[{len(values)}] = {{\n    " + ",\n    ".join(rows) + "};\n")

def int8(x):
    scales, bytes_ = [], []
    for at in range(0, len(x), 256):
        block = x[at:at + 256]
        scale = np.float32(np.abs(block).max() / np.float32(127))
        scales.append(scale)
        bytes_ += list(np.rint(block / scale).astype(np.int8))
    return np.array(scales, np.float32), bytes_

x = inputs()
print("/* oracle.h - made by tests/peers/compress_oracle.py, with numpy: what formats make of values. */")
print("#ifndef HR_TESTS_COMPRESS_ORACLE_H\n#define HR_TESTS_COMPRESS_ORACLE_H\n\n#include <stdint.h>\n")
print("/* clang-format off */")
table("uint32_t", "oracle_x", x.view(np.uint32), lambda v: f"0x{v:08x}")
table("uint16_t", "oracle_fp16", x.astype(np.float16).view(np.uint16), lambda v: f"0x{v:04x}")
scales, bytes_ = int8(x)
table("uint32_t", "oracle_scale", scales.view(np.uint32), lambda v: f"0x{v:08x}")
table("int8_t", "oracle_int8", bytes_, str)
table("uint32_t", "oracle_largest", sorted(np.lexsort((np.arange(560), -np.abs(x)))[:28]), str)
print("/* clang-format on */\n\n#endif")
