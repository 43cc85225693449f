#!/usr/bin/env bats
# Bad input gets one line (what, where, expected) and a documented exit code.
load support

@test "unknown commands and flags name the nearest" {
  refused 2 "did you mean compare" comapre
  refused 2 "did you mean --epochs" train --epoch5 3
  refused 2 "did you mean --momentum" train --momentun 0.9
  refused 2 "unknown option" train --qqqqqqqq 3
  refused 2 "--seeds: unknown option; did you mean --seed" train --seeds 3
}

@test "values that do not parse say what is expected" {
  refused 2 "--epochs many: expected a whole number" train --epochs many
  refused 2 "--epochs -1: expected a whole number" train --epochs=-1
  refused 2 "--lr 0.1x: expected a number" train --lr 0.1x
  refused 2 "--batch-size 1048577: expected 1 to 1048576" train --batch-size 1048577
  refused 2 "--prefetch 65: expected 0 to 64" train --prefetch 65
  refused 2 "--epoch-size half: expected a whole number" train --epoch-size half
  refused 2 "--epoch-size 10995116277760: expected 1 to 1099511627776" train --epoch-size 10995116277760
  refused 2 "--timeout 3 parsecs: expected a time" train --timeout "3 parsecs"
  refused 2 "a value is missing" train --epochs
  refused 2 "--quiet: takes no value" train --quiet=yes
  refused 2 "options begin with two dashes" train -e 3
}

@test "an empty value is none" {
  refused 2 '--only "": expected NAMES; without the option there is none' verify --only ""
  refused 2 '--search "": expected SPACE' simulate --search "" --time-to accuracy=0.5
  for o in json checkpoint-dir record test validation init-weights freeze inject early-stop budget classes label-column resume config log report expect time-to strategy lr workers; do
    refused 2 "--$o \"\": expected" train "${quick[@]}" --$o ""
    refused 2 "--$o \"\": expected" train "${quick[@]}" --$o=
  done
  refused 2 '--tune "": expected' compare "${quick[@]}" --tune ""
  for line in 'checkpoint-dir =' 'lr =' 'normalize =' 'resume =' '[train]
inject ='; do
    echo "$line" >"$TMP/c.ini"
    refused 2 '"": expected' train "${quick[@]}" --config "$TMP/c.ini"
  done
  echo "tune =" >"$TMP/c.ini"
  refused 2 '--tune "": expected' compare "${quick[@]}" --config "$TMP/c.ini"
  for setting in checkpoint-dir= 'inject=""' lr= nesterov= resume=; do refused 2 '"": expected' compare "${quick[@]}" --strategies "allreduce:$setting"; done
  for c in eval inspect replay gate report doctor "top --once" "data info"; do refused 2 '"": found an empty word' $c ""; done
  # what there was may be none
  hogring compare "${quick[@]}" --augment crop:1 --strategies allreduce,allreduce:augment=none --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" '[r["label"].split()[-1] for r in d["runs"]][0], len({r["weights_digest"] for r in d["runs"]})')" = "('crop:1', 2)" ]
  echo 'json =' >"$TMP/config"
  refused 2 "$TMP/config: --json \"\": expected FILE" train --config "$TMP/config"
}

@test "short options are named as they were written" {
  refused 2 "-lr: options begin with two dashes; did you mean --lr?" train --quiet -lr 0.1
  refused 2 "-lr: options begin with two dashes" train -lr=0.1
  refused 2 "-bs: options begin with two dashes" train --workers 2 -bs 32
  refused 2 "-e: options begin with two dashes" train --quiet -e 5 -lr 0.1
  refused 2 "-l: options begin with two dashes" train --quiet -l
}

@test "what the environment asks for is there, or refused" {
  for v in abc 0 -1 2.5 "" " 2" 2x 99999999999999999999; do HOGRING_CPUS=$v refused 2 "HOGRING_CPUS=$v: expected a number of processors" train "${quick[@]}"; done
  for v in foo "" V3; do HOGRING_ISA=$v refused 2 "HOGRING_ISA=$v: expected plain" train "${quick[@]}"; done
  HOGRING_CPUS=2 HOGRING_ISA=plain hogring train "${quick[@]}" >/dev/null
}

