#!/usr/bin/env bats
# Signals, lost workers, full disks, small /dev/shm: every end is clean.
load support

long=(--data digits --model mlp --epochs 100000 --details)

no_segment_left() { ! ls /dev/shm/hogring."$1".* 2>/dev/null; }

# Wait until file $1 holds text $2, while $pid runs.
await() { until grep -q "$2" "$1" 2>/dev/null; do kill -0 $pid 2>/dev/null || { cat "$1"; return 1; }; sleep 0.05; done; }

for_each_launch() { for launch in thread process; do "$1" $launch || return 1; done; }

interrupt_and_resume() {
  rm -rf "$TMP/c"
  : >"$TMP/err"
  heard train "${long[@]}" --launch "$1" --checkpoint-dir "$TMP/c" >"$TMP/out" 2>"$TMP/err" &
  pid=$!
  await "$TMP/err" "epoch 2/"
  kill -INT $pid
  code=0; wait $pid || code=$?
  [ $code = 130 ] || { echo "exit $code"; cat "$TMP/err"; return 1; }
  grep -q "interrupted at step" "$TMP/err" || return 1
  no_segment_left $pid || return 1
  hogring inspect "$TMP/c" >/dev/null
}

@test "SIGINT finishes the step, saves, exits 130, leaves nothing" { for_each_launch interrupt_and_resume; }

@test "SIGTERM exits 143" {
  : >"$TMP/err"
  heard train "${long[@]}" 2>"$TMP/err" >/dev/null &
  pid=$!
  await "$TMP/err" "epoch 1/"
  kill -TERM $pid
  code=0; wait $pid || code=$?
  [ $code = 143 ]
  no_segment_left $pid
}

slow_to_end() {
  : >"$TMP/err"
  heard train --epochs 1 --launch "$1" --strategy "$2" "${@:3}" 2>"$TMP/err" >/dev/null &
  pid=$!
  await "$TMP/err" "  length "
  kill -INT $pid
  for _ in $(seq 1200); do kill -0 $pid 2>/dev/null || break; sleep 0.05; done
  ! kill -0 $pid 2>/dev/null || { echo "$* goes on"; return 1; }
  code=0; wait $pid || code=$?
  [ $code = 130 ] || { echo "$*: exit $code"; cat "$TMP/err"; return 1; }
}

@test "who stops a run before its first evaluation has no picture and no score, and did nothing wrong" {
  slow_to_end thread allreduce --compute-time 1s --plot "$TMP/p.svg" --json "$TMP/r.json"
  [ "$(json "$TMP/r.json" '[d["runs"][0][k] for k in ("test_accuracy", "test_loss", "train_loss", "validation_loss")]')" = "[None, None, None, None]" ]
}

@test "a signal ends a slowness that is made up" {
  slow_to_end thread allreduce --compute-time 1h
  slow_to_end process ps-async --compute-time 1h
  slow_to_end thread ssp --inject "stall:1@step=0+1h"
}

# interrupted FILE ARGUMENTS...: a signal as soon as FILE holds something ends the command with 130.
interrupted() {
  local file=$1
  shift
  : >"$TMP/err"
  heard "$@" >"$TMP/out" 2>"$TMP/err" &
  pid=$!
  await "$file" .
  kill -INT $pid
  for _ in $(seq 1200); do kill -0 $pid 2>/dev/null || break; sleep 0.05; done
  ! kill -0 $pid 2>/dev/null || { echo "$* goes on"; return 1; }
  code=0; wait $pid || code=$?
  [ $code = 130 ] || { echo "$*: exit $code"; cat "$TMP/err"; return 1; }
}

@test "a signal ends a benchmark, and the making of data, which leaves no half" {
  interrupted "$TMP/out" bench all_reduce --algorithm all --sizes 4:16M
  interrupted "$TMP/out" bench store --sweep --workers 8 --servers 4 --sizes 4K:16M
  HOGRING_CACHES=32K,512K,8M interrupted "$TMP/out" bench layers --model softmax --max-seconds 2s
  interrupted "$TMP/a.libsvm" data make sparse --out "$TMP/a.libsvm" --rows 20000000
  [ ! -e "$TMP/a.libsvm" ]
}

@test "what is printed arrives, or the exit code says so; whoever closes a pipe has seen enough" {
  [ -c /dev/full ] || skip "no /dev/full"
  for c in help "train ${quick[*]}" "data info" "compare ${quick[*]}"; do
    code=0; hogring $c >/dev/full 2>"$TMP/err" || code=$?
    [ $code = 3 ] || { echo "$c: exit $code"; return 1; }
    grep -q "stdout cannot be written" "$TMP/err"
    set -o pipefail
    hogring $c 2>"$TMP/err" | true
    [ ! -s "$TMP/err" ]
  done
}

@test "compare side by side passes a signal on" {
  : >"$TMP/err"
  heard compare "${long[@]}" --concurrent --json "$TMP/json" 2>"$TMP/err" >/dev/null &
  pid=$!
  await "$TMP/err" "hogwild seed 1  epoch 1/"
  kill -INT $pid
  code=0; wait $pid || code=$?
  [ $code = 130 ]
  ! pgrep -f "hogring compare.*$TMP/json" >/dev/null
}

@test "whoever is stopped of those that are compared side by side is named when its time is up" {
  heard compare "${long[@]}" --concurrent --timeout 1s:0 --json "$TMP/json" 2>"$TMP/err" >/dev/null &
  pid=$!
  await "$TMP/err" "hogwild seed 1  epoch 1/"
  for n in $(seq 5); do kill -STOP "$(child_of $pid $n)"; done
  code=0; wait $pid || code=$?
  [ $code = 4 ] || { echo "exit $code"; cat "$TMP/err"; return 1; }
  [ "$(grep -c "seed 1: its process was stopped for longer than --timeout" "$TMP/err")" = 5 ] || { cat "$TMP/err"; return 1; }
  ! pgrep -f "hogring compare.*$TMP/json" >/dev/null
}

