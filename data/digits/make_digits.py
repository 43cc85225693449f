#!/usr/bin/env python3
"""Write the digits data set as four MNIST-named IDX files, gzipped, next to this script.

usage: make_digits.py DIGITS_CSV_GZ

DIGITS_CSV_GZ is scikit-learn's copy (README.md says where Debian puts it). Every fifth sample
(index % 5 == 4) goes to the test split. The same input and the same zlib give the same bytes.
"""
import csv
import gzip
import io
import pathlib
import struct
import sys

SIDE, LEVELS, CLASSES = 8, 17, 10


def read_samples(path):
    """[(pixels, label)]: 64 bytes of 0..16 and a digit, in the order of the file."""
    samples = []
    with gzip.open(path, "rt", newline="") as text:
        for row in csv.reader(text):
            values = [float(field) for field in row]
            pixels, label = values[:-1], values[-1]
            if len(pixels) != SIDE * SIDE or any(v != int(v) for v in values):
                sys.exit(f"make_digits.py: {path}: row {len(samples)} is not 65 whole numbers")
            if not (0 <= min(pixels) and max(pixels) < LEVELS and 0 <= label < CLASSES):
                sys.exit(f"make_digits.py: {path}: row {len(samples)} is out of range")
            samples.append((bytes(int(v) for v in pixels), int(label)))
    return samples


def write_idx(path, dims, payload):
    """IDX of unsigned bytes: 0 0 08 ndim, big-endian sizes, the bytes."""
    header = struct.pack(f">BBBB{len(dims)}I", 0, 0, 8, len(dims), *dims)
    packed = io.BytesIO()
    # No name and no time in the gzip header: they would make the bytes differ from run to run.
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=9, mtime=0) as out:
        out.write(header + payload)
    path.write_bytes(packed.getvalue())


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_digits.py DIGITS_CSV_GZ")
    folder = pathlib.Path(__file__).parent
    samples = read_samples(sys.argv[1])
    splits = {
        "train": [s for i, s in enumerate(samples) if i % 5 != 4],
        "t10k": [s for i, s in enumerate(samples) if i % 5 == 4],
    }
    for name, split in splits.items():
        count = len(split)
        write_idx(folder / f"{name}-images-idx3-ubyte.gz", (count, SIDE, SIDE),
                  b"".join(pixels for pixels, _ in split))
        write_idx(folder / f"{name}-labels-idx1-ubyte.gz", (count,),
                  bytes(label for _, label in split))
        print(f"{name}: {count} samples")


if __name__ == "__main__":
    main()
