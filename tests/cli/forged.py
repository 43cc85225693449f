"""Files of somebody else, with right digests: options written into the last checkpoint of a folder, or into a trace.

    forged.py checkpoint FOLDER NAME=VALUE...
    forged.py trace FILE NAME=JSON...          data.NAME=JSON: how its data are read
"""
import ctypes, ctypes.util, json, os, struct, sys

found = ctypes.util.find_library("xxhash")
if not found:
    sys.exit("there is no libxxhash")
library = ctypes.CDLL(found)
library.XXH3_64bits.restype = ctypes.c_uint64
library.XXH3_64bits.argtypes = library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


class Both(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


library.XXH3_128bits.restype = Both


def digest64(data):
    return "%016x" % library.XXH3_64bits(data, len(data))


def digest128(data):
    both = library.XXH3_128bits(data, len(data))
    return struct.pack(">QQ", both.high, both.low)


def checkpoint(folder, options):
    step = max(os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("step-"))
    trainer, manifest = step + "/trainer.safetensors", step + "/manifest.json"
    data = open(trainer, "rb").read()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"].update({"option." + name: value for name, value in options})
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    head = struct.pack("<Q", len(text)) + text
    open(trainer, "wb").write(head + data[8 + length :])
    document = json.load(open(manifest))
    document.pop("xxh3_64")
    document["files"]["trainer.safetensors"].update(header=digest64(head), bytes=len(head) + len(data) - 8 - length)
    body = json.dumps(document, indent=2)[:-2]
    open(manifest, "w").write(body + ',\n  "xxh3_64": "%s"\n}\n' % digest64(body.encode()))


def trace(path, options):
    data = open(path, "rb").read()
    length, = struct.unpack("<Q", data[16:24])
    header = json.loads(data[32 : 32 + length])
    for name, value in options:
        place = header["data"]["options"] if name.startswith("data.") else header["options"]
        place[name.removeprefix("data.")] = json.loads(value)
    text = json.dumps(header).encode()
    whole = data[:16] + struct.pack("<Q", len(text)) + data[24:32] + text + data[32 + length : -16]
    open(path, "wb").write(whole + digest128(whole))


if __name__ == "__main__":
    {"checkpoint": checkpoint, "trace": trace}[sys.argv[1]](sys.argv[2], [word.split("=", 1) for word in sys.argv[3:]])
