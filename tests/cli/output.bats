#!/usr/bin/env bats
# What is printed is safe for a terminal, and arrives or the exit code says so.
load support

# harmless ARGUMENTS...: nothing that a terminal obeys comes out, whatever the exit code.
harmless() {
  hogring "$@" >"$TMP/both" 2>&1 </dev/null || true
  [ -s "$TMP/both" ]
  ! LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$TMP/both"
}

@test "names in files and arguments cannot command the terminal" {
  evil=$(printf 'e\033[2J\302\2332J\r\177')
  mkdir "$TMP/$evil"
  for i in 1 2 3 4 5 6; do printf '1,%d,%s\n2,%d,dog\n' $i "c${evil}t" $i; done >"$TMP/$evil/a.csv"
  { printf 'x%s,y,label\n' "$evil"; cat "$TMP/$evil/a.csv"; } >"$TMP/$evil/b.csv"
  small=(--model "flatten, dense 2" --epochs 1 --batch-size 1 --checkpoint-dir "$TMP/$evil/steps")
  harmless train --data "$TMP/$evil/a.csv" "${small[@]}"
  harmless compare --data "$TMP/$evil/b.csv" --strategies "allreduce,hogwild" "${small[@]}"
  harmless compare --data "$TMP/$evil/b.csv" --strategies "allreduce:model=flatten, $evil dense 2" "${small[@]}"
  harmless data info --data "$TMP/$evil/a.csv"
  harmless inspect "$TMP/$evil/steps/latest"
  harmless eval "$TMP/$evil/steps/latest" --data "$TMP/$evil/a.csv"
  harmless eval "$TMP/$evil/steps/latest" --data digits
  harmless inspect "$TMP/$evil/none"
  printf '[%s]\n%s = 3\n' "$evil" "$evil" >"$TMP/a.ini"
  harmless train --config "$TMP/a.ini"
  for command in "$evil" train compare simulate eval replay inspect data bench doctor; do
    harmless "$command" "$evil"
    harmless "$command" "--$evil"
    harmless "$command" --data "$evil" --model "$evil"
  done
}

@test "names of other languages, and signs, are printed as they are" {
  mkdir "$TMP/höhe"
  printf '1,2,çedilla\n2,1,日本\n1,2,çedilla\n2,1,日本\n' >"$TMP/höhe/a.csv"
  hogring data info --data "$TMP/höhe/a.csv" >"$TMP/out"
  grep -q 'höhe/a.csv: csv' "$TMP/out"
  grep -q 日本 "$TMP/out"
  grep -q çedilla "$TMP/out"
}

@test "a pipe that fails is said" {
  case ${HOGRING:-} in *tsan*) skip "the sanitizer begins anew below strace, and the first write is not ours" ;; esac
  export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # which cannot look below strace
  fails=(strace -o /dev/null -e trace=write -e inject=write:error=EIO:when=1)
  "${fails[@]}" true 2>/dev/null || skip "no strace that injects errors"
  for c in help --version "help train" "data info" "train ${quick[*]}" "compare ${quick[*]}"; do
    # shellcheck disable=SC2086
    ( "${fails[@]}" "${HOGRING:-build/hogring}" $c 2>"$TMP/err" || echo $? >"$TMP/code" ) | cat >/dev/null
    [ "$(cat "$TMP/code")" = 3 ] || { echo "$c"; return 1; }
    grep -q "Input/output error" "$TMP/err"
    echo 0 >"$TMP/code"
  done
}
