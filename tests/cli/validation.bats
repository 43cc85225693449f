#!/usr/bin/env bats
# What is measured while training, and what chooses by it.
load support

# heaps FILE N SEED [NAME...]: N points of each name, on heaps that overlap.
heaps() {
  python3 - "$TMP/$1" "$2" "$3" "${@:4}" <<'PY'
import random, sys
at, r = {"cat": (0, 0), "dog": (2, 0), "eel": (0, 2)}, random.Random(int(sys.argv[3]))
lines = [f"{at[k][0] + r.gauss(0, 1):.4f},{at[k][1] + r.gauss(0, 1):.4f},{k}\n" for k in sys.argv[4:] or sorted(at) for _ in range(int(sys.argv[2]))]
r.shuffle(lines)
open(sys.argv[1], "w").write("a,b,kind\n" + "".join(lines))
PY
}

run_of() { hogring train --quiet --model softmax --epochs 2 --workers 2 --validation 0.2 --json "$1" "${@:2}" >/dev/null; }

@test "with a validation split the test set is read once, at the end" {
  for how in "--launch thread" "--launch process" "--clock virtual" "--clock explore:3"; do
    run_of "$TMP/out.json" $how
    [ "$(json "$TMP/out.json" '[(p["test_loss"], p["validation_loss"] > 0) for p in d["runs"][0]["curve"]]')" = "[(None, True), (None, True)]" ]
    [ "$(json "$TMP/out.json" 'd["runs"][0]["test_evaluations"], d["runs"][0]["validation_samples"], d["runs"][0]["test_loss"] > 0')" = "(1, 288, True)" ]
    json "$TMP/out.json" 'd["runs"][0]["weights_digest"], d["runs"][0]["test_loss"]' >>"$TMP/all"
  done
  [ "$(sort -u "$TMP/all" | wc -l)" = 1 ]
  hogring train --quiet --model softmax --epochs 2 --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'd["runs"][0]["test_evaluations"], d["runs"][0]["validation_samples"], d["runs"][0]["validation_loss"]')" = "(2, 0, None)" ]
}

@test "progress, table and banner say which split is meant" {
  hogring train --details --model softmax --epochs 1 --validation 0.2 --time-to accuracy=0.1 >"$TMP/stdout" 2>"$TMP/stderr"
  grep -q "validation loss" "$TMP/stderr"
  grep -q "288 training samples held out to validate" "$TMP/stderr"
  [ "$(grep -c "test loss" "$TMP/stderr")" = 0 ]
  grep -q "target: validation accuracy" "$TMP/stdout"
  grep -q "valid." "$TMP/stdout"
}

@test "compare: one split for all, and a replay has it, too" {
  refused 2 "--validation is one for all that are compared" compare --strategies allreduce:validation=0.1,ps-sync
  refused 2 "--validation 1: expected more than 0 to less than 1" train --validation 1
  run_of "$TMP/a.json" --strategy ps-async --record "$TMP/t"
  hogring replay "$TMP/t" --quiet --json "$TMP/b.json" >/dev/null
  for what in weights_digest test_loss validation_loss test_evaluations; do
    [ "$(json "$TMP/a.json" "d['runs'][0]['$what']")" = "$(json "$TMP/b.json" "d['runs'][0]['$what']")" ]
  done
}

@test "a file of its own validates, and the test set is read once, at the end" {
  heaps train 60 1; heaps held 20 2; heaps test 30 3
  run=(--data "$TMP/train" --test "$TMP/test" --validation "$TMP/held" --model "flatten, dense 9, relu, dense 3" --lr 0.2 --workers 2 --batch-size 8 --epochs 40)
  hogring train --details "${run[@]}" --early-stop loss,3 --keep best=loss --checkpoint-dir "$TMP/c" --record "$TMP/t" --json "$TMP/out.json" 2>"$TMP/stderr" >/dev/null
  grep -qF "split    60 samples of $TMP/held to validate; the test set is read once, at the end" "$TMP/stderr"
  [ "$(grep -c "chooses by the test set" "$TMP/stderr")" = 0 ]
  [ "$(json "$TMP/out.json" '(lambda r: (r["validation_samples"], r["test_evaluations"], r["best"]["stopped"], {p["test_loss"] for p in r["curve"]}, d["config"]["data"]["train"]))(d["runs"][0])')" = "(60, 1, True, {None}, 180)" ]
  hogring eval "$TMP/c" --data "$TMP/train" --test "$TMP/held" --json "$TMP/held.json" >/dev/null
  [ "$(json "$TMP/held.json" 'd["test_loss"], d["test_accuracy"]')" = "$(json "$TMP/out.json" 'd["runs"][0]["validation_loss"], d["runs"][0]["validation_accuracy"]')" ]
  hogring eval "$TMP/c/best" --data "$TMP/train" --test "$TMP/test" --json "$TMP/test.json" >/dev/null
  [ "$(json "$TMP/test.json" 'd["test_loss"], d["test_accuracy"]')" = "$(json "$TMP/out.json" 'd["runs"][0]["test_loss"], d["runs"][0]["test_accuracy"]')" ]
  hogring replay "$TMP/t" --quiet --json "$TMP/again.json" >/dev/null
  [ "$(json "$TMP/again.json" 'd["runs"][0]["validation_loss"], d["runs"][0]["test_loss"]')" = "$(json "$TMP/out.json" 'd["runs"][0]["validation_loss"], d["runs"][0]["test_loss"]')" ]
  heaps other 20 4
  refused 2 "was recorded on other data" replay "$TMP/t" --validation "$TMP/other"
}

