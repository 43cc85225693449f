#!/usr/bin/env python3
"""Processor time of a training step of gpt-nano and gpt-micro, one worker, beside PyTorch and JAX.

    tests/peers/text_steps.py [--hogring build/hogring] [--models nano,micro] [--rounds 3] [--contenders eager,compile,jax]

Windows of 128 bytes, batches of 8, float32, AdamW, one thread. Contenders take turns; of each the least of the rounds counts.
A step of hogring is the difference of two runs, divided by the steps between them, so that neither start nor evaluation counts.
Prints milliseconds a step, and the memory that a process has above what it has after its imports (hogring: above what it takes
to print its version). With --workers 2 it is wall time, so the machine must be idle: two workers of hogring, a batch of 8 each,
beside PyTorch's DistributedDataParallel over gloo in two processes of a thread each.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

SIZES = {"nano": (2, 64, 4), "micro": (6, 384, 6)}
T, V, B = 128, 256, 8
STEPS = {"nano": (20, 220), "micro": (3, 15)}


def write_text(path):
    import random
    draw = random.Random(1)
    with open(path, "w") as out:
        for _ in range(60000):
            out.write("".join(draw.choice("etaoinshrdlu ") for _ in range(draw.randrange(2, 12))) + "\n")


def run(arguments):
    """Wall seconds, processor seconds, MiB of a process."""
    began = time.monotonic()
    child = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        sys.exit(f"{' '.join(arguments)}: failed")
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def hogring(command, model, text, workers):
    times = []
    for steps in STEPS[model]:
        wall, cpu, mib = run([command, "train", "--data", text, "--model", "gpt-" + model, "--workers", str(workers), "--batch-size",
                              str(B), "--text", f"context={T},eval-tokens={T}", "--max-steps", str(steps), "--quiet"])
        times.append(wall if workers > 1 else cpu)
    few, many = STEPS[model]
    return 1000 * (times[1] - times[0]) / (many - few), mib - run([command, "--version"])[2]


def torch_model(model):
    import torch
    from torch import nn
    from torch.nn import functional as F
    blocks, width, heads = SIZES[model]

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            q, k, v = (part.view(B, T, heads, width // heads).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(width, 2))
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(o.transpose(1, 2).reshape(B, T, width))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(V, width), nn.Embedding(T, width)
            self.blocks, self.norm = nn.Sequential(*[Block() for _ in range(blocks)]), nn.LayerNorm(width)
            nn.init.normal_(self.tokens.weight, 0, 0.02)

        def forward(self, x, y):
            h = self.norm(self.blocks(self.tokens(x) + self.places.weight))
            return F.cross_entropy((h @ self.tokens.weight.T).view(-1, V), y.view(-1))

    return Net()


def torch_steps(model, compiled):
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(0)
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    net = torch_model(model)
    rule = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)
    run = torch.compile(net) if compiled else net
    x = torch.randint(0, V, (B, T + 1))

    def step():
        rule.zero_grad(set_to_none=True)
        run(x[:, :-1], x[:, 1:].contiguous()).backward()
        rule.step()

    few, many = STEPS[model]
    for _ in range(max(3, few)):
        step()
    least = 1e9
    for _ in range(3):
        at = time.process_time()
        for _ in range(many - few):
            step()
        least = min(least, (time.process_time() - at) / (many - few))
    return 1000 * least, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin) / 1024


def ddp_steps(model):
    """Of a rank of two; wall time."""
    import torch
    import torch.distributed
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    net = torch.nn.parallel.DistributedDataParallel(torch_model(model))
    rule = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)
    x = torch.randint(0, V, (B, T + 1))
    few, many = STEPS[model]
    least = 1e9
    for again in range(3):
        at = time.monotonic()
        for _ in range(many - few if again else max(3, few)):
            rule.zero_grad(set_to_none=True)
            net(x[:, :-1], x[:, 1:].contiguous()).backward()
            rule.step()
        least = min(least, (time.monotonic() - at) / (many - few)) if again else least
    torch.distributed.destroy_process_group()
    return 1000 * least, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin) / 1024


def jax_steps(model):
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    import jax
    import jax.numpy as np
    blocks, width, heads = SIZES[model]
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    keys = iter(jax.random.split(jax.random.key(0), 200))

    def draw(*shape):
        return 0.02 * jax.random.normal(next(keys), shape)

    def linear(i, o):
        return {"w": draw(i, o), "b": np.zeros(o)}

    def norm():
        return {"w": np.ones(width), "b": np.zeros(width)}

    params = {"tokens": draw(V, width), "places": draw(T, width), "norm": norm(), "blocks": [
        {"n1": norm(), "n2": norm(), "qkv": linear(width, 3 * width), "out": linear(width, width),
         "up": linear(width, 4 * width), "down": linear(4 * width, width)} for _ in range(blocks)]}

    def normalise(p, x):
        mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p["w"] + p["b"]

    def apply(p, x):
        return x @ p["w"] + p["b"]

    mask = np.tril(np.ones((T, T), bool))

    def loss(p, x, y):
        h = p["tokens"][x] + p["places"]
        for b in p["blocks"]:
            q, k, v = np.split(apply(b["qkv"], normalise(b["n1"], h)).reshape(B, T, 3 * heads, width // heads), 3, 2)
            s = np.einsum("bthd,bshd->bhts", q, k) / np.sqrt(width // heads)
            o = np.einsum("bhts,bshd->bthd", jax.nn.softmax(np.where(mask, s, -np.inf)), v).reshape(B, T, width)
            h = h + apply(b["out"], o)
            h = h + apply(b["down"], jax.nn.gelu(apply(b["up"], normalise(b["n2"], h)), approximate=False))
        logits = jax.nn.log_softmax(normalise(p["norm"], h) @ p["tokens"].T)
        return -np.take_along_axis(logits, y[..., None], -1).mean()

    def zeros():
        return jax.tree.map(np.zeros_like, params)

    @jax.jit
    def step(p, m, v, t, x, y):
        g = jax.grad(loss)(p, x, y)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        p = jax.tree.map(lambda p, m, v: p * (1 - 1e-5) - 1e-3 * (m / (1 - 0.9 ** t)) / (np.sqrt(v / (1 - 0.999 ** t)) + 1e-8), p, m, v)
        return p, m, v

    x = jax.random.randint(next(keys), (B, T + 1), 0, V)
    state = (params, zeros(), zeros())
    few, many = STEPS[model]
    t = 1.0
    for _ in range(max(3, few)):
        state = step(*state, t, x[:, :-1], x[:, 1:])
    jax.block_until_ready(state)
    least = 1e9
    for _ in range(3):
        at = time.process_time()
        for _ in range(many - few):
            t += 1
            state = step(*state, t, x[:, :-1], x[:, 1:])
        jax.block_until_ready(state)
        least = min(least, (time.process_time() - at) / (many - few))
    return 1000 * least, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin) / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hogring", default="build/hogring")
    parser.add_argument("--models", default="nano,micro")
    parser.add_argument("--contenders", default="eager,compile,jax")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1, choices=(1, 2))
    parser.add_argument("--one", help="of a child: contender,model")
    asked = parser.parse_args()
    if asked.one:
        who, model = asked.one.split(",")
        print(json.dumps(jax_steps(model) if who == "jax" else ddp_steps(model) if who == "ddp" else torch_steps(model, who == "compile")))
        return
    env = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, "words.txt")
        write_text(text)
        for model in asked.models.split(","):
            least, memory = {}, {}
            for _ in range(asked.rounds):
                ms, memory["hogring"] = hogring(asked.hogring, model, text, asked.workers)
                least["hogring"] = min(least.get("hogring", 1e9), ms)
                for who in asked.contenders.split(",") if asked.workers == 1 else ["ddp"]:
                    one = [sys.executable, __file__, "--one", f"{who},{model}"]
                    env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000), WORLD_SIZE="2")
                    other = subprocess.Popen(one, env=dict(env, RANK="1"), stdout=subprocess.DEVNULL) if who == "ddp" else None
                    child = subprocess.run(one, env=dict(env, RANK="0"), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    if other:
                        other.wait()
                    if child.returncode:
                        print(f"{who}: {child.stderr.strip().splitlines()[-1]}")
                        continue
                    ms, mib = json.loads(child.stdout.splitlines()[-1])
                    least[who] = min(least.get(who, 1e9), ms)
                    memory[who] = mib
            for who, ms in least.items():
                print(f"gpt-{model}  {who:8} {ms:9.2f} ms a step  {ms / least['hogring']:.2f} of hogring's"
                      + (f"  {memory[who]:.0f} MiB" if who in memory else ""))


main()
