#!/usr/bin/python3
"""PyTorch as oracle of language models: 50 drawn models, each against the same in double precision.

    /usr/bin/python3 tests/peers/text_oracle.py [--models N] [--only NUMBER]     (make oracle runs it)

A model is a drawn list of layers on a drawn text of V characters: embedding, position or not, blocks of
attention and dense, with and without residual and layernorm, a tied output or one of its own. Weights come
from PyTorch in a safetensors file; what is compared:

    loss, gradients   of one batch, which is the whole text: the momentum after one step at rate 0. Each within
                      1e-5 of the largest gradient. Where the windows begin is drawn by hogring; the one place
                      whose loss is hogring's is taken
    sample            --temperature 0 from a prompt of up to two windows, three windows long, is PyTorch's
                      greedy text in double, by the rule of `hogring help sample`
    inspect --pytorch the module loads model.safetensors strictly, and gives what this file's reading gives
    --export          under onnxruntime, where it is installed, probabilities and logits within 1e-5

Debian: python3-torch.
"""
import argparse, json, os, random, shutil, sys, tempfile
import numpy as np
import torch
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle import Residual, hogring, load_safetensors, save_safetensors, split_layers

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

TOLERANCE = 1e-5


# --- a reading of the text that shares nothing with ours ---

class Position(nn.Module):
    def __init__(self, places, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(places, width))

    def forward(self, x):
        return x + self.weight[:x.shape[1]]


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        for name in ("query", "key", "value", "output"):
            setattr(self, name, nn.Linear(width, width))

    def forward(self, x):
        (T, D), d = x.shape[1:], x.shape[2] // self.heads
        q, k, v = self.query(x), self.key(x), self.value(x)
        out = []
        for h in range(self.heads):
            c = slice(h * d, h * d + d)
            s = torch.einsum("bid,bjd->bij", q[..., c], k[..., c]) / d ** 0.5
            s = s + torch.triu(torch.full((T, T), -torch.inf, dtype=x.dtype), 1)
            out.append(torch.softmax(s, 2) @ v[..., c])
        return self.output(torch.cat(out, 2))


class Tied(nn.Module):
    def forward(self, x):
        return x @ self.table[0].weight.t()


def read_list(text, V, T, width=None):
    modules = []
    for layer in split_layers(text):
        words = layer.replace("(", " ").split()
        if words[0] == "residual":
            modules.append(Residual(read_list(layer[layer.index("(") + 1:layer.rindex(")")], V, T, width), None))
            continue
        if words[0] in ("embedding", "dense"):
            before, width = width, int(words[1])
        modules.append({"embedding": lambda: nn.Embedding(V, width), "position": lambda: Position(T, width),
                        "layernorm": lambda: nn.LayerNorm(width), "attention": lambda: Attention(width, int(words[1])),
                        "dense": lambda: nn.Linear(before, width), "relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh,
                        "tied": Tied}[words[0]]())
    return nn.Sequential(*modules)


def read_model(text, V, T):
    net = read_list(text, V, T)
    if isinstance(net[-1], Tied):
        net[-1].table = [net[0]]
    return net


# --- drawn models ---

