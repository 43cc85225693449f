#!/usr/bin/env bats
# What is measured while training, and what chooses by it.
load support

run_of() { hogring train --quiet --model softmax --epochs 2 --workers 2 --validation-fraction 0.2 --json "$1" "${@:2}" >/dev/null; }

@test "with a validation split the test set is read once, at the end" {
  for how in "--launch thread" "--launch process" "--clock virtual" "--schedule explore:3"; do
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
  hogring train --model softmax --epochs 1 --validation-fraction 0.2 --target-accuracy 0.1 >"$TMP/stdout" 2>"$TMP/stderr"
  grep -q "validation loss" "$TMP/stderr"
  grep -q "288 training samples held out to validate" "$TMP/stderr"
  [ "$(grep -c "test loss" "$TMP/stderr")" = 0 ]
  grep -q "target: validation accuracy" "$TMP/stdout"
  grep -q "valid." "$TMP/stdout"
}

@test "compare: one split for all, and a replay has it, too" {
  refused 2 "--validation-fraction is one for all that are compared" compare --strategies allreduce:validation-fraction=0.1,ps-sync
  refused 2 "--validation-fraction: means nothing with --model logistic" train --model logistic --validation-fraction 0.1
  refused 2 "--validation-fraction 1: expected 0 to less than 1" train --validation-fraction 1
  run_of "$TMP/a.json" --strategy ps-async --record "$TMP/t"
  hogring replay "$TMP/t" --quiet --json "$TMP/b.json" >/dev/null
  for what in weights_digest test_loss validation_loss test_evaluations; do
    [ "$(json "$TMP/a.json" "d['runs'][0]['$what']")" = "$(json "$TMP/b.json" "d['runs'][0]['$what']")" ]
  done
}
