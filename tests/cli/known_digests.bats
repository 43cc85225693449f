#!/usr/bin/env bats
# The weights of some hundred short runs, of every strategy, launch, clock, algorithm, split, compression and precision, resumed
# and replayed, are those of known_digests.txt, bit for bit: what moves code may not move these.
load support

# digest LINE: the last weights_digest of its last command.
digest() {
  local command words line=$1
  awk 'BEGIN { srand(4); print "a,b,y"; for (i = 0; i < 300; i++) { a = rand(); b = rand(); printf "%.4f,%.4f,%.4f\n", a, b, 3 * a - b } }' \
    >"$TMP/values.csv"
  awk 'BEGIN { split("a tree of sums has one order and", w); for (i = 0; i < 2000; i++) printf "%s%s", w[1 + i * i % 61 % 8], i % 7 == 6 ? "\n" : " " }' \
    >"$TMP/text.txt"
  while [ -n "$line" ]; do
    command=${line%%;*} line=${line#"$command"} line=${line#;}
    readarray -t words < <(xargs -n 1 <<<"${command//\$TMP/$TMP}")
    case $command in
      *"data make"*) ;;
      *--resume* | *logistic* | *svm* | *"linear --data"* | *replay*) words+=(--quiet --json "$TMP/json") ;;
      *) words+=(--quiet --json "$TMP/json" --kernels reference) ;;
    esac
    hogring "${words[@]}" >"$TMP/out" 2>&1 </dev/null || { cat "$TMP/out"; return 1; }
  done
  grep -o '"weights_digest": "[0-9a-f]*"' "$TMP/json" | tail -n 1 | cut -d '"' -f 4
}

# part K: each fourth line, from the K-th on.
part() {
  local known line got bad=0 n=0 top=$TMP
  while read -r known line; do
    [ $((n++ % 4)) = "$1" ] || continue
    TMP=$top/$n && mkdir "$TMP"
    got=$(digest "$line") || true
    [ "$got" = "$known" ] || { echo "$got, not $known: $line"; bad=1; }
  done < <(grep -v '^#' "$BATS_TEST_DIRNAME/known_digests.txt")
  [ $n -gt 90 ] && [ $bad = 0 ]
}

@test "weights are those of the list, first quarter" { part 0; }
@test "weights are those of the list, second quarter" { part 1; }
@test "weights are those of the list, third quarter" { part 2; }
@test "weights are those of the list, last quarter" { part 3; }