@test "a killed worker process is named, and the run ends with 4" {
  for strategy in allreduce ps-sync ps-async hogwild; do
    # No wait ends by its deadline: who goes on has noticed the death.
    : >"$TMP/err"
    heard train "${long[@]}" --strategy $strategy --launch process --timeout 1h 2>"$TMP/err" >/dev/null &
    pid=$!
    await "$TMP/err" "epoch 1/"
    victim=$(pgrep -P $pid | tail -n 1)
    kill -KILL "$victim"
    code=0; wait $pid || code=$?
    [ $code = 4 ] || { echo "$strategy: exit $code"; cat "$TMP/err"; return 1; }
    grep -q "pid $victim was killed by signal 9" "$TMP/err"
    grep -q "rank [0-9]" "$TMP/err"
    no_segment_left $pid
  done
}

@test "workers die with a launcher that is killed" {
  : >"$TMP/err"
  heard train "${long[@]}" --launch process 2>"$TMP/err" >/dev/null &
  pid=$!
  await "$TMP/err" "epoch 1/"
  workers=$(pgrep -P $pid)
  kill -KILL $pid
  wait $pid || true
  for _ in $(seq 1200); do alive=0; for w in $workers; do kill -0 $w 2>/dev/null && alive=1; done; [ $alive = 0 ] && break; sleep 0.05; done
  rm -f /dev/shm/hogring.$pid.*
  [ $alive = 0 ]
}

@test "a diverging run names step and rank, and keeps the last good checkpoint" {
  run hogring train --epochs 5 --lr 100000 --checkpoint-dir "$TMP/c" --checkpoint-every 1 --quiet
  [ "$status" = 1 ]
  [[ "$output" == *"rank "*"step "*"not finite"*"last good checkpoint: $TMP/c/step-"* ]]
  hogring inspect "$TMP/c" >/dev/null
}

@test "a wait has a deadline" {
  : >"$TMP/err"
  heard train "${long[@]}" --launch process --timeout 4s 2>"$TMP/err" >/dev/null &
  pid=$!
  await "$TMP/err" "epoch 1/"
  victim=$(pgrep -P $pid | tail -n 1)
  kill -STOP "$victim"
  code=0; wait $pid || code=$?
  [ $code = 4 ] || { echo "exit $code"; cat "$TMP/err"; return 1; }
  grep -q "waited .* s for" "$TMP/err"
  no_segment_left $pid
}

@test "whoever is stopped is named, with pid and phase, in every strategy, and the run ends in time" {
  python3 tests/reliability/stopped_ranks.py --quick --slack 30 --abreast 5
}

# As root, in a mount namespace of its own: what a small tmpfs does.
need_namespaces() {
  [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "needs root and mount namespaces"
}

confined() {
  unshare -m bash -c "$1" -- "$(realpath "${HOGRING:-build/hogring}")" "$TMP" "${@:2}"
}

@test "too small a /dev/shm is said, and trains all the same" {
  need_namespaces
  run confined 'mount -t tmpfs -o size=64k none /dev/shm && "$1" train --data digits --model mlp --epochs 1'
  [ "$status" = 0 ] || { echo "$output"; return 1; }
  [[ "$output" == *"/dev/shm"*"KiB needed"*"memfd"* ]]
}

@test "a full disk keeps the old checkpoint and exits 3" {
  need_namespaces
  run confined 'mkdir -p "$2/d" && mount -t tmpfs -o size=300k none "$2/d" &&
    "$1" train --data digits --model softmax --epochs 1 --quiet --checkpoint-dir "$2/d" --keep 0 || exit 9
    head -c 250000 /dev/zero >"$2/d/filler"
    "$1" train --data digits --model softmax --epochs 2 --quiet --checkpoint-dir "$2/d" --resume --keep 0
    code=$?; "$1" inspect "$2/d" >/dev/null || exit 8; ls -A "$2/d" | grep -q tmp && exit 7; exit $code'
  [ "$status" = 3 ] || { echo "$status $output"; return 1; }
  [[ "$output" == *"needed"* ]]
}

# keeps_result SIZE ARGUMENTS...: what a disk of SIZE has no room for costs exit 3, and none of the result.
keeps_result() {
  rm -f "$TMP/run.json"
  SIZE=$1 run confined 'mkdir -p "$2/d" && mount -t tmpfs -o size=$SIZE none "$2/d" && cd "$2/d" && "$1" "${@:3}"' "${@:2}"
  [ "$status" = 3 ] || { echo "$status $output"; return 1; }
  [[ "$output" == *"No space left on device"* ]] || { echo "$output"; return 1; }
  [ "$(json "$TMP/run.json" 'all(len(r["weights_digest"]) == 32 for r in d["runs"]), len(d["runs"]) > 0')" = "(True, True)" ]
}

@test "a timeline or trace that a full disk cannot hold takes no result with it" {
  need_namespaces
  local run=(--model softmax --quiet --json "$TMP/run.json")
  keeps_result 100k train "${run[@]}" --epochs 40 --timeline t.json
  keeps_result 100k compare "${run[@]}" --epochs 40 --strategies allreduce,hogwild --timeline t.json
  keeps_result 40k train "${run[@]}" --epochs 100 --strategy ps-async --record run.trace
}
