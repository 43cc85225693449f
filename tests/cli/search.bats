#!/usr/bin/env bats
# hogring simulate --search: the policy that is first by construction is found, confirmed, and run; the same each time.
load support

# Four workers, of which one is ten times as slow.
space='strategy=allreduce,ps-async;lr=0.05,0.1'
search() {
  hogring simulate --model softmax --workers 4 --batch-size 8 --momentum 0 --epochs 8 --epoch-size 400 --compute-time 10ms \
    --inject slow:3x10 --time-to accuracy=0.6 --search "$space;confirm=${confirm:-3}" "$@"
}

@test "search: who waits for the slow one is not chosen, and the same search is the same again" {
  search --json "$TMP/json" --report "$TMP/page.html" >"$TMP/one" 2>"$TMP/err"
  search >"$TMP/two"
  cmp "$TMP/one" "$TMP/two"
  [ ! -s "$TMP/err" ]
  grep -q "^4 policies of 4 combinations, to 60 % accuracy$" "$TMP/one"
  grep -q "^chosen: ps-async lr=0" "$TMP/one"
  awk 'length > 80 && !/^chosen/ { print; bad = 1 } END { exit bad }' "$TMP/one"
  [ "$(json "$TMP/json" '[len(d["search"]["policies"]), len(d["search"]["confirmed"]), len(d["runs"])]')" = "[4, 3, 9]" ]
  [ "$(json "$TMP/json" 'd["search"]["verdict"].startswith("chosen: " + d["search"]["confirmed"][0]["policy"])')" = True ]
  grep -q "ps-async" "$TMP/page.html"
}

@test "search: without a rate to choose, strategies whose updates are unlike are not said to be sooner" {
  space='strategy=allreduce,ps-async'
  search --lr 0.05 --json "$TMP/json" >"$TMP/said"
  grep -q "^chosen: ps-async; not like for like with allreduce, whose updates are of other sizes at one rate: search lr too$" "$TMP/said"
  [ "$(json "$TMP/json" '[c["p"] for c in d["search"]["confirmed"]], d["comparison"]["like_for_like"], {c["verdict"] for c in d["comparison"]["comparisons"]}')" = "([None, None], 'no', {'not like for like'})" ]
}

@test "search: trials, seeds and figures of the table are those of the JSON" {
  search --json "$TMP/json" >"$TMP/table"
  [ "$(json "$TMP/json" '[sum(len(p["trials"]) for p in d["search"]["policies"]), sum(r["policies"] * r["seeds"] for r in d["search"]["rungs"])]')" = "[6, 6]" ]
  [ "$(json "$TMP/json" 'set(t["seed"] for p in d["search"]["policies"] for t in p["trials"]) & set(r["seed"] for r in d["runs"])')" = "set()" ]
  [ "$(json "$TMP/json" 'sorted(set(r["seed"] for r in d["runs"]))')" = "[3, 4, 5]" ]
  for n in 0 1 2; do
    policy=$(json "$TMP/json" "d['search']['confirmed'][$n]['policy']")
    mean=$(json "$TMP/json" "'%.2f' % d['search']['confirmed'][$n]['mean'] if d['search']['confirmed'][$n]['mean'] else '-'")
    grep -A9 "^confirmed" "$TMP/table" | grep -q "^$policy .*$mean"
  done
}

@test "search: what means nothing to a strategy, or cannot be, is left out and said" {
  space='strategy=allreduce,backup-workers;servers=1,2;backups=1'
  confirm=1 search >"$TMP/table"
  grep -q "^2 policies of 4 combinations" "$TMP/table"
  grep -q "^servers does not apply to allreduce; backups does not apply to allreduce$" "$TMP/table"
  grep -q "^1 cannot be, as backup-workers servers=2 backups=1: --servers 2: " "$TMP/table"
}

@test "search: a forecast meets the machine's clock" {
  space='strategy=ps-async;lr=0.05,0.1'
  confirm=1,real search --json "$TMP/json" >"$TMP/table"
  grep -q "^in real time: " "$TMP/table"
  [ "$(json "$TMP/json" '[r["clock"] for r in d["runs"]]')" = "['virtual', 'virtual', 'real']" ]
  [ "$(json "$TMP/json" 'd["search"]["real"]["target_seconds"] == [r["target_seconds"] for r in d["runs"] if r["clock"] == "real"]')" = True ]
}

@test "search: virtual seconds for all" {
  hogring simulate --model softmax --workers 4 --batch-size 8 --momentum 0 --compute-time 10ms --inject slow:3x10 \
    --time-to accuracy=0.9 --budget 4s --search "strategy=allreduce,ps-async,backup-workers;confirm=1" >"$TMP/table"
  grep -q "^ *1  .* 4s " "$TMP/table"
  grep -q "^ *3  .* 2s .*out at 1$" "$TMP/table" || grep -q "^ *3  .* 2s .*finalist$" "$TMP/table"
}

@test "search: refusals" {
  refused 2 "--time-to accuracy=X" simulate --search "lr=0.1,0.2"
  refused 2 "unknown option; did you mean --lr?" simulate --search "lrr=0.1,0.2" --time-to accuracy=0.5
  refused 2 "--workers was given too" simulate --workers 2 --search "workers=2,4" --time-to accuracy=0.5
  refused 2 "is not supported with --clock real" train --search "lr=0.1,0.2" --time-to accuracy=0.5
  refused 2 "losses of cross-entropy and of mse are in unlike units" simulate --search "loss=cross-entropy,mse" --time-to loss=0.3
  refused 2 "of what?" simulate --search confirm=2
  refused 2 "--confirm 2: is said in another way: --search confirm=2" simulate --confirm 2
  refused 2 "--finalists: is no longer there; --search confirms the best three" simulate --finalists 2
  refused 2 "is not supported with --search" simulate --search "lr=0.1,0.2" --time-to accuracy=0.5 --log "$TMP/log.jsonl"
  refused 2 "--search confirm=maybe: expected" simulate --search "lr=0.1,0.2;confirm=maybe" --time-to accuracy=0.5
}
