#!/usr/bin/env bats
# compare: entries of --strategies that mean something, and rows that say what differs.
load support

# labels LIST [OPTIONS]: what the rows are called, with bars between them.
labels() {
  hogring compare "${quick[@]}" --strategies "$@" --json "$TMP/labels.json" >/dev/null 2>&1
  json "$TMP/labels.json" '"|".join(s["label"] for s in d["comparison"]["strategies"])'
}

@test "rows say what differs, whoever it is" {
  [ "$(labels hogwild,hogwild:workers=4)" = "hogwild 2 workers|hogwild 4 workers" ]
  [ "$(labels allreduce,hogwild:workers=1)" = "allreduce direct 2 workers|hogwild 1 worker" ]
  [ "$(labels ps-async:workers=2,ps-async:workers=4:servers=2)" = "ps-async 2W1PS|ps-async 4W2PS" ]
  [ "$(labels allreduce,allreduce:model=cnn)" = "allreduce direct model softmax|allreduce direct model cnn" ]
  [ "$(labels allreduce,allreduce:momentum=0.5)" = "allreduce direct momentum 0.9|allreduce direct momentum 0.5" ]
  [ "$(labels allreduce,hogwild:optimizer=adam)" = "allreduce direct sgd|hogwild adam" ]
  [ "$(labels ps-async,ps-async:clip-norm=1 --concurrent)" = "ps-async clip-norm 0|ps-async clip-norm 1" ]
  [ "$(labels allreduce,hogwild)" = "allreduce direct|hogwild" ]
  [ "$(labels allreduce,allreduce:momentum=0.5,hogwild --seeds 2)" = "allreduce direct momentum 0.9|allreduce direct momentum 0.5|hogwild momentum 0.9" ]
}

@test "while they run, entries go by what stands in the list" {
  hogring compare --model softmax --epochs 1 --strategies hogwild,hogwild:workers=4 2>&1 >/dev/null | grep -q "^run 2 of 2  hogwild:workers=4 seed 1  "
  run hogring compare "${quick[@]}" --strategies hogwild:workers=4,hogwild --expect accuracy=0.9999
  [ "$status" = 1 ]
  [[ $output == *"--expect accuracy=0.9999: hogwild 4 workers, seed 1, reached 0."* ]]
}

@test "a loss that ends above where it began is warned of" {
  diverging=(--epochs 3 --workers 4 --kernels reference --lr 1)
  hogring train "${diverging[@]}" --json "$TMP/out.json" >"$TMP/stdout" 2>"$TMP/stderr"
  grep -q "^! allreduce: the training loss ended at .*, above the 2.* of its first epoch; try first: a smaller --lr" "$TMP/stdout"
  [ "$(json "$TMP/out.json" '[(v["rose"], v["first_loss"] < r["train_loss"]) for r in d["runs"] for v in [r["divergence"]]]')" = "[(True, True)]" ]
  told=$(sed -n 's/.*above the \([0-9.]*\) of its first epoch;.*/\1/p' "$TMP/stdout")
  [ "$(json "$TMP/out.json" '["%.4f" % r["divergence"]["first_epoch_loss"] for r in d["runs"]]')" = "['$told']" ]
  hogring compare "${diverging[@]}" --strategies allreduce,allreduce:lr=0.05 --seeds 2 >"$TMP/stdout" 2>/dev/null
  grep -q "^Training loss rose: allreduce direct lr 1 (2 of 2 seeds)" "$TMP/stdout"
  hogring train "${diverging[@]}" --lr 0.05 2>&1 | grep -c "the training loss ended" | grep -qx 0
}

@test "what is called diverged ends with 1, in each command, behind all that it writes" {
  diverges() {
    run hogring "$@" --quiet --json "$TMP/out.json"
    [ "$status" = 1 ]
    [[ $output == *"hogring: allreduce"*"seed "*"diverged"* ]]
    [ "$(json "$TMP/out.json" 'any(r["divergence"]["diverged"] for r in d["runs"])')" = True ]
  }
  diverges train --lr 100 --epochs 2
  diverges compare --lr 100,0.05 --epochs 2 --strategies allreduce --seeds 2
  [[ $output == *"Diverged: allreduce direct lr 100 (2 of 2 seeds)"* ]]
  hogring train --lr 1 --epochs 3 --workers 4 --kernels reference --quiet --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" '[[v["rose"], v["diverged"]] for r in d["runs"] for v in [r["divergence"]]]')" = "[[True, False]]" ]
}