@test "a part of a file's samples validates, too" {
  heaps train 40 1
  hogring train --data "$TMP/train" --model "flatten, dense 3" --epochs 1 --quiet --validation 0.25 --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'd["runs"][0]["validation_samples"], d["config"]["data"]["train"]')" = "(24, 96)" ]
}

@test "who goes on validates with the same samples" {
  heaps train 60 1; heaps held 20 2; heaps other 20 4
  run=(--data "$TMP/train" --model "flatten, dense 3" --workers 2 --batch-size 8 --quiet)
  hogring train "${run[@]}" --epochs 2 --validation "$TMP/held" --checkpoint-dir "$TMP/c" >/dev/null
  hogring train "${run[@]}" --epochs 2 --checkpoint-dir "$TMP/none" >/dev/null
  hogring train "${run[@]}" --epochs 4 --validation "$TMP/held" --json "$TMP/whole.json" >/dev/null
  refused 2 "was trained without --validation, this run has $TMP/held" train "${run[@]}" --epochs 4 --validation "$TMP/held" --resume "$TMP/none"
  refused 2 "was trained with data" train "${run[@]}" --epochs 4 --validation "$TMP/other" --resume "$TMP/c"
  mv "$TMP/held" "$TMP/moved"
  hogring train "${run[@]}" --epochs 4 --validation "$TMP/moved" --checkpoint-dir "$TMP/c" --resume --json "$TMP/out.json" >/dev/null 2>&1
  [ "$(json "$TMP/out.json" 'd["runs"][0]["weights_digest"], d["runs"][0]["validation_loss"], len(d["runs"][0]["curve"])')" = "$(json "$TMP/whole.json" 'd["runs"][0]["weights_digest"], d["runs"][0]["validation_loss"], len(d["runs"][0]["curve"])')" ]
}

@test "samples that cannot validate are refused, each with its reason" {
  heaps train 30 1; heaps held 20 2; heaps more 20 2 cat dog; sed 's/eel/fox/' "$TMP/held" >"$TMP/fox"; cut -d, -f2- "$TMP/held" >"$TMP/narrow"
  run=(train --data "$TMP/train" --model "flatten, dense 3" --epochs 1)
  refused 2 "--validation 0.2: is not supported with --validation $TMP/held" "${run[@]}" --config <(printf 'validation-data = %s\nvalidation-fraction = 0.2\n' "$TMP/held")
  refused 3 "only validation samples have the label \"fox\"" "${run[@]}" --validation "$TMP/fox"
  refused 3 "validation samples are 1x1x1, expected the same" "${run[@]}" --validation "$TMP/narrow"
  refused 2 "is the file of --data, too" "${run[@]}" --validation "$TMP/../$(basename "$TMP")/train"
  refused 2 "is the file of --test, too" "${run[@]}" --validation "$TMP/held" --test "$TMP/held"
  refused 3 "$TMP/none" "${run[@]}" --validation "$TMP/none"
  : >"$TMP/empty"
  refused 3 "$TMP/empty: holds no line" "${run[@]}" --validation "$TMP/empty"
  refused 2 "--validation FILE: is not supported for idx data (digits), which is no single file of samples; --validation X holds out" train --validation "$TMP/held"
  hogring data pack "$TMP/train" --out "$TMP/packed" >/dev/null
  refused 2 "--validation FILE: is not supported for packed data" train --data "$TMP/packed" --validation "$TMP/held"
  hogring "${run[@]}" --validation "$TMP/more" --quiet --json "$TMP/out.json" >/dev/null # fewer classes, the same numbers
  [ "$(json "$TMP/out.json" 'd["runs"][0]["validation_samples"]')" = 40 ]
  printf '0 1:1 2:1\n1 1:1\n0 2:1\n1 1:2\n0 2:2\n' >"$TMP/a.libsvm"; printf '1 7:1\n' >"$TMP/wide.libsvm"; printf '1 2:1\n0 1:1\n' >"$TMP/b.libsvm"
  hogring train --data "$TMP/a.libsvm" --validation "$TMP/b.libsvm" --model "flatten, dense 2" --workers 1 --epochs 1 --quiet --json "$TMP/out.json" >/dev/null
  refused 3 "has index 7, expected at most 2" train --data "$TMP/a.libsvm" --validation "$TMP/wide.libsvm" --features 2 --model "flatten, dense 2"
}