@test "a configuration is not written over" {
  echo 'epochs = 1' >"$TMP/config"
  refused 2 "--json $TMP/config: is read here" train --config "$TMP/config" --json "$TMP/config"
  [ "$(cat "$TMP/config")" = "epochs = 1" ]
}

@test "worker counts out of range" {
  refused 2 "--workers 0: expected at least 1" train --workers 0
  for n in 65 1000; do refused 2 "--workers $n: expected 1 to 64" train --workers $n; done
  refused 2 "at most 64 ranks" train --strategy ps-sync --workers 60 --servers 5
}

@test "flags that contradict the strategy" {
  refused 2 "--staleness: is not supported with --strategy allreduce" train --staleness 2
  refused 2 "--servers: is not supported with --strategy hogwild" train --strategy hogwild --servers 2
  refused 2 "--algorithm: is not supported with --strategy ssp" train --strategy ssp --algorithm ring
  refused 2 "--checkpoint-every: where to?" train --checkpoint-every 5
  refused 2 "--resume: from where?" train --resume
}

@test "options that would be ignored are refused" {
  refused 2 "--batch-size 8: not with --global-batch-size 64" train --batch-size 8 --global-batch-size 64
  refused 2 "--overlap --epochs: expected on or off" train --overlap --epochs 1
  refused 2 "--prefetch: is not supported with --clock explore:1" train --prefetch 2 --clock explore:1
  refused 2 "--launch: is not supported with --clock explore:1" train --launch process --clock explore:1
  refused 2 "--async-lr: is not supported with --strategy ssp" train --strategy ssp --staleness 0 --async-lr divide
  refused 2 "--keep: where to? give --checkpoint-dir too" train --keep 2
}

@test "options of compare mean something to their entry, or to one of all" {
  refused 2 "--staleness: is not supported with --strategy allreduce" compare --strategies ssp,allreduce:staleness=2
  refused 2 "--staleness: is not supported with --strategy" compare --strategies allreduce,hogwild --staleness 2
  refused 2 "--momentum: is not supported with --optimizer adam" compare --optimizer adam --momentum 0.5
  hogring compare "${quick[@]}" --strategies allreduce,ssp:optimizer=adam --momentum 0.5 --staleness 1
}

@test "words that are no options" {
  refused 2 '"extra": found a word, expected options' train extra
  refused 2 '"mlp": found a word, expected options' compare --epochs 1 mlp
}

@test "how gradients travel" {
  refused 2 "--overlap maybe: expected on or off" train --overlap maybe
  refused 2 "--overlap on: not with --strategy hogwild" train --overlap on --strategy hogwild
  refused 2 "no gradient is final before the last micro-shard" \
    train --overlap on --reduce repro --global-batch-size 64
  refused 2 "--overlap on:lots: expected bytes" train --overlap on:lots
  refused 2 "--transport pigeon: expected auto, zero-copy or copy" train --transport pigeon
  refused 2 "--transport copy: not with --strategy ps-sync" train --transport copy --strategy ps-sync
  refused 2 "--link 1GB/s: not with --transport zero-copy in real time and --workers 2" train --workers 2 --link 1GB/s --transport zero-copy
  hogring train "${quick[@]}" --workers 2 --link 1GB/s --json "$TMP/linked.json" >/dev/null
  [ "$(json "$TMP/linked.json" 'd["config"]["transport"]')" = copy ]
}

@test "reduce repro says what it needs" {
  refused 2 "--reduce mean: expected sum or repro" train --reduce mean
  refused 2 "expected --global-batch-size N with it" train --reduce repro
  refused 2 "--reduce repro: not with --strategy ps-async: it applies gradients as they come" train --reduce repro --global-batch-size 64 --strategy ps-async
  refused 2 "--reduce repro: not with --algorithm ring and --strategy allreduce: it adds in another order" train --reduce repro --global-batch-size 64 --algorithm ring
  refused 2 "3 workers; expected a power of two, at most the 8" train --reduce repro --global-batch-size 64 --workers 3
  refused 2 "16 workers; expected a power of two, at most the 8" train --reduce repro --global-batch-size 64 --workers 16
  refused 2 "--reduce repro:6: expected a power of two up to 64" train --reduce repro:6 --global-batch-size 64
  refused 2 "--global-batch-size 100: the 3 workers of hogwild cannot share it evenly" \
    train --strategy hogwild --workers 3 --global-batch-size 100
  refused 2 "--threads-per-worker 0: expected 1 to 256" train --threads-per-worker 0
}

