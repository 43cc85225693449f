#!/usr/bin/env python3
"""Writes the seeds of tests/fuzz/corpus anew: python3 tests/fuzz/make_corpus.py HOGRING"""
import gzip, json, struct, subprocess, sys, tempfile, zlib
from pathlib import Path

ROOT = Path(__file__).parent / "corpus"

def seed(target, name, data):
    (ROOT / target).mkdir(parents=True, exist_ok=True)
    (ROOT / target / name).write_bytes(data if isinstance(data, bytes) else data.encode())

def npy(descr, shape, data, version=1):
    header = str({"descr": descr, "fortran_order": False, "shape": shape}) + " \n"
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header.encode() + data

def packed(hogring, name, text, *options):
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / name, Path(folder) / "out"
        source.write_text(text)
        subprocess.run([hogring, "data", "pack", "--data", source, "--out", out, *options], check=True, stdout=subprocess.DEVNULL)
        return out.read_bytes()

def trace(header, trailer, *logs):
    head = b"HOGTRACE" + struct.pack("<IIQQ", 1, len(logs), len(header), len(trailer)) + header
    body = b"".join(struct.pack("<IIQQ", i, ranks, n, len(log)) + log for i, (ranks, n, log) in enumerate(logs))
    return head + body + trailer + bytes(16)

def png(width, height, depth, colour, interlace, pixels, *extra):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">2I5B", width, height, depth, colour, 0, 0, interlace)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunk(*e) for e in extra) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")

# Of 9x7 pixels, as Pillow saved them with quality=20, optimize=True.
GREY_JPEG = bytes.fromhex(
    "ffd8ffe000104a46494600010100000100010000ffdb004300281c1e231e19282321232d2b28303c64413c37373c7b585d4964918099968f808c8aa0"
    "b4e6c3a0aadaad8a8cc8ffcbdaeef5ffffff9bc1fffffffaffe6fdfff8ffc0000b080007000901011100ffc400150001010000000000000000000000"
    "0000000103ffc4001f10010001030403000000000000000000000102000304111221315391d1ffda0008010100003f00946180454b9aa1d1179a37e2"
    "78aefa3ed7ffd9")
PROGRESSIVE_JPEG = bytes.fromhex(
    "ffd8ffe000104a46494600010100000100010000ffdb004300281c1e231e19282321232d2b28303c64413c37373c7b585d4964918099968f808c8aa0"
    "b4e6c3a0aadaad8a8cc8ffcbdaeef5ffffff9bc1fffffffaffe6fdfff8ffdb0043012b2d2d3c353c76414176f8a58ca5f8f8f8f8f8f8f8f8f8f8f8f8"
    "f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8f8ffc20011080007000903012200021101031101ffc400"
    "160001010100000000000000000000000000000102ffc40014010100000000000000000000000000000000ffda000c03010002100310000001c40fff"
    "c40017100003010000000000000000000000000000021112ffda0008010100010502aa694fffc4001511010100000000000000000000000000000011"
    "ffda0008010301013f018fffc40014110100000000000000000000000000000000ffda0008010201013f017fffc40015100101000000000000000000"
    "00000000000031ffda0008010100063f0247ffc4001910000203010000000000000000000000000001113191f0ffda0008010100013f218552c38a3f"
    "ffda000c030100020003000000108fffc400161101010100000000000000000000000000010041ffda0008010301013f100397ffc400151101010000"
    "0000000000000000000000000100ffda0008010201013f1002ffc4001b100002010500000000000000000000000000011121516191a1ffda00080101"
    "00013f10a62645e4fa636a7fffd9")

