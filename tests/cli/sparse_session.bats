#!/usr/bin/env bats
# Sparse models have what networks have: comparisons with seeds, checkpoints, eval, inspect.
load support

make_rows() { hogring data make sparse --out "$TMP/a.libsvm" --rows "${1:-1500}" --features 800 --nonzeros 12; }
sparse() { hogring train --data "$TMP/a.libsvm" --quiet "$@"; }
digest() { awk '/weights digest/ {print $3}'; }

@test "five seeds of hogwild and locked are compared, told apart or not, drawn and written" {
  make_rows
  hogring compare --strategies hogwild,locked --model logistic --data "$TMP/a.libsvm" --seeds 5 --epochs 4 --workers 2 --quiet \
    --json "$TMP/a.json" --plot "$TMP/a.svg" >"$TMP/out"
  grep -q "standard deviation of 5 seeds" "$TMP/out"
  grep -Eq "^Accuracy: .* over 5 seeds" "$TMP/out"
  [ "$(json "$TMP/a.json" 'sorted((r["strategy"], r["seed"]) for r in d["runs"])')" = "$(python3 -c 'print([(s, n) for s in ("hogwild", "locked") for n in range(1, 6)])')" ]
  [ "$(json "$TMP/a.json" '[(s["strategy"], s["seeds"], s["test_accuracy"]["mean"] > 0.7) for s in d["comparison"]["strategies"]]')" = "[('hogwild', 5, True), ('locked', 5, True)]" ]
  [ "$(json "$TMP/a.json" 'all(r["conflicts"]["omega"] > 12 and r["model"] == "logistic" for r in d["runs"])')" = True ]
  grep -q "<svg" "$TMP/a.svg"
}

@test "entries have settings of their own, and run side by side" {
  make_rows
  hogring compare --model svm --data "$TMP/a.libsvm" --epochs 3 --workers 2 --quiet --concurrent \
    --strategies hogwild,hogwild:solver=sgd:lr=0.2:hot-copies=0,locked:cost=2 --json "$TMP/a.json" >"$TMP/out"
  grep -q "^hogwild sgd lr 0.162 cost 1, hot-copies 0 " "$TMP/out"
  grep -q "^hogwild dual cost 1 " "$TMP/out"
  grep -q "^locked dual cost 2 " "$TMP/out"
  [ "$(json "$TMP/a.json" '[(r["strategy"], r["optimizer"], r["lr"] is None) for r in d["runs"]]')" = "[('hogwild', 'dual', True), ('hogwild', 'sgd', False), ('locked', 'dual', True)]" ]
  refused 2 "--lr: is not supported with --solver dual" compare --model svm --data "$TMP/a.libsvm" --strategies hogwild:lr=0.2
  refused 2 "--strategy ssp: --model svm is trained by hogwild or locked" compare --model svm --data "$TMP/a.libsvm" --strategies hogwild,ssp
  refused 2 "--momentum: is not supported with --model svm" compare --model svm --data "$TMP/a.libsvm" --momentum 0.5
}

@test "ratings are compared by their error, which less is better of" {
  awk 'BEGIN { for (i = 0; i < 4000; i++) { u = int(i * 7.3) % 50; v = int(i * 3.7) % 31; printf "%d %d:%.2f\n", u, v + 1, 3 + (u % 3 - 1) * (v % 4 - 1.5) / 2 } }' >"$TMP/r.libsvm"
  hogring compare --model mf:4 --cost 20 --data "$TMP/r.libsvm" --seeds 3 --epochs 20 --quiet \
    --strategies hogwild,hogwild:lr=1e-6 --json "$TMP/a.json" >"$TMP/out"
  grep -q "^RMSE: hogwild.* has the best mean, 0.0" "$TMP/out"
  [ "$(json "$TMP/a.json" 'd["comparison"]["pairs"][0]["told_apart"], d["comparison"]["pairs"][0]["difference"] < 0')" = "(True, True)" ]
  hogring train --model mf:4 --data "$TMP/r.libsvm" --epochs 2 --quiet --checkpoint-dir "$TMP/c"
  hogring eval "$TMP/c" --data "$TMP/r.libsvm" >"$TMP/out"
  grep -q ", test loss 0\.[0-9]* (800 samples)" "$TMP/out"
  hogring eval "$TMP/c" --data "$TMP/r.libsvm" --json "$TMP/e.json" >/dev/null
  [ "$(json "$TMP/e.json" 'd["model"], d["test_accuracy"]')" = "('mf', None)" ]
  refused 2 "there is no accuracy where values are predicted" eval "$TMP/c" --data "$TMP/r.libsvm" --json "$TMP/e.json" --expect accuracy=0.5
}

