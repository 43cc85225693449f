#!/usr/bin/env python3
"""A second implementation of what `hogring help reproducibility` says, compared with the tool.

    tests/cli/formulas.py HOGRING CHECK     CHECK: a function below that begins with check_

Written from that page alone: no constant, no order and no formula is taken from the C sources.
"""
import gzip, heapq, json, math, struct, subprocess, sys, tempfile
from pathlib import Path
from statistics import NormalDist

HOGRING = sys.argv[1]
MASK = 0xFFFFFFFF

# --- random numbers

def philox(counter, key):
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & MASK, p0 >> 32 ^ c[3] ^ k1, p0 & MASK]
        k0, k1 = k0 + 0x9E3779B9 & MASK, k1 + 0xBB67AE85 & MASK
    return c

def words(seed, stream, index, sequence):
    return philox((index & MASK, index >> 32, sequence, stream), (seed & MASK, seed >> 32))

# --- samples

def sample_order(seed, pass_, count):
    keys = words(seed, 2, pass_, 0) + words(seed, 2, pass_, 1)
    half = 1
    while 1 << 2 * half < count:
        half += 1
    def once(value):
        left, right = value >> half, value & (1 << half) - 1
        for key in keys:
            x = (right + key) * 0x9E3779B1 & MASK
            x = (x ^ x >> 15) * 0x85EBCA6B & MASK
            left, right = right, left ^ x >> 32 - half
        return left << half | right
    def sample(position):
        value = once(position)
        while value >= count:
            value = once(value)
        return value
    return sample

def part(n, count, i):
    return n // count * i + min(i, n % count)

def samples_of(seed, count, epoch_size, batch, index):
    """(pass, sample) of every sample that batch index `index` stands for."""
    per_epoch = -(-epoch_size // batch)
    epoch, first = index // per_epoch, index % per_epoch * batch
    for k in range(min(batch, epoch_size - first)):
        pass_, position = divmod(epoch * epoch_size + first + k, count)
        yield pass_, sample_order(seed, pass_, count)(position)

# --- numbers of 32 bits

def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]

def unit(word):
    return (word >> 8) / 2 ** 24

