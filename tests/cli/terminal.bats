#!/usr/bin/env bats
# What stands on a terminal: progress that is drawn again, colour, lines that fit; and what logs get instead.
load support

runs=(compare --model softmax --strategies allreduce,ps-async --seeds 2 --workers 2 --epochs 3)

# shown SIZE NAME=VALUE... -- OPTIONS...: hogring on a terminal of that size, what it wrote there in $TMP/screen.
shown() {
  local size=$1 env=()
  shift
  while [ "$1" != -- ]; do env+=("$1"); shift; done
  shift
  env -u NO_COLOR -u CI -u COLUMNS TERM=xterm LC_ALL=C.UTF-8 "${env[@]}" timeout 200 tests/cli/terminal.py "$size" -- "${HOGRING:-build/hogring}" "$@" >"$TMP/screen" </dev/null
}

# plain FILE: without what moves the cursor and colours; each line that is drawn again on a line of its own.
plain() { sed -e 's/\x1b\[[0-9;?]*[a-zA-Z]//g' "$1" | tr '\r' '\n' | grep -av '^$'; }

longest() { plain "$TMP/screen" | LC_ALL=C.UTF-8 wc -L; }
has() { grep -qaE -- "$1" "$TMP/screen" || { echo "no \"$1\" in:"; cat -v "$TMP/screen"; return 1; }; }
has_not() { if grep -qaE -- "$1" "$TMP/screen"; then echo "\"$1\" in:"; cat -v "$TMP/screen"; return 1; fi; }
colour=$'\x1b\\[(0|1|3[1-3])m'

@test "nothing is wider than the terminal, at 60 to 200 columns" {
  needs_terminal
  for width in 60 80 120 200; do
    shown ${width}x24 -- "${runs[@]}"
    [ "$(longest)" -le $width ] || { longest; return 1; }
    has "run 4 of 4  ps-async seed 2  "
  done
}

@test "nor is what is refused before anything is known of the terminal" {
  needs_terminal
  shown 60x24 -- train --workers 1,2,4,8 || [ $? = 2 ]
  has "expected a whole number"
  [ "$(longest)" -le 60 ] || { longest; return 1; }
}

@test "runs of a comparison: what they share once; with details what each is" {
  needs_terminal
  shown 80x24 -- "${runs[@]}"
  [ "$(plain "$TMP/screen" | grep -ac "^  model ")" = 1 ]
  has "^hogring: 4 runs \(2 settings, 2 seeds\), one at a time, 2 workers"
  has_not "guarantee"
  shown 80x24 -- "${runs[@]}" --details
  [ "$(plain "$TMP/screen" | grep -ac "^  guarantee ")" = 2 ]
  shown 80x24 -- "${runs[@]}" --concurrent
  [ "$(plain "$TMP/screen" | grep -ac "^  model ")" = 1 ]
  has "hogring: 4 runs \(2 settings, 2 seeds\), those of a seed at once" # who is first may have drawn a line
}

# at_most LINES: on the screen; without colours in $TMP/plain.
at_most() {
  plain "$TMP/screen" >"$TMP/plain"
  [ "$(wc -l <"$TMP/screen")" -le "$1" ] || { cat -n "$TMP/plain"; return 1; }
}

# screenful ARGUMENTS...: on 80x24 no more than 20 lines are left in the end, from the table on, and the last says where the rest is.
screenful() {
  shown 80x24 -- "$@" --json "$TMP/out.json" --quiet
  at_most 20
  tail -n 1 "$TMP/plain" | grep -aEq "^more  *--details( \(\+[0-9]+ lines?\))?, --report page.html *$" # --json is given
}
nine=(compare --model softmax --clock virtual --epochs 1 --strategies ssp --staleness 1,2,3 --workers 2,3,4)

@test "a comparison of nine rows, and a run, end on one screen with what they let one say" {
  needs_terminal
  screenful "${nine[@]}"
  grep -aq "^Accuracy: one seed cannot tell" "$TMP/plain"
  screenful "${nine[@]}" --seeds 3
  grep -aq "^Accuracy: .* over 3 seeds" "$TMP/plain"
  screenful compare --model softmax --clock virtual --epochs 1
  grep -aq "^Not a fair comparison: " "$TMP/plain"
  screenful train --model softmax --epochs 1
  [ "$(json "$TMP/out.json" 'd["runs"][0]["strategy"]')" = allreduce ]
}