@test "sparse models validate, too: by a part of the rows, or by a file" {
  hogring data make sparse --out "$TMP/rows" --rows 900 --features 200 >/dev/null
  hogring data make sparse --out "$TMP/held" --rows 200 --features 200 --seed 7 >/dev/null
  run=(--model logistic --data "$TMP/rows" --workers 1 --epochs 40 --features 200 --json "$TMP/out.json" --checkpoint-dir "$TMP/c" --overwrite)
  for how in "--validation 0.25" "--validation $TMP/held"; do
    hogring train --details "${run[@]}" $how --solver sgd --early-stop loss,2 >"$TMP/stdout" 2>"$TMP/stderr"
    grep -q "to validate; the test set is read once" "$TMP/stderr"
    grep -q "stopped early, at epoch" "$TMP/stdout"
    hogring eval "$TMP/c" --data "$TMP/rows" --features 200 --json "$TMP/e.json" >/dev/null
    [ "$(json "$TMP/e.json" 'd["test_loss"]')" = "$(json "$TMP/out.json" 'd["runs"][0]["test_loss"]')" ]
  done
  hogring eval "$TMP/c" --data "$TMP/rows" --test "$TMP/held" --features 200 --json "$TMP/e.json" >/dev/null
  [ "$(json "$TMP/e.json" '"%.6f %.6f" % (d["test_loss"], d["test_accuracy"])')" = "$(json "$TMP/out.json" '"%.6f %.6f" % (d["runs"][0]["validation_loss"], d["runs"][0]["validation_accuracy"])')" ] # features stand in another order
  hogring train "${run[@]}" --validation 0.25 --keep best=loss --epochs 5 >/dev/null 2>&1 # dual
  hogring eval "$TMP/c/best" --data "$TMP/rows" --features 200 >/dev/null
  hogring compare --model logistic --data "$TMP/rows" --epochs 3 --validation 0.25 --quiet --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" '[(r["test_evaluations"], r["validation_samples"]) for r in d["runs"]]')" = "[(1, 180), (1, 180)]" ]
  refused 2 "was trained with --validation 0.25, this run has 0.5" train "${run[@]/--overwrite/--quiet}" --validation 0.5 --resume
}

@test "eval --all tests every checkpoint of a folder, and passes over those that are damaged" {
  hogring train --data digits --model softmax --epochs 4 --workers 2 --keep 0 --quiet --checkpoint-dir "$TMP/run" --json "$TMP/train.json" >/dev/null
  hogring eval "$TMP/run" --all --json "$TMP/all.json" >"$TMP/out" 2>"$TMP/err"
  [ ! -s "$TMP/err" ]
  [ "$(json "$TMP/all.json" '[c["epoch"] for c in d["checkpoints"]], d["damaged"]')" = "([1.0, 2.0, 3.0, 4.0], [])" ]
  # as each alone, and as training found them
  [ "$(json "$TMP/all.json" '[(c["test_loss"], c["test_accuracy"]) for c in d["checkpoints"]]')" = "$(json "$TMP/train.json" '[(p["test_loss"], p["test_accuracy"]) for p in d["runs"][0]["curve"]][-4:]')" ]
  first=$(json "$TMP/all.json" 'd["checkpoints"][0]["checkpoint"]')
  hogring eval "$first" --json "$TMP/one.json" >/dev/null
  [ "$(json "$TMP/one.json" 'd["test_loss"], d["macro_f1"]')" = "$(json "$TMP/all.json" '(lambda c: (c["test_loss"], c["macro_f1"]))(d["checkpoints"][0])')" ]
  [ "$(grep -cE '^ *[0-9]+ +[1-4] ' "$TMP/out")" = 4 ]
  truncate -s 100 "$first/model.safetensors"
  hogring eval "$TMP/run" --all --json "$TMP/all.json" >"$TMP/out" 2>"$TMP/err"
  grep -q "$(basename "$first") is passed over" "$TMP/err"
  [ "$(json "$TMP/all.json" 'len(d["checkpoints"]), d["damaged"]')" = "(3, ['$first'])" ]
  for s in "$TMP"/run/step-*; do truncate -s 100 "$s/model.safetensors"; done
  run hogring eval "$TMP/run" --all
  [ "$status" = 3 ]
  [[ $output == *"no checkpoint of 4 verifies"* ]]
  refused 2 "holds no step-* folders" eval "$first" --all
  refused 2 "--worst: is of one checkpoint" eval "$TMP/run" --all --worst 3
}