# A run that is killed three times at some moment, and brought to its end.
killed_and_resumed() {
  rm -rf "$TMP/c"
  for moment in 0.15 0.2 0.25; do
    heard train --data "$TMP/a.libsvm" --quiet --checkpoint-dir "$TMP/c" --resume auto "$@" >/dev/null 2>&1 &
    pid=$!
    sleep $moment
    kill -KILL $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
  done
  sparse --checkpoint-dir "$TMP/c" --resume auto "$@" 2>"$TMP/err" | digest
}

@test "one worker that is killed and resumed was never stopped, whatever it trains" {
  make_rows 20000
  for kind in "logistic dual" "logistic sgd" "svm dual"; do
    set -- --model ${kind% *} --solver ${kind#* } --workers 1 --epochs 80
    whole=$(sparse "$@" | digest)
    [ -n "$whole" ]
    [ "$(killed_and_resumed "$@")" = "$whole" ]
  done
}

@test "an interrupted run saves where it stands, and goes on from there" {
  make_rows 20000
  set -- --model logistic --workers 1 --epochs 300
  whole=$(sparse "$@" | digest)
  : >"$TMP/err"
  heard train --data "$TMP/a.libsvm" "$@" --details --checkpoint-dir "$TMP/c" --checkpoint-every 10000000 2>"$TMP/err" >/dev/null &
  pid=$!
  for _ in $(seq 3000); do grep -q "epoch [0-9]*/300" "$TMP/err" && break; sleep 0.02; done
  kill -INT $pid
  got=0
  wait $pid || got=$?
  [ $got = 130 ] || { cat "$TMP/err"; return 1; }
  grep -q "interrupted at step [0-9]*; --resume goes on from there" "$TMP/err"
  hogring train --quiet --resume "$TMP/c" --expect digest="$whole"
}

@test "a checkpoint is evaluated to the run's own figures, and inspected" {
  make_rows
  sparse --model logistic --workers 2 --epochs 3 --checkpoint-dir "$TMP/c" --json "$TMP/a.json" >/dev/null
  hogring eval "$TMP/c" --data "$TMP/a.libsvm" --json "$TMP/e.json" --outputs "$TMP/o.npy" >/dev/null
  [ "$(json "$TMP/e.json" 'd["model"]')" = logistic ]
  [ "$(json "$TMP/e.json" 'd["test_loss"], d["test_accuracy"]')" = "$(json "$TMP/a.json" '(d["runs"][0]["test_loss"], d["runs"][0]["test_accuracy"])')" ]
  hogring eval "$TMP/c/latest/model.safetensors" --data "$TMP/a.libsvm" --expect accuracy=0.7 >/dev/null
  head -c 128 "$TMP/o.npy" | grep -aq "(300, 1)"
  hogring inspect "$TMP/c" >"$TMP/out"
  grep -q "weight  *(1, 800)  *F32" "$TMP/out"
  grep -q "alphas  *(1200, 2)  *F64" "$TMP/out"
  for line in "hogring.model = logistic" "hogring.solver = dual" "hogring.cost = 1" "hogring.features = 800" "option.solver = dual"; do
    grep -q "$line" "$TMP/out"
  done
  [ "$(json "$TMP/a.json" 'd["runs"][0]["checkpoint"].endswith("step-00003600"), d["runs"][0]["steps"]')" = "(True, 3600)" ]
}

@test "a resumed run's JSON and table tell of both" {
  make_rows
  sparse --model svm --workers 2 --epochs 3 --checkpoint-dir "$TMP/c" >/dev/null
  hogring train --quiet --resume "$TMP/c" --epochs 5 --json "$TMP/a.json" >"$TMP/out" 2>"$TMP/err"
  [ "$(json "$TMP/a.json" '[(r["resumed_step"], r["steps"], r["samples"], r["total_samples"], len(r["curve"])) for r in d["runs"]]')" = "[(3600, 6000, 2400, 6000, 5)]" ]
  [ "$(json "$TMP/a.json" '[d["config"][k] for k in ("model", "solver", "strategy", "lr")]')" = "['svm', 'dual', 'hogwild', None]" ]
  grep -q "resumed at step 3600" "$TMP/out"
  grep -q -- "--epochs 5: previously 3" "$TMP/err"
}

@test "comparisons go on, too, each entry from its own folder" {
  make_rows
  hogring compare --model logistic --data "$TMP/a.libsvm" --seeds 2 --epochs 2 --workers 2 --quiet --checkpoint-dir "$TMP/c" >/dev/null
  [ -d "$TMP/c/locked/seed-2/step-00002400" ]
  hogring compare --resume "$TMP/c" --strategies hogwild,locked --seeds 2 --epochs 4 --quiet --json "$TMP/a.json" >/dev/null 2>&1
  [ "$(json "$TMP/a.json" '[(r["strategy"], r["seed"], r["resumed_step"], r["steps"]) for r in d["runs"]]')" = "[('hogwild', 1, 2400, 4800), ('locked', 1, 2400, 4800), ('hogwild', 2, 2400, 4800), ('locked', 2, 2400, 4800)]" ]
}

@test "a comparison of five seeds that is killed is brought to its end, and evaluated" {
  make_rows 20000
  set -- compare --model logistic --data "$TMP/a.libsvm" --strategies hogwild,locked --seeds 5 --workers 1 --epochs 30 --quiet
  hogring "$@" --json "$TMP/whole.json" >/dev/null
  for _ in 1 2 3; do
    heard "$@" --checkpoint-dir "$TMP/c" --resume auto >/dev/null 2>&1 &
    pid=$!
    sleep 0.5
    kill -KILL $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
  done
  hogring "$@" --checkpoint-dir "$TMP/c" --resume auto --json "$TMP/a.json" >/dev/null 2>&1
  of_runs='sorted((r["strategy"], r["seed"], r["weights_digest"], len(r["curve"])) for r in d["runs"])'
  [ "$(json "$TMP/a.json" "$of_runs")" = "$(json "$TMP/whole.json" "$of_runs")" ]
  hogring eval "$TMP/c/locked/seed-5" --data "$TMP/a.libsvm" --json "$TMP/e.json" >/dev/null
  [ "$(json "$TMP/e.json" 'd["test_loss"]')" = "$(json "$TMP/a.json" '[r["test_loss"] for r in d["runs"] if (r["strategy"], r["seed"]) == ("locked", 5)][0]')" ]
}

@test "classes go by their names" {
  awk 'BEGIN { for (i = 0; i < 400; i++) printf "%s %d:1 %d:1\n", i % 3 ? "+1" : "-1", i % 3 ? 1 : 2, 3 + i % 5 }' >"$TMP/a.libsvm"
  sparse --model logistic --epochs 5 --checkpoint-dir "$TMP/c" --expect accuracy=1 >/dev/null
  awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 2 ? "-1 2:1" : "+1 1:1") }' >"$TMP/b.libsvm"
  hogring eval "$TMP/c" --data "$TMP/b.libsvm" --test 0.5 --expect accuracy=1 >/dev/null
  sed 's/^+1/7/' "$TMP/b.libsvm" >"$TMP/d.libsvm"
  refused 2 "has samples of class \"7\"" eval "$TMP/c" --data "$TMP/d.libsvm" --test 0.5
  printf -- '-1 900:1\n+1 1:1\n-1 2:1\n+1 900:1\n' >"$TMP/e.libsvm"
  refused 3 "tensor weight is (1, 7), expected (1, 900 or more)" eval "$TMP/c" --data "$TMP/e.libsvm" --test 0.5
}