@test "what one screen has no room for stands in details, in JSON and in files" {
  needs_terminal
  # Long labels, and notices of many kinds: edges, divergence, a margin, a target that not all reach.
  worst=("${nine[@]}" --optimizer sgd,adam --staleness 1 --workers 2,3 --batch-size 16,32 --inject slow:0x3
    --tune lr=0.01:10:3 --seeds 3 --margin 1 --time-to accuracy=0.85)
  screenful "${worst[@]}"
  [ "$(grep -ac "^ssp s=1 " "$TMP/plain")" = 8 ]
  grep -aq "(+[1-9][0-9]* lines)" "$TMP/plain"
  hogring "${worst[@]}" --quiet --json "$TMP/piped.json" >"$TMP/piped" 2>/dev/null
  shown 80x24 -- "${worst[@]}" --quiet --details
  plain "$TMP/screen" >"$TMP/plain"
  for said in "^! the best lr is the" "^Speed: " "^Margin: " "^Target: " "^! .*: the training loss ended at"; do
    grep -aq "$said" "$TMP/piped" || { echo "no $said"; cat "$TMP/piped"; return 1; }
    grep -aq "$said" "$TMP/plain" || { echo "no $said in details"; return 1; }
  done
  [ "$(json "$TMP/out.json" 'd["comparison"]["conclusion"]')" = "$(json "$TMP/piped.json" 'd["comparison"]["conclusion"]')" ]
}

@test "nine rows that all lost a worker, or diverged, or were cut short, still end in their conclusion" {
  needs_terminal
  local losing=("${nine[@]}" --inject kill:1@step=5 --on-loss continue)
  for more in "--seeds 1" "--seeds 3"; do
    shown 80x24 -- "${losing[@]}" $more --quiet --json "$TMP/out.json"
    # A warning that is the same in all runs is said once, above.
    [ "$(grep -ac "was lost" "$TMP/screen")" = 1 ]
    at_most 21
    grep -aq "^Accuracy: " "$TMP/plain"
    [ "$(grep -ac "^ssp s=[123] [234]W1PS~ " "$TMP/plain")" = 9 ]
  done
  [ "$(json "$TMP/out.json" 'sum(len(r["losses"]) for r in d["runs"])')" = 27 ]
  screenful "${nine[@]}" --lr 30 --seeds 2
  grep -aq "^Accuracy: " "$TMP/plain"
  screenful "${nine[@]}" --epochs 3 --early-stop loss,1 --validation 0.2 --seeds 2
  grep -aq "^Accuracy: " "$TMP/plain"
  # The same in a file, whole.
  hogring "${losing[@]}" --quiet >"$TMP/piped" 2>"$TMP/err"
  [ "$(wc -l <"$TMP/err")" = 1 ]
  grep -q "^Lost ranks: " "$TMP/piped"
}

# ends LAST ARGUMENTS...: a command's end has at most 20 lines on 80x24, with LAST among the last two; with details as many as in a file.
ends() {
  local last=$1
  shift
  shown 80x24 -- "$@"
  at_most 20
  tail -n 2 "$TMP/plain" | grep -aEq "$last" || { cat -n "$TMP/plain"; return 1; }
  local left_out
  left_out=$(sed -n 's/^more  *--details (+\([0-9]*\) line.*/\1/p' "$TMP/plain")
  [ -n "$left_out" ]
  shown 200x24 -- "$@" --details
  [ "$(wc -l <"$TMP/screen")" -gt 20 ]
  hogring "$@" >"$TMP/piped"
  [ "$(wc -l <"$TMP/screen")" = "$(wc -l <"$TMP/piped")" ]
}

@test "what else shows more than a screen has: its end is there, and the rest in details" {
  needs_terminal
  hogring train --epochs 1 --checkpoint-dir "$TMP/c" --quiet >/dev/null
  ends "^ *[0-9]+ +[0-9] +[0-9] " eval "$TMP/c" --worst 6
  ends "tensors, .* bytes" inspect "$TMP/c"
  ends "to train|scratch" inspect resnet8
  ends "^zero-bubble +8 " bench pipeline
  hogring compare --model softmax --strategies allreduce,ps-sync,ssp:staleness=1,ssp,ps-async,hogwild,local-sgd --workers 2 --clock virtual --quiet --epochs 1 --json "$TMP/b.json" >/dev/null
  ends "^gate: passed: " gate "$TMP/b.json" --quiet
  shown 80x24 -- forecast --clock virtual --workers 1,2,4,8 --model softmax --compute-time 10ms
  at_most 20
  grep -aq "^More workers help: " "$TMP/plain"
  for strategy in allreduce ps-sync ps-async ssp hogwild; do grep -aq "^$strategy  .* 8" "$TMP/plain"; done
  shown 80x24 -- bench layers
  at_most 20
  grep -aq "^whole step " "$TMP/plain"
}

