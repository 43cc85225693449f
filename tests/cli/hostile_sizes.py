"""Over a hundred files and command lines that ask for too much: each is refused with exit code 2 or 3 and
one line, soon and in little memory. Prints a table of what each took with HOGRING_VERBOSE=1.

Usage: hostile_sizes.py COMMAND FOLDER (which is filled)"""
import gzip, json, os, struct, subprocess, sys

COMMAND, FOLDER = sys.argv[1:3]
CASES = os.path.join(FOLDER, "cases.json")
if len(sys.argv) == 3:
    # A child's peak begins with that of whoever starts it: files are made by another process.
    subprocess.run([sys.executable, __file__, COMMAND, FOLDER, "make"], check=True)
LIMIT = ["--max-memory", "1G"]  # so that a refusal does not depend on the machine
MOST_CPU_S, MOST_RSS_KIB = 0.5, 64 << 10  # ten times the target, twice the target: machines are busy


def make():
    cases = []

    def path(name):
        return os.path.join(FOLDER, name)

    def put(name, content):
        os.makedirs(os.path.dirname(path(name)), exist_ok=True)
        with open(path(name), "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        return path(name)

    def refuse(*arguments):
        cases.append([str(a) for a in arguments] + LIMIT)

    def holes(name, head, size):
        """A file that looks large and takes no disk."""
        put(name, head)
        os.truncate(path(name), size)
        return path(name)

    def idx(*dims):
        return bytes([0, 0, 8, len(dims)]) + b"".join(struct.pack(">I", d) for d in dims)

    def idx_folder(name, dims, pack):
        for split in "train", "t10k":
            for stem, head in ("images-idx3", idx(*dims)), ("labels-idx1", idx(dims[0])):
                file = f"{name}/{split}-{stem}-ubyte"
                put(file + ".gz", gzip.compress(head + bytes(1000), 1)) if pack else put(file, head)
        return path(name)

    def npy(shape, descr="<f4"):
        text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text

    def member(data, length):
        """One gzip member that says it holds `length` bytes."""
        return gzip.compress(data, 1)[:-4] + struct.pack("<I", length)

    def safetensors(header, extra=b""):
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + extra

    # --- libsvm: an index makes a column
    for index in 2147483646, 2147483647, 1999999999, 1000000000, 500000000:
        rows = put(f"index-{index}.libsvm", "".join(f"{i % 2} 1:1 {index}:1\n" for i in range(40)))
        for model in "logistic", "svm", "mf", "mlp", "flatten, dense 2":
            refuse("train", "--data", rows, "--model", model, "--workers", 4)
    rows = put("index-4e6.libsvm", "".join(f"{i % 2} 1:1 4000000:1\n" for i in range(40)))
    for strategy in "allreduce", "ps-sync", "ssp", "hogwild", "local-sgd":
        refuse("train", "--data", rows, "--model", "mlp", "--strategy", strategy)
    refuse("compare", "--data", rows, "--model", "mlp")
    refuse("simulate", "--data", rows, "--model", "flatten, dense 2", "--workers", 64)
    refuse("train", "--data", rows, "--features", 2000000000)
    ratings = put("ratings.libsvm", "".join(f"{i} {i * 30000 + 1}:4\n" for i in range(40)))
    for factors in 512, 1024, 4096:
        refuse("train", "--data", ratings, "--model", f"mf:{factors}")

    # --- CSV: wide, or packed tightly
    for columns in 500000, 1000000, 2000000:
        wide = put(f"wide-{columns}.csv", "".join("1," * columns + f"{i}\n" for i in range(2)))
        refuse("train", "--data", wide, "--header", "no", "--workers", 4)
        refuse("compare", "--data", wide, "--header", "no", "--workers", 4)
    tight = gzip.compress(b"1,0\n" * 1000000, 9)
    for length in 0x7FFFFFFF, 0xFFFFFFFF:
        for name in "csv", "libsvm":
            bomb = put(f"bomb-{length}.{name}.gz", member(bytes(b"1:1,\n"[i % 5] for i in range(1 << 22)), length))
            refuse("data", "info", bomb)
            refuse("train", "--data", bomb)
    for size in 2 << 30, 7 << 30, 9 << 30, 1 << 40:
        refuse("train", "--data", holes(f"holes-{size}.csv", "1,0\n", size))
        refuse("data", "info", holes(f"holes-{size}.libsvm", "1 1:1\n", size))

    # --- headers that declare
    for n, dims in enumerate([(2147483647, 28, 28), (70, 30000, 30000), (3000000, 28, 28), (4294967295,) * 3,
                              (7, 40000, 40000), (1, 65535, 65535), (2000000, 32, 32)]):
        for pack in False, True:
            folder = idx_folder(f"idx-{n}-{pack}", dims, pack)
            refuse("train", "--data", folder)
            refuse("data", "info", folder)
    for n, shape in enumerate(["(1000000000, 1000)", "(10, 3, 60000, 60000)", "(99999999999999999999, 2)", "(4, 2000000000)",
                               "(4000000000, 4000000000)"]):
        put(f"npy-{n}/X_train.npy", npy(shape))
        put(f"npy-{n}/y_train.npy", npy("(10,)", "<i8"))
        refuse("train", "--data", path(f"npy-{n}"))
        refuse("data", "info", path(f"npy-{n}"))
    holes("npy-holes/X_train.npy", npy("(536870912,)"), 6 << 30)
    refuse("data", "info", path("npy-holes"))
    holes("cifar/data_batch_1.bin", b"", 3073 * 1000000)
    refuse("data", "info", path("cifar"))
    refuse("train", "--data", path("cifar"))
    packed = bytearray(subprocess.run([COMMAND, "data", "pack", "--data", "digits", "--out", path("d.hrp"), "--json", os.devnull],
                                      stdout=subprocess.DEVNULL, check=True) and open(path("d.hrp"), "rb").read())
    for at in range(8, 72, 8):  # shape, counts, classes, whatever they are: all that a flip could say
        lie = bytearray(packed)
        lie[at:at + 8] = struct.pack("<Q", 1 << 40)
        refuse("data", "info", put(f"packed-{at}.hrp", bytes(lie)))
    refuse("data", "info", holes("long.hrp", bytes(packed), 1 << 40))

    # --- checkpoints and traces
    whole = {"0.weight": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}
    refuse("inspect", put("a.safetensors", safetensors(whole)))
    refuse("eval", path("a.safetensors"), "--model", "softmax")
    refuse("train", "--init-weights", path("a.safetensors"))
    refuse("inspect", put("b.safetensors", struct.pack("<Q", 1 << 62) + b"{}"))
    refuse("inspect", holes("c.safetensors", struct.pack("<Q", 1 << 33), 1 << 34))
    long = {"0.weight": {"dtype": "F32", "shape": [1 << 31], "data_offsets": [0, 1 << 33]}}
    head = safetensors(long)
    refuse("inspect", holes("d.safetensors", head, len(head) + (1 << 33)))
    refuse("eval", path("d.safetensors"), "--model", "flatten, dense 10")
    many = ('{"__metadata__":{' + ",".join(f'"k{i}":"v"' for i in range(60000)) + '}, "x": }').encode()
    refuse("inspect", put("many.safetensors", struct.pack("<Q", len(many)) + many))  # wrong at its end
    subprocess.run([COMMAND, "train", "--strategy", "ps-async", "--epochs", "1", "--quiet", "--record", path("run.trace")],
                   stdout=subprocess.DEVNULL, check=True)
    trace = open(path("run.trace"), "rb").read()
    for at in (8, 12, 16, 24, 32):
        refuse("replay", put(f"lie-{at}.trace", trace[:at] + struct.pack("<Q", 1 << 60) + trace[at + 8:]))
    refuse("replay", holes("holes.trace", trace[:4096], 1 << 40))

    # --- models and options
    for units in 1000000000, 2000000000, 10 ** 12, 10 ** 30, 5000000:
        refuse("train", "--model", f"flatten, dense {units}, relu, dense 10")
    for layers in ("conv 100000 3x3 pad 1, flatten, dense 10", "conv 32 3x3 pad 1000000, flatten, dense 10",
                   "flatten, dense 30000, relu, dense 30000, relu, dense 10",
                   ", ".join(["flatten"] + ["dense 9000, relu"] * 40 + ["dense 10"])):
        refuse("train", "--model", layers)
        refuse("simulate", "--model", layers, "--workers", 1024)
    for batch in 500000, 1048576, 10 ** 9, 10 ** 12:
        refuse("train", "--batch-size", batch, "--workers", 8)
        refuse("bench", "layers", "--model", "cnn", "--batch-size", batch)
    refuse("train", "--workers", 64, "--model", "flatten, dense 20000, relu, dense 10", "--strategy", "hogwild", "--optimizer", "adam")
    refuse("train", "--workers", 64, "--prefetch", 64, "--batch-size", 100000)
    refuse("train", "--global-batch-size", 16777216)
    refuse("train", "--reduce", "repro", "--global-batch-size", 16777216)
    refuse("train", "--epochs", 10 ** 12)
    refuse("train", "--epochs", 10 ** 6 + 10 ** 5, "--max-steps", 1)
    refuse("train", "--workers", 1000000)
    refuse("train", "--launch", "process", "--workers", 64, "--model", "flatten, dense 30000, relu, dense 10")
    refuse("simulate", "--workers", 1024, "--model", "flatten, dense 20000, relu, dense 10")
    refuse("compare", "--seeds", 10 ** 9)
    refuse("compare", "--concurrent", "--workers", 16, "--model", "flatten, dense 6000, relu, dense 600, relu, dense 10")
    refuse("inspect", "cnn", "--input", "3x60000x60000")
    for features, rows in (2147483647, 10), (2000000000, 2000000000), (100000000, 100), (10 ** 12, 10):
        refuse("data", "make", "sparse", "--features", features, "--rows", rows, "--out", path("made.libsvm"))
    refuse("bench", "all_reduce", "--sizes", "4G:4G", "--ranks", 2)
    refuse("bench", "all", "--sizes", "4:1G", "--ranks", 8)
    refuse("bench", "all_reduce", "--sizes", "1000G:1000G")
    refuse("bench", "all_reduce", "--ranks", 10 ** 9)
    refuse("bench", "store", "--sizes", "4G:4G")
    refuse("bench", "store", "--keys", 10 ** 12)
    refuse("bench", "store", "--workers", 10 ** 9)
    refuse("bench", "links", "--topology", f"star:{10 ** 9}")
    refuse("bench", "links", "--topology", f"ring:{10 ** 6}")
    refuse("bench", "train", "--batch-size", 1000000, "--workers", 64)
    refuse("bench", "layers", "--input", "3x60000x60000")
    with open(CASES, "w") as f:
        json.dump(cases, f)


def run(case):
    process = subprocess.Popen([COMMAND] + case, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.stdout.read(), process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, out, err.decode(errors="replace"), used.ru_utime + used.ru_stime, used.ru_maxrss


if len(sys.argv) > 3:
    make()
    sys.exit()
with open(CASES) as f:
    cases = json.load(f)
wrong, cpus, sizes = 0, [], []
for case in cases:
    code, out, err, cpu, rss = run(case)
    complaints = [text for bad, text in (
        (code not in (2, 3), f"exit code {code}"), (err.count("\n") != 1, "not one line"),
        ("unknown option" in err, "refused for another reason"),
        (cpu > MOST_CPU_S, f"{cpu:.2f} s"), (rss > MOST_RSS_KIB, f"{rss} KiB")) if bad]
    cpus.append(cpu)
    sizes.append(rss)
    wrong += bool(complaints)
    if complaints or os.environ.get("HOGRING_VERBOSE"):
        print(f"{cpu * 1000:5.0f} ms {rss:7} KiB  {code}  {' '.join(case)[:150]}\n    {', '.join(complaints)} {err.strip()[:300]}")
print(f"{len(cases)} cases, {wrong} wrong; CPU time at most {max(cpus) * 1000:.0f} ms, memory at most {max(sizes)} KiB; "
      f"{sum(c > 0.05 for c in cpus)} above 50 ms, {sum(s > 32 << 10 for s in sizes)} above 32 MiB")
sys.exit(wrong > 0 or len(cases) < 100)
