# The manual: hogring help TOPIC on any terminal, and as man pages that mandoc finds nothing wrong with.
load support

listed() { hogring help | sed -n '/^commands:/,/^exit/p' | awk '/^  /{print $1}'; }
topics() { hogring help | sed -n '/^topics:/,/^$/p' | awk '/^  /{print $1}'; }

@test "help lists commands and topics, in 80 columns" {
  hogring help >"$TMP/help"
  [ "$(awk 'length > 80' "$TMP/help" | wc -l)" = 0 ]
  for t in data models strategies split pipeline virtual-time collectives store sparse record checkpoints predict sample failures doctor top verify ci json reproducibility forecast; do listed | grep -qx "$t"; done
}

@test "every topic is shown, in 80 columns, with its tables" {
  for t in $(topics); do
    hogring help "$t" >"$TMP/page"
    [ -s "$TMP/page" ]
    awk -v t="$t" 'length > 80 || /@rows/ { print t ": " $0; bad = 1 } END { exit bad }' "$TMP/page"
  done
}

@test "every command's help fits 80 columns" {
  for c in train compare simulate eval predict sample replay inspect data bench doctor top verify forecast; do
    hogring "$c" --help | awk -v c="$c" 'length > 80 { print c ": " $0; bad = 1 } END { exit bad }'
  done
}

@test "mandoc finds nothing wrong with any man page" {
  command -v mandoc >/dev/null || skip "no mandoc"
  hogring help --man >"$TMP/pages"
  for c in hogring.1 hogring-train.1 hogring-compare.1 hogring-json.7; do grep -qx "$c" "$TMP/pages"; done
  while read -r page; do
    hogring help --man "$page" >"$TMP/$page"
    mandoc -Tlint "$TMP/$page"
    mandoc -Tutf8 "$TMP/$page" | grep -q "${page%.*}"
  done <"$TMP/pages"
}

@test "the man page of a command has all its options" {
  command -v mandoc >/dev/null || skip "no mandoc"
  for c in train compare bench; do
    hogring help --man "hogring-$c.1" | mandoc -Tascii | col -b >"$TMP/man"
    for o in $(hogring help $c --all | grep -oE '^  --[a-z0-9-]+'); do grep -q -- "$o" "$TMP/man"; done
  done
}

@test "man pages fit 80 columns, and their NAME is one line" {
  command -v mandoc >/dev/null || skip "no mandoc"
  for page in $(hogring help --man); do
    hogring help --man "$page" | mandoc -Tascii | col -bx >"$TMP/man"
    awk -v p="$page" 'length > 80 { print p ": " $0; bad = 1 } END { exit bad }' "$TMP/man"
    [ "$(sed '1,/^NAME/d;/^[^ ]/,$d' "$TMP/man" | grep -c .)" -le 2 ]
  done
}

@test "there is no man page of anything else" {
  refused 2 "no such page" help --man hogring-nothing.1
}

# joined FILE: its lines, with those that a backslash continues as one.
joined() { sed -e ':more' -e '/\\$/{N;s/\\\n *//;bmore' -e '}' "$1"; }

# Literal lines that begin with "hogring" (but those on data of awk), a page's one behind the other. A comparison that README,
# help start or a page before has, word by word, has been run. Two seeds, but where a gate needs its five, and no search of
# all values, which README's test makes; HOGRING_LONG=1: all, with as many as are written.
@test "the examples of the manual run as they stand" {
  case ${HOGRING:-build/hogring} in build/hogring) ;; *) skip "the release build only" ;; esac
  mkdir "$TMP/bin" && ln -s "$PWD/build/hogring" "$TMP/bin/hogring"
  { joined README.md | sed -n 's/^hogring compare /    &/p'; joined src/cli/manual/start.txt | grep '^    hogring compare'; } >"$TMP/in_readme"
  for t in data validation compare strategies optimizers tune forecast virtual-time sparse record checkpoints failures inject ci gate; do
    joined "src/cli/manual/$t.txt" | grep -E '^    hogring ' | grep -vxFf "$TMP/in_readme" |
      grep -vE 'bench|--workers 256|--expect digest=D|--model "conv|values.libsvm' >"$TMP/$t.sh"
    grep '^    hogring compare' "$TMP/$t.sh" >>"$TMP/in_readme" || true
    [ -n "${HOGRING_LONG:-}" ] || [ $t = gate ] || sed -i '/--tune --seeds/d; s/--seeds [0-9]*/--seeds 2/' "$TMP/$t.sh"
    mkdir "$TMP/$t"
    [ $t != data ] || python3 tests/support/digits_png.py "$TMP/data/pictures"
    { echo PassengerId,Name,Sex,Age,Fare,Survived
      for i in $(seq 60); do echo "$i,name $i,$([ $((i % 3)) = 0 ] && echo female || echo male),$((i % 7 ? i : 0)),$i.5,$((i % 2))"; done; } |
      sed 's/,0,\([0-9]*.5\),/,,\1,/' >"$TMP/$t/titanic.csv"
    (cd "$TMP/$t" && PATH=$TMP/bin:$PATH bash -eux "$TMP/$t.sh") >"$TMP/said" 2>&1 </dev/null || { tail -n 5 "$TMP/said"; return 1; }
  done
  [ "$(cat "$TMP"/*.sh | wc -l)" -ge 15 ]
}