@test "predictions fit, however many classes there are" {
  needs_terminal
  hogring train --epochs 1 --checkpoint-dir "$TMP/c" --quiet >/dev/null
  shown 80x24 -- predict "$TMP/c" --data digits
  at_most 20
  [ "$(grep -aEc "^[0-9] +[0-9]+( +0\.[0-9]+)? *$" "$TMP/plain")" = 10 ] # each class
  has "and 35[0-9] more: --out FILE.csv"
}

@test "the line that is drawn again is gone in the end, also when it is interrupted" {
  needs_terminal
  shown 80x24 -- "${runs[@]}"
  has $'\r'"run 1 of 4  allreduce seed 1  epoch "
  local code=0
  TERM=xterm timeout 120 tests/cli/terminal.py 80x24 --every /1e+06 --signal 2:2 -- "${HOGRING:-build/hogring}" train --epochs 1000000 >"$TMP/screen" </dev/null || code=$?
  [ $code = 130 ]
  # Behind the last line that was drawn it is wiped before anything else is said.
  [ "$(tr '\r' '\n' <"$TMP/screen" | grep -a -A1 "^epoch .*/1e+06" | tail -n 1 | head -c 3)" = $'\x1b[K' ]
  shown 80x24 -- train --epochs 2 --model softmax --details
  has "epoch 2/2  train loss "
}

@test "colour on terminals alone, and not where NO_COLOR or TERM forbid it" {
  needs_terminal
  shown 80x24 -- "${runs[@]}"
  has "$colour"
  shown 80x24 NO_COLOR=1 -- "${runs[@]}"
  has_not "$colour"
  shown 80x24 NO_COLOR= -- "${runs[@]}"
  has "$colour"
  shown 80x24 NO_COLOR=1 -- "${runs[@]}" --color always
  has "$colour"
  shown 80x24 -- "${runs[@]}" --color never
  has_not "$colour"
  shown 80x24 TERM=dumb -- "${runs[@]}"
  has_not $'\x1b'
  hogring "${runs[@]}" >"$TMP/screen" 2>&1
  has_not $'\x1b'
  hogring "${runs[@]}" --color always >"$TMP/screen" 2>/dev/null
  has "$colour"
  refused 2 "--color blue: expected auto, always or never" train --color blue
}

@test "logs get a line a run, and with details a line an evaluation that names strategy and seed" {
  needs_terminal
  hogring "${runs[@]}" 2>"$TMP/screen" >/dev/null
  [ "$(grep -c "^run [1-4] of 4  .* seed [12]  train loss .*  test accuracy .* s$" "$TMP/screen")" = 4 ]
  [ "$(wc -l <"$TMP/screen")" -le 9 ]
  hogring "${runs[@]}" --details 2>"$TMP/screen" >/dev/null
  for run in "1 of 4  allreduce seed 1" "2 of 4  ps-async seed 1" "3 of 4  allreduce seed 2" "4 of 4  ps-async seed 2"; do
    [ "$(grep -c "^run $run  epoch [123]/3  train loss .* test loss .* test accuracy .* samples/s$" "$TMP/screen")" = 3 ]
  done
  hogring train --model softmax --epochs 2 --seed 5 --details 2>"$TMP/screen" >/dev/null
  [ "$(grep -c "^epoch [12]/2  .* samples/s  allreduce, seed 5$" "$TMP/screen")" = 2 ]
  shown 80x24 CI=true -- "${runs[@]}" --details
  [ "$(tr -d '\r' <"$TMP/screen" | grep -ac "^run . of 4  .*  epoch ")" = 12 ]
  has_not $'\x1b\\[K'"run"
  hogring "${runs[@]}" --quiet 2>"$TMP/screen" >/dev/null
  [ ! -s "$TMP/screen" ]
}

@test "warnings fit the terminal" {
  needs_terminal
  shown 60x24 -- train --model softmax --epochs 1 --workers 12
  has "warning"
  [ "$(longest)" -le 60 ]
  hogring train --model softmax --epochs 1 --workers 12 2>"$TMP/screen" >/dev/null
  has "^hogring: warning: 12 workers .*not for speed$"
}

@test "a document on a terminal holds nothing that terminals obey, and says the same" {
  needs_terminal
  printf 'a,label\n1,\xc2\x9b31m\n2,caf\xc3\xa9\n3,\x9b1m\n4,caf\xc3\xa9\n5,\xc2\x9b31m\n' >"$TMP/d"
  shown 80x24 -- data info --data "$TMP/d" --json -
  has_not $'\x9b'
  hogring data info --data "$TMP/d" --json "$TMP/d.json" >/dev/null
  [ "$(json "$TMP/screen" 'd["class_names"]')" = "$(json "$TMP/d.json" 'd["class_names"]')" ]
}
