#!/usr/bin/env python3
"""Samples/s of hogring on two machines over MPI, and of PyTorch's DDP (gloo) on the same link, in turns.

    PEERS_VENV=... tests/machines/ddp.py -m openmpi|mpich [-r RATE] [--rounds 7] [--models mlp,cnn] HOGRING

Two machines of bed.py, a worker on each, batches of 64. A round launches each once; a launch warms up, and then trains for about
SECONDS (2) between two barriers. DDP is tried with and without a processor of its own for each worker, and the faster way
takes part. Prints medians, and the median of the rounds' ratios with the least and the most.
"""
import argparse, json, os, shlex, statistics, subprocess, sys, tempfile, time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "peers"))
ON, BATCH, WARMUP, SECONDS, PORT = str(HERE / "on.py"), 64, 10, 2.0, 29400
MPIRUN = {"openmpi": ["mpirun.openmpi", "--allow-run-as-root", "-host", "m0,m1", "--map-by", "ppr:1:node", "--bind-to", "none",
                      "--mca", "plm_rsh_agent", ON],
          "mpich": ["mpirun.mpich", "-hosts", "m0,m1", "-ppn", "1", "-n", "2", "-bind-to", "none", "-launcher", "ssh",
                    "-launcher-exec", ON]}

# --- a rank of DDP, on its machine ---

def rank_main(rank, layers, pinned):
    import torch, torch.distributed as dist
    from torch import nn
    from oracle import sequential
    if pinned:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(rank)
    dist.init_process_group("gloo", init_method=f"tcp://10.77.0.1:{PORT}", rank=rank, world_size=2)
    net = nn.parallel.DistributedDataParallel(sequential(layers, (1, 28, 28)), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9, fused=True)
    x, y = torch.rand(20000, 1, 28, 28), torch.randint(10, (20000,))

    def train(steps):
        dist.barrier()
        began = time.perf_counter()
        for _ in range(steps):
            chosen = torch.randint(len(x), (BATCH,))
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(net(x[chosen]), y[chosen]).backward()
            optimizer.step()
        dist.barrier()
        return time.perf_counter() - began

    train(WARMUP)
    steps = torch.tensor([max(WARMUP, int(SECONDS * WARMUP / train(WARMUP)))])
    dist.broadcast(steps, 0)
    took = train(int(steps))
    if rank == 0:
        print(json.dumps({"samples_per_s": 2 * BATCH * int(steps) / took}), flush=True)

# --- in the bed ---

def on(machine, words, out=subprocess.DEVNULL):
    return subprocess.Popen([ON, f"m{machine}", f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(words)}"], stdout=out, text=True)

def ddp(python, layers, pinned):
    words = lambda rank: ["env", "GLOO_SOCKET_IFNAME=eth0", "TORCH_CPP_LOG_LEVEL=ERROR", "OMP_NUM_THREADS=1", python, __file__, "--rank", str(rank), "--layers", layers,
                          *(["--pinned"] if pinned else []), "-m", "mpich", "-"]
    first, second = on(0, words(0), subprocess.PIPE), on(1, words(1))
    said, _ = first.communicate()
    if first.returncode or second.wait():
        sys.exit("DDP failed")
    return json.loads(said.splitlines()[-1])["samples_per_s"]

def hogring(library, program, model, steps, out):
    words = [*MPIRUN[library], program, "train", "--data", "fashion-mnist", "--model", model, "--workers", "2", "--batch-size", str(BATCH),
             "--max-steps", str(steps), "--epochs", "1000", "--quiet", "--json", out]
    if on(0, words).wait():
        sys.exit("hogring failed")
    return json.loads(Path(out).read_text())["runs"][0]["samples_per_s"]

def contest(options, python, model):
    """A model's rounds -> its line."""
    text = subprocess.run([options.hogring, "inspect", model, "--input", "1x28x28", "--json", "-"], capture_output=True, text=True, check=True)
    layers = json.loads(text.stdout)["model"]
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/run.json"
        rate = hogring(options.library, options.hogring, model, 100, out)
        steps = max(100, int(SECONDS * rate / BATCH / 2))
        pinned = ddp(python, layers, True) > ddp(python, layers, False)
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(hogring(options.library, options.hogring, model, steps, out))
            theirs.append(ddp(python, layers, pinned))
    ratios = [a / b for a, b in zip(ours, theirs)]
    print(f"{options.library:8} {options.rate or 'the kernel':10} {model:8} hogring {statistics.median(ours):9,.0f}   DDP "
          f"{statistics.median(theirs):9,.0f} samples/s   {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)

def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-m", dest="library", choices=list(MPIRUN), required=True)
    parser.add_argument("-r", dest="rate", default="")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--models", default="mlp,cnn")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--layers", help=argparse.SUPPRESS)
    parser.add_argument("--pinned", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("hogring")
    options = parser.parse_args()
    if options.rank is not None:
        return rank_main(options.rank, options.layers, options.pinned)
    import venv
    if not venv.python():
        sys.exit("no Python environment with PyTorch (make peers-venv)")
    if not options.inside:
        rate = ["-r", options.rate] if options.rate else []
        sys.exit(subprocess.run([sys.executable, HERE / "bed.py", "-n", "2", *rate, sys.executable, __file__, "--inside", *sys.argv[1:]]).returncode)
    for model in options.models.split(","):
        contest(options, venv.python(), model)

main()