@test "what is damaged or another run's is refused" {
  make_rows
  sparse --model logistic --workers 1 --epochs 2 --checkpoint-dir "$TMP/c" >/dev/null
  refused 2 "with --cost 1, this run has 3" train --resume "$TMP/c" --cost 3 --epochs 3
  refused 2 "with --solver dual, this run has sgd" train --resume "$TMP/c" --solver sgd --epochs 3
  refused 2 "it was trained with model logistic" train --resume "$TMP/c" --model svm --epochs 3
  refused 2 "it was trained with model logistic" train --resume "$TMP/c" --model "flatten, dense 2" --strategy allreduce --epochs 3 --data "$TMP/a.libsvm"
  refused 2 "raise --epochs to continue" train --resume "$TMP/c"
  refused 2 "--overwrite" train --model logistic --data "$TMP/a.libsvm" --checkpoint-dir "$TMP/c"
  hogring train "${quick[@]}" --model "flatten, dense 2" --data "$TMP/a.libsvm" --checkpoint-dir "$TMP/net" >/dev/null 2>&1
  refused 2 "it was trained with model flatten, dense 2" train --resume "$TMP/net" --model logistic --strategy hogwild --epochs 3
  refused 3 "tensor weight is missing" eval "$TMP/net" --model logistic --data "$TMP/a.libsvm"
  for file in model trainer; do
    rm -rf "$TMP/d"
    cp -r "$TMP/c" "$TMP/d"
    find "$TMP/d" -name "$file.safetensors" -exec python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(-9, 2); b = f.read(1); f.seek(-9, 2); f.write(bytes([b[0] ^ 1]))' {} \;
    got=0
    hogring train --resume "$TMP/d" --epochs 3 --quiet >/dev/null 2>"$TMP/err" || got=$?
    [ $got = 3 ]
    grep -q "$file.safetensors" "$TMP/err"
  done
}
