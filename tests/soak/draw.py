"""One run: its options, and who dies when."""
import collections, random, subprocess

REPRO = {"allreduce", "ps-sync"}
EPOCH = 1438  # training samples of --data digits


# servers: none, one, any. loss: term (it ends the term: who comes back changes no bit) or input.
Strategy = collections.namedtuple("Strategy", "name kind servers loss")


def strategies(binary):
    """{name: Strategy}, of all that the binary has."""
    said = subprocess.run([binary, "help", "strategies", "--list"], check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: Strategy(*line.split()) for line in said.splitlines()}


class Draw:
    """options: of `hogring train`. inside: --inject entries; outside: (seconds, who) of real SIGKILLs,
    who being the number of a child: workers, servers. deaths: how many may happen."""

    def __init__(self, seed, strategies, servers_die=True, launches=("thread", "process")):
        r = random.Random(seed)
        self.seed = seed
        strategy = r.choice(strategies)
        self.strategy, self.ends_term = strategy.name, strategy.loss == "term"
        self.launch = r.choice(launches)
        self.workers = r.randint(2, 5)
        self.served = strategy.servers != "none"
        self.servers = 1 if strategy.servers == "one" else r.randint(1, 3) if self.served else 0
        self.on_loss = r.choice(["continue", "restart"])
        self.epochs = r.randint(2, 4)
        self.restarts = 8
        self.repro = self.strategy in REPRO and r.random() < 0.4  # losses change no bit
        batch = ["--global-batch-size", "64", "--reduce", "repro"] if self.repro else ["--batch-size", str(r.choice([8, 16, 32]))]
        if self.repro:  # three from outside, one soon after the other, find most
            self.workers, self.epochs = 4, 8
        self.options = ["--strategy", self.strategy, "--launch", self.launch, "--workers", str(self.workers), "--epochs", str(self.epochs),
                        "--seed", str(r.randint(1, 10**6)), *batch, 
                        "--on-loss", f"{self.on_loss}:{r.choice(['reissue', 'count'])},{self.restarts}", "--model", r.choice(["softmax", "mlp"]),
                        "--compute-time", r.choice(["1ms", "2ms", "lognormal(2ms, 0.5)"]), "--timeout", "20s"]
        if self.served:
            self.options += ["--servers", str(self.servers)]
        if self.strategy == "allreduce" and not self.repro and r.random() < 0.5:
            self.options += ["--algorithm", r.choice(["direct", "ring", "tree", "master-worker", "bidirectional-ring"])]
        if r.random() < 0.3 and not (self.served and self.servers > 1):
            self.options += ["--optimizer", r.choice(["adam", "adagrad", "adamw"]), "--lr", "0.005"]
        if self.strategy in ("local-sgd", "diloco", "elastic-averaging"):
            self.options += ["--sync-every", str(r.choice([1, 3, 8]))]
        if self.strategy == "gossip":
            self.options += ["--strategy", "gossip:" + r.choice(["ring", "complete"])]
        self.unharmed = list(self.options)  # the same run, and nobody dies
        self.draw_deaths(r, servers_die)

    def draw_deaths(self, r, servers_die):
        most = self.workers - 1 if self.on_loss == "continue" else min(4, self.restarts)
        self.deaths = most if self.repro else r.randint(1, max(1, most))
        servers = self.servers if servers_die else 0
        victims = [r.randrange(self.workers + servers) for _ in range(self.deaths)]
        if self.repro and self.on_loss == "continue":
            victims = r.sample(range(self.workers), self.deaths)
        if self.on_loss == "continue":  # each once, and never the last worker
            victims = list(dict.fromkeys(victims))
        self.inside, self.outside = [], []
        for who in victims:
            if self.launch == "process" and r.random() < (1 if self.repro else 0.5):
                self.outside.append((r.uniform(0.05, 0.3 if self.repro else 0.6), who))
            elif who < self.workers:
                self.inside.append(f"kill:{who}@step={r.randint(0, 60)}")
            else:
                self.inside.append(f"kill:server:{who - self.workers}@step={r.randint(0, 200)}")
        if r.random() < 0.3:
            self.inside.append(f"stall:{r.randrange(self.workers)}@step={r.randint(0, 30)}+{r.randint(5, 50)}ms")
        if r.random() < 0.3:
            self.inside.append(f"slow:{r.randrange(self.workers)}x{r.randint(2, 4)}")
        if self.served and r.random() < 0.3:
            self.inside.append("drop-push:p=0.02+5ms")
        if self.inside:
            self.options += ["--inject", ",".join(self.inside)]