@test "options that mean nothing under the optimizer, the schedule or the scale" {
  refused 2 "--momentum: is not supported with --optimizer lamb (it belongs to sgd and lars)" train --optimizer lamb --momentum 0.5
}

@test "numbers of an update out of range" {
  refused 2 "BETA1 of --optimizer adam 1: expected 0 to less than 1" train --optimizer adam:1
  refused 2 "BETA2 of --optimizer adam 2: expected 0 to less than 1" train --optimizer adam:,2
  refused 2 "EPS of --optimizer adam 2: expected 0 to 1" train --optimizer adam:,,2
  refused 2 "EPOCHS of --lr-schedule step 0: expected more than 0" train --lr-schedule step:0
  refused 2 "FACTOR of --lr-schedule step 10000000: expected 0 to 1000000" train --lr-schedule step:,1e7
  refused 2 "TRUST of --optimizer lars 10000000" train --optimizer lars:1e7
  refused 2 "--clip-norm -1: expected a number, not negative" train --clip-norm=-1
  refused 2 "--optimizer sgd:nesterov: looks ahead along the momentum" train --optimizer sgd:nesterov --momentum 0
  refused 2 "--scale-lr half: expected linear, sqrt or none" train --scale-lr half
  refused 2 "expected --scale-lr linear:N" train --scale-lr sqrt --reduce repro --global-batch-size 64
}

@test "names that do not exist list those that do" {
  refused 2 "there are: allreduce, ps-sync, ps-async, ssp, hogwild" train --strategy no-such
  refused 2 "there are: allreduce, ps-sync, ps-async, ssp, hogwild" compare --strategies allreduce,no-such
  refused 2 "--workers 0: expected at least 1" compare --workers 0
  refused 2 "there are: auto, direct, one-shot, ring, bidirectional-ring, tree" train --algorithm star
  refused 2 "there are: sgd, adagrad, adam, adamw, lars, lamb" train --optimizer rmsprop
  refused 2 "nesterov of --optimizer sgd maybe: expected true or false" compare --strategies allreduce:nesterov=maybe
  refused 2 "expected thread or process" train --launch fiber
  refused 2 "--clock unreal: expected real, virtual or explore:SEED" train --clock unreal
  refused 2 "--clock explore: is not supported with --model svm" train --model svm --clock explore:1
  refused 2 "--clock explore:1: simulate is train --clock virtual" simulate --clock explore:1
  refused 2 "--clock explore:x: expected real, virtual or explore:SEED" train --clock explore:x
  refused 2 "expected constant, step, cosine or linear" train --lr-schedule square
}

@test "a model that does not fit the data says both sizes" {
  refused 2 "10" train --model "flatten, dense 11"
  refused 2 'did you mean "dense"' train --model "flatten, dens 10"
  refused 2 "flatten" train --model "dense 10"
}

@test "augmentation that does not fit the data" {
  refused 2 "--augment spin: expected flip, crop:PAD" train --augment spin
  refused 2 "--augment crop:8: expected crop:1 to crop:7 for images of 8 x 8" train --augment crop:8
}

@test "missing data names the package" {
  FASHION_MNIST="$TMP/none" refused 3 "dataset-fashion-mnist" train --data fashion-mnist
  refused 3 "$TMP/nowhere" train --data "$TMP/nowhere"
}

# A folder with the four files; $1 is a Python statement that damages one of them.
damaged_data() {
  rm -rf "$TMP/data"; mkdir "$TMP/data"
  python3 - "$TMP/data" "$1" <<'PY'
import gzip, struct, sys
folder, damage = sys.argv[1:]
files = {}
for split, n in (("train", 40), ("t10k", 20)):
    files[split + "-images-idx3-ubyte"] = struct.pack(">IIII", 0x803, n, 4, 4) + bytes((i * 7) % 256 for i in range(n * 16))
    files[split + "-labels-idx1-ubyte"] = struct.pack(">II", 0x801, n) + bytes(i % 10 for i in range(n))
exec(damage)
for name, data in files.items():
    open(f"{folder}/{name}", "wb").write(data)
PY
}

