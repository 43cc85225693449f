#!/usr/bin/env bats
# train, eval, inspect, compare, bench: what they print, write and promise.
load support

@test "train is quiet when asked, and its JSON is complete" {
  hogring train "${quick[@]}" --json "$TMP/out.json" >"$TMP/stdout" 2>"$TMP/stderr"
  [ ! -s "$TMP/stderr" ]
  grep -q "weights digest" "$TMP/stdout"
  [ "$(json "$TMP/out.json" 'len(d["runs"])')" = 1 ]
  [ "$(json "$TMP/out.json" 'sorted({"strategy", "algorithm", "workers", "servers", "seed", "steps", "samples", "seconds", "samples_per_s",
    "train_loss", "test_loss", "test_accuracy", "staleness", "time", "updates", "lr", "bytes", "curve", "weights_digest"} - set(d["runs"][0]))')" = "[]" ]
  [ "$(json "$TMP/out.json" 'd["runs"][0]["samples"]')" = 1438 ]
}

@test "too many workers for the processors are told, with numbers, unless quiet" {
  HOGRING_CPUS=1 hogring train --model softmax --epochs 1 --workers 3 2>"$TMP/stderr" >/dev/null
  grep -q "warning: 3 workers take turns on 1 processor (affinity mask" "$TMP/stderr"
  HOGRING_CPUS=1 hogring train "${quick[@]}" --workers 3 2>"$TMP/stderr" >/dev/null
  [ ! -s "$TMP/stderr" ]
}

@test "JSON on stdout is nothing but JSON" {
  hogring train "${quick[@]}" --json - 2>/dev/null >"$TMP/out.json"
  json "$TMP/out.json" 'd["hogring"]'
}

@test "an epoch is as many samples as --epoch-size says" {
  hogring train --model softmax --epochs 3 --epoch-size 1000 --quiet --json "$TMP/out.json"
  [ "$(json "$TMP/out.json" '[p["samples"] for p in d["runs"][0]["curve"]], d["config"]["epoch-size"]')" = "([1000, 2000, 3000], 1000)" ]
}

@test "expectations decide the exit code" {
  digest=$(hogring train "${quick[@]}" --json - 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["runs"][0]["weights_digest"])')
  hogring train "${quick[@]}" --expect digest="$digest"
  run hogring train "${quick[@]}" --expect digest=0000
  [ "$status" = 1 ]
  run hogring train "${quick[@]}" --expect accuracy=0.999
  [ "$status" = 1 ]
  hogring train "${quick[@]}" --expect accuracy=0.2
}

@test "processes give the digest of threads" {
  a=$(hogring train "${quick[@]}" --workers 3 --launch thread | grep digest)
  b=$(hogring train "${quick[@]}" --workers 3 --launch process | grep digest)
  [ "$a" = "$b" ]
}

@test "a configuration file stands for its options, and the command line wins" {
  printf 'model = softmax\nepochs = 1\nseed = 7\n[compare]\nseed = 9\n' >"$TMP/run.ini"
  hogring train --config "$TMP/run.ini" --seed 8 --quiet --json "$TMP/out.json"
  [ "$(json "$TMP/out.json" 'd["config"]["seed"]')" = 8 ]
  [ "$(json "$TMP/out.json" 'd["config"]["model"]')" = softmax ]
  echo "epoch = 3" >"$TMP/bad.ini"
  refused 2 "did you mean --epochs" train --config "$TMP/bad.ini"
  printf '[trian]\nlr = 0.1\n' >"$TMP/bad.ini"
  refused 2 "bad.ini: [trian]: expected [train] or [compare]" train --config "$TMP/bad.ini"
  refused 3 "--config $TMP: cannot be read" train --config "$TMP"
}

@test "a checkpoint is evaluated, inspected and gone on from" {
  hogring train --model softmax --epochs 2 --quiet --checkpoint-dir "$TMP/c" >"$TMP/first"
  hogring inspect "$TMP/c" | grep -q "1.weight .*(10, 64)"
  hogring inspect "$TMP/c/latest/model.safetensors" --json - | grep -q '"F32"'
  hogring eval "$TMP/c" --expect accuracy=0.5 | grep -q "test accuracy"
  hogring train --model softmax --epochs 4 --quiet --checkpoint-dir "$TMP/c" --resume >"$TMP/resumed"
  hogring train --model softmax --epochs 4 --quiet >"$TMP/whole"
  [ "$(grep digest "$TMP/resumed" | cut -d' ' -f4)" = "$(grep digest "$TMP/whole" | cut -d' ' -f4)" ]
  refused 2 "raise --epochs to continue" train --model softmax --epochs 4 --quiet --resume "$TMP/c"
  refused 2 "--seed" train --model softmax --seed 2 --quiet --resume "$TMP/c"
  refused 2 "model" train --model mlp --quiet --resume "$TMP/c"
}

