#!/usr/bin/env bats
# What follows from the rows of options: --help, and what bash offers.
load support

# Options that a page lists, behind what it says of the command.
listed() { awk '/^[A-Z]/ { on = 1 } on && /^  --/ { n++ } END { print n + 0 }' "$1"; }

@test "help shows a dozen options first, and all of them when asked, in 80 columns" {
  for c in train compare simulate eval replay inspect data bench doctor top verify; do
    hogring $c --help >"$TMP/first"
    hogring help $c >"$TMP/page"
    cmp -n "$(wc -c <"$TMP/first")" "$TMP/first" "$TMP/page"
    hogring help $c --all | sed -n '1,/^examples:/p' >"$TMP/all"
    for page in first all; do
      sed '/^examples:/,/^$/d' "$TMP/$page" | awk -v c="$c" 'length > 80 { print c ": " $0; bad = 1 } END { exit bad }'
    done
    [ "$(listed "$TMP/first")" -le 18 ]
    more=$(sed -n 's/^and \([0-9]*\) more: .*/\1/p' "$TMP/first")
    [ "$(listed "$TMP/all")" = $(($(listed "$TMP/first") + ${more:-0})) ]
  done
  hogring help train | grep -q "and [0-9]* more: hogring help train --all"
  refused 2 "--all: is no longer there; hogring help COMMAND --all has all options" train --help --all
}

# offered WORD...: what bash would offer for the last of the words behind "hogring".
offered() {
  hogring help --completion >"$TMP/completion"
  bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hogring; echo "${COMPREPLY[*]}"' - "$TMP/completion" hogring "$@"
}

@test "bash completes commands, options and values" {
  [ "$(offered comp)" = compare ]
  [ "$(offered train --calib)" = --calibrate ]
  [ "$(offered compare --calib)" = "" ]
  [ "$(offered train --strategy ps-)" = "ps-sync ps-async" ]
  [ "$(offered train --optimizer = la)" = "lars lamb" ]
  [ "$(offered train --reduce =)" = "sum repro" ]
  [ "$(offered train --epochs "")" = "" ]
  [ "$(offered help js)" = json ]
  touch "$TMP/net.safetensors"
  [ "$(offered train --init-weights "$TMP/n")" = "$TMP/net.safetensors" ]
  [ "$(offered eval "$TMP/n")" = "$TMP/net.safetensors" ]
}

@test "every option of a command is offered" {
  for c in train compare bench data; do
    all=" $(offered $c --) "
    for o in $(hogring help $c --all | sed -n '1,/^examples:/p' | grep -oE '^  --[a-z0-9-]+'); do [[ $all == *" $o "* ]] || { echo "$c $o"; return 1; }; done
  done
}
