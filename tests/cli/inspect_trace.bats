#!/usr/bin/env bats
# inspect of a trace agrees with what the run itself said.
load support

# traced COMMAND ARGUMENTS...: record a run; both accounts of it to run.json and trace.json.
traced() {
  hogring "$1" "${quick[@]}" --record "$TMP/t" --json "$TMP/run.json" "${@:2}" >/dev/null
  hogring inspect "$TMP/t" --json "$TMP/trace.json" >"$TMP/text"
}
run_says() { json "$TMP/run.json" "[(r['updates'], r['staleness']['histogram'], $1) for r in d['runs']][0]"; }
trace_says() { json "$TMP/trace.json" "(d['updates'], d['staleness'], $1)"; }

@test "gradients that came too late are dropped, not stale" {
  for command in train "simulate --compute-time 10ms --inject slow:0x3"; do
    traced $command --strategy backup-workers --workers 3 --epochs 2
    [ "$(run_says '(r["dropped"]["gradients"], r["dropped"]["by_worker"])')" = "$(trace_says '(d["dropped"], [w["dropped"] for w in d["workers"]])')" ]
    grep -q "worker  gradients  dropped  ms each" "$TMP/text"
  done
  [ "$(json "$TMP/trace.json" 'd["dropped"] > 0 and d["workers"][0]["staleness_max"]')" = 0 ]
}

@test "an update of many gradients is one update" {
  traced train --strategy ps-sync --workers 3
  [ "$(run_says 0)" = "$(trace_says 0)" ]
}

@test "an exchange is no gradient, and both are counted" {
  traced simulate --strategy elastic-averaging --workers 2 --servers 2 --epochs 2 --compute-time 10ms
  [ "$(run_says '(90, 12)')" = "$(trace_says 'tuple(sum(w[k] for w in d["workers"]) for k in ("gradients", "exchanges"))')" ]
  grep -q "  48          6   10.000 " "$TMP/text"
  traced simulate --strategy ps-async --workers 2 --compute-time 10ms
  [ "$(trace_says 'd["workers"][0]["exchanges"]')" = "$(run_says None)" ]
}

@test "without logs there are the workers' times, and no gradients of 0 s" {
  for strategy in allreduce local-sgd; do
    traced train --strategy "$strategy" --workers 2
    grep -q "load/compute/comm/wait %$" "$TMP/text"
    grep -qE "^ +1 +[0-9]+/[0-9]+/[0-9]+/[0-9]+$" "$TMP/text"
    [ "$(json "$TMP/trace.json" '[d["workers"][1][k] for k in ("gradients", "gradients_s", "staleness_mean")]')" = "[None, None, None]" ]
    [ "$(json "$TMP/run.json" '[(r["updates"], r["time"]["workers"][1]["compute"]) for r in d["runs"]][0]')" = "$(json "$TMP/trace.json" '(d["updates"], d["workers"][1]["compute_s"])')" ]
  done
}

@test "what the launcher of a run that outlived losses noted" {
  hogring train --strategy ps-async --model softmax --workers 3 --epochs 2 --clock virtual --compute-time 4ms --on-loss restart --seed 3 \
    --inject kill:1@step=3,kill:server:0@step=90 --record "$TMP/run.trace" --quiet >/dev/null 2>&1
  hogring inspect "$TMP/run.trace" --json "$TMP/out.json" >"$TMP/stdout"
  grep -q "^    lost   worker 1 at 0.0[0-9]* s: killed by --inject" "$TMP/stdout"
  grep -q "^    back   worker 1" "$TMP/stdout"
  grep -q "^    lost   server 0 at 0.[0-9]* s: killed by --inject" "$TMP/stdout"
  grep -q "^    term   of all who are there, from batch [0-9]*, back at the last cut" "$TMP/stdout"
  ! grep -q "recorded otherwise" "$TMP/stdout" || return 1
  [ "$(json "$TMP/out.json" '[e["event"] for e in d["launcher"] if e["event"] != "cut"]')" = "['lost', 'back', 'lost', 'back', 'term']" ]
  [ "$(json "$TMP/out.json" 'len(d["owners"]), len(d["workers"]), d["launcher"][-1]')" = "(1, 3, {'event': 'cut', 'index': 90, 'ends': True})" ]
}

# A server goes down in the second epoch, a worker in the third, which with ps-sync is a term, too.
@test "what was taken back is told, and does not count" {
  for strategy in ps-async ssp elastic-averaging ps-sync; do
    traced simulate --strategy $strategy --workers 3 --epochs 3 --on-loss restart --inject kill:server:0@time=300ms,kill:1@time=500ms 2>/dev/null
    [ "$(run_says 0)" = "$(trace_says 0)" ] || { echo $strategy; run_says 0; trace_says 0; return 1; }
    [ "$(trace_says 'd["taken_back"] > 0')" = "$(run_says True)" ]
    grep -qE "^    these terms took back [0-9]+ (gradients|exchanges), which are not counted below" "$TMP/text"
  done
}