def main(hogring):
    seed("csv", "header", "\0a,b,y\n1,2.5,cat\r\n-3e2,.5,\"do\"\"g\"\n")
    seed("csv", "plain", "\2" "1;2;0\n3;4;1\n\n")
    seed("csv", "tabs", "\4\xef\xbb\xbf1\t2\n3\t4\n".encode("latin1"))
    seed("csv", "quoted", "\3\"x\ny\", y ,z\n1,2,3\n")
    seed("csv_samples", "names", "\0id,b,a,kind\nx,2,1,\"c,d\"\ny,4,3,e\n")
    seed("csv_samples", "place", "\1" "x;1;2\ny;3;4\n")
    seed("csv_samples", "unknown", "\2" "1\t2\n3\t-4e5\n")
    seed("csv_samples", "numbers", "\5" "1,0,2020\n5,6,7\n")
    seed("npy", "f4", npy("<f4", (2, 3), struct.pack("<6f", 1, 2, 3, 4, 5, 6)))
    seed("npy", "f8big", npy(">f8", (2, 1, 2), struct.pack(">4d", 1, 2, 3, 4), 2))
    seed("npy", "u1", npy("|u1", (1, 1, 2, 2), b"\0\1\2\3"))
    seed("npy", "texts", npy("<U2", (3,), "a\0bcd\0".encode("utf-32-le")))
    llm = struct.pack("<3i", 20240520, 1, 3) + bytes(1012)
    seed("token_file", "bin", b"\0" + llm + struct.pack("<3H", 1, 2, 500))
    seed("token_file", "u4", b"\1" + npy("<u4", (3,), struct.pack("<3I", 1, 2, 70000)))
    seed("token_file", "recipe", b"\2" + b'{"tokens":"chars","count":2,"points":[10,228],"length":3}')
    seed("token_file", "chars", b"\3" + "zwölf €\n".encode())
    seed("npy", "i8", npy("<i8", (3,), struct.pack("<3q", -1, 0, 7), 3))
    seed("libsvm", "pairs", "\0+1 1:0.5 7:1.25\n-1 2:1 # note\n")
    seed("libsvm", "zero", "\1" "0 qid:3 0:1 3:1e-3\n1\n\n2 5:1\n")
    seed("libsvm", "features", "\5" "1 1:1 8:1\n0 2:2\n1 3:1\n")
    seed("cifar", "ten", bytes([0, 0, 9, 3]))
    seed("cifar", "hundred", bytes([1, 19, 99, 0, 5]))
    seed("cifar", "wrong", bytes([0, 10]))
    idx = struct.pack(">4B3I", 0, 0, 8, 3, 2, 2, 2) + bytes(8)
    seed("idx", "images", b"\2" + idx)
    seed("idx", "labels", b"\0" + struct.pack(">4BI", 0, 0, 8, 1, 3) + b"\0\1\2")
    seed("idx", "gzip", b"\2" + gzip.compress(idx, mtime=0))
    seed("image", "grey.png", b"\x42" + png(3, 2, 8, 0, 0, b"\0abc\0def"))
    seed("image", "large.png", b"\x42" + png(9, 7, 8, 0, 0, b"".join(bytes([0, *range(y, y + 9)]) for y in range(7))))
    seed("image", "palette.png", b"\0" + png(3, 1, 2, 3, 1, b"\0\x10\0\x20", (b"PLTE", b"abcdefghi"), (b"tRNS", b"\0\x80")))
    seed("image", "deep.png", b"\x11" + png(1, 1, 16, 6, 0, b"\0" + bytes(8)))
    seed("image", "promise.png", b"\x11" + png(60000, 60000, 8, 2, 0, b""))
    seed("image", "grey.jpg", b"\x33" + GREY_JPEG)
    seed("image", "progressive.jpg", b"\xff" + PROGRESSIVE_JPEG)
    exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"
    seed("image", "turned.jpg", b"\x33" + GREY_JPEG[:2] + b"\xff\xe1" + struct.pack(">H", 2 + len(exif)) + exif + GREY_JPEG[2:])
    seed("packed", "floats", packed(hogring, "x.csv", "1,2,a\n3,4,b\n5,6,a\n"))
    seed("packed", "sparse", packed(hogring, "x.libsvm", "1 1:2 3:4\n0 2:1\n1\n"))
    header = json.dumps({"__metadata__": {"format": "pt"}, "w": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}}).encode()
    seed("safetensors", "one", struct.pack("<Q", len(header)) + header + bytes(8))
    seed("safetensors", "none", struct.pack("<Q", 2) + b"{}")
    for i, text in enumerate(["softmax", "mlp", "flatten, dense 256 , relu\n, dense 10", "flatten,dense,10"]):
        seed("model_text", str(i), "\0" + text)
    seed("topology", "routes", "gpu a b c # three\nnode s\nlink a s 16GB/s 5us x2\nlink s b 1GB/s\nlink s c 1GB/s shared m\nlink a c 1GB/s shared m\n")
    seed("topology", "wrong", "gpu a a\nlink a z 0B/s\n")
    for i, text in enumerate(["16GB/s,5us", "1e-3MB/s", "0GB/s,1us", "8GB/s,99999h"]):
        seed("link", str(i), text)
    for i, text in enumerate(["10ms", "uniform(5ms, 15ms)", "lognormal(10ms, 0.3)", "pareto(10ms, 2.5)", "exponential(1us)"]):
        seed("delay", str(i), text)
    for i, text in enumerate(["slow:3x2:0.1, stall:1@step=50+3s", "kill:0@step=3,nan:2@7,flip-bit:1@step=2", "kill:any:0.1:2, stall:any:0.5",
                              "drop-push:0.1+1ms, load:1+3ms, kill:server:0@step=4", "kill:3@2s"]):
        seed("inject", str(i), "\2" + text)
    seed("config", "both", "\0workers = 3\n[train]\nmodel = dense 10 ; note\n  , relu\n[compare]\nstrategies=ssp,hogwild\n")
    seed("config", "wrong", "\1[bench]\nx\n=\n[train\n")
    for i, text in enumerate(["workers=3", "lr=1e-400", "checkpoint-every=30s", "timeout=1h", "max-memory=8GiB", "no-such=1", "model=cnn"]):
        seed("option", str(i), "\0" + text)
    files = {name: {"bytes": 200, "header": "0" * 16, "tensors": {"0.bias": "1" * 16, "w": "f" * 16}} for name in ("model.safetensors", "trainer.safetensors")}
    manifest = {"format": "hogring checkpoint", "version": 1, "hogring": "0.1.0", "step": 500, "files": files}
    seed("manifest", "whole", json.dumps(manifest, indent=2)[:-2])
    seed("manifest", "step", json.dumps({**manifest, "step": -1})[:-1])
    seed("gzip", "two", b"\3" + gzip.compress(b"hogring " * 40, mtime=0) + gzip.compress(b"again", mtime=0))
    seed("gzip", "plain", b"\0no gzip at all")
    seed("gzip", "behind", b"\12" + gzip.compress(b"x", mtime=0) + b"y")
    seed("metadata", "run", "epoch=3\nposition=64\nseed=18446744073709551615\nmachine.kernels=openblas\noption.validation-fraction=0.1\nbest=1e400\n")
    options = {"strategy": "ssp", "workers": 3, "seed": "18446744073709551615", "lr": 0.5, "normalize": True}
    data = {"name": "digits", "digest": "0" * 32, "options": {"test-data": "", "test-fraction": 0.2, "header": "auto", "label-column": "",
            "index-base": "auto", "features": 0}}
    begin = {"index": 0, "weights": "1" * 32, "state": "2" * 32}
    seed("trace_text", "whole", json.dumps({"options": options, "data": data, "machine": {}, "begin": begin}) + "\0" +
         json.dumps({"index": 7, "weights_digest": "3" * 32}))
    seed("trace_text", "odd", '{"options": {"workers": -1, "kernels": "\\u0000"}, "data": 3}\0{}')
    seed("trace", "two", trace(b"{}", b"!", (2, 2, b"\5\0\n\xac\2\6\1\0\1\x10"), (1, 1, b"\4\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0")))
    seed("trace", "empty", trace(b"", b"", (4096, 0, b"")))
    seed("trace", "wrong", trace(b"{}", b"", (1, 2**63, b"\4\0\0\0")))

main(sys.argv[1])
