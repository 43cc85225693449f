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
  for command in "$evil" train compare simulate eval replay inspect data bench doctor top verify; do
    harmless "$command" "$evil"
    harmless "$command" "--$evil"
    harmless "$command" --data "$evil" --model "$evil"
  done
}

@test "line feeds in names break no table" {
  feed=$(printf 'l\nn')
  mkdir "$TMP/$feed" && ln -s "$TMP/$feed" "$TMP/one"
  python3 - "$TMP/one/a.csv" <<'END'
import sys
rows = [f'{i % 2},{i},"{["one", "two"][i % 2]}\n, of them"' for i in range(40)]
open(sys.argv[1], "w").write("x,y,label\n" + "\n".join(rows) + "\n")
END
  hogring train --data "$TMP/one/a.csv" --model softmax --epochs 1 --quiet --checkpoint-dir "$TMP/c" >/dev/null
  hogring eval "$TMP/c" --data "$TMP/$feed/a.csv" --worst 3 >"$TMP/out" 2>/dev/null
  head -1 "$TMP/out" | grep -qF "l?n/a.csv: test accuracy"
  [ "$(grep -cE '^(one|two)\?, of them +[0-9]+ ' "$TMP/out")" = 2 ]
  [ "$(grep -cE '^ +[0-9]+  (one|two)\?, of them' "$TMP/out")" = 3 ]
  ! grep '^, of them' "$TMP/out"
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

# longest FILE: characters of its longest line.
longest() { LC_ALL=C.UTF-8 wc -L <"$1"; }

@test "what is printed fits the columns there are, and says what it left out; files have all" {
  run=(compare --details --model softmax --strategies allreduce,ps-async --seeds 2 --workers 2 --epochs 1)
  for width in 60 80 100; do
    COLUMNS=$width hogring "${run[@]}" --json "$TMP/$width.json" >"$TMP/out" 2>"$TMP/err"
    [ "$(longest "$TMP/out")" -le $width ]
    grep -q "^  engine .*zero-copy in shared memory$" "$TMP/err"
    grep -q "^no room for: " "$TMP/out"
  done
  hogring "${run[@]}" >"$TMP/whole" 2>/dev/null
  COLUMNS=60 hogring "${run[@]}" --wide >"$TMP/wide" 2>/dev/null
  for file in whole wide; do
    ! grep -q "^no room for" "$TMP/$file" || return 1
    grep -q "samples/s  updates  .*load/compute/comm/wait$" "$TMP/$file"
  done
  COLUMNS=40 hogring "${run[@]}" --json - 2>/dev/null | python3 -c 'import json, sys; json.load(sys.stdin)'
  for nonsense in 0 -3 x ""; do
    COLUMNS=$nonsense hogring "${run[@]}" 2>/dev/null | grep -q "samples/s  updates  .*load/compute/comm/wait$"
  done
}

@test "an output is no other output, and nothing that is read" {
  awk 'BEGIN { for (i = 0; i < 60; i++) printf "%d,%d,%s\n", i, i % 7, i % 2 ? "a" : "b" }' >"$TMP/rows.csv"
  cp "$TMP/rows.csv" "$TMP/before"
  ln -s rows.csv "$TMP/link.csv"
  model=(--model "flatten, dense 2" --epochs 1 --quiet)
  hogring train --data "$TMP/rows.csv" "${model[@]}" --checkpoint-dir "$TMP/c" >/dev/null
  refused 2 "and would be written over; expected another file" predict "$TMP/c" --data "$TMP/rows.csv" --out "$TMP/rows.csv"
  refused 2 "which is read here, and would be written over" predict "$TMP/c" --data "$TMP/rows.csv" --out "$TMP/./link.csv"
  refused 2 "--json $TMP/rows.csv: is read here" train --data "$TMP/rows.csv" "${model[@]}" --json "$TMP/rows.csv"
  refused 2 "is read here" data pack "$TMP/rows.csv" --out "$TMP/rows.csv"
  refused 2 "is read here" predict "$TMP/c/latest/model.safetensors" --data "$TMP/rows.csv" --json "$TMP/c/latest/model.safetensors"
  cmp "$TMP/rows.csv" "$TMP/before"
  refused 2 "--json and --log are one file, $TMP/x; expected two" train "${model[@]}" --json "$TMP/x" --log "$TMP/x"
  refused 2 "--json and --timeline are one file, $TMP/./x; expected two" train "${model[@]}" --json "$TMP/x" --timeline "$TMP/./x"
  [ ! -e "$TMP/x" ]
  hogring train --data "$TMP/rows.csv" "${model[@]}" --json /dev/null --report "$TMP/x.html" >/dev/null
}
