#!/usr/bin/python3
"""PyTorch as oracle: same weights, same batch -> the same outputs, gradients and trained weights.

    make oracle        every layer, loss and optimiser, and each built-in model; about two minutes

Everything goes through the command line, so what is compared is what people run: weights come from
PyTorch in a safetensors file (written here in 15 lines) through --init-weights; outputs from `eval
--outputs`; gradients are the momentum after one step at rate 0; trained weights are those of a
checkpoint after 20 steps, loaded with load_state_dict(strict=True). The reference is PyTorch in
double precision, and the tolerance is stated in terms of what float32 costs PyTorch itself: an error
may be 8 times that of PyTorch's own float32, or FLOOR of the tensor's largest value, whichever is
more. In 20 steps float32 may fall on the other side of a bend (relu, max) than double does, and then
goes its own way: where trained weights differ, two other seeds have to agree. PyTorch has no LARS and
no LAMB; tests/optim compares those with their formulas. Debian: python3-torch.
"""
import argparse, copy, json, os, re, shutil, struct, subprocess, sys, tempfile
import numpy as np
import torch
from torch import nn

FLOOR, FACTOR, STEPS = 2e-6, 8, 20
HERE = os.path.dirname(os.path.abspath(__file__))
HOGRING = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "hogring")


# --- safetensors, both ways ---

