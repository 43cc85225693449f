"""digits_png.py FOLDER: the digits of data/digits as FOLDER/train/<digit>/0000.png and FOLDER/test/<digit>/..., written by hand."""
import gzip, struct, sys, zlib
from pathlib import Path

def png(width, height, pixels, level=6):
    """Grey, 8 bits; rows of pixels behind filter 0."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + pixels[y * width:(y + 1) * width] for y in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows, level)) + chunk(b"IEND", b"")

def main(folder):
    for part, name in (("train", "train"), ("t10k", "test")):
        pixels = gzip.open(f"data/digits/{part}-images-idx3-ubyte.gz").read()[16:]
        labels = gzip.open(f"data/digits/{part}-labels-idx1-ubyte.gz").read()[8:]
        for i, label in enumerate(labels):
            to = Path(folder) / name / str(label)
            to.mkdir(parents=True, exist_ok=True)
            (to / f"{i:04}.png").write_bytes(png(8, 8, bytes(p * 15 for p in pixels[64 * i:64 * (i + 1)])))

if __name__ == "__main__":
    main(sys.argv[1])
