#!/usr/bin/env bats
# simulate and --clock virtual: virtual seconds, the same again on any number of processors.
load support

few=(--model "flatten, dense 10" --epochs 1 --batch-size 8 --quiet)

@test "simulate repeats bit for bit, on one processor and on two, and its seconds are virtual" {
  for cpus in 1 2; do
    HOGRING_CPUS=$cpus hogring simulate "${few[@]}" --strategy ps-async --workers 40 --json "$TMP/$cpus.json" >"$TMP/out"
    grep -q "virtual time .* of 40 workers" "$TMP/out"
  done
  [ "$(json "$TMP/1.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/2.json" 'd["runs"][0]["weights_digest"]')" ]
  [ "$(json "$TMP/1.json" 'd["runs"][0]["seconds"]')" = "$(json "$TMP/2.json" 'd["runs"][0]["seconds"]')" ]
  [ "$(json "$TMP/1.json" 'd["runs"][0]["clock"], d["config"]["clock"], d["config"]["compute-time"]')" = "('virtual', 'virtual', 'lognormal(10ms,0.3)')" ]
}

@test "compare in virtual time: a slow worker holds up those in step, and only those" {
  hogring compare "${few[@]}" --clock virtual --workers 4 --compute-time 10ms --inject slow:1x4 --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" '{(r["time"]["forward"], r["time"]["backward"], r["time"]["compute"] > 0) for r in d["runs"]}')" = "{(None, None, True)}" ]
  [ "$(json "$TMP/out.json" '[r["seconds"] for r in d["runs"] if r["strategy"] == "allreduce"][0] > 2 * [r["seconds"] for r in d["runs"] if r["strategy"] == "ps-async"][0]')" = True ]
}

@test "what virtual time cannot have, and what it alone has, is said" {
  refused 2 "--compute-time soon: expected" simulate --compute-time soon
  refused 2 "--inject slow:9x2: " simulate --workers 3 --inject slow:9x2
  refused 2 "--servers time: is not supported with --clock real" train --servers time=1ms
  refused 2 "--topology: is not supported with --clock real" train --topology ring:4
  refused 2 "--clock real: simulate is train --clock virtual" simulate --clock real
  refused 2 "--launch: is not supported with --clock virtual" simulate --launch process
  refused 2 "--topology ring:2: 2 gpus; expected at least 4" simulate --workers 4 --topology ring:2
  refused 2 "--clock sun: expected real, virtual or explore:SEED" train --clock sun
}

@test "in real time a worker sleeps until its gradient has taken as long as the model says" {
  hogring train "${few[@]}" --max-steps 20 --workers 2 --compute-time 5ms --inject slow:1x2 --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'd["runs"][0]["seconds"] >= 0.2')" = True ]
}

@test "times that a configuration names stand beside it, wherever the command runs" {
  mkdir -p "$TMP/models"
  echo "compute-time = trace:times" > "$TMP/models/slow.ini"
  echo 7ms > "$TMP/models/times"
  hogring simulate "${few[@]}" --workers 2 --config "$TMP/models/slow.ini" --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'd["config"]["compute-time"]')" = "trace:$TMP/models/times" ]
  echo "compute-time = trace:$TMP/models/times" > "$TMP/slow.ini"
  hogring simulate "${few[@]}" --workers 2 --config "$TMP/slow.ini" >/dev/null
  echo "compute-time = trace:no-times" > "$TMP/models/slow.ini"
  refused 3 "$TMP/models/no-times: cannot be opened" simulate --config "$TMP/models/slow.ini"
}

@test "a run is measured, and what was measured can be simulated" {
  for how in "ps-async --servers 2" "ssp --launch process" ps-sync hogwild allreduce; do
    hogring train "${few[@]}" --strategy $how --workers 2 --calibrate "$TMP/model.ini" >/dev/null
    hogring simulate "${few[@]}" --strategy ${how% --*} --workers 4 --config "$TMP/model.ini" --json "$TMP/out.json" >/dev/null
    [ "$(json "$TMP/out.json" 'd["config"]["compute-time"]')" = "$(sed -n "s/^compute-time = //p" "$TMP/model.ini" | sed "s|^trace:|trace:$TMP/|")" ]
    [ "$(json "$TMP/out.json" 'd["config"]["link"] is not None')" = "$([ "${how:0:1}" = h ] || [ "${how:0:1}" = a ] && echo False || echo True)" ]
  done
  grep -q "^# machine .* processors" "$TMP/model.ini"
  hogring train "${few[@]}" --model mlp --workers 2 --pipeline 2,micro-batches=4 --calibrate "$TMP/model.ini" >/dev/null
  grep -q "as long as one rank would take for the work of all stages" "$TMP/model.ini"
  hogring simulate "${few[@]}" --model mlp --workers 2 --pipeline 2,micro-batches=4 --config "$TMP/model.ini" >/dev/null
  refused 2 "--calibrate: is not supported with --clock virtual" simulate --calibrate "$TMP/model.ini"
  refused 2 "--calibrate: is not supported with --clock explore:1" train --clock explore:1 --calibrate "$TMP/model.ini"
  refused 3 "--calibrate $TMP/none/model.ini: cannot be written" train --calibrate "$TMP/none/model.ini"
  refused 2 "expected a name of at most" train --calibrate "a model"
}

@test "who waits too long for a worker that sleeps says for whom" {
  for how in allreduce ps-sync "ps-async --launch process"; do
    refused 4 "rank 1 is still computing the gradient of step " train "${few[@]}" --strategy $how --workers 2 --compute-time 2ms --inject stall:1@step=5+100s --timeout 1s
  done
}

@test "the banner says what makes time pass, and nothing of memory that is not there" {
  hogring simulate --details --model softmax --epochs 1 --workers 4 --strategy ps-async --inject slow:3x2 --link 1GB/s,5us 2>"$TMP/err" >"$TMP/out"
  grep -q "times    a gradient lognormal(10ms,0.3); a server's message 0s; links 1GB/s,5us; faults slow:3x2" "$TMP/err"
  ! grep "shared memory" "$TMP/err" || return 1
  hogring train --model softmax --epochs 1 2>"$TMP/err" >"$TMP/out"
  ! grep "times " "$TMP/err"
}

@test "among a hundred thousand messages per step a signal is heard" {
  heard simulate --model softmax --epochs 1 --batch-size 1 --strategy ps-async --workers 256 --servers 256 >"$TMP/out" 2>&1 &
  pid=$!
  for _ in $(seq 1200); do grep -q "^  length" "$TMP/out" && break; sleep 0.05; done
  kill -TERM $pid
  code=0; wait $pid || code=$?
  [ $code = 143 ]
  grep -q "interrupted at step" "$TMP/out"
}
