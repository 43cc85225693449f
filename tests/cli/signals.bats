#!/usr/bin/env bats
# No signal, FIFO or device makes a command hang: each ends, with a timeout that must never strike.
load support
load commands

# Longer than anybody waits, each in another way.
endless() {
  cat <<END
train --epochs 100000 --quiet
train --epochs 100000 --quiet --launch process --strategy ps-async
train --data $TMP/rows.libsvm --model logistic --epochs 1000000 --quiet
compare --epochs 100000 --quiet
compare --epochs 100000 --quiet --concurrent
simulate --epochs 100000 --quiet
bench all_reduce --sizes 4:64M --workers 4 --algorithm all
bench links --topology dgx1 --emulate --bytes 64M
bench layers --max-seconds 1h
bench train --max-seconds 1h
data make sparse --out $TMP/out.libsvm --rows 100000000
END
}

# signalled SECONDS ARGUMENTS...: SIGTERM after that long ends it, once.
signalled() {
  local pause=$1 code=0
  shift
  timeout -s KILL $patience "${HOGRING:-build/hogring}" "$@" >"$TMP/said" 2>&1 </dev/null &
  pid=$!
  sleep "$pause"
  # The child of timeout, which would pass no signal on: as soon as it is there, or over.
  until pkill -TERM -P $pid -x hogring || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
  wait $pid || code=$?
  ended $code "SIGTERM after $pause s; hogring $*"
}

