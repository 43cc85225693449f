# Shared by the command-line tests. HOGRING names the command under test.
. "$BATS_TEST_DIRNAME/../environment.bash"
hogring() { "${HOGRING:-build/hogring}" "$@"; }
# The same in the background, where a shell has SIGINT ignored, and the command would leave it so.
heard() { exec env --default-signal=INT "${HOGRING:-build/hogring}" "$@"; }

setup() { cd "$BATS_TEST_DIRNAME/../.."; TMP=$(mktemp -d); }
# A test that fails half-way must not leave its background run ($pid) behind.
teardown() { [ -z "${pid:-}" ] || kill -KILL "$pid" 2>/dev/null || true; rm -rf "$TMP"; }

# refused CODE TEXT ARGUMENTS...: exits with CODE, one line on stderr that holds TEXT, nothing on stdout.
refused() {
  local code=$1 text=$2 got=0
  shift 2
  hogring "$@" >"$TMP/stdout" 2>"$TMP/stderr" </dev/null || got=$?
  [ "$got" = "$code" ] || { echo "exit $got, wanted $code: $*"; cat "$TMP/stderr"; return 1; }
  grep -qF -- "$text" "$TMP/stderr" || { echo "no \"$text\" in:"; cat "$TMP/stderr"; return 1; }
  [ "$(wc -l <"$TMP/stderr")" = 1 ] || { echo "more than one line:"; cat "$TMP/stderr"; return 1; }
  [ ! -s "$TMP/stdout" ] || { echo "something on stdout:"; cat "$TMP/stdout"; return 1; }
}

# A test that needs a terminal passes over machines that have none to give.
needs_terminal() { python3 -c 'import os; os.openpty()' 2>/dev/null || skip "no terminal is to be had here"; }

# strategies [CONDITION]: all, or those of whose line (hogring help strategies --list) awk says so.
strategies() { hogring help strategies --list | awk "${1:-1} { print \$1 }"; }

# child_of PID N: its N-th child (1, ...) in the order in which they began: numbers may have begun anew in between.
child_of() { tr ' ' '\n' <"/proc/$1/task/$1/children" | sed -n "$2p"; }

# json FILE EXPRESSION: a Python expression over the document d.
json() { python3 -IS -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }

# forever OPTIONS...: training as processes that would go on for long, slowly, $pid; returns when it has ended an epoch.
forever() {
  : >"$TMP/err"
  heard train --epochs 100000 --launch process --details --inject 'slow:*x10' "$@" >"$TMP/out" 2>"$TMP/err" &
  pid=$!
  for _ in $(seq 1200); do grep -q "epoch 1/" "$TMP/err" && return; sleep 0.05; done
  return 1
}

# ends_at SIGNAL CODE: so does $pid.
ends_at() {
  local code=0
  kill -"$1" "$pid"
  wait "$pid" || code=$?
  [ $code -eq "$2" ]
}

quick=(--model softmax --epochs 1 --quiet)

# together FUNCTION [N]: FUNCTION with the words of each line of stdin, N (4) at a time, each with a $TMP of its own: for
# runs that mostly sleep. Says what the first that failed said.
together() {
  local line n=0 abreast=${2:-4} failed=0 jobs=()
  while read -r line; do
    mkdir "$TMP/$((++n))"
    (TMP=$TMP/$n; $1 $line) >"$TMP/$n.said" 2>&1 </dev/null 3>&- &
    jobs+=($!)
    [ $n -lt $abreast ] || wait "${jobs[n - abreast]}" || true
  done
  for n in "${!jobs[@]}"; do
    wait "${jobs[n]}" && continue
    [ $failed = 1 ] || cat "$TMP/$((n + 1)).said"
    failed=1
  done
  return $failed
}

# saves SINCE: how many checkpoints are newer than that one.
saves() { ls -d "$TMP"/c/step-???????? 2>/dev/null | awk -v since="$1" '$0 > since' | wc -l; }

# Ranks of a launcher that was killed hold its folder until they notice.
held() { grep -q "trains into this folder now" "$TMP/stderr" || { cat "$TMP/stderr"; return 1; }; }

# stopped SIGNAL SAVES ARGUMENTS...: the run goes on, and gets that signal when it has saved so often. A slow worker sees
# to it that it does not come far.
stopped() {
  local signal=$1 wanted=$2 since
  shift 2
  since=$(ls -d "$TMP"/c/step-???????? 2>/dev/null | tail -1)
  pid=
  until [ "$(saves "$since")" -ge "$wanted" ]; do
    if [ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null; then
      [ -z "$pid" ] || held
      heard "$@" --checkpoint-dir "$TMP/c" --checkpoint-every 3 --keep 0 --resume auto --inject slow:1x40 \
        >/dev/null 2>"$TMP/stderr" 3>&- &
      pid=$!
    fi
    sleep 0.02
  done
  kill -$signal $pid
  wait $pid || true
  pid=
}