@test "damaged IDX files are named, with found and expected" {
  damaged_data 'pass'
  hogring train "${quick[@]}" --data "$TMP/data"
  damaged_data 'files["train-images-idx3-ubyte"] = files["train-images-idx3-ubyte"][:100]'
  refused 3 "train-images-idx3-ubyte" train --data "$TMP/data"
  damaged_data 'files["train-images-idx3-ubyte"] = struct.pack(">IIII", 0x803, 0xffffffff, 4, 4)'
  refused 3 "train-images-idx3-ubyte" train --data "$TMP/data"
  damaged_data 'files["t10k-labels-idx1-ubyte"] = struct.pack(">II", 0x801, 19) + bytes(19)'
  refused 3 "20 images and 19 labels" train --data "$TMP/data"
  damaged_data 'files["train-labels-idx1-ubyte"] = files.pop("train-images-idx3-ubyte"); files["train-images-idx3-ubyte"] = b"hello"'
  refused 3 "idx" train --data "$TMP/data"
  damaged_data 'files["train-images-idx3-ubyte"] = gzip.compress(files["train-images-idx3-ubyte"])[:-9]'
  refused 3 "train-images-idx3-ubyte" train --data "$TMP/data"
  damaged_data 'del files["t10k-images-idx3-ubyte"]'
  refused 3 "t10k-images" train --data "$TMP/data"
}

@test "outputs that cannot be written are refused before training" {
  refused 3 "--json" train --json "$TMP/no/such/folder/x.json"
  refused 2 "expected a name that ends in .svg or .png" compare --plot "$TMP/x.pdf"
  refused 3 "--record $TMP/no/x.trace: cannot be written into its folder" train --record "$TMP/no/x.trace"
  echo >"$TMP/file"
  refused 3 "$TMP/file" train --checkpoint-dir "$TMP/file/inside" --quiet
  refused 3 "$TMP/file" compare --checkpoint-dir "$TMP/file/inside" "${quick[@]}"
  mkdir "$TMP/runs"
  echo >"$TMP/runs/ps-sync" # the second one's folder: the first is not trained
  refused 3 "$TMP/runs/ps-sync" compare --strategies allreduce,ps-sync --checkpoint-dir "$TMP/runs" "${quick[@]}"
}

@test "what cannot go to stdout writes no file named -" {
  for o in plot report record log timeline tensorboard checkpoint-dir calibrate; do
    refused 2 "--$o -: cannot go to stdout; expected " train "${quick[@]}" --$o -
  done
  refused 2 "--out -: cannot go to stdout; expected FILE" data pack --data digits --out -
  refused 2 "--out -: cannot go to stdout; expected FILE" data make sparse --rows 3 --out -
  refused 2 "--export -: cannot go to stdout; expected FILE.onnx" inspect "$TMP" --export -
  refused 2 "--worst-sheet -: cannot go to stdout; expected FILE.png" eval "$TMP" --worst-sheet -
}

# In a folder that is a file, and where a folder has the name; nothing is printed, so nothing was computed.
@test "every command refuses outputs that cannot be written before it begins" {
  echo >"$TMP/file"
  mkdir -p "$TMP/folder/x.json" "$TMP/folder/x.svg" "$TMP/folder/x.npy"
  hogring train "${quick[@]}" --strategy ps-async --checkpoint-dir "$TMP/saved" --record "$TMP/trace" >/dev/null
  for to in "$TMP/file/x" "$TMP/folder/x"; do
    refused 3 "--json $to.json: " train --json "$to.json"
    refused 3 "--plot $to.svg: " train --plot "$to.svg"
    refused 3 "$to.json" train --record "$to.json" --strategy ps-async --quiet
    refused 3 "$to.json" train --calibrate "$to.json" --strategy ps-async --quiet
    refused 3 "--json $to.json: " train --model svm --json "$to.json"
    refused 3 "--plot $to.svg: " compare --plot "$to.svg"
    refused 3 "--json $to.json: " simulate --json "$to.json"
    refused 3 "--json $to.json: " replay "$TMP/trace" --json "$to.json"
    refused 3 "--plot $to.svg: " replay "$TMP/trace" --plot "$to.svg"
    refused 3 "--json $to.json: " eval "$TMP/saved" --json "$to.json"
    refused 3 "--outputs $to.npy: " eval "$TMP/saved" --outputs "$to.npy"
    refused 3 "--json $to.json: " inspect "$TMP/saved" --json "$to.json"
    refused 3 "--json $to.json: " inspect "$TMP/trace" --json "$to.json"
    refused 3 "--json $to.json: " inspect mlp --json "$to.json"
    refused 3 "--json $to.json: " data info --json "$to.json"
    refused 3 "--out $to.json: " data pack --out "$to.json"
    refused 3 "--out $to.json: " data make sparse --out "$to.json"
    for b in all_reduce layers train "links --sweep" store; do
      refused 3 "--json $to.json: " bench $b --json "$to.json"
    done
    refused 3 "--plot $to.svg: " bench all_reduce --plot "$to.svg"
    refused 3 "--plot $to.svg: " bench layers --plot "$to.svg"
  done
}

