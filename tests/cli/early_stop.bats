#!/usr/bin/env bats
# A run that stops early, and the checkpoint that was the best.
load support

own=(--model softmax --lr 2 --epochs 40 --workers 2 --validation 0.2)
stop=(--early-stop loss,2)
of() { json "$1" "d['runs'][0]['$2']"; }

@test "the table says where it stopped, and whose weights it has" {
  hogring train "${own[@]}" "${stop[@]}" --json "$TMP/out.json" >"$TMP/stdout" 2>"$TMP/stderr"
  [ "$(grep -c "chooses by the test set" "$TMP/stderr")" = 0 ]
  said=$(json "$TMP/out.json" '"stopped early, at epoch %d; has the weights of epoch %d, the best by validation loss" % (d["runs"][0]["best"]["ended"], d["runs"][0]["best"]["epoch"])')
  grep -qF "$said" "$TMP/stdout"
  [ "$(json "$TMP/out.json" 'd["runs"][0]["best"]["value"] == min(p["validation_loss"] for p in d["runs"][0]["curve"]) == d["runs"][0]["validation_loss"], len(d["runs"][0]["curve"]) == d["runs"][0]["best"]["ended"] < 40')" = "(True, True)" ]
}

@test "the best is restored by threads, processes, in virtual time, recorded and replayed" {
  for strategy in allreduce ps-async hogwild local-sgd; do
    hogring train "${own[@]}" "${stop[@]}" --strategy $strategy --quiet --record "$TMP/t" --launch process --checkpoint-dir "$TMP/$strategy" --keep best=loss --json "$TMP/a.json" >/dev/null
    [ "$(json "$TMP/a.json" 'd["runs"][0]["best"]["stopped"], d["runs"][0]["best"]["restored"]')" = "(True, True)" ]
    hogring replay "$TMP/t" --quiet --json "$TMP/b.json" --checkpoint-dir "$TMP/r" --overwrite --keep best=loss >/dev/null
    [ "$(readlink "$TMP/r/best")" = "$(readlink "$TMP/$strategy/best")" ]
    for what in weights_digest best test_loss; do
      [ "$(of "$TMP/a.json" $what | sed 's/, .checkpoint.*//')" = "$(of "$TMP/b.json" $what | sed 's/, .checkpoint.*//')" ]
    done
    cmp "$TMP/$strategy/best/model.safetensors" "$TMP/$strategy/latest/model.safetensors" || # but for the step in its metadata
      [ "$(tail -c 2600 "$TMP/$strategy/best/model.safetensors" | md5sum)" = "$(tail -c 2600 "$TMP/$strategy/latest/model.safetensors" | md5sum)" ]
    hogring eval "$TMP/$strategy" --json "$TMP/e.json" >/dev/null
    [ "$(json "$TMP/e.json" 'd["test_loss"]')" = "$(of "$TMP/a.json" test_loss)" ]
  done
}

@test "best stays, whatever --keep says; without a validation split a line says who looks at the test set" {
  hogring train --model softmax --lr 2 --epochs 12 --quiet --checkpoint-dir "$TMP/c" --keep 1,best=accuracy --json "$TMP/out.json" >/dev/null 2>"$TMP/stderr"
  grep -qF -- "--keep best chooses by the test set" "$TMP/stderr"
  [ "$(wc -l <"$TMP/stderr")" = 1 ]
  [ "$(ls "$TMP/c" | grep -c step-)" -le 2 ]
  best=$(of "$TMP/out.json" best)
  hogring eval "$TMP/c/best" --json "$TMP/e.json" >/dev/null
  [ "$(json "$TMP/e.json" 'd["test_accuracy"]')" = "$(json "$TMP/out.json" 'max(p["test_accuracy"] for p in d["runs"][0]["curve"])')" ]
  [ "$(json "$TMP/out.json" 'd["runs"][0]["best"]["restored"], d["runs"][0]["best"]["checkpoint"].endswith("/c/best")')" = "(False, True)" ]
}

