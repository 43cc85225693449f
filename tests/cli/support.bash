# Shared by the command-line tests. HOGRING names the command under test.
hogring() { "${HOGRING:-build/hogring}" "$@"; }

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

# json FILE EXPRESSION: a Python expression over the document d.
json() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }

quick=(--model softmax --epochs 1 --quiet)

# together FUNCTION: FUNCTION with the words of each line of stdin, four at a time, each with a $TMP of its own: for runs
# that mostly sleep. Says what the first that failed said.
together() {
  local line n=0 failed=0 jobs=()
  while read -r line; do
    mkdir "$TMP/$((++n))"
    (TMP=$TMP/$n; $1 $line) >"$TMP/$n.said" 2>&1 </dev/null 3>&- &
    jobs+=($!)
    [ $((n % 4)) != 0 ] || wait "${jobs[@]: -4:1}" || true
  done
  for n in "${!jobs[@]}"; do
    wait "${jobs[n]}" && continue
    [ $failed = 1 ] || cat "$TMP/$((n + 1)).said"
    failed=1
  done
  return $failed
}
