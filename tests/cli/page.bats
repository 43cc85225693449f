#!/usr/bin/env bats
# --report and hogring report: pages that are strict HTML, stand on their own, and hold the JSON document. What their
# script draws of it is looked at in browser.bats.
load support

check() { python3 "$BATS_TEST_DIRNAME/page_check.py" "$@"; }

@test "train, compare, simulate, replay and bench write pages; numbers are those of their JSON" {
  hogring train "${quick[@]}" --epochs 3 --report "$TMP/train.html" --json "$TMP/train.json" >/dev/null
  check "$TMP/train.html" "$TMP/train.json"
  hogring compare "${quick[@]}" --epochs 2 --workers 2 --seeds 2 --strategies allreduce,ssp,hogwild --report "$TMP/compare.html" --json "$TMP/compare.json" >/dev/null
  check "$TMP/compare.html" "$TMP/compare.json"
  grep -q '<p class="conclusion">Not a fair comparison: ' "$TMP/compare.html" # the verdict in words
  hogring compare "${quick[@]}" --epochs 2 --workers 2 --seeds 2 --orders 2 --clock virtual --compute-time 'uniform(1ms,2ms)' --strategies allreduce,ps-sync,ssp \
    --time-to accuracy=0.2 --margin 5 --report "$TMP/tests.html" --json "$TMP/tests.json" >/dev/null
  check "$TMP/tests.html" "$TMP/tests.json"
  [ "$(json "$TMP/tests.json" 'len(d["comparison"]["comparisons"])')" = 9 ]
  hogring simulate "${quick[@]}" --workers 64 --epochs 2 --batch-size 2 --strategy ps-async --report "$TMP/simulate.html" --json "$TMP/simulate.json" >/dev/null
  check "$TMP/simulate.html" "$TMP/simulate.json"
  # Long enough that each worker has a turn, on a busy machine, too.
  hogring train "${quick[@]}" --epochs 20 --strategy ps-async --record "$TMP/run.trace" >/dev/null
  hogring replay "$TMP/run.trace" --quiet --report "$TMP/replay.html" >/dev/null
  check "$TMP/replay.html"
  hogring replay "$TMP/run.trace" --quiet --what-if link=1Gbps --report "$TMP/what-if.html" >/dev/null
  check "$TMP/what-if.html"
  hogring bench all_reduce --sizes 4:16 --algorithm all --report "$TMP/bench.html" >/dev/null
  check "$TMP/bench.html"
  HOGRING_CACHES=32K,512K,8M hogring bench layers --model softmax --max-seconds 0.05s --report "$TMP/layers.html" >/dev/null
  check "$TMP/layers.html"
  hogring bench links --sweep --report "$TMP/links.html" >/dev/null
  check "$TMP/links.html"
  hogring bench pipeline --report "$TMP/schedules.html" >/dev/null
  check "$TMP/schedules.html"
}

@test "pipelines, lost workers, sparse models and interrupted runs have their pages" {
  hogring train "${quick[@]}" --model mlp --pipeline 2 --report "$TMP/pipeline.html" >/dev/null
  check "$TMP/pipeline.html"
  hogring train "${quick[@]}" --workers 3 --strategy ps-async --clock virtual --inject kill:1@step=3 --on-loss continue --report "$TMP/losses.html" >/dev/null
  check "$TMP/losses.html"
  hogring data make sparse --out "$TMP/rows.libsvm" --rows 500 >/dev/null
  hogring compare --data "$TMP/rows.libsvm" --model logistic --epochs 2 --quiet --report "$TMP/sparse.html" --json "$TMP/sparse.json" >/dev/null
  check "$TMP/sparse.html" "$TMP/sparse.json"
  forever --workers 2 --model softmax --report "$TMP/interrupted.html"
  ends_at INT 130
  check "$TMP/interrupted.html"
  grep -q '<p class="conclusion">Interrupted: ' "$TMP/interrupted.html"
}

@test "hogring report makes of a document the page that --report wrote, and one of several" {
  hogring compare "${quick[@]}" --workers 2 --strategies allreduce,ssp --report "$TMP/at-once.html" --json "$TMP/compare.json" >/dev/null
  hogring report "$TMP/compare.json" --out "$TMP/later.html" >/dev/null
  cmp "$TMP/at-once.html" "$TMP/later.html"
  hogring train "${quick[@]}" --json "$TMP/train.json" --checkpoint-dir "$TMP/run.d" >/dev/null
  hogring eval "$TMP/run.d" --json "$TMP/eval.json" >/dev/null
  hogring bench all_reduce --sizes 4:64 --json "$TMP/bench.json" >/dev/null
  (cd "$TMP" && "$(realpath "$OLDPWD/${HOGRING:-build/hogring}")" report compare.json train.json eval.json bench.json >said)
  grep -q "report.html: 4 documents" "$TMP/said"
  check "$TMP/report.html"
  echo precious >"$TMP/report.html" # nobody has named it, and it is no such page
  (cd "$TMP" && "$(realpath "$OLDPWD/${HOGRING:-build/hogring}")" report compare.json 2>stderr) && return 1
  grep -q "report.html: is there, and no page of hogring's" "$TMP/stderr"
  [ "$(cat "$TMP/report.html")" = precious ]
}

