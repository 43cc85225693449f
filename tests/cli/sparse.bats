#!/usr/bin/env bats
# Sparse models on the command line: made data, table, JSON, plot, and what is refused.
load support

make_rows() { hogring data make sparse --out "$TMP/a.libsvm" --rows 1500 --features 800 --nonzeros 12; }
sparse() { hogring train --data "$TMP/a.libsvm" --epochs 5 "$@"; }

@test "made rows train under every model, solver and strategy" {
  make_rows
  for model in logistic svm; do
    for solver in sgd dual; do
      for strategy in hogwild locked; do
        sparse --model $model --solver $solver --strategy $strategy --workers 2 --quiet --expect accuracy=0.7
      done
    done
  done
}

@test "one worker gives one digest, as thread and as process" {
  make_rows
  digest=$(sparse --model logistic --workers 1 --quiet | awk '/weights digest/ {print $3}')
  sparse --model logistic --workers 1 --quiet --launch process --expect digest="$digest"
}

@test "JSON and plot tell what happened" {
  make_rows
  sparse --model logistic --solver sgd --cost 2 --workers 2 --json "$TMP/a.json" --plot "$TMP/a.svg" --quiet
  [ "$(json "$TMP/a.json" '[d["config"][k] for k in ("model", "solver", "cost", "strategy", "lr-schedule")]')" = "['logistic', 'sgd', 2.0, 'hogwild', 'step']" ]
  [ "$(json "$TMP/a.json" 'len(d["runs"][0]["curve"]), d["runs"][0]["samples"], d["runs"][0]["workers"]')" = "(5, 6000, 2)" ]
  [ "$(json "$TMP/a.json" 'd["runs"][0]["conflicts"]["omega"] > 12 and d["runs"][0]["conflicts"]["writes_sampled"] > 0')" = True ]
  [ "$(json "$TMP/a.json" '[(r["clock"], r["wall_seconds"] >= r["seconds"] > 0) for r in d["runs"]]')" = "[('real', True)]" ]
  [ "$(json "$TMP/a.json" '[(t["forward"], t["backward"], t["compute"] > 0, r["staleness"]["max"]) for r in d["runs"] for t in [r["time"]]]')" = "[(None, None, True, None)]" ]
  grep -q "<svg" "$TMP/a.svg"
  hogring train --epochs 1 --model softmax --quiet --json "$TMP/b.json" >/dev/null
  [ "$(json "$TMP/b.json" 'd["runs"][0]["conflicts"]')" = None ]
}

@test "the banner estimates conflicts and advises" {
  make_rows
  sparse --details --model svm --workers 2 2>"$TMP/err" >/dev/null
  grep -q "Omega [0-9]* .*Delta 0\.[0-9]*.*rho" "$TMP/err"
  grep -q "advice   two rows share" "$TMP/err"
}

@test "ratings are factorised" {
  awk 'BEGIN { for (i = 0; i < 4000; i++) { u = int(i * 7.3) % 50; v = int(i * 3.7) % 31; printf "%d %d:%.2f\n", u, v + 1, 3 + (u % 3 - 1) * (v % 4 - 1.5) / 2 } }' >"$TMP/r.libsvm"
  hogring train --data "$TMP/r.libsvm" --model mf:4 --cost 20 --lr 0.1 --epochs 40 --workers 2 --quiet --json "$TMP/a.json"
  [ "$(json "$TMP/a.json" 'd["runs"][0]["test_loss"] < 0.1, d["runs"][0]["test_accuracy"]')" = "(True, None)" ]
}

@test "what means nothing is refused in one line" {
  make_rows
  a=(train --data "$TMP/a.libsvm" --model logistic)
  refused 2 "--momentum: is not supported with --model logistic" "${a[@]}" --momentum 0.9
  refused 2 "--max-steps: is not supported with --model logistic" "${a[@]}" --max-steps 9
  refused 2 "--record: is not supported with --model logistic" "${a[@]}" --record "$TMP/t"
  refused 2 "--init-weights $TMP/w.safetensors: not with --solver dual" "${a[@]}" --init-weights "$TMP/w.safetensors"
  refused 2 "--keep: where to? give --checkpoint-dir too" "${a[@]}" --keep 2
  refused 2 "--lr: is not supported with --solver dual" "${a[@]}" --lr 0.1
  refused 2 "--solver sgd:4: not with --workers 1: it has the weights to itself" "${a[@]}" --solver sgd:4 --workers 1
  refused 2 "--strategy allreduce: --model logistic is trained by hogwild or locked" "${a[@]}" --strategy allreduce
  refused 2 "--solver adam: expected auto, sgd or dual" "${a[@]}" --solver adam
  refused 2 "--cost 0: expected 1e-09 to 1000000000" "${a[@]}" --cost 0
  refused 2 "there is no accuracy where values are predicted" train --data "$TMP/a.libsvm" --model mf --expect accuracy=0.5
  refused 2 "digits is not sparse" train --model svm
  refused 2 "--cost: is not supported with --model mlp" train --cost 2
  printf '1 1:1\n2 1:1\n3 2:1\n' >"$TMP/three.libsvm"
  refused 2 "three.libsvm has 3 classes, expected 2" train --data "$TMP/three.libsvm" --model svm --test 0.5
}

@test "a rate that is one for an epoch cannot rise within it" {
  make_rows
  for epochs in 0.5 1 1.9; do
    refused 2 "--warmup-epochs $epochs: --model svm keeps its rate for a whole epoch" train --data "$TMP/a.libsvm" --model svm --solver sgd --warmup-epochs $epochs
  done
  a=$(sparse --model svm --solver sgd --workers 1 --quiet | grep digest)
  [ "$a" != "$(sparse --model svm --solver sgd --workers 1 --quiet --warmup-epochs 2 | grep digest)" ]
  [ "$a" = "$(sparse --model svm --solver sgd --workers 1 --quiet --warmup-epochs 0 | grep digest)" ]
}