@test "help json names every field of a run, in 80 columns" {
  hogring help json >"$TMP/fields"
  [ "$(awk 'length > 80' "$TMP/fields" | wc -l)" = 0 ]
  hogring compare "${quick[@]}" --workers 2 --prefetch 1 --json "$TMP/nets" \
    --strategies "$(strategies | paste -sd ,)" >/dev/null
  hogring data make sparse --out "$TMP/rows" --rows 500 >/dev/null
  hogring compare --model logistic --data "$TMP/rows" --epochs 1 --quiet --json "$TMP/sparse" >/dev/null
  hogring train "${quick[@]}" --workers 2 --strategy hogwild --compute-time 1ms --on-loss continue --inject kill:1@step=3 --json "$TMP/lost" >/dev/null 2>&1
  [ "$(json "$TMP/lost" 'len(d["runs"][0]["losses"])')" = 1 ]
  python3 - "$TMP/fields" "$TMP/nets" "$TMP/sparse" "$TMP/lost" <<'PY'
import json, re, sys
words = set(re.findall(r"\w+", open(sys.argv[1]).read()))
def names(value):
    if isinstance(value, list):
        return set().union(*map(names, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(names(v) for k, v in value.items() if k != "taken_for")) # its keys are names of classes
for path in sys.argv[2:]:
    out = json.load(open(path))
    missing = ({*out} | names(out["machine"]) | names(out["runs"])) - words
    assert not missing, f"{path}: not described: {sorted(missing)}"
PY
}

@test "help teaches, and goes to stdout" {
  hogring --help | grep -q "usage: hogring COMMAND"
  for c in train compare eval inspect bench; do
    hogring $c --help | grep -q "examples:"
    hogring help $c | grep -q "usage: hogring $c"
  done
  hogring --version | grep -q "^hogring [0-9]"
  refused 2 "zzz: no such command or topic" help zzz
  refused 2 "strattgies: no such command or topic; did you mean strategies? (" help strattgies
  refused 2 "trian: no such command; did you mean train? (" trian
}

@test "links on the real clock lead nowhere but to where they are" {
  refused 2 "--link 1GB/s,5us: not with --strategy ps-async in real time" \
    train --strategy ps-async --link 1GB/s,5us
  hogring simulate "${quick[@]}" --strategy ps-async --link 1GB/s,5us >/dev/null
}

@test "a switch is on or true, off or false, in lists of settings too" {
  hogring compare "${quick[@]}" --strategies local-sgd:adaptive-sync=on,local-sgd:adaptive-sync=off --json "$TMP/a.json" >/dev/null
  [ "$(json "$TMP/a.json" '["adaptive" in r["manner"] for r in d["runs"]]')" = "[True, False]" ]
  refused 2 "adaptive of --strategy local-sgd perhaps: expected true or false (on or off)" compare --strategies local-sgd:adaptive-sync=perhaps
}

@test "a file that is not there is no model" {
  refused 3 "run.trace: cannot be opened: No such file or directory" inspect run.trace
  hogring inspect "flatten, dropout 0.2, dense 10" >/dev/null
}

@test "one trace at a time, and numbers that are not negative" {
  refused 2 "replay: expected one trace at a time, found 2" replay a.trace b.trace
  refused 2 "--workers -4: expected a whole number, not negative" train --workers -4
}

@test "a loss that is no number is nan, whatever its sign" {
  refused 1 "the loss is not finite (nan) in epoch 1" train --lr 1e6 --quiet
}

@test "parameters stand behind a colon, and elsewhere have their names" {
  refused 2 "--lr-gamma 0.5: is said behind a colon: --lr-schedule step:,0.5" train --lr-schedule step --lr-gamma 0.5
  refused 2 "--nesterov: is said behind a colon: --optimizer sgd:nesterov" compare --nesterov
  refused 2 "--expect-accuracy 0.9: is said in another way: --expect accuracy=0.9" train --expect-accuracy 0.9
  refused 2 "--test-fraction 0.3: is said in another way: --test 0.3" data info --test-fraction 0.3
  refused 2 "--expect 0.9: expected METRIC=X" train --expect 0.9
  refused 2 "--expect f1=0.9: expected METRIC=X" train --expect f1=0.9,accuracy=0.2
  refused 2 "--lr-schedule step:1,2,3: expected at most step:EPOCHS,FACTOR" train --lr-schedule step:1,2,3
  refused 2 "--optimizer adam:0.9,0.9,1e-7,3: expected at most adam:BETA1,BETA2,EPS" train --optimizer adam:0.9,0.9,1e-7,3
  refused 2 "EPS of --optimizer adagrad 0: expected more than 0" train --optimizer adagrad:0
  refused 2 "EPS of --optimizer adam 1e-40: expected more than 0, at least 1.2e-38" train --optimizer adam:0.9,0.999,1e-40
  refused 2 "EPS of --optimizer lamb 0: expected more than 0" compare --optimizer lamb:0.9,0.9,0
  refused 2 "--optimizer sgd:often: expected --optimizer sgd:nesterov" train --optimizer sgd:often
  hogring help lr-gamma | grep -q -- "--lr-schedule NAME"
  hogring help label smoothing | grep -q -- "--loss NAME"
  [ "$(hogring help --completion | grep -c -- "--lr-gamma")" = 0 ]
  printf '%s\n' 'lr-schedule = step' 'lr-gamma = 0.5' 'nesterov = on' >"$TMP/earlier.ini"
  digest() { hogring train "${quick[@]}" --epochs 3 "$@" | awk '/^weights digest/ { print $3 }'; }
  local digest
  digest=$(digest --optimizer sgd:nesterov --lr-schedule step:,0.5)
  [ "$(digest --config "$TMP/earlier.ini")" = "$digest" ]
  hogring compare "${quick[@]}" --epochs 3 --strategies 'allreduce:nesterov=on:lr-schedule="step:,0.5"' --json "$TMP/run.json" >/dev/null
  [ "$(json "$TMP/run.json" 'd["runs"][0]["weights_digest"]')" = "$digest" ]
  hogring compare "${quick[@]}" --strategies 'diloco:"0.5,0":sync-every=4' --loss mse,cross-entropy:0.1,cross-entropy --json "$TMP/run.json" >/dev/null
  json "$TMP/run.json" '"\n".join(r["weights_digest"] for r in d["runs"])' >"$TMP/digests"
  [ "$(sort -u "$TMP/digests" | wc -l)" = 3 ]
  [ "$(tail -1 "$TMP/digests")" = "$(digest --epochs 1 --strategy diloco:0.5,0 --sync-every 4)" ]
}

@test "options of earlier versions are refused with what takes their place" {
  refused 2 "--server-replicas: is no longer there; a server that is lost is started again" train --server-replicas 2
  refused 2 "--server-replicas: is no longer there" compare --strategies ps-async:server-replicas=2
}

@test "a value of any length leaves what is wrong with it whole" {
  local option long
  long=$(printf 'x%.0s' {1..5000})
  for option in note data model json; do
    refused 2 "x: expected a text of at most " train "--$option" "$long"
  done
  refused 2 "x: expected a text of at most 4095 bytes" sample "$TMP/none" --prompt "$long"
  printf 'u,v,when\n1,2,a\n3,4,b\n' >"$TMP/t.csv"
  refused 2 ",wrong: column 1 stands in it twice" train --data "$TMP/t.csv" --columns "$(printf 'u,%.0s' {1..400})wrong"
}
