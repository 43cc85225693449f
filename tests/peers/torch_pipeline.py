#!/usr/bin/python3
"""Peer: a pipeline of two processes with PyTorch 2's torch.distributed.pipelining over gloo, on Fashion-MNIST.

    torch_pipeline.py --model mlp|cnn|dense --schedule 1f1b|gpipe --batch 64 --micro 8 --steps 300

Prints one JSON line: samples/s over the training loop, after a warm-up. Models and cuts are hogring's (--pipeline stages=auto).
Needs a python3 with torch >= 2.4 (PyPI), and dataset-fashion-mnist.
"""
import argparse, json, os, time
import torch, torch.nn as nn, torch.nn.functional as F
import torch.distributed as dist
import torch.multiprocessing as mp

from torch_train import build, load

STAGES, WARM_UP = 2, 10
# The first layer of the second stage.
CUT = {"mlp": 3, "cnn": 7, "dense": 5}


def layers_of(model):
    if model != "dense":
        return list(build(model))
    return [nn.Flatten(), nn.Linear(784, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10)]


def run(rank, a, answer):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(a.port))
    dist.init_process_group("gloo", rank=rank, world_size=STAGES)
    layers = layers_of(a.model)
    part = nn.Sequential(*(layers[:CUT[a.model]] if rank == 0 else layers[CUT[a.model]:]))
    stage = PipelineStage(part, rank, STAGES, torch.device("cpu"))
    schedule = {"1f1b": Schedule1F1B, "gpipe": ScheduleGPipe}[a.schedule](stage, n_microbatches=a.micro, loss_fn=F.cross_entropy)
    optimizer = torch.optim.SGD(part.parameters(), lr=0.02, momentum=0.9)
    x, y = load("train")
    began = time.time()
    for step in range(WARM_UP + a.steps):
        if step == WARM_UP:
            dist.barrier()
            began = time.time()
        i = torch.arange(step * a.batch, (step + 1) * a.batch) % len(x)
        optimizer.zero_grad(set_to_none=True)
        schedule.step(x[i]) if rank == 0 else schedule.step(target=y[i])
        optimizer.step()
    dist.barrier()
    if rank == 0:
        answer.put(a.steps * a.batch / (time.time() - began))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="mlp")
    p.add_argument("--schedule", default="1f1b")
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--micro", type=int, default=8)
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--port", type=int, default=29513)
    a = p.parse_args()
    answer = mp.get_context("spawn").SimpleQueue()
    mp.spawn(run, (a, answer), nprocs=STAGES)
    print(json.dumps({"system": "pytorch " + torch.__version__, "model": a.model, "schedule": a.schedule, "samples_per_s": round(answer.get(), 1)}))
