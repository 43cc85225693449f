#!/usr/bin/python3
"""conv_shapes.c and PyTorch's convolutions (oneDNN) on the same shapes, in turn, one thread each:
how many times faster ours are, forward, backward-data and backward-weights; also whole gradients
of cnn and lenet. Processor time; medians. Needs Debian's python3-torch, and a built library.

    make && python3 tests/peers/conv_shapes.py [rounds]
"""
import glob, os, re, statistics, subprocess, sys, time
os.environ["OMP_NUM_THREADS"] = "1"
import torch, torch.nn as nn, torch.nn.functional as F

B = 64
FLAGS = ["openblas", "zlib", "jansson", "libxxhash", "inih"]

def build():
    libraries = subprocess.run(["pkg-config", "--cflags", "--libs", *FLAGS], capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-Isrc", *(f"-iquote{room}" for room in glob.glob("src/*/")), "-Iinclude", "tests/peers/conv_shapes.c", "build/libhogring.a", "-fopenmp",
                    *libraries, "-lm", "-o", "build/conv_shapes"], check=True)

def ours(rounds):
    """{shape: [ms of forward, data, weights]}, {model: ms}, first line"""
    lines = subprocess.run(["build/conv_shapes", str(rounds), str(B)], capture_output=True, text=True, check=True).stdout.splitlines()
    shapes, models = {}, {}
    for line in lines[1:]:
        whole = re.match(r"(\w+) +gradient: +([\d.]+) ms", line)
        if whole:
            models[whole[1]] = float(whole[2])
        else:
            key = re.match(r"\w+ +(\(.*?\) .*?)  ", line)[1].strip()
            shapes[key] = [float(x) for x in line.split()[-3:]]
    return shapes, models, lines[0]

def layers(text, channels):
    out = []
    for word in [w.split() for w in text.split(", ")]:
        if word[0] == "conv":
            opt = dict(zip(word[3::2], map(int, word[4::2])))
            out.append(nn.Conv2d(channels, int(word[1]), tuple(map(int, word[2].split("x"))), stride=opt.get("stride", 1),
                                 padding=opt.get("pad", 0)))
        else:
            out.append(nn.ReLU() if word[0] == "relu" else nn.MaxPool2d(int(word[1])))
    return out

def clock(fn):
    t = time.thread_time()
    fn()
    return (time.thread_time() - t) * 1e3

def theirs(key):
    """ms of forward, data, weights; behind a pool, data is what backward with a gradient of x takes more, which is rough."""
    dims, text = re.match(r"\((.*?)\) (.*)", key).groups()
    channels, height, width = map(int, dims.split(","))
    net = nn.Sequential(*layers(text, channels))
    x = torch.rand(B, channels, height, width)
    times = [[], [], []]
    if len(net) == 1:
        return alone(net[0], x)
    for _ in range(4):
        box = {}
        times[0].append(clock(lambda: box.update(y=net(x))))
        dy = torch.rand_like(box["y"])
        without = clock(lambda: box["y"].backward(dy))
        y = net(x.clone().requires_grad_())
        times[1].append(clock(lambda: y.backward(dy)) - without)
        times[2].append(without)
    return [min(t[1:]) for t in times]

def alone(conv, x):
    """The three passes of one convolution, each by itself."""
    with torch.no_grad():
        dy = torch.rand_like(conv(x))
        def back(data, weights):
            torch.ops.aten.convolution_backward(dy, x, conv.weight, [conv.out_channels], conv.stride, conv.padding, conv.dilation,
                                                False, [0, 0], conv.groups, [data, weights, weights])
        passes = lambda: conv(x), lambda: back(True, False), lambda: back(False, True)
        times = [[clock(fn) for fn in passes] for _ in range(4)]
    return [min(t[p] for t in times[1:]) for p in range(3)]

def torch_model(name):
    dense = [nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10)] if name == "cnn" else \
        [nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]
    first = "conv 32 3x3 pad 1" if name == "cnn" else "conv 6 5x5 pad 2"
    second = "conv 64 3x3 pad 1" if name == "cnn" else "conv 16 5x5"
    net = nn.Sequential(*layers(first + ", relu, maxpool 2", 1), *layers(second + ", relu, maxpool 2", 32 if name == "cnn" else 6), *dense)
    x, y = torch.rand(B, 1, 28, 28), torch.randint(10, (B,))
    return min(clock(lambda: F.cross_entropy(net(x), y).backward()) for _ in range(4))

def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    torch.set_num_threads(1)
    build()
    mine, peer, whole, peer_whole = {}, {}, {}, {}
    for _ in range(rounds):
        shapes, models, first = ours(3)
        for key, ms in shapes.items():
            mine.setdefault(key, []).append(ms)
            peer.setdefault(key, []).append(theirs(key))
        for name in ("cnn", "lenet"):
            whole.setdefault(name, []).append(models[name])
            peer_whole.setdefault(name, []).append(torch_model(name))
    print(f"PyTorch {torch.__version__}'s time / ours; ms in brackets.  {first.split(';')[0]}")
    for key in mine:
        cells = []
        for p in range(3):
            a, b = statistics.median(m[p] for m in mine[key]), statistics.median(t[p] for t in peer[key])
            cells.append(f"{b / a:6.2f}x ({b:6.2f}/{a:6.2f})")
        print(f"{key:52s}", *cells)
    for name in whole:
        a, b = statistics.median(whole[name]), statistics.median(peer_whole[name])
        print(f"{name}: gradient {b / a:.2f}x ({b:.2f}/{a:.2f})")

main()