def save_safetensors(path, tensors):
    header, data, kinds = {}, b"", {torch.float32: "F32", torch.int64: "I64"}
    for name, tensor in tensors.items():
        raw = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": kinds[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def load_safetensors(path):
    with open(path, "rb") as file:
        blob = file.read()
    size, = struct.unpack("<Q", blob[:8])
    kinds, answer = {"F32": np.float32, "F64": np.float64, "I64": np.int64}, {}
    for name, entry in json.loads(blob[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            flat = np.frombuffer(blob[begin:end], kinds[entry["dtype"]])
            answer[name] = torch.from_numpy(flat.copy()).reshape(entry["shape"])
    return answer


# --- our layer lists as PyTorch modules: a reading of the text that shares nothing with ours ---

class Residual(nn.Module):
    def __init__(self, body, shortcut):
        super().__init__()
        self.body = body
        if shortcut is not None:
            self.shortcut = shortcut

    def forward(self, x):
        return self.body(x) + (self.shortcut(x) if hasattr(self, "shortcut") else x)


def split_layers(text):
    """At commas outside parentheses."""
    layers, depth, at = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            layers.append(text[at:i].strip())
            at = i + 1
    return layers


def pair(word):
    return tuple(int(n) for n in word.split("x")) if "x" in word else (int(word), int(word))


def settings(words):
    return {words[i]: pair(words[i + 1]) for i in range(0, len(words), 2)}


def window(words, kind, **fixed):
    more = settings(words[1:])
    return kind(pair(words[0]), more.get("stride"), more.get("pad", 0), **fixed)


def module_of(text, shape):
    """shape: of one sample; returns the module. Its output's shape is found by running it."""
    words = re.sub(r"[()]", " ", text).split()
    name, rest = words[0], words[1:]
    if name == "residual":
        body, shortcut = re.fullmatch(r"residual\s*\((.*?)\)\s*(?:shortcut\s*\((.*)\))?", text, re.S).groups()
        return Residual(sequential(body, shape), sequential(shortcut, shape) if shortcut else None)
    if name == "conv":
        more = settings(rest[2:])
        return nn.Conv2d(shape[0], int(rest[0]), pair(rest[1]), more.get("stride", 1), more.get("pad", 0), more.get("dilation", 1),
                         more.get("groups", (1, 1))[0])
    simple = {"dense": lambda: nn.Linear(shape[0], int(rest[0])), "flatten": nn.Flatten, "relu": nn.ReLU, "gelu": nn.GELU,
              "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "dropout": lambda: nn.Dropout(float(rest[0])),
              "batchnorm": lambda: (nn.BatchNorm1d if len(shape) == 1 else nn.BatchNorm2d)(shape[0]),
              "groupnorm": lambda: nn.GroupNorm(int(rest[0]), shape[0]),
              "maxpool": lambda: window(rest, nn.MaxPool2d), "avgpool": lambda: window(rest, nn.AvgPool2d),
              "globalavgpool": lambda: nn.AdaptiveAvgPool2d(1)}
    return simple[name]()


def sequential(text, shape):
    modules = []
    for layer in split_layers(text):
        modules.append(module_of(layer, shape))
        with torch.no_grad():
            shape = tuple(copy.deepcopy(modules[-1]).eval()(torch.zeros(1, *shape)).shape[1:])
    return nn.Sequential(*modules)


# --- hogring, through its command line ---

def hogring(*arguments):
    done = subprocess.run([HOGRING, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"oracle: hogring {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


class Case:
    """One network, one batch, which is the whole data set, so that its order does not matter."""

    def __init__(self, text, shape=(1, 8, 8), classes=5, batch=12, loss="cross-entropy", smoothing=0.0, seed=1, builtin=None):
        torch.manual_seed(seed)
        self.again = lambda other: Case(text, shape, classes, batch, loss, smoothing, other, builtin)
        self.text, self.loss, self.smoothing, self.builtin = text, loss, smoothing, builtin
        self.net = sequential(text, shape)
        for module in self.net.modules():  # statistics and scales that are not their defaults
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                nn.init.uniform_(module.weight, 0.5, 1.5), nn.init.uniform_(module.bias, -0.5, 0.5)
                module.running_mean.uniform_(-0.5, 0.5), module.running_var.uniform_(0.5, 1.5)
        self.x = torch.randn(batch, *shape)
        self.y = torch.arange(batch) % classes
        self.outputs = self.net(self.x).shape[1]

    def write(self, folder):
        os.makedirs(f"{folder}/data", exist_ok=True)
        np.save(f"{folder}/data/X_train.npy", self.x.numpy()), np.save(f"{folder}/data/y_train.npy", self.y.numpy().astype(np.int32))
        np.save(f"{folder}/data/X_test.npy", self.x.numpy()), np.save(f"{folder}/data/y_test.npy", self.y.numpy().astype(np.int32))
        save_safetensors(f"{folder}/weights.safetensors", self.net.state_dict())

    def value(self, net, x):
        """The mean loss as PyTorch defines it, at the precision of x."""
        out = net(x)
        if self.loss == "cross-entropy":
            return nn.functional.cross_entropy(out, self.y, label_smoothing=self.smoothing)
        target = nn.functional.one_hot(self.y, self.outputs) if self.outputs > 1 else self.y.reshape(-1, 1)
        function = nn.functional.mse_loss if self.loss == "mse" else nn.functional.binary_cross_entropy_with_logits
        return function(out, target.to(x.dtype))

    def settings(self):
        return ["--model", self.builtin or self.text, "--loss", f"{self.loss}:{self.smoothing}" if self.smoothing else self.loss]


class Judge:
    """Collects errors in units of what is allowed."""

    def __init__(self):
        self.worst, self.bad = 0.0, []

    def compare(self, what, ours, single, double):
        scale = double.abs().max().item()
        allowed = max(FACTOR * (single.double() - double).abs().max().item(), FLOOR * scale, 1e-9)
        error = (ours.double() - double).abs().max().item()
        self.worst = max(self.worst, error / allowed)
        if not error <= allowed:
            self.bad.append(f"{what}: error {error:.3g}, allowed {allowed:.3g} of {scale:.3g}")


def gradients(case, net, x):
    net.train()
    net.zero_grad()
    loss = case.value(net, x)
    loss.backward()
    return loss.detach(), {name: p.grad.clone() for name, p in net.named_parameters()}


def check_pass(case, folder, judge):
    """Outputs in evaluation, loss and gradients in training."""
    single, double = copy.deepcopy(case.net), copy.deepcopy(case.net).double()
    text = hogring("train", "--data", f"{folder}/data", *case.settings(), "--workers", 1, "--batch-size", len(case.x), "--epochs", 1, "--lr", 0,
                   "--momentum", 0.5, "--init-weights", f"{folder}/weights.safetensors", "--checkpoint-dir", f"{folder}/one", "--json", "-",
                   "--quiet")
    run = json.loads(text)["runs"][0]
    if case.loss == "cross-entropy":
        hogring("eval", f"{folder}/weights.safetensors", "--model", case.builtin or case.text, "--data", f"{folder}/data", "--outputs", f"{folder}/out.npy")
    else:  # which loss is known from a checkpoint
        hogring("eval", f"{folder}/one", "--data", f"{folder}/data", "--outputs", f"{folder}/out.npy")
    with torch.no_grad():
        judge.compare("outputs", torch.from_numpy(np.load(f"{folder}/out.npy")), single.eval()(case.x), double.eval()(case.x.double()))
    state = load_safetensors(f"{folder}/one/latest/trainer.safetensors")
    (loss_1, grads_1), (loss_2, grads_2) = gradients(case, single, case.x), gradients(case, double, case.x.double())
    judge.compare("loss", torch.tensor(run["train_loss"]), loss_1, loss_2)
    for name in grads_1:
        judge.compare("gradient of " + name, state[name + ".momentum_buffer"], grads_1[name], grads_2[name])


def train_torch(case, net, x, make):
    net.train()
    optimizer, clip = make(net.parameters())
    for _ in range(STEPS):
        optimizer.zero_grad()
        case.value(net, x).backward()
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
    return net.state_dict()


def check_training(case, folder, flags, make, judge):
    shutil.rmtree(f"{folder}/many", ignore_errors=True)
    hogring("train", "--data", f"{folder}/data", *case.settings(), "--workers", 1, "--batch-size", len(case.x), "--epochs", STEPS, *flags,
            "--init-weights", f"{folder}/weights.safetensors", "--checkpoint-dir", f"{folder}/many", "--quiet")
    ours = load_safetensors(f"{folder}/many/latest/model.safetensors")
    copy.deepcopy(case.net).load_state_dict(ours, strict=True)
    single = train_torch(case, copy.deepcopy(case.net), case.x, make)
    double = train_torch(case, copy.deepcopy(case.net).double(), case.x.double(), make)
    for name in single:
        if single[name].dtype == torch.float32:
            judge.compare(f"{name} after {STEPS} steps", ours[name], single[name], double[name])


# --- what is compared ---

SMALL = "conv 6 3x3 pad 1, relu, maxpool 2, flatten, dense 5"
LAYERS = (
    "flatten, dense 5", "flatten, dense 17, relu, dense 5", "flatten, dense 17, gelu, dense 5", "flatten, dense 17, tanh, dense 5",
    "flatten, dense 17, sigmoid, dense 5", "flatten, dense 17, batchnorm, relu, dense 5", SMALL,
    "conv 7 3x3, flatten, dense 5", "conv 7 5x5 stride 2 pad 2, relu, conv 3 3x3 stride 3, flatten, dense 5",
    "conv 8 3x3 pad 2 dilation 2, relu, conv 6 3x3 pad 1 groups 2, flatten, dense 5", "conv 4 2x3, relu, conv 8 1x1 groups 4, flatten, dense 5",
    "conv 6 3x3 pad 1, relu, maxpool 3 stride 2 pad 1, flatten, dense 5", "conv 6 3x3, avgpool 2, flatten, dense 5",
    "conv 6 3x3, avgpool 3 stride 2 pad 1, flatten, dense 5", "conv 6 3x3, globalavgpool, flatten, dense 5",
    "conv 6 3x3 pad 1, batchnorm, relu, conv 6 3x3 pad 1, batchnorm, relu, flatten, dense 5",
    "conv 6 3x3 pad 1, groupnorm 3, relu, conv 4 3x3, groupnorm 1, flatten, dense 5", "flatten, dense 18, groupnorm 6, relu, dense 5",
    "conv 6 3x3 pad 1, residual ( conv 6 3x3 pad 1, batchnorm, relu, conv 6 3x3 pad 1 ), relu, flatten, dense 5",
    "conv 4 3x3, residual ( relu, conv 8 3x3 stride 2 pad 1, batchnorm ) shortcut ( conv 8 1x1 stride 2 ), globalavgpool, flatten, dense 5",
)
LOSSES = (("cross-entropy", 0.1, SMALL, 5), ("bce", 0, SMALL, 5), ("mse", 0, SMALL, 5),
          ("bce", 0, "flatten, dense 9, relu, dense 1", 2), ("mse", 0, "flatten, dense 9, relu, dense 1", 3))


def optimisers():
    sgd, adam, adamw, adagrad = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad
    return (
        ("sgd", "--lr 0.05 --momentum 0", lambda p: (sgd(p, 0.05), 0)),
        ("sgd momentum", "--lr 0.02 --momentum 0.9 --weight-decay 0.01", lambda p: (sgd(p, 0.02, 0.9, weight_decay=0.01), 0)),
        ("sgd nesterov", "--lr 0.02 --momentum 0.9 --optimizer sgd:nesterov", lambda p: (sgd(p, 0.02, 0.9, nesterov=True), 0)),
        ("sgd clipped", "--lr 0.05 --momentum 0.9 --clip-norm 0.3", lambda p: (sgd(p, 0.05, 0.9), 0.3)),
        ("adagrad", "--optimizer adagrad --lr 0.01", lambda p: (adagrad(p, 0.01), 0)),
        ("adam", "--optimizer adam --lr 0.003 --weight-decay 0.01", lambda p: (adam(p, 0.003, weight_decay=0.01), 0)),
        ("adamw", "--optimizer adamw --lr 0.003 --weight-decay 0.1", lambda p: (adamw(p, 0.003, weight_decay=0.1), 0)),
    )


def builtin_text(name, shape, classes):
    text = hogring("inspect", name, "--input", "x".join(map(str, shape)), "--classes", classes, "--json", "-")
    return json.loads(text)["model"]


def builtins():
    for name in ("softmax", "mlp", "cnn", "lenet", "vgg-small", "resnet8"):
        for shape in ((1, 28, 28), (3, 32, 32)):
            text = re.sub(r"dropout [0-9.]+", "dropout 0", builtin_text(name, shape, 10))
            yield name, Case(text, shape, 10, 12 if name in ("vgg-small", "resnet8") else 16)


def report(name, judge):
    print(f"  {name[:92]:92} {'DIFFERS' if judge.bad else 'ok':8} worst {judge.worst:.2f} of what is allowed", flush=True)
    for line in judge.bad[:5]:
        print("      " + line)
    return bool(judge.bad)


def judge_case(case, trainings):
    """Judges of single passes and of trained weights."""
    passes, trained = Judge(), Judge()
    folder = tempfile.mkdtemp(prefix="hogring-oracle-")
    try:
        case.write(folder)
        check_pass(case, folder, passes)
        for flags, make in trainings:
            check_training(case, folder, flags.split(), make, trained)
    finally:
        shutil.rmtree(folder)
    return passes, trained


def check(name, case, trainings):
    passes, trained = judge_case(case, trainings)
    if trained.bad and not passes.bad:
        others = [judge_case(case.again(seed), trainings) for seed in (2, 3)]
        if not any(judge.bad for pair in others for judge in pair):
            print(f"  {name[:92]:92} seed 1 crossed a bend ({trained.bad[0]}); seeds 2 and 3:")
            passes, trained = others[0]
    passes.worst, passes.bad = max(passes.worst, trained.worst), passes.bad + trained.bad
    return report(name, passes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    only = parser.parse_args().only
    torch.set_num_threads(1)
    usual = [("--lr 0.02 --momentum 0.9", lambda p: (torch.optim.SGD(p, 0.02, 0.9), 0))]
    bad = 0
    print(f"PyTorch {torch.__version__} as oracle; an error is allowed {FACTOR} times what float32 costs PyTorch, or {FLOOR:g} of the largest value")
    for text in LAYERS:
        bad += only in text and check(text, Case(text), usual)
    for loss, smoothing, text, classes in LOSSES:
        name = f"--loss {loss}, smoothed by {smoothing}: {text}"
        bad += only in name and check(name, Case(text, classes=classes, loss=loss, smoothing=smoothing), usual)
    for name, flags, make in optimisers():
        bad += only in name and check(f"optimiser {name}", Case(SMALL), [(flags, make)])
    for name, case in builtins():
        bad += only in name and check(f"{name} on {tuple(case.x.shape[1:])}", case, usual)
    print("all agree" if not bad else f"{bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
