#!/usr/bin/env bats
# What a command needs is worked out before it is taken, said, and refused when there is not as much.
load support

setup() {
  case ${HOGRING:-} in *asan*|*tsan*) skip "a sanitizer takes memory of its own" ;; esac
  cd "$BATS_TEST_DIRNAME/../.."; TMP=$(mktemp -d)
}

@test "the banner says what a run will take" {
  hogring train --epochs 1 --workers 4 --details >/dev/null 2>"$TMP/err"
  grep -qE '^  memory   [0-9.]+ MiB: .*weights and gradients' "$TMP/err"
}

@test "threads that are more than processors take weights and gradients, and nothing else" {
  cat >"$TMP/peak.py" <<'PY'
import os, resource, subprocess, sys
if len(sys.argv) > 2: # the child: its peak alone
    subprocess.run([*sys.argv[1:], "--details"], stdout=subprocess.DEVNULL, check=True)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
    sys.exit()
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
def peak(strategy, workers):
    run = [sys.executable, sys.argv[0], sys.argv[1], "train", "--model", "mlp", "--strategy", strategy,
           "--workers", str(workers), "--epochs", "1", "--momentum", "0.9", "--quiet"]
    return int(subprocess.run(run, capture_output=True, check=True, text=True).stdout)
params = 64 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10
for strategy, floats in ("allreduce", 2), ("hogwild", 4), ("local-sgd", 4): # more: velocity, its copy
    each = (peak(strategy, 34) - peak(strategy, 2)) / 32
    most = 4 * params * floats + (300 << 10) # a thread, its counters
    print(strategy, each, most)
    assert each < most, (strategy, each, most)
PY
  python3 "$TMP/peak.py" "${HOGRING:-build/hogring}"
}