@test "a run counts once, in however many files it is, and whoever writes files says which" {
  hogring train "${quick[@]}" --json "$TMP/a.json" --plot "$TMP/p.svg" --log "$TMP/l" --report "$TMP/r.html" --tensorboard "$TMP/tb" --timeline "$TMP/t" >"$TMP/out"
  grep -q '^weights digest' "$TMP/out"
  [ "$(sed -n '/^picture/,$p' "$TMP/out" | grep -v '^more')" = "$(printf '%-15s %s\n' picture "$TMP/p.svg" report "$TMP/r.html" json "$TMP/a.json" log "$TMP/l" tensorboard "$TMP/tb" timeline "$TMP/t")" ]
  cp "$TMP/a.json" "$TMP/b.json"
  hogring report "$TMP/a.json" "$TMP/b.json" "$TMP/a.json" --out "$TMP/r.html" >"$TMP/out" 2>"$TMP/err"
  grep -q "r.html: 1 document," "$TMP/out"
  [ "$(cat "$TMP/err")" = "hogring: warning: $TMP/b.json says what $TMP/a.json says: it counts once
hogring: warning: $TMP/a.json is given twice: it counts once" ]
  hogring compare "${quick[@]}" --strategies allreduce,ssp --seeds 2 --json "$TMP/c.json" >"$TMP/out"
  [ "$(json "$TMP/c.json" 'd["config"]["strategies"], d["config"]["seeds"]')" = "('allreduce,ssp', 2)" ]
  [ "$(grep -v "^more" "$TMP/out" | tail -n 1)" = "$(printf '%-15s %s' json "$TMP/c.json")" ]
}

@test "eval has its page" {
  hogring train "${quick[@]}" --checkpoint-dir "$TMP/run.d" >/dev/null
  hogring eval "$TMP/run.d" --worst 3 --report "$TMP/eval.html" >/dev/null
  check "$TMP/eval.html"
}

@test "names out of data, commands and classes are text and nothing else" {
  evil='<script>alert(1)<!--"&amp;.csv'
  printf 'a,b,label\n1,2,<img src=x onerror=alert(1)>\n2,1,b&\n1,3,b&\n2,2,<img src=x onerror=alert(1)>\n3,1,b&\n' >"$TMP/$evil"
  hogring train --model softmax --epochs 2 --quiet --data "$TMP/$evil" --test 0.4 --batch-size 2 --workers 1 \
    --checkpoint-dir "$TMP/run.d" --report "$TMP/page.html" >/dev/null
  check "$TMP/page.html"
  hogring eval "$TMP/run.d" --data "$TMP/$evil" --test 0.4 --json "$TMP/eval.json" >/dev/null
  hogring report "$TMP/eval.json" --out "$TMP/eval.html" >/dev/null
  check "$TMP/eval.html"
  [ "$(grep -c '<script' "$TMP/page.html")" = 2 ]
  [ "$(grep -c '<img' "$TMP/eval.html")" = 0 ]
}

@test "what cannot become a page is refused before training begins, in a line" {
  refused 2 "--report out.txt: expected a name that ends in .html" train "${quick[@]}" --report out.txt
  refused 3 "--report $TMP/none/out.html" train "${quick[@]}" --report "$TMP/none/out.html"
  mkdir "$TMP/folder.html"
  refused 3 "--report $TMP/folder.html" compare "${quick[@]}" --report "$TMP/folder.html"
  refused 2 "report: of which results?" report
  echo '{"a": 1}' >"$TMP/a.json"
  refused 3 "a.json: not a document of hogring's" report "$TMP/a.json" --out "$TMP/x.html"
  echo '{"a": ' >"$TMP/a.json"
  refused 3 "a.json: line 2: not JSON" report "$TMP/a.json" --out "$TMP/x.html"
  refused 3 "$TMP/none.json" report "$TMP/none.json" --out "$TMP/x.html"
  refused 3 "$TMP/none/x.html" report "$TMP/a.json" --out "$TMP/none/x.html"
  [ ! -e "$TMP/x.html" ]
  refused 2 "--out $TMP/b.json: expected a name that ends in .html" report "$TMP/a.json" --out "$TMP/b.json"
}

@test "a page that hogring wrote by default is written anew" {
  hogring train "${quick[@]}" --max-steps 2 --json "$TMP/run.json" >/dev/null
  me=$(realpath "${HOGRING:-build/hogring}")
  for _ in 1 2; do (cd "$TMP" && "$me" report run.json >/dev/null) || return 1; done
}

@test "a document's picture is the run's own, and without --out there is no page" {
  hogring compare "${quick[@]}" --epochs 2 --workers 2 --seeds 2 --plot "$TMP/run.svg" --json "$TMP/run.json" >/dev/null
  hogring report "$TMP/run.json" --plot "$TMP/again.svg"
  cmp "$TMP/run.svg" "$TMP/again.svg"
  [ ! -e report.html ]
  hogring report "$TMP/run.json" --plot "$TMP/both.svg" --out "$TMP/both.html"
  [ -s "$TMP/both.html" ]
  cmp "$TMP/run.svg" "$TMP/both.svg"
  hogring bench all_reduce --sizes 4:16 --algorithm all --plot "$TMP/bench.svg" --json "$TMP/bench.json" >/dev/null
  hogring report "$TMP/bench.json" --plot "$TMP/bench2.svg"
  cmp "$TMP/bench.svg" "$TMP/bench2.svg"
  refused 2 "--plot: draws one document, and 2 are given" report "$TMP/run.json" "$TMP/bench.json" --plot "$TMP/x.svg"
  echo '{"hogring":"1","config":{},"runs":[]}' >"$TMP/none.json"
  refused 2 "x.svg: no run was evaluated, so there is nothing to draw" report "$TMP/none.json" --plot "$TMP/x.svg"
  # what a document says is drawn, and not run
  sed "s/\"label\": \"allreduce direct\"/\"label\": \"a'; system('touch struck') #\`touch struck\`\"/" "$TMP/run.json" >"$TMP/hostile.json"
  hogring report "$TMP/hostile.json" --plot "$TMP/hostile.svg"
  [ ! -e struck ]
  grep -q "touch struck" "$TMP/hostile.svg"
}
