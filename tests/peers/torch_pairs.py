"""Peer: PyTorch's own data parallelism on one machine, two processes of a thread each (serve.py).

A question's setting: {"mode": "ddp" (gloo) or "hogwild" (shared weights), "compile": ..., "static": DDP's static_graph,
"pinned": each process on a processor of its own}. Samples/s of both together. Each setting has processes of its own,
which sleep between rounds.
"""
import os, sys, time
sys.dont_write_bytecode = True
import torch
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F

from oracle import sequential
from serve import serve

WORKERS, WARMUP = 2, 5


def join(net, rank, setting, port):
    import torch.distributed as dist
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=WORKERS)
    return nn.parallel.DistributedDataParallel(net, gradient_as_bucket_view=True, static_graph=setting["static"]), dist.barrier


def work(rank, question, shared, pipes, port):
    setting, batch = question["setting"], question["batch"]
    if setting["pinned"]:
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpus[rank % len(cpus)]})
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(rank + 1)
    x = torch.rand(question["samples"], *question["shape"])
    y = torch.randint(question["classes"], (question["samples"],))
    net, meet = (shared, lambda: None) if setting["mode"] == "hogwild" else join(
        sequential(question["layers"], tuple(question["shape"])), rank, setting, port)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9, fused=True)

    def loss_of(images, labels):
        return F.cross_entropy(net(images), labels)

    loss = torch.compile(loss_of) if setting["compile"] else loss_of
    pipe = pipes[rank][1]
    while True:
        steps = pipe.recv()
        meet()
        began = time.perf_counter()
        for _ in range(steps):
            chosen = torch.randint(len(x), (batch,))
            optimizer.zero_grad(set_to_none=True)
            loss(x[chosen], y[chosen]).backward()
            optimizer.step()
        meet()
        pipe.send(time.perf_counter() - began)


def build(question):
    context = mp.get_context("spawn")
    pipes = [context.Pipe() for _ in range(WORKERS)]
    shared, port = None, 29000 + os.getpid() % 1000 + len(question["key"])
    if question["setting"]["mode"] == "hogwild":
        shared = sequential(question["layers"], tuple(question["shape"])).share_memory()
    processes = [context.Process(target=work, args=(rank, question, shared, pipes, port), daemon=True) for rank in range(WORKERS)]
    for process in processes:
        process.start()

    def both(steps):
        for mine, _ in pipes:
            mine.send(steps)
        times = []
        for (mine, _), process in zip(pipes, processes):
            while not mine.poll(1):
                if not process.is_alive():
                    raise RuntimeError(f"a process ended with exit code {process.exitcode}")
            times.append(mine.recv())
        return sum(steps * question["batch"] / seconds for seconds in times)

    both(WARMUP)
    rate = both(WARMUP)

    def round_of(seconds):
        return both(max(1, int(seconds * rate / WORKERS / question["batch"])))

    return round_of


if __name__ == "__main__":
    serve(build, whole=True)