@test "a checkpoint carries the scaling of its data" {
  hogring train --model softmax --epochs 2 --quiet --normalize --augment crop:1 --checkpoint-dir "$TMP/c" --json "$TMP/out.json"
  hogring eval "$TMP/c" --json "$TMP/eval.json"
  [ "$(json "$TMP/out.json" 'd["runs"][0]["test_accuracy"], d["config"]["normalize"], d["config"]["augment"]')" = \
    "$(json "$TMP/eval.json" 'd["test_accuracy"], True, "crop:1"')" ]
  printf 'normalize = off\n' >"$TMP/off.ini"
  refused 2 "it was trained with --normalize on, this run has off" train --config "$TMP/off.ini" --quiet --resume "$TMP/c"
  refused 2 "was trained with --normalize, and mean and deviation stand beside it" eval "$TMP/c/latest/model.safetensors"
  hogring train --epochs 3 --quiet --resume "$TMP/c" >/dev/null
}

@test "a damaged checkpoint is passed over for the one before, and said so" {
  hogring train --model softmax --epochs 2 --quiet --checkpoint-dir "$TMP/c"
  printf '\xff' | dd of="$TMP/c/latest/model.safetensors" bs=1 seek=700 conv=notrunc status=none
  hogring eval "$TMP/c" >"$TMP/stdout" 2>"$TMP/stderr"
  grep -q "model.safetensors" "$TMP/stderr"
  refused 3 "model.safetensors" inspect "$TMP/c/latest"
  rm -rf "$TMP/c"
  refused 3 "$TMP/c" eval "$TMP/c"
}

@test "compare trains every strategy on the same samples, and saves each" {
  hogring compare --model softmax --epochs 2 --seeds 2 --quiet --json "$TMP/out.json" --plot "$TMP/p.svg" \
    --checkpoint-dir "$TMP/c" --time-to accuracy=0.5 >"$TMP/stdout"
  grep -q "^allreduce direct" "$TMP/stdout"
  grep -q "^Not a fair comparison:" "$TMP/stdout"
  [ "$(json "$TMP/out.json" 'len(d["runs"])')" = 10 ]
  [ "$(json "$TMP/out.json" '{r["samples"] for r in d["runs"]}')" = "{2876}" ]
  [ "$(json "$TMP/out.json" '{r["weights_digest"] for r in d["runs"] if r["strategy"] in ("allreduce", "ps-sync") and r["seed"] == 1}.__len__()')" = 1 ]
  grep -q "<svg" "$TMP/p.svg"
  for s in allreduce ps-sync ps-async ssp hogwild; do hogring inspect "$TMP/c/$s/seed-2" >/dev/null; done
}

@test "strategies take settings of their own" {
  hogring compare --model softmax --epochs 1 --quiet --strategies allreduce:algorithm=ring,ssp:staleness=1:lr=0.01 --json "$TMP/out.json" >"$TMP/stdout"
  [ "$(json "$TMP/out.json" '[(r["strategy"], r["algorithm"], r["lr"]) for r in d["runs"]]')" = "[('allreduce', 'ring', 0.05), ('ssp', None, 0.01)]" ]
  hogring compare --model softmax --epochs 1 --quiet --strategies ssp:staleness=1,ssp:staleness=2 --checkpoint-dir "$TMP/c" >/dev/null
  hogring inspect "$TMP/c/ssp" >/dev/null
  hogring inspect "$TMP/c/ssp-2" >/dev/null
  refused 2 "expected name=value" compare --strategies ssp:staleness
  refused 2 "--lr fast: expected a number" compare --strategies ssp:lr=fast
}

@test "an optimizer, its schedule and its clipping work from the command line" {
  hogring train --details --model softmax --epochs 3 --optimizer adamw --lr 0.001 --lr-schedule linear --warmup-epochs 1 --clip-norm 1 \
    --scale-lr linear --workers 2 --json "$TMP/out.json" 2>"$TMP/stderr"
  grep -qF "update   adamw, betas 0.9 0.999, eps 1e-08, weight decay 0.01, norm clipped at 1; lr 0.002 (0.001 times 2) after 1 epoch of warm-up, linear to 0" "$TMP/stderr"
  [ "$(json "$TMP/out.json" 'd["config"]["optimizer"], d["config"]["eps"], d["runs"][0]["optimizer"]')" = "('adamw', 1e-08, 'adamw')" ]
  hogring compare --model softmax --epochs 1 --quiet --optimizer adam --lr 0.001 --json "$TMP/out.json"
  [ "$(json "$TMP/out.json" '{(r["optimizer"], r["lr"]) for r in d["runs"]}')" = "{('adam', 0.001)}" ]
  hogring compare --model softmax --epochs 1 --quiet --strategies allreduce:nesterov=true,allreduce:optimizer=adam,hogwild:optimizer=lars:lr=2 \
    --json "$TMP/out.json" >"$TMP/stdout"
  [ "$(json "$TMP/out.json" '[(r["optimizer"], r["lr"]) for r in d["runs"]]')" = "[('sgd', 0.05), ('adam', 0.001), ('lars', 2.0)]" ]
  grep -q "^allreduce direct adam" "$TMP/stdout"
}

