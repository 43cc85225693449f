#!/usr/bin/env bats
# hogring top: a run that goes on, drawn again and again on a terminal, or shown once; it leaves the terminal as it was.
load support

# Each test has a /dev/shm of its own, where it is the only one. Functions are called in it.
alone() {
  [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "needs root and mount namespaces"
  export TMP HOGRING BATS_TEST_DIRNAME
  unshare -m bash -ec 'mount -t tmpfs none /dev/shm; load() { :; }; test() { :; }; source tests/cli/support.bash
    source <(sed -n "/^# --- in it/,/^# --- tests/p" tests/cli/top.bats); "$@"' - "$@"
}

# --- in it
await() { for _ in $(seq 1200); do grep -q -- "$2" "$1" 2>/dev/null && return; sleep 0.05; done; cat "$1"; return 1; }

# begin ARGUMENTS...: a run without end, $pid, which leaves the processors to others most of the time.
begin() {
  : >"$TMP/err"
  : >"$TMP/screen"
  heard train --epochs 1000000 --details --model mlp --timeout 60s --inject 'slow:*x20' "$@" 2>"$TMP/err" >"$TMP/out" &
  pid=$!
  trap 'kill -KILL $pid 2>/dev/null || true' EXIT
  await "$TMP/err" "epoch 1/"
}

# on_terminal CODE SIZE OPTIONS... -- ARGUMENTS...: hogring top there, and what options say when it has drawn so often; what it wrote is in $TMP/screen.
on_terminal() {
  local code=0 wanted=$1
  shift
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  TERM=xterm timeout 120 tests/cli/terminal.py "${options[0]}" --every $'\x1b[H' "${options[@]:1}" -- "${HOGRING:-build/hogring}" top "$@" >"$TMP/screen" </dev/null || code=$?
  [ $code = "$wanted" ] || { echo "exit $code, wanted $wanted"; cat -v "$TMP/screen"; return 1; }
}

shows() { grep -qaE -- "$1" "$TMP/screen" || { echo "no \"$1\" in:"; cat -v "$TMP/screen"; return 1; }; }

# As it was: the first screen, and the cursor seen.
restored() { [ "$(grep -ao $'\x1b\\[?1049[hl]\\|\x1b\\[?25[hl]' "$TMP/screen" | tail -n 2 | tr -d '\033\n')" = '[?25h[?1049l' ]; }

# once_drawn COMMAND...: when on_terminal's screen has been drawn.
once_drawn() {
  until grep -qas $'\x1b\\[H' "$TMP/screen"; do sleep 0.05; done
  "$@"
}

once() {
  local ranks=$1 roles=$2
  shift 2
  begin "$@"
  COLUMNS=200 hogring top --once >"$TMP/screen"
  shows "^rank  role .* doing  +for"
  shows "^   0  "
  shows "rates and shares are of [0-9.]+ s"
  hogring top $pid --once --json "$TMP/json"
  [ "$(json "$TMP/json" 'len(d["run"]["ranks"])')" = "$ranks" ]
  [ "$(json "$TMP/json" 'sorted({r["role"] for r in d["run"]["ranks"]})')" = "$roles" ]
  [ "$(json "$TMP/json" 'd["run"]["pid"]')" = $pid ]
  [ "$(json "$TMP/json" 'd["run"]["course"]["samples"] > 0 and d["run"]["course"]["epochs"] == 1000000')" = True ]
  [ "$(json "$TMP/json" 'd["run"]["window_s"] >= 0.4')" = True ]
}

threads() {
  once 2 "['worker']" --workers 2
  [ "$(json "$TMP/json" 'all(r["samples"] > 0 and r["spent_s"]["compute"] > 0 for r in d["run"]["ranks"])')" = True ]
  [ "$(json "$TMP/json" 'all(abs(sum(r["share"].values()) - 1) < 1e-6 for r in d["run"]["ranks"])')" = True ]
}

servers() {
  once 3 "['server', 'worker']" --workers 2 --strategy ps-async --launch process
  [ "$(json "$TMP/json" 'all(r["staleness"]["updates"] > 0 and r["resident_bytes"] > 0 for r in d["run"]["ranks"][:2])')" = True ]
  [ "$(json "$TMP/json" 'd["run"]["ranks"][2]["inputs_taken"] > 0')" = True ]
}

stages() {
  once 4 "['stage']" --workers 2 --pipeline 2
  [ "$(json "$TMP/json" '[(r["replica"], r["stage"], r["part"]) for r in d["run"]["ranks"]]')" = "[(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]" ]
}

played() {
  begin --workers 3 --clock virtual --strategy ssp
  hogring top --once --json "$TMP/json" >"$TMP/screen"
  shows "all run by one process"
  [ "$(json "$TMP/json" 'd["run"]["launch"], d["run"]["course"]["samples"] > 0, "share" in d["run"]["ranks"][0]')" = "('played', True, False)" ]
}

sparse() {
  hogring data make sparse --rows 2000 --out "$TMP/rows.libsvm" >/dev/null
  : >"$TMP/err"
  heard train --data "$TMP/rows.libsvm" --model logistic --epochs 1000000 --workers 2 --details 2>"$TMP/err" >"$TMP/out" &
  pid=$!
  trap 'kill -KILL $pid 2>/dev/null || true' EXIT
  await "$TMP/err" "epoch 1/"
  hogring top --once --json "$TMP/json" >/dev/null
  [ "$(json "$TMP/json" 'all(r["samples"] > 0 for r in d["run"]["ranks"])')" = True ]
}

drawn() {
  begin --workers 2 --launch process
  on_terminal 0 80x24 --send 3:q --
  shows "hogring train --epochs 1000000"
  shows "rank  role .* doing"
  [ "$(grep -ac $'\x1b\\[H' "$TMP/screen")" -ge 2 ]
  restored
  on_terminal 130 60x15 --signal 2:2 --
  restored
  on_terminal 143 60x15 --send 1:x --signal 2:15 -- $pid
  restored
  on_terminal 0 80x24 --resize 2:40x8 --send 4:q -- --color never
  restored
  ! grep -qa $'\x1b\\[1m' "$TMP/screen"
}

ended() {
  begin --workers 2
  once_drawn kill -INT $pid &
  on_terminal 0 80x24 -- $pid
  restored
  shows "the run of pid $pid ended after [0-9.]+ s: epoch "
  begin --workers 2 --launch process
  once_drawn kill -KILL $pid &
  on_terminal 0 80x24 -- $pid
  restored
  shows "the run died: its launcher \(pid $pid\) is gone"
}

choosing() {
  refused 3 "no run goes on here" top --once
  begin --workers 1
  local first=$pid
  refused 2 "stdout is no terminal" top
  refused 2 "--json: needs --once" top --json -
  refused 2 "expected the pid of a run" top 1x --once
  refused 2 "one run at a time" top 1 2 --once
  refused 3 "there is no run of that process" top 1 --once
  begin --workers 1
  trap "kill -KILL $first $pid 2>/dev/null || true" EXIT
  refused 2 "2 runs go on here" top --once
  hogring top $first --once | grep -q "pid $first"
  kill -KILL $first
  for _ in $(seq 1200); do kill -0 $first 2>/dev/null || break; sleep 0.05; done
  hogring top --once | grep -q "pid $pid"
  refused 3 "the run has ended" top $first --once
}
# --- tests

@test "a table and a document once, of threads" { alone threads; }
@test "of processes with a server: staleness, inputs, memory" { alone servers; }
@test "of a pipeline: by replica and stage" { alone stages; }
@test "of ranks that one process runs" { alone played; }
@test "of a sparse model" { alone sparse; }
@test "drawn again in place, and the terminal is as before" { alone drawn; }
@test "it ends with the run, and says how" { alone ended; }
@test "the only run, or the one that is named" { alone choosing; }