@test "where training began is what its initial weights cost" {
  for diverging in "train --workers 1 --batch-size 8 --lr 5 --epochs 3" "train --workers 1 --lr 100 --epochs 3" \
    "simulate --strategy elastic-averaging --workers 4 --lr 100 --epochs 4"; do
    hogring $diverging --kernels reference --json "$TMP/out.json" 2>/dev/null >"$TMP/stdout" || [ $? = 1 ]
    grep -q "^! .*: the training loss ended at .*, above the 2\.3[0-9]* it began with" "$TMP/stdout"
    [ "$(json "$TMP/out.json" '[2.2 < v["first_loss"] < 2.4 < v["first_epoch_loss"] for r in d["runs"] for v in [r["divergence"]]]')" = "[True]" ]
  done
}

@test "values with commas and colons stand in quotes or parentheses" {
  list='ps-async:inject="slow:0x4,stall:1@step=3+1s":lr=0.01,ps-async:inject=(slow:1x2),ps-async:compute-time=lognormal(5ms,0.3)'
  list+=',ps-async:link="1GB/s,5us",ps-async:topology="star:9",ps-async:model="flatten, dense 8, tanh, dense 10":workers=2'
  hogring compare "${quick[@]}" --clock virtual --workers 3 --strategies "$list" --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" '"|".join(r["setting"] for r in d["runs"])')" = "model softmax, inject slow:0x4,stall:1@step=3+1s|model softmax, inject slow:1x2|model softmax, compute-time lognormal(5ms,0.3)|model softmax, link 1GB/s,5us|model softmax, topology star:9|model flatten, dense 8, tanh, dense 10" ]
  [ "$(json "$TMP/out.json" '[r["workers"] for r in d["runs"]]')" = "[3, 3, 3, 3, 3, 2]" ]
  refused 2 '--strategies: "slow:0x4,hogwild: expected a " that closes the first "' compare --strategies 'ps-async:inject="slow:0x4,hogwild'
  refused 2 '--strategies: (5ms,0.3: expected a ) that closes the first (' compare --strategies 'hogwild,ps-async:compute-time=lognormal(5ms,0.3'
  refused 2 '--strategies: ((1GB/s): expected a ) that closes the first (' compare --strategies 'hogwild,ps-async:link=((1GB/s)'
}

@test "what holds for all runs is no setting of one" {
  for setting in data=iris.csv seed=3 seeds=2 test=0.3 test-data=a.csv label-column=x header=yes \
    json=a.json plot=a.svg quiet=on concurrent=on config=a.ini expect=accuracy target-accuracy=0.9 clock=virtual; do
    refused 2 "--strategies: allreduce:$setting: --${setting%=*} is one for all" compare --strategies "ps-sync,allreduce:$setting"
  done
  refused 2 "--strategies: --epoch: unknown option; did you mean --epochs" compare --strategies allreduce:epoch=1
  refused 2 "allreduce:: expected name=value" compare --strategies allreduce:
}

@test "a margin says who is no worse, and is not supported with one seed" {
  refused 2 "--margin 0.5: is not supported with one seed" compare --margin 0.5
  refused 2 "--margin 0.5: there is nothing to compare allreduce with" compare --strategies allreduce --seeds 2 --margin 0.5
  refused 2 "--margin" compare --seeds 2 --margin 0
  hogring compare "${quick[@]}" --strategies allreduce,ps-sync,local-sgd --seeds 3 --margin 90 --details --json "$TMP/out.json" >"$TMP/stdout" 2>/dev/null
  grep -q "^  points  *allreduce  *ps-sync  *identical$" "$TMP/stdout"
  grep -q "^Margin: 90 points, tested at 5 %" "$TMP/stdout"
  [ "$(json "$TMP/out.json" '[c["verdict"] for c in d["comparison"]["comparisons"]]')" = "['identical', 'equal within', 'equal within']" ]
  [ "$(json "$TMP/out.json" 'd["comparison"]["margin"], d["comparison"]["power"]["tests"]')" = "(0.9, 1)" ]
}

@test "a margin of any size has an answer" {
  for margin in 1e-9 1e9 1e300; do
    timeout 120 "${HOGRING:-build/hogring}" compare "${quick[@]}" --strategies hogwild,ssp --clock virtual --workers 2 --seeds 3 --margin $margin >"$TMP/said"
    grep -q "^Margin: " "$TMP/said"
  done
}