# retries CODE...: the loop of standard input, around a run that ends with these exit codes, one after the other.
retries() {
  cat >"$TMP/loop"
  printf '%s\n' "$@" >"$TMP/codes"
  cat >"$TMP/bin/hogring" <<END
#!/bin/sh
code=\$(head -n 1 "$TMP/codes"); sed -i 1d "$TMP/codes"
exit \${code:-99}
END
  chmod +x "$TMP/bin/hogring"
  printf '#!/bin/sh\n' >"$TMP/bin/sleep"; chmod +x "$TMP/bin/sleep"
  (echo 'set -eu'; cat "$TMP/loop"; echo 'exit $code') >"$TMP/script"
  local got=0
  PATH=$TMP/bin:$PATH timeout 120 bash "$TMP/script" || got=$?
  [ "$got" = "${*: -1}" ] && [ ! -s "$TMP/codes" ]
}

@test "the loops of README and help checkpoints retry lost workers and killed runs, and nothing else" {
  mkdir "$TMP/bin"
  hogring help checkpoints | sed -n '/^    until /,/^    do /p' >"$TMP/help.loop"
  sed -n '/^until hogring/,/done$/p' README.md >"$TMP/readme.loop"
  for loop in "$TMP/help.loop" "$TMP/readme.loop"; do
    for code in 0 1 2 3 130 143; do retries "$code" <"$loop"; done
    retries 4 137 4 0 <"$loop"
    retries 137 1 <"$loop"
  done
}

# A page's words, in one line: what is filled breaks anywhere.
flat() { tr -s ' \n' ' '; }

@test "help says the defaults of sparse models, which the runs have" {
  hogring help train --all | flat >"$TMP/train"
  for said in '; sparse models: 0.5, mf 0.05]' '[0.1; sparse models: 0.9]' '[allreduce; sparse models: hogwild]' \
    '[constant; gpt-*: cosine; sparse models: step]'; do
    grep -qF -- "$said" "$TMP/train" || { echo "no $said"; return 1; }
  done
  hogring help sparse | flat | grep -qF -- '--lr (0.5; mf 0.05), times 0.9 (--lr-schedule step:1,0.9)'
  hogring help bench --all | flat >"$TMP/bench"
  [ "$(grep -c "sparse models" "$TMP/bench")" = 0 ]
  hogring data make sparse --out "$TMP/rows" --rows 200 >/dev/null
  hogring train --model logistic --solver sgd --data "$TMP/rows" --max-seconds 1s --epochs 1 --quiet --json "$TMP/json" >/dev/null
  [ "$(json "$TMP/json" '[d["runs"][0]["lr"], d["runs"][0]["strategy"], d["config"]["lr-gamma"]]')" = "[0.5, 'hogwild', 0.9]" ]
}

@test "train's help says nothing of bench, which says its own" {
  for c in train compare eval predict; do
    [ "$(hogring help $c --all | grep -cw bench)" = 0 ]
  done
  hogring help bench --all | flat >"$TMP/bench"
  for said in 'links: also rings' 'of layers the roofline' 'how long to measure each model' '[mlp; train: all names; pipeline: equal stages]'; do
    grep -qF -- "$said" "$TMP/bench" || { echo "no $said"; return 1; }
  done
}

@test "help knows options, and finds words in them and in its pages" {
  hogring help lr | flat >"$TMP/lr"
  grep -q "^train, compare, simulate, forecast: --lr RATE learning rate" "$TMP/lr"
  hogring help --lr | flat | cmp - "$TMP/lr"
  hogring help plot | flat | grep -q "loss and accuracy.* bench: --plot FILE draw times"
  refused 2 "no such command" help zzz
  # What newcomers ask, and an option or a page that has to be named.
  while IFS=: read -r words answer; do
    # shellcheck disable=SC2086
    hogring help $words >"$TMP/found"
    grep -qE -- "^  $answer( |\$)" "$TMP/found" || { echo "$words: no $answer"; return 1; }
    [ "$(wc -l <"$TMP/found")" -le 40 ]
    [ "$(awk 'length > 80' "$TMP/found" | wc -l)" = 0 ]
  done <<'END'
how do I save the best model?:--keep
Early stopping:--early-stop
learning rate warmup:--warmup-epochs
is it fair:help tune
why is it slow:help doctor
hogwild:help strategies
use it from python:help python
gpu:help platforms
fashion mnist:--data
exit codes:help ci
minibatch:--batch-size
do more workers help:help forecast
run on two computers:help machines
load a PyTorch model:--init-weights
limit memory:--max-memory
continue after a crash:--resume
what is staleness:help compare
why is my accuracy only 10 percent:help optimizers
how many workers:--workers
how many workers:help forecast
how long does it take:help forecast
use my own data:--data
use my own data:help start
predict new samples:help predict
change learning rate:--lr
train a language model:help text
is hogwild faster:help compare
stop after one hour:--max-seconds
same result every time:help reproducibility
csv with missing values:--missing
see progress:help top
compare two models:help compare
transformer:help text
END
  hogring help gpu | grep -q "no code for GPUs"
}

@test "names that other programs give to options are answered with the name here" {
  refused 2 "did you mean --lr?" train --learning-rate 0.1
  refused 2 "did you mean --lr?" train -lr 0.1
  refused 2 "did you mean --batch-size?" compare --bs 32
  refused 2 "did you mean --label-column?" train --label species
  refused 2 "no code for GPUs" train --device cuda
  refused 2 "--bs: unknown option (--help" verify --bs 32 # which has no batches
}

@test "help strategies --list has all, a line each, for programs" {
  [ "$(hogring help strategies --list | awk 'NF != 4' | wc -l)" = 0 ]
  refused 2 "(there are: $(strategies | paste -sd , | sed 's/,/, /g'))" train --strategy no-such
  [ "$(strategies '$3 == "one"')" = backup-workers ]
  [ "$(strategies '$2 == "asynchronous" && $4 == "term"')" = "" ]
  [ "$(hogring help strategies --list | grep ^diloco)" = "diloco synchronous none term" ]
  hogring help strategies | grep -q "^# For programs\|--list has one line"
}
