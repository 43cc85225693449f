#!/usr/bin/env bats
# Winograd's algorithm in 3x3 convolutions: said, avoidable, and the same bits along the ladder.
load support

net=(--model "conv 32 3x3 pad 1, relu, conv 40 3x3 pad 1, relu, maxpool 2, flatten, dense 10" --epochs 1 --max-steps 4)
digest() { hogring train "${net[@]}" "$@" --quiet | sed -n 's/^weights digest  \([0-9a-f]*\).*/\1/p'; }
winograd_here() { [[ "$(hogring --version)" == *winograd* ]] || skip "convolutions are direct here"; }

@test "strategies, launches, threads, stages and instruction sets agree, and direct ones differ" {
  winograd_here
  want=$(digest --workers 2)
  [ -n "$want" ]
  for how in "--strategy ps-sync" "--launch process" "--threads-per-worker 3" "--clock virtual" "--clock explore:3" "--kernels fast"; do
    [ "$(digest --workers 2 $how)" = "$want" ] || { echo "$how"; return 1; }
  done
  [ "$(HOGRING_ISA=v3 digest --workers 2)" = "$want" ]
  direct=$(digest --workers 2 --kernels direct)
  [ -n "$direct" ]
  [ "$direct" != "$want" ]
  [ "$(digest --workers 2 --kernels openblas)" != "$want" ]
  [ "$(digest --workers 1 --batch-size 8 --accumulate 4)" = "$(digest --pipeline 2,micro-batches=4 --workers 1 --batch-size 32)" ]
}

@test "the number of workers changes no bit with --reduce repro" {
  winograd_here
  want=$(digest --reduce repro --global-batch-size 64 --workers 1)
  [ -n "$want" ]
  [ "$(digest --reduce repro --global-batch-size 64 --workers 2)" = "$want" ]
  [ "$(digest --reduce repro --global-batch-size 64 --workers 4)" = "$want" ]
}

@test "the choice is named, kept in a trace, and told where a checkpoint has another" {
  winograd_here
  hogring train "${net[@]}" --strategy ps-async --workers 2 --record "$TMP/run.trace" --json "$TMP/run.json" --quiet >/dev/null
  json "$TMP/run.json" 'd["runs"][0]["kernels"]' | grep -qx "tiles v[34], winograd"
  [ "$(json "$TMP/run.json" 'd["bits"]["kernels"] == d["runs"][0]["kernels"]')" = True ]
  hogring train --epochs 1 --max-steps 4 --json "$TMP/dense.json" --quiet >/dev/null # mlp: none
  json "$TMP/dense.json" 'd["runs"][0]["kernels"]' | grep -qx "tiles v[34]"
  hogring replay "$TMP/run.trace" --quiet | grep -q "equals the recorded one"
  hogring train "${net[@]}" --strategy ps-async --workers 2 --kernels direct --record "$TMP/direct.trace" \
    --checkpoint-dir "$TMP/saved" --json "$TMP/direct.json" --quiet >/dev/null
  json "$TMP/direct.json" 'd["runs"][0]["kernels"]' | grep -qx "tiles v[34]"
  hogring replay "$TMP/direct.trace" --quiet | grep -q "equals the recorded one"
  hogring train "${net[@]}" --strategy ps-async --workers 2 --max-steps 6 --kernels fast --resume "$TMP/saved" >"$TMP/out" 2>"$TMP/err"
  grep -q 'its kernels were "tiles v[34]", here "tiles v[34], winograd": bits may change from here' "$TMP/err"
}