# The same words in the sentence below the table, in JSON and on the page; the command is the user's own.
@test "strategies whose updates are unlike are not compared by score, but with a command that does" {
  hogring compare --workers 4 --epochs 2 --model "flatten, dense 10" --seeds 2 --time-to accuracy=0.5 --quiet --clock virtual \
    --strategies allreduce,ps-sync,ps-async --json "$TMP/it's.json" --report "$TMP/page.html" --plot "$TMP/p.svg" >"$TMP/said"
  grep -q "^Not a fair comparison: 24 updates of 128 samples against 90 of 32, all at lr 0.05, momentum 0.9, so .*(about [0-9]* .*): hogring compare --workers 4 " "$TMP/said"
  grep -q "^Speed: " "$TMP/said"
  grep -Ec "best mean|chance|ignificant|^Target:" "$TMP/said" | grep -qx 0
  [ "$(json "$TMP/it's.json" '[d["comparison"][k] for k in ("like_for_like", "at", "best", "power")]')" = "['no', 'lr 0.05, momentum 0.9', None, None]" ]
  [ "$(json "$TMP/it's.json" 'sorted({(c["verdict"], c["p"], c["method"]) for c in d["comparison"]["comparisons"]}, key=str)')" = "[('identical', None, 'none'), ('not like for like', None, 'none')]" ]
  [ "$(json "$TMP/it's.json" '[(s["p_against_best"], s["worse_than_best"]) for s in d["comparison"]["strategies"]]')" = "[(None, False), (None, False), (None, False)]" ]
  [ "$(json "$TMP/it's.json" '[any(s.startswith(word) for s in d["comparison"]["conclusion"]) for word in ("Not a fair comparison: ", "Speed: ", "  ")]')" = "[True, True, False]" ]
  grep -q "Not a fair comparison" "$TMP/page.html"
  grep -q "Not a fair comparison" "$TMP/p.svg"
  fair=$(json "$TMP/it's.json" 'd["comparison"]["fair"]')
  [[ $fair == *"--model 'flatten, dense 10' "*" --tune" ]]
  eval "set -- $fair"
  [ "$1 $2 ${*: -1}" = "hogring compare --tune" ]
  [[ " $* " == *" --model flatten, dense 10 "* && " $* " != *" --json "* ]]
}

@test "who lists what differs, or trains alike, is told what claims hold at" {
  hogring compare "${quick[@]}" --strategies ssp,hogwild --workers 2 --clock virtual --seeds 2 >"$TMP/said"
  grep -c "ike for like" "$TMP/said" | grep -qx 0
  grep -Eq "^Accuracy: .* over 2 seeds, at lr 0.05, momentum 0.9" "$TMP/said"
  hogring compare "${quick[@]}" --strategies allreduce --batch-size 32,64 --lr 0.02 --momentum 0.5 --seeds 2 --json "$TMP/a.json" >"$TMP/said"
  grep -q "^The experiment: .* updates of 128 samples against .* of 64, as listed, at lr 0.02, momentum 0.5.$" "$TMP/said"
  grep -q "^Accuracy: .*, at lr 0.02, momentum 0.5" "$TMP/said"
  [ "$(json "$TMP/a.json" 'd["comparison"]["like_for_like"], d["comparison"]["fair"]')" = "('as listed', None)" ]
  hogring compare "${quick[@]}" --strategies hogwild --lr 0.02,0.05 --seeds 2 | grep -q "^Accuracy: .*, at momentum 0.9"
  hogring compare "${quick[@]}" --strategies ssp,hogwild --optimizer adam --seeds 2 | grep -q "^Accuracy: .*, at lr 0.001"
}

@test "on a terminal the fair command is copied as it stands; one of many lines is said by what it changes" {
  run=(compare "${quick[@]}" --strategies allreduce,ps-async --workers 2 --clock virtual --quiet)
  COLUMNS=40 hogring "${run[@]}" --concurrent --json "$TMP/out.json" | tr -s ' \n' ' ' >"$TMP/said"
  grep -q ": the same command with --tune --seeds 5, without --json " "$TMP/said"
  COLUMNS=80 hogring "${run[@]}" >"$TMP/said"
  sed -n '/^  hogring compare/,/--seeds 5$/p' "$TMP/said" >"$TMP/command"
  [ "$(tail -n 1 "$TMP/command" | grep -c -e "--seeds 5$")" = 1 ]
  [ "$(wc -l <"$TMP/command")" -le 3 ]
  [ "$(wc -L <"$TMP/command")" -le 80 ]
  hogring() { printf "%s\n" "$@"; }
  [ "$(. "$TMP/command" | tr "\n" " ")" = "compare ${quick[*]} --strategies allreduce,ps-async --workers 2 --clock virtual --quiet --tune --seeds 5 " ]
}

@test "without --workers there are two to four" {
  for cpus in 1 64; do
    HOGRING_CPUS=$cpus hogring compare "${quick[@]}" --clock virtual --strategies allreduce --json "$TMP/$cpus.json" >/dev/null
  done
  [ "$(json "$TMP/1.json" 'd["runs"][0]["workers"]') $(json "$TMP/64.json" 'd["runs"][0]["workers"]')" = "2 4" ]
}

@test "a row at chance is marked, with the cause: staleness, columns on unlike scales by name, or epochs" {
  hogring compare --workers 8 --clock virtual --strategies allreduce,ps-async --quiet --json "$TMP/a.json" >"$TMP/said"
  grep -q "^ps-async! " "$TMP/said"
  grep -q "^allreduce direct " "$TMP/said"
  grep -q "^! ps-async: .* \(no better than chance\|below always answering\) .*; likely lr 0.05 and momentum 0.90 under a mean staleness of [0-9.]*: --momentum 0" "$TMP/said"
  [ "$(json "$TMP/a.json" '[(bool(r["at_chance"]), sum("likely" in w for w in r["warnings"])) for r in d["runs"]]')" = "[(False, 0), (True, 1)]" ]
  python3 -c 'import random; r = random.Random(1); print("km,m,side"); [print(10 + r.random(), 5000 * r.random(), r.choice("ab"), sep=",") for i in range(1500)]' >"$TMP/p.csv"
  hogring train --data "$TMP/p.csv" --model softmax --epochs 1 --quiet >"$TMP/said" || [ $? = 1 ]
  grep -q "^! allreduce: .*; likely the scales of columns: --normalize (m has maximum [45][0-9.]*, km 1[01][0-9.]*)" "$TMP/said"
  hogring train --workers 8 --epochs 1 --quiet | grep -q "^! allreduce: .*; likely too few updates (6): more --epochs"
}

@test "smaller steps are advised where the loss rose, larger ones where it fell; balanced classes are judged as such" {
  hogring train --clock virtual --workers 4 --strategy hogwild --epochs 6 --lr 0.002 --momentum 0.5 --inject slow:1x2 --quiet >"$TMP/said"
  grep -q "^! hogwild: .*chance.*: a larger --lr, or more --epochs" "$TMP/said"
  if grep -q "smaller\|--momentum" "$TMP/said"; then return 1; fi
  run hogring train --lr 100 --epochs 2 --quiet
  [ "$(grep -c "^! .*: a smaller --lr$" <<<"$output")" = 2 ]
  [[ $output != *"--epochs"* ]]
  python3 -c 'import random; r = random.Random(1); print("x,y,label")
for i in range(2000):
    rare = i % 10 == 0; print(r.gauss(rare, 1), r.gauss(rare, 1), "ab"[rare], sep=",")' >"$TMP/p.csv"
  hogring train --data "$TMP/p.csv" --model softmax --epochs 20 --quiet --class-weights balanced --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" '[(r["at_chance"], 0.6 < r["test_scores"]["balanced_accuracy"], r["test_accuracy"] < 0.9) for r in d["runs"]]')" = "[(None, True, True)]" ]
}

@test "the fair command is the user's own, without results, and only where a search has rates to choose" {
  run=(compare --workers 4 --epochs 1 --model softmax --strategies allreduce,ssp)
  fair() { hogring "$@" 2>/dev/null | sed -n 's/.*For a fair comparison (about [^)]*): //p'; }
  [ "$(fair "${run[@]}" --json "$TMP/a b.json" --log="$TMP/l" --checkpoint-dir "$TMP/c" --overwrite --lr 0.1)" = \
    "hogring compare --workers 4 --epochs 1 --model softmax --strategies allreduce,ssp --lr 0.1 --tune --seeds 5" ]
  [ -z "$(fair "${run[@]}" --lr 0.1,0.2)" ]
  [ -z "$(fair "${run[@]:0:7}" --strategies allreduce:lr=0.1,ssp:lr=0.05)" ]
  # A search of momentum alone leaves rates as they were: nothing is claimed either.
  hogring "${run[@]:0:7}" --strategies allreduce:lr=0.1,ssp:lr=0.05 --seeds 2 --clock virtual --tune --json "$TMP/t.json" >"$TMP/out" 2>/dev/null
  grep -q "^Not a fair comparison: " "$TMP/out"
  [ "$(json "$TMP/t.json" 'd["comparison"]["best"], {(p["p"], p["told_apart"]) for p in d["comparison"]["pairs"]}')" = "(None, {(None, None)})" ]
}
