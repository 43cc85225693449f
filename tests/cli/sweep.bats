#!/usr/bin/env bats
# Options with lists of values: every combination is a row that says what it is.
load support

# rows OPTIONS: what the rows of a comparison are called, with bars between them.
rows() {
  hogring compare "${quick[@]}" --json "$TMP/rows.json" "$@" >/dev/null 2>&1
  json "$TMP/rows.json" '"|".join(s["label"] for s in d["comparison"]["strategies"]) if d["comparison"] else "one row"'
}

@test "each combination of values is a row" {
  [ "$(rows --strategies allreduce --lr 0.01,0.02)" = "allreduce direct lr 0.01|allreduce direct lr 0.02" ]
  [ "$(rows --strategies ps-async,hogwild --workers 1,2)" = "ps-async 1W1PS|ps-async 2W1PS|hogwild 1 worker|hogwild 2 workers" ]
  [ "$(rows --strategies allreduce --momentum 0,0.9 --batch-size 16,32)" = \
    "allreduce direct batch 16 momentum 0|allreduce direct batch 32 momentum 0|allreduce direct batch 16 momentum 0.9|allreduce direct batch 32 momentum 0.9" ]
  [ "$(json "$TMP/rows.json" 'd["config"]["momentum"], d["config"]["batch-size"], d["config"]["epochs"]')" = "([0.0, 0.9], [16, 32], 1)" ]
  [ "$(json "$TMP/rows.json" 'sorted((r["batch_size"], r["setting"]) for r in d["runs"])')" = \
    "[(16, 'momentum 0'), (16, 'momentum 0.9'), (32, 'momentum 0'), (32, 'momentum 0.9')]" ]
}

@test "a row of a list is the run that has that value alone" {
  hogring compare "${quick[@]}" --strategies allreduce --workers 1,2 --lr 0.01,0.05 --json "$TMP/list.json" >/dev/null
  for run in "1 0.01" "1 0.05" "2 0.01" "2 0.05"; do
    set -- $run
    hogring train "${quick[@]}" --workers "$1" --lr "$2" --json "$TMP/one.json" >/dev/null
    [ "$(json "$TMP/list.json" "[r['weights_digest'] for r in d['runs'] if (r['workers'], r['lr']) == ($1, $2)]")" = \
      "$(json "$TMP/one.json" '[r["weights_digest"] for r in d["runs"]]')" ] || return 1
  done
}

@test "what a strategy does not obey makes no rows of it, and its own settings stay" {
  [ "$(rows --strategies allreduce,ssp --staleness 1,8)" = "allreduce direct|ssp s=1|ssp s=8" ]
  [ "$(rows --strategies ssp:staleness=2,ssp:lr=0.01 --staleness 1,8)" = "ssp s=2|ssp s=1|ssp s=8" ]
  [ "$(rows --strategies allreduce --optimizer sgd,adam --momentum 0,0.9)" = \
    "allreduce direct sgd lr 0.05 momentum 0|allreduce direct sgd lr 0.05 momentum 0.9|allreduce direct adam lr 0.001" ]
}

@test "names, and values that have commas themselves" {
  [ "$(rows --strategies allreduce --model softmax,mlp)" = "allreduce direct model softmax|allreduce direct model mlp" ]
  [ "$(rows --strategies allreduce --algorithm ring,tree)" = "allreduce ring|allreduce tree" ]
  [ "$(rows --strategies allreduce --clock virtual --link '(1GB/s,5us),"2GB/s,5us"')" = "allreduce direct link 1GB/s,5us|allreduce direct link 2GB/s,5us" ]
  [ "$(rows --strategies allreduce --model '"flatten, dense 10", softmax')" = "allreduce direct model flatten, dense 10|allreduce direct model softmax" ]
  [ "$(rows --strategies allreduce --model 'flatten, dense 10')" = "one row" ]
  [ "$(rows --strategies allreduce --model '"flatten, dense 8, relu, dense 16, relu, dense 10","flatten, dense 8, relu, dense 17, relu, dense 10"')" = \
    "allreduce direct model flatten, dense 8, relu, dense 16, relu, dense 10|allreduce direct model flatten, dense 8, relu, dense 17, relu, dense 10" ]
}

@test "a configuration file has lists, and what stands behind it replaces them" {
  printf 'strategies = allreduce\nlr = 0.01,0.02\n' >"$TMP/lists.ini"
  [ "$(rows --config "$TMP/lists.ini")" = "allreduce direct lr 0.01|allreduce direct lr 0.02" ]
  [ "$(rows --config "$TMP/lists.ini" --lr 0.03)" = "one row" ]
  [ "$(json "$TMP/rows.json" 'd["config"]["lr"]')" = 0.03 ]
  [ "$(rows --lr 0.03 --config "$TMP/lists.ini" --seeds 2)" = "allreduce direct lr 0.01|allreduce direct lr 0.02" ]
}

@test "while they run, rows go by their values, and folders of checkpoints are their own" {
  hogring compare --model softmax --epochs 1 --strategies hogwild --workers 1,2 --checkpoint-dir "$TMP/runs" 2>&1 >/dev/null |
    grep -q "^run . of .  hogwild:workers=2 seed 1  "
  [ "$(ls "$TMP/runs")" = $'hogwild\nhogwild-2' ]
}

@test "none stands in a list where an option may be none: with and without it is one comparison" {
  local setting
  for setting in "compress topk:1%" "augment (flip)" "pipeline 2"; do
    set -- $setting
    hogring compare --model mlp --epochs 1 --max-steps 2 --strategies allreduce "--$1" "none,$2" --quiet --json "$TMP/out.json" >/dev/null
    [ "$(json "$TMP/out.json" '[r["label"] for r in d["runs"]]')" = "['allreduce direct', 'allreduce direct $1 ${2//[()]/}']" ]
  done
}

@test "values that are none are refused in one line" {
  refused 2 "--lr x: expected a number" compare --lr 0.01,x
  refused 2 "--lr 0.01,: a value of the list is missing" compare --lr 0.01,
  refused 2 "--lr 0.01,0.010: 0.010 is in it twice" compare --lr 0.01,0.010
  refused 2 "--workers 65: expected 1 to 64" compare --workers 2,65
  refused 2 "--staleness: is not supported with --strategy allreduce" compare --strategies allreduce --staleness 1,2
  refused 2 "--seed 1,2: expected a whole number" compare --seed 1,2
  refused 2 "--lr 0.1,0.2: expected a number, not negative (hogring compare takes several)" train --lr 0.1,0.2
  refused 2 "more than 256 runs: expected shorter lists, or fewer --seeds" compare --lr 1,2,3,4 --momentum 0,0.1,0.2,0.3 --batch-size 1,2,3,4 --seeds 5
  refused 2 "expected at most 8 options with a list" compare --lr 1,2 --momentum 0,0.1 --batch-size 1,2 --workers 1,2 \
    --epochs 1,2 --weight-decay 0,1 --clip-norm 0,1 --warmup-epochs 0,1 --accumulate 1,2
}

@test "models on sparse rows take lists with every strategy and solver that they have" {
  hogring data make sparse --out "$TMP/rows.svm" >/dev/null
  hogring compare --model logistic --solver sgd --data "$TMP/rows.svm" --strategies hogwild,locked --lr 0.1,1 --epochs 1 --quiet --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" '[(r["strategy"], round(r["lr"], 6)) for r in d["runs"]]')" = "[('hogwild', 0.1), ('hogwild', 1.0), ('locked', 0.1), ('locked', 1.0)]" ]
}