def draw_model(draw, V):
    heads = draw.randint(1, 4)
    D = heads * draw.randint(-(-4 // heads), 8)  # layernorm of 2 numbers is nearly a step: float32 costs PyTorch 1e-5, too
    act = lambda: draw.choice(("gelu", "relu", "tanh"))
    layers = [f"embedding {D}"] + ["position"] * draw.choice((0, 1, 1, 1))
    for _ in range(draw.randint(0, 3)):
        body = draw.choice((f"attention {heads}", f"layernorm, attention {heads}",
                            f"layernorm, dense {draw.randint(1, 40)}, {act()}, dense {D}", f"dense {D}, {act()}"))
        layers.append(body if draw.random() < 0.25 else f"residual ({body})")
    layers += ["layernorm"] * draw.choice((0, 1)) + [draw.choice(("tied", f"dense {V}"))]
    return ", ".join(layers)


class Case:
    def __init__(self, number):
        draw = random.Random(number)
        torch.manual_seed(number)
        self.T, self.B, V = draw.randint(1, 24), draw.randint(1, 8), draw.randint(2, 50)
        count = self.T * self.B + 1
        self.V = min(V, count)
        self.ids = list(range(self.V)) + [draw.randrange(self.V) for _ in range(count - self.V)]
        draw.shuffle(self.ids)
        self.alphabet = "".join(sorted(draw.sample([chr(c) for c in range(33, 300) if chr(c).isalpha()], self.V)))
        self.text = draw_model(draw, self.V)
        self.net = read_model(self.text, self.V, self.T)
        for name, p in self.net.named_parameters():
            nn.init.normal_(p, 1.0 if p.ndim == 1 and name.endswith("weight") else 0.0, 0.3)  # with 0.5 float32 costs PyTorch 1e-5, too
        self.double = read_model(self.text, self.V, self.T).double()
        self.double.load_state_dict({name: p.double() for name, p in self.net.state_dict().items()})
        self.prompt = [draw.randrange(self.V) for _ in range(draw.randint(1, 2 * self.T))]

    def write(self, folder):
        for name in ("t", "held"):
            with open(f"{folder}/{name}.txt", "w") as file:
                file.write("".join(self.alphabet[i] for i in self.ids))
        save_safetensors(f"{folder}/w.safetensors", self.net.state_dict())
        hogring("train", "--data", f"{folder}/t.txt", "--test", f"{folder}/held.txt", "--text", f"vocabulary=chars,context={self.T}",
                "--model", self.text, "--workers", 1, "--batch-size", self.B, "--epochs", 1, "--optimizer", "sgd", "--lr", 0, "--momentum", 0.5,
                "--init-weights", f"{folder}/w.safetensors", "--checkpoint-dir", f"{folder}/c", "--json", f"{folder}/run.json", "--quiet")


def gradients(case, offset):
    """Of the mean loss; windows are moved by offset, but for the last, which ends with the text."""
    last = len(case.ids) - case.T - 1
    starts = [min(i * case.T + offset, last) for i in range(case.B)]
    x = torch.tensor([case.ids[s:s + case.T] for s in starts])
    y = torch.tensor([case.ids[s + 1:s + case.T + 1] for s in starts])
    case.double.zero_grad()
    loss = nn.functional.cross_entropy(case.double(x).flatten(0, 1), y.flatten())
    loss.backward()
    return loss.item(), {name: p.grad.clone() for name, p in case.double.named_parameters()}


def check_gradients(case, folder):
    with open(f"{folder}/run.json") as file:
        loss = json.load(file)["runs"][0]["train_loss"]
    error, ours = min(((abs(gradients(case, o)[0] - loss), o) for o in range(case.T)))
    yield "loss", error / max(1, abs(loss))
    _, want = gradients(case, ours)
    state = load_safetensors(f"{folder}/c/latest/trainer.safetensors")
    largest = max(g.abs().max().item() for g in want.values())
    for name, g in want.items():
        yield "gradient of " + name, (state[name + ".momentum_buffer"].double() - g).abs().max().item() / largest


def check_sample(case, folder):
    count, window, ours = 3 * case.T, [], []

    def add(token):
        if len(window) == case.T:
            del window[:case.T - case.T // 2]
        window.append(token)

    for token in case.prompt:
        add(token)
    for _ in range(count):
        ours.append(case.double(torch.tensor([window]))[0, -1].argmax().item())
        add(ours[-1])
    said = hogring("sample", f"{folder}/c", "--prompt", "".join(case.alphabet[i] for i in case.prompt), "--tokens", count, "--temperature", 0,
                   "--json", "-")
    yield "greedy text", 0 if json.loads(said)["samples"][0]["tokens"] == ours else 1


def check_module(case, folder):
    space = {}
    exec(hogring("inspect", f"{folder}/c", "--pytorch"), space)
    net = space["Net"]()
    net.load_state_dict(load_safetensors(f"{folder}/c/latest/model.safetensors"), strict=True)
    x = torch.tensor([case.ids[:case.T]])
    yield "module", (net.double().eval()(x) - case.double(x)).abs().max().item()


def check_onnx(case, folder):
    if onnxruntime is None:
        return
    hogring("inspect", f"{folder}/c", "--export", f"{folder}/m.onnx")
    session = onnxruntime.InferenceSession(f"{folder}/m.onnx", providers=["CPUExecutionProvider"])
    x = torch.tensor([case.ids[:case.T], case.ids[-case.T:]])
    want = case.double(x)
    p, logits = (torch.from_numpy(a).double() for a in session.run(None, {"input": x.numpy()}))
    yield "ONNX logits", (logits - want).abs().max().item() / want.abs().max().item()
    yield "ONNX probabilities", (p - want.softmax(2)).abs().max().item()


def check(number):
    case, folder = Case(number), tempfile.mkdtemp(prefix="hogring-oracle-")
    try:
        case.write(folder)
        errors = [e for check in (check_gradients, check_sample, check_module, check_onnx) for e in check(case, folder)]
    finally:
        shutil.rmtree(folder)
    what, worst = max(errors, key=lambda e: e[1])
    good = worst <= TOLERANCE
    print(f"  {number:2} V {case.V:2} T {case.T:2} B {case.B} {case.text[:80]:80} {'ok' if good else 'DIFFERS':7} {worst:.1e} {what}", flush=True)
    return not good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--only", type=int, help="this one")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__} as oracle of language models{'' if onnxruntime else '; ONNX is not compared: no onnxruntime'}")
    bad = sum(check(n) for n in (range(options.models) if options.only is None else [options.only]))
    print("all agree" if not bad else f"{bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
