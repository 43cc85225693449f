"""Peer: training steps of PyTorch in one process, one thread (serve.py).

A question's setting: {"compile": torch.compile or eager, "channels_last": ..., "precision": "float32" or "bfloat16"
(autocast, weights and optimiser in float32)}. The optimiser is the fused SGD with momentum.
"""
import contextlib, sys
sys.dont_write_bytecode = True
import torch
from torch.nn import functional as F

from oracle import sequential
from serve import serve


def build(question):
    setting, shape, batch = question["setting"], question["shape"], question["batch"]
    torch.manual_seed(1)
    x, y = torch.rand(question["samples"], *shape), torch.randint(question["classes"], (question["samples"],))
    net = sequential(question["layers"], tuple(shape)).train()
    layout = torch.channels_last if setting["channels_last"] else torch.contiguous_format
    net = net.to(memory_format=layout)
    x = x.contiguous(memory_format=layout) if setting["channels_last"] else x
    half = setting["precision"] == "bfloat16"

    def loss_of(images, labels):
        with torch.autocast("cpu", torch.bfloat16) if half else contextlib.nullcontext():
            scores = net(images)
        return F.cross_entropy(scores.float(), labels)

    loss = torch.compile(loss_of) if setting["compile"] else loss_of
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9, fused=True)

    def run(steps):
        for _ in range(steps):
            chosen = torch.randint(len(x), (batch,))
            optimizer.zero_grad(set_to_none=True)
            loss(x[chosen], y[chosen]).backward()
            optimizer.step()

    return run


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    serve(build)