def initial(seed, tensor, count, fan_in):
    bound = f32(1 / math.sqrt(fan_in))
    return [f32(bound * f32(2 * unit(words(seed, 1, i // 4, tensor)[i % 4]) - 1)) for i in range(count)]

# --- the tool

def run(*arguments):
    done = subprocess.run([HOGRING, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout

def load(path):
    raw = Path(path).read_bytes()
    n = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + n])
    header.pop("__metadata__", None)
    return {name: struct.unpack(f"<{(t['data_offsets'][1] - t['data_offsets'][0]) // 4}f",
                                raw[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]]) for name, t in header.items()}

def trained(*arguments):
    """The weights that a run ends with, and its result."""
    with tempfile.TemporaryDirectory() as folder:
        run(*arguments, "--quiet", "--checkpoint-dir", folder + "/run", "--json", folder + "/json")
        return load(folder + "/run/latest/model.safetensors"), json.load(open(folder + "/json"))["runs"][0]

def digits():
    images = gzip.open("data/digits/train-images-idx3-ubyte.gz").read()
    labels = gzip.open("data/digits/train-labels-idx1-ubyte.gz").read()
    return [[b / 16 for b in images[16 + 64 * i:80 + 64 * i]] for i in range((len(images) - 16) // 64)], list(labels[8:])

# --- a network small enough to be written again: (dropout,) dense 10, softmax, cross-entropy

class Softmax:
    def __init__(self, seed):
        self.w, self.b = initial(seed, 0, 640, 64), initial(seed, 1, 10, 64)

    def step(self, samples, lr):
        dw, db = [0.0] * 640, [0.0] * 10
        for x, label in samples:
            z = [sum(w * v for w, v in zip(self.w[64 * o:64 * o + 64], x)) + self.b[o] for o in range(10)]
            e = [math.exp(v - max(z)) for v in z]
            for o in range(10):
                d = e[o] / sum(e) - (o == label)
                db[o] += d
                for i in range(64):
                    dw[64 * o + i] += d * x[i]
        self.w = [w - lr * d / len(samples) for w, d in zip(self.w, dw)]
        self.b = [b - lr * d / len(samples) for b, d in zip(self.b, db)]

    def compare(self, tensors, name):
        worst = max(abs(a - b) for a, b in zip(self.w + self.b, tensors[name + ".weight"] + tensors[name + ".bias"]))
        if worst > 2e-6:
            sys.exit(f"weights differ by {worst}")

# --- checks

def check_initial_weights():
    tensors, _ = trained("train", "--workers", 1, "--seed", 7 + (5 << 32), "--max-steps", 1, "--lr", 1e-30, "--momentum", 0)
    fan_in = {"1": 64, "3": 256, "5": 128}
    for number, name in enumerate(("1.weight", "1.bias", "3.weight", "3.bias", "5.weight", "5.bias")):
        if list(tensors[name]) != initial(7 + (5 << 32), number, len(tensors[name]), fan_in[name[0]]):
            sys.exit(f"{name} differs")

def train_again(seed, batch, steps, epoch_size, change=lambda pass_, sample, x: x, take=lambda samples: samples):
    x, y = digits()
    net = Softmax(seed)
    for index in range(steps):
        drawn = list(samples_of(seed, len(x), epoch_size, batch, index))
        net.step([(change(p, s, x[s]), y[s]) for p, s in take(drawn)], 0.1)
    return net

def check_sample_order():
    """Batches that straddle two passes, short ones at the ends of epochs."""
    tensors, _ = trained("train", "--model", "softmax", "--workers", 3, "--seed", 11, "--global-batch-size", 50, "--epoch-size", 720,
                         "--max-steps", 40, "--lr", 0.1, "--momentum", 0)
    train_again(11, 50, 40, 720).compare(tensors, "1")

def check_share_of_a_worker():
    """Worker 2 is always too late, so that updates are made of the shares of workers 0 and 1."""
    tensors, result = trained("simulate", "--model", "softmax", "--workers", 3, "--strategy", "backup-workers", "--global-batch-size", 10,
                              "--compute-time", "10ms", "--inject", "slow:2x1000", "--max-steps", 20, "--lr", 0.1, "--momentum", 0)
    if not result["dropped"]["by_worker"][2]:
        sys.exit(f"worker 2 was in time: {result['dropped']}")
    def first_two(samples):
        return [s for w in range(2) for s in samples[part(len(samples), 3, w):part(len(samples), 3, w + 1)]]
    train_again(1, 10, 20, 1438, take=first_two).compare(tensors, "1")

def check_augmentation():
    def change(pass_, sample, x):
        r = words(3, 6, pass_, sample)
        up, left = (r[1] * 5 >> 32) - 2, (r[2] * 5 >> 32) - 2
        def pixel(i, j):
            return x[8 * i + j] if 0 <= i < 8 and 0 <= j < 8 else 0.0
        rows = [[pixel(i + up, j + left) for j in range(8)] for i in range(8)]
        return [v for row in rows for v in (row[::-1] if r[0] >> 31 else row)]
    tensors, _ = trained("train", "--model", "softmax", "--workers", 2, "--seed", 3, "--global-batch-size", 16, "--augment", "flip,crop:2",
                         "--max-steps", 100, "--lr", 0.1, "--momentum", 0)
    train_again(3, 16, 100, 1438, change).compare(tensors, "1")

def check_dropout():
    """Shares that straddle two passes: their first sample's counts."""
    def change(pass_, sample, x):
        dropped = int(0.3 * 2 ** 32)
        r = [philox((unit // 4, sample, pass_, 7 | 1 << 8), (1, 0))[unit % 4] for unit in range(64)]
        return [v / (1 - 0.3) if word >= dropped else 0.0 for v, word in zip(x, r)]
    def first_pass(samples):
        shares = [samples[part(len(samples), 3, w):part(len(samples), 3, w + 1)] for w in range(3)]
        return [(share[0][0], sample) for share in shares for _, sample in share]
    tensors, _ = trained("train", "--model", "flatten, dropout 0.3, dense 10", "--workers", 3, "--global-batch-size", 50, "--epoch-size", 720,
                         "--max-steps", 40, "--lr", 0.1, "--momentum", 0)
    train_again(1, 50, 40, 720, change, first_pass).compare(tensors, "2")

def check_held_out_samples():
    """Twenty rows, each a class of its own."""
    with tempfile.TemporaryDirectory() as folder:
        rows = folder + "/rows.csv"
        Path(rows).write_text("".join(f"{i % 7},c{i:02}\n" for i in range(20)))
        said = run("data", "info", "--data", rows, "--header", "no")
    lines = [line.split() for line in said.splitlines()]
    got = {int(line[0]) for line in lines if line[:1] and line[0].isdigit() and line[1:] == ["0", "train", "1", "test", f"c{int(line[0]):02}"]}
    order = sample_order(0, 2 ** 64 - 1, 20)
    if got != {order(i) for i in range(4)}:
        sys.exit(f"held out {sorted(got)}, expected {sorted(order(i) for i in range(4))}\n{said}")

def check_validation_split():
    """A quarter of 1438 is 359.5; the rest is a data set in the drawn order."""
    x, y = digits()
    order = sample_order(9, 2 ** 64 - 2, len(x))
    rest = [order(i) for i in range(360, len(x))]
    net = Softmax(9)
    for index in range(40):
        net.step([(x[rest[s]], y[rest[s]]) for _, s in samples_of(9, len(rest), 720, 50, index)], 0.1)
    tensors, _ = trained("train", "--model", "softmax", "--workers", 3, "--seed", 9, "--global-batch-size", 50, "--epoch-size", 720,
                              "--validation", 0.25, "--max-steps", 40, "--lr", 0.1, "--momentum", 0)
    net.compare(tensors, "1")

def check_running_statistics():
    """The last batch of an epoch has shares of 2, 1 and 1 samples, or of 1 and none."""
    x, _ = digits()
    for epoch_size in (52, 49, 48):
        mean, var = [0.0] * 64, [1.0] * 64
        per_epoch = -(-epoch_size // 12)
        for index in range(2 * per_epoch):
            batch = [x[s] for _, s in samples_of(1, len(x), epoch_size, 12, index)]
            shares = [batch[part(len(batch), 3, w):part(len(batch), 3, w + 1)] for w in range(3)]
            for i in range(64):
                to_mean = to_var = 0.0
                for share in shares:
                    of_share, spread = mean[i], var[i]  # of a single value
                    if len(share) > 1:
                        of_share = sum(v[i] for v in share) / len(share)
                        spread = sum((v[i] - of_share) ** 2 for v in share) / (len(share) - 1)
                    to_mean += len(share) / len(batch) * of_share
                    to_var += len(share) / len(batch) * spread
                mean[i] += 0.1 * (to_mean - mean[i])
                var[i] += 0.1 * (to_var - var[i])
        tensors, _ = trained("train", "--model", "flatten, batchnorm, dense 10", "--workers", 3, "--batch-size", 4, "--epoch-size", epoch_size,
                             "--epochs", 2, "--lr", 0)
        worst = max(abs(a - b) for a, b in zip(mean + var, tensors["1.running_mean"] + tensors["1.running_var"]))
        if worst > 2e-6:
            sys.exit(f"epochs of {epoch_size}: running statistics differ by {worst}")

def check_weights_behind_batchnorm():
    """It has four tensors, so the layer behind it has numbers 4 and 5."""
    tensors, _ = trained("train", "--model", "flatten, batchnorm, dense 10", "--workers", 1, "--seed", 3, "--max-steps", 1, "--lr", 0)
    if list(tensors["2.weight"] + tensors["2.bias"]) != initial(3, 4, 640, 64) + initial(3, 5, 10, 64):
        sys.exit("2.weight or 2.bias differs")

# --- virtual time

def draw(model, seed, rank, step):
    """Picoseconds."""
    word = words(seed, 8, step, rank)
    u = (((word[0] << 32 | word[1]) >> 12) + 0.5) / 2 ** 52
    kind, a, b = model
    if kind == "uniform":
        return math.floor(a + (b - a) * u + 0.5)
    if kind == "lognormal":
        return math.floor(a * math.exp(b * NormalDist().inv_cdf(u)) + 0.5)
    return math.floor(a * -math.log(u) + 0.5)  # exponential

class Links:
    """A star: from each rank a wire to the switch, one channel each way."""
    def __init__(self, ranks, bandwidth, latency, push):
        self.bandwidth, self.latency, self.push = bandwidth, latency, push
        self.up, self.down, self.waiting = [0] * ranks, [0] * ranks, []

    def post(self, now, source, to, size, event):
        self.waiting.append((source, to, size, event))
        self.depart(now)

    def depart(self, now):
        for message in list(self.waiting):
            source, to, size, event = message
            if max(self.up[source], self.down[to]) > now:
                continue
            self.waiting.remove(message)
            free = now + math.floor(size * 1e12 / self.bandwidth + 0.5)
            self.up[source] = self.down[to] = free
            if free > now:
                self.push(free, ("free",))
            self.push(free + 2 * self.latency, event)

def simulate_ps_async(workers, params, batches, seed, compute, serve, bandwidth, latency):
    """Seconds until the first cut, and the updates of each worker."""
    events, inserted, now = [], 0, 0
    queue, serving, served, given, cuts, home = [], None, 0, 0, 0, 0
    steps = [0] * workers
    def push(time, event):
        nonlocal inserted
        heapq.heappush(events, (time, inserted, event))
        inserted += 1
    links = Links(workers + 1, bandwidth, latency, push)
    def send(worker, kind):
        links.post(now, worker, workers, 64 + 4 * params * (kind == "push"), ("arrived", worker, kind))
    def reply(worker, kind):
        links.post(now, workers, worker, 64 + 4 * params * (kind == "weights"), ("reply", worker, kind))
    def begin_serving():
        nonlocal serving, served
        if serving or not queue:
            return
        serving = queue.pop(0)
        push(now + draw(serve, seed + 2 * GOLDEN & 2 ** 64 - 1, workers, served), ("served",))
        served += 1
    for w in range(workers):
        send(w, "pull")
    while home < workers:
        now, _, event = heapq.heappop(events)
        if event[0] == "free":
            links.depart(now)
        elif event[0] == "arrived":
            queue.append(event[1:])
            begin_serving()
        elif event[0] == "served":
            (w, kind), serving = serving, None
            if kind == "pull":
                reply(w, "weights" if given < batches else "none")
                given += 1
            elif kind == "cut":
                cuts += 1
                for each in range(workers if cuts == workers else 0):
                    reply(each, "cut")
            begin_serving()
        elif event[0] == "computed":
            steps[event[1]] += 1
            send(event[1], "push")
            send(event[1], "pull")
        elif event[2] == "weights":
            push(now + draw(compute, seed + GOLDEN & 2 ** 64 - 1, event[1], steps[event[1]]), ("computed", event[1]))
        elif event[2] == "none":
            send(event[1], "cut")
        else:
            home += 1
    return now // 1000 / 1e9, steps

GOLDEN = 0x9E3779B97F4A7C15

def check_slow_steps():
    """A step of an all-reduce over no links lasts as long as its slowest gradient."""
    took = 0
    for step in range(23):  # 1438 samples, 64 per step
        of_workers = []
        for w in range(4):
            ps = draw(("lognormal", 1e10, 0.3), 6 + GOLDEN, w, step)
            if words(6 + 3 * GOLDEN & 2 ** 64 - 1, 9, step, w << 8)[0] / 2 ** 32 < 0.1:
                ps = math.floor(ps * 3.0 + 0.5)
            of_workers.append(ps + (step == 5 and w == 1) * 30_000_000_000)
        took += max(of_workers)
    _, result = trained("simulate", "--model", "softmax", "--workers", 4, "--batch-size", 16, "--epochs", 1, "--seed", 6,
                        "--compute-time", "lognormal(10ms,0.3)", "--inject", "slow:*x3@10%,stall:1@step=5+30ms")
    if abs(result["seconds"] - took / 1e12) > 2e-9:
        sys.exit(f"{took / 1e12} s; the tool {result['seconds']}")

def check_virtual_time():
    for workers in (2, 5, 9):
        _, result = trained("simulate", "--model", "softmax", "--workers", workers, "--strategy", "ps-async", "--batch-size", 20, "--epochs", 1, "--seed", 5,
                            "--compute-time", "exponential(3ms)", "--servers", "time=uniform(100us,300us)", "--link", "4MB/s,150us")
        seconds, steps = simulate_ps_async(workers, 650, 72, 5, ("exponential", 3e9, 0), ("uniform", 1e8, 3e8), 4e6, 150_000_000)
        if seconds != result["seconds"] or sum(steps) != result["updates"]:
            sys.exit(f"{workers} workers: {seconds} s and {sum(steps)} updates; the tool {result['seconds']} and {result['updates']}")

globals()["check_" + sys.argv[2]]()
