#!/usr/bin/env bats
# Saves of asynchronous runs: an order that can be had again is the same with saves and without, and however often a run is
# killed or interrupted, each sample counts once. HOGRING_LONG=1: 20 stops in each chain.
load support

strategies=(ps-async ssp hogwild elastic-averaging)
run=(train --quiet --model softmax --batch-size 8 --epoch-size 240 --lr 0.01 --workers 3 --seed 3) # 30 steps per epoch

# unchanged STRATEGY DRIVER...: the same bits and points of the curve.
unchanged() {
  local wanted='(d["runs"][0]["weights_digest"], [(p["samples"], p["train_loss"], p["test_loss"]) for p in d["runs"][0]["curve"]])' plain
  hogring "${run[@]}" --epochs 2 --strategy "$@" --json "$TMP/out.json" >/dev/null
  plain=$(json "$TMP/out.json" "$wanted")
  rm -rf "$TMP/c"
  hogring "${run[@]}" --epochs 2 --strategy "$@" --json "$TMP/out.json" --checkpoint-dir "$TMP/c" --checkpoint-every 3 --keep 0 >/dev/null
  [ "$(json "$TMP/out.json" "$wanted")" = "$plain" ] || { echo "$*: a save changes it"; return 1; }
  [ "$(ls -d "$TMP"/c/step-* | wc -l)" -gt 5 ]
}

@test "the same bits with saves and without: virtual time, explored orders, with losses" {
  for s in "${strategies[@]}"; do
    unchanged $s --clock virtual
    unchanged $s --clock explore:5
    unchanged $s --clock explore:5 --on-loss restart --inject kill:any@p=0.005x4
  done
}

@test "a run that was saved, as threads and as processes, is replayed to its bits, and so is its replay with saves" {
  for s in "${strategies[@]}"; do
    for launch in thread process; do
      rm -rf "$TMP/c"
      hogring "${run[@]}" --epochs 1 --strategy $s --launch $launch --record "$TMP/run.trace" --checkpoint-dir "$TMP/c" --checkpoint-every 3 >/dev/null
      hogring replay "$TMP/run.trace" --quiet >/dev/null
      hogring replay "$TMP/run.trace" --quiet --checkpoint-dir "$TMP/again" --overwrite >/dev/null
    done
  done
}

# chain ARGUMENTS...: stopped again and again, by SIGKILL and by SIGINT, it trains on all samples, once each.
chain() {
  local stops=$([ "${HOGRING_LONG:-}" = 1 ] && echo 20 || echo 3) n
  local epochs=$((20 * (stops + 1))) # it never comes to the end by itself
  local run=("${run[@]}" --epochs $epochs --strategy "$@")
  for ((n = 0; n < stops; n++)); do
    stopped $([ $((n % 2)) = 0 ] && echo KILL || echo INT) $((1 + n % 5)) "${run[@]}"
  done
  until hogring "${run[@]}" --resume "$TMP/c" --json "$TMP/out.json" >/dev/null 2>"$TMP/stderr"; do held; done
  [ "$(json "$TMP/out.json" 'd["runs"][0]["total_samples"]')" = $((240 * epochs)) ] || { echo "$*: after $stops stops"; return 1; }
  [ "$(json "$TMP/out.json" 'd["runs"][0]["total_updates"]')" = $((30 * epochs)) ] || { echo "$*: updates"; return 1; }
}

@test "killed and interrupted again and again, a run counts each sample once" {
  for s in "${strategies[@]}"; do
    printf '%s --launch thread\n%s --launch process\n%s --clock virtual\n' "$s" "$s" "$s"
  done | together chain
}

@test "with other workers than before replicas begin at the center, and a line says so" {
  for clock in real virtual; do
    rm -rf "$TMP/c"
    hogring "${run[@]}" --clock $clock --strategy elastic-averaging --epochs 1 --checkpoint-dir "$TMP/c" --checkpoint-every 10 --keep 0 >/dev/null
    saved=$(ls -d "$TMP"/c/step-*[1-9]? | head -1)
    hogring train --resume "$saved" --workers 2 2>"$TMP/stderr" >/dev/null
    [ "$(grep -c "its 3 workers had weights of their own; with 2 workers now, all begin with the center" "$TMP/stderr")" = 1 ]
    hogring train --resume "$saved" 2>"$TMP/stderr" >/dev/null
    [ "$(grep -c "begin with" "$TMP/stderr")" = 0 ]
  done
}

@test "batches in hand are refused where they are none of this run's, and named where nobody hands them out" {
  hogring "${run[@]}" --clock virtual --strategy ps-async --epochs 1 --checkpoint-dir "$TMP/c" --checkpoint-every 10 --keep 0 >/dev/null
  refused 2 "were in hand, which are no whole batches of this run's 10 samples" train --resume "$TMP/c/step-00000010" --batch-size 10
  hogring train --resume "$TMP/c/step-00000010" --strategy allreduce --workers 1 --global-batch-size 8 2>"$TMP/stderr" >/dev/null
  grep -q "samples were in hand when it was saved, and allreduce does not hand them out again" "$TMP/stderr"
}