@test "data make wants to know what, and where to" {
  refused 2 "expected data make sparse --out FILE" data make
  refused 2 "expected data make sparse --out FILE" data make dense --out "$TMP/x"
  refused 2 "data make: where to?" data make sparse
  refused 2 "--rows 1: expected 2 to" data make sparse --out "$TMP/x" --rows 1
  refused 2 "--json: is not supported for data make" data make sparse --out "$TMP/x" --json -
  refused 2 "--rows: is not supported for data info" data info digits --rows 5
  hogring data make sparse --out "$TMP/x" --rows 20 --seed 3
  hogring data make sparse --out "$TMP/y" --rows 20 --seed 3
  cmp "$TMP/x" "$TMP/y"
  refused 3 "cannot be created" data make sparse --out "$TMP/x" --rows 20
}

@test "virtual time knows nothing of the memory that sparse workers share" {
  make_rows
  for c in simulate "compare --clock virtual" "train --clock virtual"; do
    refused 2 "--clock virtual: not with --model svm: its steps wait for the memory that workers share" \
      $c --model svm --data "$TMP/a.libsvm"
  done
  refused 2 "--model svm: bench train expects a network" bench train --model svm --data "$TMP/a.libsvm"
}

@test "factorisation predicts numbers: there is no accuracy to print" {
  printf '%s\n' "1 3:5" "1 4:2" "2 3:1" "2 5:4" "3 4:3" >"$TMP/ratings.libsvm"
  hogring train --model mf --data "$TMP/ratings.libsvm" --epochs 2 --details --plot "$TMP/m.svg" >"$TMP/out" 2>&1 || true
  grep -q "epoch 2/2 " "$TMP/out"
  ! grep -i nan "$TMP/out"
}

@test "a plot's title says what was minimised with, and no rate where there is none" {
  make_rows
  sparse --model logistic --workers 2 --plot "$TMP/a.svg" --quiet
  grep -q "2 workers x batch 1, dual<" "$TMP/a.svg"
  sparse --model logistic --workers 2 --quiet --json "$TMP/a.json" >/dev/null
  [ "$(json "$TMP/a.json" '[d["config"][k] for k in ("lr", "eps", "weight-decay")]')" = "[None, None, None]" ]
}

@test "linear predicts values in their own units, in tables, JSON, eval, predict and ONNX" {
  awk 'BEGIN { srand(5); for (i = 0; i < 800; i++) { a = rand(); b = rand()
    printf "%.3f 1:1 %d:%.3f %d:%.3f\n", 500 + 20 * a - 9 * b + rand() / 5, 2 + i % 3, a, 5 + i % 2, b } }' >"$TMP/v.libsvm"
  local solver run=(train --model linear --data "$TMP/v.libsvm" --cost 10 --quiet)
  for solver in dual sgd; do
    hogring "${run[@]}" --solver $solver --epochs 30 --workers 2 --expect rmse=1 --time-to rmse=1
  done
  hogring "${run[@]}" --workers 1 --epochs 20 --details --checkpoint-dir "$TMP/c" --export "$TMP/m.onnx" --json "$TMP/a.json" >"$TMP/out"
  grep -q "^strategy .*rmse .*mae .*R2" "$TMP/out"
  [ "$(json "$TMP/a.json" 'd["config"]["task"], d["runs"][0]["targets"], d["runs"][0]["test_accuracy"], d["runs"][0]["test_fit"]["r2"] > 0.95')" = "('regress', 1, None, True)" ]
  grep -q "target.std" "$TMP/m.onnx"
  hogring eval "$TMP/c" --data "$TMP/v.libsvm" --json "$TMP/e.json" --expect rmse=1
  [ "$(json "$TMP/e.json" 'd["test_fit"]')" = "$(json "$TMP/a.json" 'd["runs"][0]["test_fit"]')" ]
  [ "$(json "$TMP/e.json" '480 < d["targets"][0]["mean"] < 540')" = True ]
  hogring predict "$TMP/c" --data "$TMP/v.libsvm" >"$TMP/p.csv"
  head -1 "$TMP/p.csv" | grep -qx "row,value"
  paste -d, "$TMP/p.csv" <(cut -d' ' -f1 "$TMP/v.libsvm" | sed '1i label') | awk -F, 'NR > 1 { e = $2 - $3; s += e * e } END { exit !(NR == 801 && s / 800 < 1) }'
  hogring "${run[@]}" --workers 1 --epochs 8 --checkpoint-dir "$TMP/d" >/dev/null
  hogring train --resume "$TMP/d" --data "$TMP/v.libsvm" --epochs 20 --quiet --expect digest="$(json "$TMP/a.json" 'd["runs"][0]["weights_digest"]')"
  hogring "${run[@]}" --workers 1 --solver sgd --epochs 30 --validation 0.2 --early-stop rmse,3 --expect rmse=2
  refused 2 "--task classify: not with --model linear: it predicts values" "${run[@]}" --task classify
  refused 2 "--expect: there is no accuracy where values are predicted" "${run[@]}" --expect accuracy=0.5
  refused 2 "--strategy allreduce: --model linear is trained by hogwild or locked" "${run[@]}" --strategy allreduce
  refused 2 "--model svm: does not learn values (--task regress); linear does" train --model svm --data "$TMP/v.libsvm" --task regress
  printf "a,y\n1,2\n2,3\n3,4\n4,6\n5,7\n" >"$TMP/h.csv"
  refused 2 "is not sparse, expected libsvm data" train --model linear --data "$TMP/h.csv" --target y
}