@test "best follows a run that goes on from an older checkpoint" {
  some=(--model softmax --lr 2 --epochs 12 --quiet --checkpoint-dir "$TMP/c" --keep 0,best=accuracy)
  hogring train "${some[@]}" >/dev/null 2>&1
  ln -sfn step-00000001 "$TMP/c/best" # as if it had been killed before it moved the link
  hogring train "${some[@]}" --resume --epochs 13 --json "$TMP/out.json" >/dev/null 2>&1
  hogring eval "$TMP/c/best" --json "$TMP/e.json" >/dev/null
  [ "$(json "$TMP/e.json" 'd["test_accuracy"]')" = "$(json "$TMP/out.json" 'max(p["test_accuracy"] for p in d["runs"][0]["curve"])')" ]
}

@test "a run that is cut inside of an epoch, and resumed, stops where one does that never was" {
  for rule in loss,2 accuracy,1; do
    rm -rf "$TMP"/[ab]
    run=("${own[@]}" --early-stop "$rule" --keep best="${rule%,*}" --quiet)
    hogring train "${run[@]}" --checkpoint-dir "$TMP/a" --json "$TMP/a.json" >/dev/null
    for steps in 7 22 40 61; do # of 18 per epoch
      hogring train "${run[@]}" --checkpoint-dir "$TMP/b" --resume auto --max-steps $steps >/dev/null
    done
    hogring train "${run[@]}" --checkpoint-dir "$TMP/b" --resume --json "$TMP/b.json" >/dev/null
    for what in weights_digest test_loss; do [ "$(of "$TMP/a.json" $what)" = "$(of "$TMP/b.json" $what)" ]; done
    for what in value epoch ended; do [ "$(json "$TMP/a.json" "d['runs'][0]['best']['$what']")" = "$(json "$TMP/b.json" "d['runs'][0]['best']['$what']")" ]; done
    [ "$(readlink "$TMP/a/best")" = "$(readlink "$TMP/b/best")" ]
  done
}

@test "compare: each run decides for itself, and is tested once" {
  hogring compare "${own[@]}" "${stop[@]}" --quiet --details --strategies allreduce,ps-async --seeds 2 --json "$TMP/out.json" >"$TMP/stdout" 2>"$TMP/stderr"
  [ "$(grep -c "has the weights of epoch" "$TMP/stdout")" = 4 ]
  grep -q "seed 2: stopped early" "$TMP/stdout"
  grep -q "^Compared are the weights of each run's best epoch; " "$TMP/stdout"
  [ "$(json "$TMP/out.json" 'd["comparison"]["compared_at"]')" = best ]
  [ "$(json "$TMP/out.json" '[r["test_evaluations"] for r in d["runs"]]')" = "[1, 1, 1, 1]" ]
}

@test "a run that loses a worker stops early, too" {
  hogring train "${own[@]}" "${stop[@]}" --workers 3 --launch process --on-loss continue --inject kill:1@step=5 --quiet --json "$TMP/out.json" >/dev/null 2>&1
  [ "$(json "$TMP/out.json" 'len(d["runs"][0]["losses"]), d["runs"][0]["best"]["stopped"], d["runs"][0]["test_evaluations"]')" = "(1, True, 1)" ]
}

@test "what means nothing is refused" {
  refused 2 "--init-weights replace-head: of what?" train --init-weights replace-head
  refused 2 "--early-stop loss: expected METRIC,PATIENCE" train --early-stop loss
  refused 2 "--keep best=losses: expected loss, accuracy" train --keep best=losses --checkpoint-dir "$TMP/c"
  refused 2 "--keep best: where to?" train --keep best=loss
  hogring data make sparse --out "$TMP/rows" --rows 300 --features 90 >/dev/null
  refused 2 "--early-stop loss,3: not with --solver dual: its weights follow from its own variables" train --model logistic --data "$TMP/rows" --early-stop loss,3
  printf '%s\n' '0 1:3 2:1' '1 1:2 3:5' '0 2:4' >"$TMP/ratings"
  refused 2 "--early-stop: there is no accuracy where values are predicted; expected rmse" train --model mf --data "$TMP/ratings" --early-stop accuracy,3
}