@test "side by side gives the synchronous digests of one after another" {
  hogring compare --model softmax --epochs 1 --quiet --json "$TMP/a.json"
  hogring compare --model softmax --epochs 1 --quiet --concurrent --json "$TMP/b.json"
  d='[r["weights_digest"] for r in d["runs"] if r["strategy"] in ("allreduce", "ps-sync")]'
  [ "$(json "$TMP/a.json" "$d")" = "$(json "$TMP/b.json" "$d")" ]
  [ "$(json "$TMP/b.json" 'len(d["runs"])')" = 5 ]
}

@test "one strategy that diverges does not hide the others" {
  run hogring compare --model mlp --epochs 3 --quiet --strategies allreduce,ps-async:lr=100000 --json "$TMP/out.json"
  [ "$status" = 1 ]
  [[ "$output" == *"ps-async"*"not finite"* ]]
  [ "$(json "$TMP/out.json" '[r["strategy"] for r in d["runs"]]')" = "['allreduce']" ]
}

@test "bench checks what it times" {
  hogring bench allreduce --algorithm all --sizes 4K:64K --ranks 3 --json "$TMP/out.json" | grep -q "master-worker"
  [ "$(json "$TMP/out.json" '{r["wrong"] for r in d["rows"]}')" = "{0}" ]
  [ "$(json "$TMP/out.json" 'len({r["algorithm"] for r in d["rows"]})')" = 9 ]
  hogring bench all --sizes 60K:60K --ranks 3 --launch process --redop mean --type int64 --json "$TMP/out.json"
  [ "$(json "$TMP/out.json" 'len({r["op"] for r in d["rows"]}), {r["wrong"] for r in d["rows"]}')" = "(10, {0})" ]
  hogring bench all-reduce --sizes 64K:1M --launch process --buffers private --loop back-to-back | grep -q private
  hogring bench all_reduce --sizes 1M:1M --transport copy --algorithm ring | grep -q "ring"
  refused 2 "--sizes" bench allreduce --sizes 2:1
  refused 2 "expected an operation" bench
  refused 2 "expected all_reduce, reduce" bench reduc
  refused 2 "--type float16" bench allreduce --type float16
  refused 2 "--buffers stack" bench allreduce --buffers stack
}

@test "a checkpoint folder is one run's" {
  run_c=(train "${quick[@]}" --checkpoint-dir "$TMP/c")
  hogring "${run_c[@]}" >/dev/null
  refused 2 "holds another run, up to step-00000023; expected --resume" "${run_c[@]}" --lr 0.1
  refused 2 "--overwrite: what? give --checkpoint-dir, --log or --tensorboard too" train --overwrite
  mkdir "$TMP/c/step-99999999" && touch "$TMP/c/step-99999999/mine"
  refused 2 "holds mine, which is none of a checkpoint's files" "${run_c[@]}" --overwrite
  rm -r "$TMP/c/step-99999999"
  hogring "${run_c[@]}" --lr 0.1 --overwrite >/dev/null
  hogring inspect "$TMP/c" | grep -q "lr = 0.1"
  hogring compare "${quick[@]}" --strategies ssp,hogwild --checkpoint-dir "$TMP/d" >/dev/null
  refused 2 "/d/ssp: holds another run" compare "${quick[@]}" --strategies allreduce,ssp --checkpoint-dir "$TMP/d"
  [ ! -e "$TMP/d/allreduce/latest" ] # refused before the first was trained
  hogring compare "${quick[@]}" --strategies ssp,hogwild --checkpoint-dir "$TMP/d" --overwrite >/dev/null
}

@test "two runs at once do not share a folder" {
  heard train --model softmax --epochs 100000 --quiet --checkpoint-dir "$TMP/c" >"$TMP/out" 2>&1 &
  pid=$!
  for _ in $(seq 1200); do [ -e "$TMP/c/latest" ] && break; sleep 0.05; done
  refused 3 "process $pid trains into this folder now" train "${quick[@]}" --checkpoint-dir "$TMP/c" --overwrite
  refused 3 "process $pid trains" train --quiet --checkpoint-dir "$TMP/c" --resume
  kill -KILL "$pid"
  wait "$pid" || true
  hogring train --model softmax --max-steps 2 --quiet --checkpoint-dir "$TMP/c" --overwrite >/dev/null
}

@test "a run that a limit ended says which, and after how much of its length" {
  [[ "$(hogring train "${quick[@]}" --epochs 100 --max-steps 5)" == *"of 100 epochs, by --max-steps"* ]]
  [[ "$(hogring train "${quick[@]}" --epochs 100000 --max-seconds 0.1s)" == *"of 100000 epochs, by --max-seconds"* ]]
  [[ "$(hogring train "${quick[@]}" --max-steps 5000)" != *"--max-steps"* ]]
}
