#!/usr/bin/env bats
# A save is a pure read: a run that saves, and one that is killed or interrupted and goes on, has the
# bits of one that never was. Where ranks agree on indices; HOGRING_LONG=1: 20 stops in each chain.
load support

strategies=(allreduce ps-sync local-sgd "diloco --sync-every 5" "local-sgd:adaptive --sync-every 5" gossip)
run=(train --quiet --workers 3 --seed 3 --epochs 2 --max-steps 26) # 15 steps per epoch
# digest ARGUMENTS...: of such a run, saving where that is asked for.
digest() {
  rm -rf "$TMP/c"
  hogring "${run[@]}" "$@" --json "$TMP/out.json" >/dev/null
  json "$TMP/out.json" 'd["runs"][0]["weights_digest"]'
}
saving() { digest "$@" --checkpoint-dir "$TMP/c" --checkpoint-every 3 --keep 0; }

# unchanged STRATEGY DRIVER: the same bits and points of the curve.
unchanged() {
  rm -rf "$TMP/c"
  hogring "${run[@]}" --strategy $1 $2 --json "$TMP/plain.json" >/dev/null
  hogring "${run[@]}" --strategy $1 $2 --json "$TMP/out.json" --checkpoint-dir "$TMP/c" --checkpoint-every 3 --keep 0 >/dev/null
  [ -d "$TMP/c/step-00000003" ] || { echo "$1 $2: no save"; return 1; }
  alike "$TMP/plain.json" "$TMP/out.json" || { echo "$1 $2: a save changes it"; return 1; }
}
alike() {
  python3 -IS - "$@" <<'PY'
import json, sys
plain, saving = (json.load(open(path))["runs"][0] for path in sys.argv[1:])
assert plain["weights_digest"] and plain["weights_digest"] == saving["weights_digest"], "the weights"
points = lambda run: [(p["samples"], p["train_loss"], p["test_loss"]) for p in run["curve"]]
assert points(plain) and points(plain) == points(saving), "the curve"
PY
}

@test "the same bits with saves and without: threads, processes, virtual time, explored orders" {
  for s in "${strategies[@]}"; do
    for driver in "" "--launch process" "--clock virtual" "--clock explore:5"; do unchanged "$s" "$driver"; done
  done
  for driver in "--clock virtual" "--clock explore:5"; do unchanged backup-workers "$driver"; done # else the order decides
}

@test "from every save a run goes on to the same end, in virtual time, too" {
  for s in "${strategies[@]}"; do
    whole=$(saving --strategy $s)
    [ "$(ls -d "$TMP"/c/step-* | wc -l)" = 9 ]
    for from in 03 06 15 24; do
      hogring "${run[@]}" --strategy $s --resume "$TMP/c/step-000000$from" --json "$TMP/on.json" >/dev/null
      [ "$(json "$TMP/on.json" 'd["runs"][0]["weights_digest"]')" = "$whole" ] || { echo "$s, $from"; return 1; }
    done
    hogring "${run[@]}" --strategy $s --clock virtual --resume "$TMP/c/step-00000012" --json "$TMP/on.json" >/dev/null
    [ "$(json "$TMP/on.json" 'd["runs"][0]["weights_digest"]')" = "$whole" ] || { echo "$s in virtual time"; return 1; }
  done
}

@test "a run that ended inside an epoch, and inside a period, goes on as if it had not" {
  for s in "${strategies[@]}"; do
    whole=$(digest --strategy $s)
    hogring "${run[@]}" --strategy $s --max-steps 11 --checkpoint-dir "$TMP/c" >/dev/null
    hogring "${run[@]}" --strategy $s --resume "$TMP/c" --json "$TMP/on.json" >/dev/null
    [ "$(json "$TMP/on.json" 'd["runs"][0]["weights_digest"]')" = "$whole" ] || { echo "$s"; return 1; }
  done
}

@test "with --on-loss, too; after a loss between two saves a replay has the same bits" {
  for s in "${strategies[@]}"; do unchanged "$s" "--on-loss continue"; done
  for driver in "--launch thread" "--launch process" "--clock virtual" "--clock explore:5"; do
    for loss in continue restart; do
      rm -rf "$TMP/c"
      hogring "${run[@]}" --strategy local-sgd --sync-every 5 --inject kill:1@step=7 --on-loss $loss $driver \
        --checkpoint-dir "$TMP/c" --checkpoint-every 3 --record "$TMP/t" >/dev/null 2>&1
      hogring replay "$TMP/t" --quiet >/dev/null 2>&1 || { echo "$driver $loss"; return 1; }
    done
  done
}

# chain ARGUMENTS...: stopped again and again, by SIGKILL and by SIGINT, it comes to the same end.
chain() {
  local stops=$([ "${HOGRING_LONG:-}" = 1 ] && echo 20 || echo 3) plain n
  local run=(train --quiet --model softmax --workers 3 --seed 3 --epochs 100 --max-steps $((60 * stops + 25)) --strategy "$@")
  hogring "${run[@]}" --json "$TMP/out.json" >/dev/null
  plain=$(json "$TMP/out.json" 'd["runs"][0]["weights_digest"]')
  for ((n = 0; n < stops; n++)); do
    stopped $([ $((n % 2)) = 0 ] && echo KILL || echo INT) $((1 + n % 5)) "${run[@]}"
  done
  until hogring "${run[@]}" --checkpoint-dir "$TMP/c" --resume auto --json "$TMP/out.json" >/dev/null 2>"$TMP/stderr"; do held; done
  [ "$(json "$TMP/out.json" 'd["runs"][0]["weights_digest"]')" = "$plain" ] || { echo "$*: after $stops stops"; return 1; }
}

@test "killed and interrupted again and again, a run comes to the same end" {
  for s in "${strategies[@]}"; do printf '%s --launch thread\n%s --launch process\n' "$s" "$s"; done | together chain
}

@test "under --reduce repro other workers go on to the same end" {
  repro=(train --quiet --reduce repro --global-batch-size 96 --seed 3 --epochs 2)
  hogring "${repro[@]}" --workers 2 --json "$TMP/out.json" >/dev/null
  hogring "${repro[@]}" --workers 4 --checkpoint-dir "$TMP/c" --checkpoint-every 3 --max-steps 7 >/dev/null
  for workers in 1 2 8; do
    hogring "${repro[@]}" --workers $workers --resume "$TMP/c" --json "$TMP/on.json" >/dev/null
    [ "$(json "$TMP/on.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/out.json" 'd["runs"][0]["weights_digest"]')" ]
  done
}

@test "with other workers than before all begin with the mean, and a line says so" {
  for s in local-sgd gossip; do
    rm -rf "$TMP/c"
    hogring "${run[@]}" --strategy $s --max-steps 11 --checkpoint-dir "$TMP/c" >/dev/null
    hogring train --resume "$TMP/c" --workers 2 --global-batch-size 96 --epochs 1 2>"$TMP/stderr" >/dev/null
    [ "$(grep -c "its 3 workers had weights of their own; with 2 workers now, all begin with their mean" "$TMP/stderr")" = 1 ]
    hogring train --resume "$TMP/c" --strategy allreduce --epochs 1 2>"$TMP/stderr" >/dev/null
    [ "$(grep -c "with --strategy allreduce now, all begin with their mean" "$TMP/stderr")" = 1 ]
    hogring train --resume "$TMP/c" --epochs 1 2>"$TMP/stderr" >/dev/null
    [ "$(grep -c "begin with their mean" "$TMP/stderr")" = 0 ]
  done
}