# With a momentum or without, in turns; HOGRING_LONG=1: both.
@test "two workers take their weights and gradients, and what the manual's table says" {
  cat >"$TMP/sizes.py" <<'PY'
import os, re, resource, subprocess, sys
if len(sys.argv) > 2: # the child: its peak alone, and what it said
    err = subprocess.run([*sys.argv[1:], "--details"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, text=True).stderr
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
    print(re.search(r"^  memory +([0-9.]+ [KMG]iB)", err, re.M).group(1))
    sys.exit()
def run(*options):
    out = subprocess.run([sys.executable, sys.argv[0], sys.argv[1], "train", *options], capture_output=True, check=True, text=True).stdout
    peak, said = out.splitlines()
    number, unit = said.split()
    return int(peak), float(number) * 1024 ** (1 + "KMG".index(unit[0]))
w, params = 2, 64 * 4000 + 4000 + 4000 * 3900 + 3900 + 3900 * 10 + 10
table = {"allreduce": lambda m: 2 * w + m, "ps-async": lambda m: 2 * w + 1 + m, "ssp": lambda m: 2 * w + 1 + m,
         "ps-sync": lambda m: 2 * w + 2 + m, "hogwild": lambda m: 2 * w + 1 + w * m,
         "local-sgd": lambda m: 2 * w + 1 + w * m, "diloco": lambda m: 4 * w + 1 + w * m, "elastic-averaging": lambda m: 2 * w + 2 + w * m,
         "backup-workers": lambda m: 2 * w + 3 + m, "gossip": lambda m: 4 * w + 1 + w * m}
rows = sys.argv[0] + ".csv"  # few: the time goes into weights
with open(rows, "w") as f:
    for i in range(80): f.write(",".join(str((i * i + j) % 17) for j in range(64)) + f",{i % 10}\n")
for turn, (strategy, times) in enumerate(table.items()):
    for m in (0, 1) if os.environ.get("HOGRING_LONG") else (turn % 2,):
        peak, said = run("--data", rows, "--header", "no", "--model", "flatten, dense 4000, relu, dense 3900, relu, dense 10",
                         "--strategy", strategy, "--workers", "2", "--momentum", str(0.9 * m), "--batch-size", "8",
                         "--max-steps", "4" if strategy in ("local-sgd", "diloco", "elastic-averaging") else "2")  # they meet every fourth
        planned = times(m) * 4 * params + (56 << 20) # activations to evaluate with, the program; less than a copy of the weights
        print(strategy, m, peak / params / 4, said / params / 4)
        assert peak <= planned, (strategy, m, peak, planned)
        assert abs(peak / said - 1) < 0.15, (strategy, m, peak, said)
PY
  python3 "$TMP/sizes.py" "${HOGRING:-build/hogring}"
}

@test "a run that is too large is refused with the sum and what would fit" {
  refused 3 "this run needs" train --launch process --workers 8 --max-memory 8M # each its own buffers
  grep -q "weights and gradients" "$TMP/stderr"
  fits=$(sed -n 's/.*(--max-memory); --workers \([0-9]*\) would fit.*/\1/p' "$TMP/stderr") # more or fewer, as the caches are
  [ "$fits" -ge 1 ]
  hogring train "${quick[@]}" --model mlp --launch process --workers "$fits" --max-memory 8M
  refused 3 "GiB" train --model "flatten, dense 5000000, relu, dense 300, relu, dense 10" --workers 64
  refused 2 "--max-memory lots: expected a size, as 512M or 16G" train --max-memory lots
}

@test "compare refuses its largest run before the first, and runs that are too large together" {
  refused 3 "this run needs" compare --strategies hogwild,hogwild:batch-size=20000 --max-memory 32M --quiet
  refused 3 "--concurrent: the runs of a seed together need" compare --concurrent --workers 4 --quiet --max-memory 20M
  hogring compare --workers 4 "${quick[@]}" --model mlp --max-memory 20M
}

@test "address space is counted beside memory" {
  local code=0
  ( ulimit -v 300000; hogring train --kernels reference --workers 2 \
    --model "flatten, dense 9000, relu, dense 2000, relu, dense 10" 2>"$TMP/err" ) || code=$?
  [ "$code" = 3 ]
  grep -qE "there is .* \(ulimit -v\)" "$TMP/err"
}

@test "sparse models on a few lines with huge indices are refused at once" {
  for i in $(seq 30); do echo "$((i % 2)) 1:1 2147483646:1"; done >"$TMP/huge.libsvm"
  for model in logistic "svm --solver sgd" mf; do
    refused 3 "this run needs" train --data "$TMP/huge.libsvm" --model $model --max-memory 4G
    grep -qE "weights [0-9]" "$TMP/stderr"
  done
  for i in $(seq 30); do echo "$i $((i * 30000)):4"; done >"$TMP/ratings.libsvm"
  refused 3 "(--max-memory); --model mf:64 would fit" train --data "$TMP/ratings.libsvm" --model mf \
    --model mf:1024 --max-memory 1G
}

@test "data that declare too much are refused before they are read or inflated" {
  python3 - "$TMP" <<'PY'
import gzip, os, struct, sys
def header(dims): return bytes([0, 0, 8, len(dims)]) + b"".join(struct.pack(">I", d) for d in dims)
os.makedirs(sys.argv[1] + "/idx")
for n in "train", "t10k":
    with gzip.open(f"{sys.argv[1]}/idx/{n}-images-idx3-ubyte.gz", "wb") as f: f.write(header([70, 3000, 30000]))
    with gzip.open(f"{sys.argv[1]}/idx/{n}-labels-idx1-ubyte.gz", "wb") as f: f.write(header([70]) + bytes(70))
with gzip.open(sys.argv[1] + "/bomb.csv.gz", "wb", 1) as f:
    for i in range(300): f.write(b"1,0\n" * (1 << 16))
with open(sys.argv[1] + "/wide.csv", "w") as f:
    for label in "01": f.write("1," * 2000000 + label + "\n")
PY
  refused 3 "needs 5.9 GiB of memory, and there is" data info "$TMP/idx" --max-memory 1G
  refused 3 "bomb.csv.gz: needs 75 MiB of memory, and there is" data info "$TMP/bomb.csv.gz" --max-memory 64M
  refused 3 "this run needs" train --data "$TMP/wide.csv" --header no --max-memory 1G
  refused 3 "this run needs" compare --data "$TMP/wide.csv" --header no --max-memory 1G
}

@test "sparse rows are evaluated a few at a time, to the same bits whatever the workers" {
  hogring data make sparse --rows 3000 --out "$TMP/rows.libsvm" >/dev/null
  for workers in 1 2; do
    hogring train --data "$TMP/rows.libsvm" --model "flatten, dense 2" --workers $workers --global-batch-size 32 \
      --reduce repro --epochs 1 --quiet --max-memory 64M --json "$TMP/$workers.json" --checkpoint-dir "$TMP/c$workers" >/dev/null
  done
  [ "$(json "$TMP/1.json" 'd["runs"][0]["test_loss"]')" = "$(json "$TMP/2.json" 'd["runs"][0]["test_loss"]')" ]
  hogring eval "$TMP/c1" --data "$TMP/rows.libsvm" --json "$TMP/eval.json" >/dev/null
  python3 - "$TMP" <<'PY'
import json, sys
train, test = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("1", "eval"))
assert train["runs"][0]["test_loss"] == test["test_loss"], (train["runs"][0]["test_loss"], test)
PY
}

@test "over a hundred files and command lines that ask for too much are refused soon, in little memory" {
  python3 tests/cli/hostile_sizes.py "${HOGRING:-build/hogring}" "$TMP"
}