# at_some_moment HUNDREDTHS WORDS...: within so many of a second; what the words write into $all is this one's own.
at_some_moment() {
  signalled "$(printf "0.%02d" $((RANDOM % $1)))" "${@/#$all\/out/$TMP\/out}" && ! ls "$TMP"/*.tmp 2>/dev/null
}

@test "SIGTERM at any moment ends every command" {
  make_inputs
  all=$TMP
  { endless | sed 's/^/70 /;p'; commands | sed 's/^/10 /'; } | together at_some_moment
}

# refuses_or_ends WORDS...: with each of these as the file @.
refuses_or_ends() {
  mkfifo "$TMP/fifo"
  for file in "$TMP/fifo" /dev/zero /dev/urandom; do signalled 0.2 "${@//@/$file}" || return 1; done
}

@test "FIFOs and devices in the place of files are refused, or given up at a signal" {
  together refuses_or_ends <<END
train --config @
train --data @
train --init-weights @
train --resume @
train --compute-time trace:@
train --topology @
compare --config @
eval @
inspect @
replay @
data info @
data verify @
data pack --out @
bench links --topology @
END
}

# "hogring: interrupted" says an alarm that ends whoever does not see the signal.
gives_up_writing() { signalled 2 train "${quick[@]}" "$@" && ! grep -q "hogring: interrupted" "$TMP/said"; }

@test "whoever writes into a FIFO that nobody reads gives up at a signal, once its run is over" {
  mkfifo "$TMP/fifo" "$TMP/fifo.svg"
  printf -- "%s $TMP/%s\n" --json fifo --plot fifo.svg --record fifo --checkpoint-dir fifo | together gives_up_writing
}

@test "--config takes a FIFO that somebody writes to, and gives up one without an end" {
  hogring train --config <(echo "epochs = 1"; sleep 0.2; echo "model = softmax") --quiet >"$TMP/said"
  grep -q "23 updates" "$TMP/said"
  refused 3 "--config /dev/zero: has more than" train --config /dev/zero
  [ "${HOGRING_LONG:-}" = 1 ] || return 0 # tests/unit/options/test_config.c waits for less
  mkfifo "$TMP/fifo"
  refused 3 "--config $TMP/fifo: its end did not come in 30 s" train --config "$TMP/fifo"
}

@test "a signal ends whoever writes to a stdout that nobody reads" {
  case ${HOGRING:-} in *tsan*) skip "the sanitizer keeps signals back while write(2) blocks" ;; esac
  mkfifo "$TMP/full"
  exec 9<>"$TMP/full"
  head -c 65536 /dev/zero >&9
  timeout -s KILL $patience "${HOGRING:-build/hogring}" help >"$TMP/full" 2>"$TMP/said" &
  pid=$!
  # It sleeps where it writes, and nowhere else.
  for _ in $(seq 3000); do child=$(pgrep -P $pid -x hogring) && grep -q "^State:.S" "/proc/$child/status" && break; sleep 0.02; done
  sleep 0.1
  kill -TERM "$child"
  code=0; wait $pid || code=$?
  exec 9>&-
  [ $code = 143 ]
}

@test "a signal ends whoever waits for a gnuplot that hangs" {
  mkdir "$TMP/bin"
  printf '#!/bin/sh\necho $$ >%s\nexec sleep 60\n' "$TMP/gnuplot" >"$TMP/bin/gnuplot"
  chmod +x "$TMP/bin/gnuplot"
  PATH=$TMP/bin:$PATH "${HOGRING:-build/hogring}" train "${quick[@]}" --plot "$TMP/out.svg" >"$TMP/said" 2>&1 &
  pid=$!
  for _ in $(seq 1200); do [ -s "$TMP/gnuplot" ] && break; sleep 0.05; done
  kill -TERM $pid
  code=0; wait $pid || code=$?
  [ $code = 143 ]
  grep -q "out.svg: not drawn: interrupted" "$TMP/said" || { cat "$TMP/said"; return 1; }
  ! kill -0 "$(cat "$TMP/gnuplot")" 2>/dev/null || return 1
  [ ! -e "$TMP/out.svg" ]
}

@test "a signal ends a comparison whose entrants were stopped" {
  timeout -s KILL $patience "${HOGRING:-build/hogring}" compare --epochs 100000 --concurrent --details >"$TMP/said" 2>&1 &
  pid=$!
  for _ in $(seq 1200); do grep -q "epoch 1/" "$TMP/said" && break; sleep 0.05; done
  command=$(pgrep -P $pid -x hogring)
  pkill -STOP -P "$command"
  kill -TERM "$command"
  code=0; wait $pid || code=$?
  [ $code = 143 ] || [ $code = 130 ] || { echo "exit $code"; tail -n 3 "$TMP/said"; return 1; }
}

# with_signals STATE SIGNALS COMMAND...: it begins with these ignored or blocked, and all others as usual.
with_signals() {
  local how=$1 numbers=$2
  shift 2
  exec python3 -c 'import os, signal, sys
numbers = [getattr(signal, "SIG" + name) for name in sys.argv[2].split(",")]
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_DFL)
if sys.argv[1] == "ignored": [signal.signal(number, signal.SIG_IGN) for number in numbers]
if sys.argv[1] == "blocked": signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
os.execv(sys.argv[3], sys.argv[3:])' "$how" "$numbers" "$@"
}

# trains STATE SIGNALS ARGUMENTS...: $pid does, until steps or a signal end it.
trains() {
  local how=$1 numbers=$2
  shift 2
  : >"$TMP/err" # where trains was called before, that has an epoch
  (with_signals "$how" "$numbers" "$(realpath "${HOGRING:-build/hogring}")" "$@" --max-seconds 250s --details 2>"$TMP/err" >"$TMP/said") &
  pid=$!
  for _ in $(seq 1200); do grep -q "epoch 1/" "$TMP/err" && return; sleep 0.05; done
  cat "$TMP/err"
  return 1
}

# stays_ignored WORDS...: neither signal ends it, nor a step of it.
stays_ignored() {
  trains ignored HUP,INT "$@" --model softmax --workers 2 --compute-time 20ms --max-steps 250
  kill -HUP $pid; kill -INT $pid; pkill -HUP -P $pid || true
  wait $pid || { echo "$*: exit $?"; cat "$TMP/err"; return 1; }
}

@test "what was ignored at the start stays ignored, by ranks and entrants, too" {
  printf "%s\n" "train --launch thread" "train --launch process" "train --launch process --strategy ps-async" \
    "compare --strategies allreduce,local-sgd" "compare --strategies allreduce,local-sgd --concurrent" | together stays_ignored
}

# ends_with CODE SIGNAL STATE WORDS...: what was blocked is heard, and who is ignored by a parent is not by its child.
ends_with() {
  local wanted=$1 name=$2 how=$3 code=0
  shift 3
  trains "$how" TERM,INT,HUP,ALRM,CHLD "$@" --model softmax --workers 2 --epochs 1000000
  kill -"$name" $pid
  wait $pid || code=$?
  [ $code = "$wanted" ] || { echo "$*: exit $code"; tail -n 3 "$TMP/err"; return 1; }
}

@test "what was blocked at the start is heard, and has the signal's exit code" {
  together ends_with <<END
129 HUP blocked train
130 INT blocked train --launch process
143 TERM blocked compare --concurrent
129 HUP blocked compare
END
}

@test "a comparison at once ends its entrants where SIGTERM was ignored" {
  code=0
  trains ignored TERM,CHLD compare --concurrent --model softmax --workers 2 --epochs 1000000
  kill -INT $pid
  wait $pid || code=$?
  [ $code = 130 ] || { echo "exit $code"; tail -n 3 "$TMP/err"; return 1; }
}

# out_of_time ARGUMENTS...: one second of a processor, by each process.
out_of_time() {
  local code=0
  (ulimit -St 1; hogring train --model mlp --workers 2 --epochs 1000000 --checkpoint-dir "$TMP/c" --quiet "$@") >"$TMP/said" 2>&1 || code=$?
  [ $code = 152 ] && hogring inspect "$TMP/c" >/dev/null || { echo "$*: exit $code"; cat "$TMP/said"; return 1; }
}

@test "a soft limit of processor time saves, whichever process reaches it" {
  printf "%s\n" "--launch thread" "--launch process" | together out_of_time
}

@test "a SIGBUS that was sent ends whom it was sent to, and accuses no file" {
  code=0
  trains default BUS train --launch process --model softmax --workers 2 --epochs 1000000
  pkill -BUS -P $pid -n
  wait $pid || code=$?
  [ $code = 4 ]
  grep -q "was killed by signal 7" "$TMP/err" || { tail -n 3 "$TMP/err"; return 1; }
  ! grep -q "data file" "$TMP/err" || return 1
  code=0
  trains default BUS train --model softmax --workers 2 --epochs 1000000
  kill -BUS $pid
  wait $pid || code=$?
  [ $code = 135 ]
  ! grep -q "data file" "$TMP/err" || return 1
}

@test "a command ends with the parent that HOGRING_PARENT names" {
  HOGRING_PARENT=x refused 2 "HOGRING_PARENT=x: expected the number of a process" train
  HOGRING_PARENT=1 hogring train --quiet >/dev/null 2>&1 && return 1
  bash -c 'HOGRING_PARENT=$$ "$0" train --epochs 100000 --launch process --details >/dev/null 2>"$1" & echo $! >"$2"; wait' \
    "${HOGRING:-build/hogring}" "$TMP/err" "$TMP/pid" 3>&- &
  pid=$!
  for _ in $(seq 1200); do grep -q "epoch 1/" "$TMP/err" && break; sleep 0.05; done
  kill -KILL $pid
  wait $pid || true
  pid=$(<"$TMP/pid")
  for _ in $(seq 1200); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
  if kill -0 "$pid" 2>/dev/null; then return 1; fi
  pid=
}
