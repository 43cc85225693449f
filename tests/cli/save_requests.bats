#!/usr/bin/env bats
# Checkpoints between cuts: SIGUSR1, and --checkpoint-every of time and of epochs.
load support

own=(--model softmax --workers 2 --epochs 100000 --max-seconds 250s --details --checkpoint-every 1h)

# A line of the log, in a file that grows.
await() { for _ in $(seq 3000); do grep -q -- "$2" "$1" && return 0; sleep 0.02; done; cat "$1"; return 1; }
start() { : >"$TMP/err"; heard "$@" >/dev/null 2>"$TMP/err" & pid=$!; }
stop() { code=0; kill -INT $pid; wait $pid || code=$?; [ $code = 130 ] || { cat "$TMP/err"; return 1; }; }
saved() { grep -c "saved $TMP/c" "$TMP/err" || true; }

@test "SIGUSR1 saves in the middle of it all; workers' processes do not mind it" {
  for launch in thread process; do
    start train "${own[@]}" --launch $launch --checkpoint-dir "$TMP/c" --overwrite
    await "$TMP/err" "epoch 2/"
    for n in 1 2 3; do
      kill -USR1 $pid $(pgrep -P $pid || true)
      for _ in $(seq 3000); do [ "$(saved)" = $n ] && break; sleep 0.02; done
      [ "$(saved)" = $n ] || { cat "$TMP/err"; return 1; }
    done
    stop
    hogring inspect "$TMP/c" >/dev/null
  done
}

@test "SIGUSR1 without a folder costs a line" {
  start train "${own[@]:0:9}" --max-steps 10000000
  await "$TMP/err" "epoch 2/"
  kill -USR1 $pid
  await "$TMP/err" "SIGUSR1 asks for a checkpoint: where to? start with --checkpoint-dir"
  stop
}

@test "compare passes SIGUSR1 to the run under way, or to all" {
  for how in "" --concurrent; do
    start compare "${own[@]}" --strategies allreduce,ps-async --checkpoint-dir "$TMP/c" --overwrite $how
    await "$TMP/err" "epoch 2/"
    [ -z "$how" ] || for s in allreduce ps-async; do await "$TMP/err" "$s .*epoch 2/"; done # each must have begun
    kill -USR1 $pid
    await "$TMP/err" "saved $TMP/c/allreduce"
    [ -z "$how" ] || await "$TMP/err" "saved $TMP/c/ps-async"
    stop
  done
}

# A library that sends SIGUSR1 to each child before it has done anything.
early_asks() {
  cat >"$TMP/early.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>
pid_t fork(void) {
  const pid_t pid = ((pid_t (*)(void))dlsym(RTLD_NEXT, "fork"))();
  if (pid == 0) raise(SIGUSR1);
  return pid;
}
END
  ${CC:-cc} -shared -fPIC -o "$TMP/early.so" "$TMP/early.c" -ldl 2>/dev/null || skip "no compiler"
  case ${HOGRING:-} in *san*) skip "the sanitizer's library has to be the first" ;; esac
}

@test "a run of compare --concurrent that has not begun yet is asked, too" {
  early_asks
  LD_PRELOAD=$TMP/early.so start compare "${own[@]}" --strategies allreduce,ps-async --checkpoint-dir "$TMP/c" --overwrite --concurrent
  for s in allreduce ps-async; do await "$TMP/err" "saved $TMP/c/$s"; done
  stop
}

@test "sparse models save at the next end of an epoch" {
  hogring data make sparse --out "$TMP/a.libsvm" --rows 2000 --features 300 --seed 1 >/dev/null
  start train --data "$TMP/a.libsvm" --model logistic --workers 2 --epochs 1000000 --details --checkpoint-dir "$TMP/c" --checkpoint-every 1h
  await "$TMP/err" "epoch 2/"
  kill -USR1 $pid
  await "$TMP/err" "saved $TMP/c/step-"
  stop
  [ $(($(ls "$TMP/c" | grep -o "step-0*[0-9]*" | head -1 | tr -dc 0-9 | sed 's/^0*//') % 1600)) = 0 ] # rows of training
}

@test "--checkpoint-every takes epochs and times, and nothing else" {
  hogring train --model softmax --workers 2 --epochs 5 --quiet --checkpoint-dir "$TMP/c" --keep 0 --checkpoint-every 2epochs --json "$TMP/out.json" >/dev/null
  [ "$(ls "$TMP/c" | grep -c step-)" = 3 ] # behind 2, 4 and 5
  [ "$(json "$TMP/out.json" 'd["config"]["checkpoint-every"]')" = 2epochs ]
  virtual=(--clock virtual --compute-time 10ms --model softmax --workers 2 --epochs 2 --quiet)
  hogring train "${virtual[@]}" --json "$TMP/none.json" >/dev/null
  hogring train "${virtual[@]}" --checkpoint-dir "$TMP/v" --keep 0 --checkpoint-every 100ms --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'd["runs"][0]["saves"]["written"] == int(d["runs"][0]["seconds"] / 0.1) + 1')" = True ]
  [ "$(json "$TMP/out.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/none.json" 'd["runs"][0]["weights_digest"]')" ]
  for wrong in 0s 0epochs epochs 3x -1; do
    refused 2 "expected steps, a time or epochs, as 100, 30s or 2epochs" train --checkpoint-dir "$TMP/w" --checkpoint-every "$wrong"
  done
}
