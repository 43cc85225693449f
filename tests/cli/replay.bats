#!/usr/bin/env bats
# train --record, replay, inspect of a trace: what they print, write, refuse and promise.
load support

record() { hogring train "${quick[@]}" --workers 3 --record "$TMP/run.trace" "$@" >"$TMP/recorded"; }

@test "a recorded run is replayed to the same bits, as threads and as processes" {
  for launch in thread process; do
    record --strategy ps-async --servers 2 --launch "$launch"
    grep -q "trace           $TMP/run.trace" "$TMP/recorded"
    [ "$(ls "$TMP" | grep -c part)" = 0 ]
    hogring replay "$TMP/run.trace" --quiet >"$TMP/replayed"
    grep -q "weights_digest equals the recorded one" "$TMP/replayed"
    [ "$(grep "weights digest" "$TMP/recorded")" = "$(grep "weights digest" "$TMP/replayed")" ]
  done
}

@test "replay writes checkpoints, JSON and curves like train" {
  record --strategy ssp --json "$TMP/recorded.json"
  hogring replay "$TMP/run.trace" --quiet --json "$TMP/replayed.json" --checkpoint-dir "$TMP/saved" >/dev/null
  [ "$(json "$TMP/replayed.json" 'd["runs"][0]["weights_digest"] == d["runs"][0]["recorded_digest"]')" = True ]
  same='[(d["runs"][0][k], d["config"]["strategy"], d["config"]["workers"]) for k in ("weights_digest", "steps", "samples", "updates", "test_accuracy", "staleness")]'
  [ "$(json "$TMP/recorded.json" "$same")" = "$(json "$TMP/replayed.json" "$same")" ]
  [ "$(json "$TMP/recorded.json" 'd["config"]["record"]')" = "$TMP/run.trace" ]
  hogring eval "$TMP/saved" --expect accuracy=0.2
}

@test "elastic averaging and backup workers are replayed too" {
  record --strategy elastic-averaging --servers 2
  hogring replay "$TMP/run.trace" --quiet | grep "equals the recorded one"
  hogring inspect "$TMP/run.trace" | grep -q "exchange"
  record --strategy backup-workers
  hogring replay "$TMP/run.trace" --quiet | grep "equals the recorded one"
}

@test "hogwild is recorded a block at a time, says what that costs, and is replayed" {
  record --details --strategy hogwild --model "flatten, dense 64, relu, dense 10" --json "$TMP/out.json"
  grep -q "record cost     workers took [0-9.]* times as long" "$TMP/recorded"
  [ "$(json "$TMP/out.json" 'd["runs"][0]["record_cost"] > 1 and d["config"]["record-block"]')" = 16K ]
  hogring replay "$TMP/run.trace" --quiet | grep "equals the recorded one"
  refused 2 "--record-block: is no longer there; hogwild is recorded in blocks of 16K" train --strategy hogwild --record "$TMP/x" --record-block 8K
}

@test "inspect shows who took what, and counts staleness from the order alone" {
  record --strategy ps-async --servers 2 --json "$TMP/run.json"
  hogring inspect "$TMP/run.trace" --json "$TMP/trace.json" >"$TMP/stdout"
  grep -q "ps-async, 3 workers, model \"softmax\", data digits" "$TMP/stdout"
  grep -q "owner 1 .* 45 push" "$TMP/stdout"
  [ "$(json "$TMP/trace.json" '(d["staleness"], d["updates"], d["differ"])')" = "$(json "$TMP/run.json" '(d["runs"][0]["staleness"]["histogram"], 45, 0)')" ]
  [ "$(json "$TMP/trace.json" 'sum(w["gradients"] for w in d["workers"])')" = 45 ]
  record --strategy hogwild --json "$TMP/run.json"
  hogring inspect "$TMP/run.trace" --json "$TMP/trace.json" >"$TMP/stdout"
  [ "$(json "$TMP/trace.json" 'd["staleness"]')" = "$(json "$TMP/run.json" 'd["runs"][0]["staleness"]["histogram"]')" ]
  head -c 300 "$TMP/run.trace" >"$TMP/torn"
  refused 3 "this trace is torn or was altered" inspect "$TMP/torn"
}

@test "a run that is interrupted or out of time is replayed to where it stopped" {
  hogring train --quiet --strategy ps-async --workers 2 --epochs 100000 --max-seconds 0.3 --record "$TMP/run.trace" >/dev/null
  hogring replay "$TMP/run.trace" --quiet | grep -q "equals the recorded one"
  heard train --details --strategy ssp --workers 2 --epochs 100000 --record "$TMP/run.trace" >/dev/null 2>"$TMP/stderr" & pid=$!
  for try in $(seq 1200); do grep -q "^epoch" "$TMP/stderr" && break; sleep 0.05; done
  kill -INT "$pid"
  wait "$pid" || [ $? = 130 ]
  pid=
  hogring replay "$TMP/run.trace" --quiet | grep -q "equals the recorded one"
}

@test "replay stops early when asked, and says that there is nothing to compare" {
  record --strategy ps-async
  hogring replay "$TMP/run.trace" --quiet --max-steps 7 >"$TMP/replayed"
  grep -q "in part: there is no digest to compare with" "$TMP/replayed"
}

@test "what cannot be replayed is refused in one line" {
  refused 2 "replay: which trace?" replay
  refused 3 "none.trace" replay "$TMP/none.trace"
  printf 'HOGTRACE and more' >"$TMP/torn"
  refused 3 "torn" replay "$TMP/torn"
  HOGRING_ISA=plain record --strategy ps-async --json "$TMP/plain.json"
  mv "$TMP/run.trace" "$TMP/plain.trace"
  record --strategy ps-async --json "$TMP/run.json"
  refused 2 "was recorded on other data: their digest was" replay "$TMP/run.trace" --data fashion-mnist
  kernels='d["runs"][0]["kernels"]' # the same in a build without BLAS, and where the machine is no better
  if [ "$(json "$TMP/run.json" "$kernels")" != "$(json "$TMP/plain.json" "$kernels")" ]; then
    HOGRING_ISA=plain refused 2 "whose kernels were" replay "$TMP/run.trace"
    refused 2 "HOGRING_ISA=plain and the same OpenBLAS with OPENBLAS_CORETYPE=" replay "$TMP/plain.trace"
  fi
  refused 2 "--workers: unknown option" replay "$TMP/run.trace" --workers 3
  refused 3 "cannot be written into its folder" train --strategy ps-async --record "$TMP/no/such/folder"
}

@test "a trace decides what is trained, not where anything is written, nor limits" {
  hogring train --model softmax --workers 2 --epochs 1 --strategy ps-async --record "$TMP/t" --quiet >/dev/null
  mkdir "$TMP/home"
  for word in checkpoint-dir json timeline log record calibrate overwrite timeout; do
    cp "$TMP/t" "$TMP/got"
    echo precious >"$TMP/home/$word"
    python3 tests/cli/forged.py trace "$TMP/got" "$word=\"$TMP/home/$word\"" || skip "no libxxhash"
    refused 3 "\"$word\" is not known" replay "$TMP/got"
    [ "$(cat "$TMP/home/$word")" = precious ]
  done
  cp "$TMP/t" "$TMP/got"
  python3 tests/cli/forged.py trace "$TMP/got" data.max-data=8589934592 # as earlier versions wrote
  hogring replay "$TMP/got" --quiet >/dev/null 2>"$TMP/stderr"
  [ ! -s "$TMP/stderr" ]
  python3 tests/cli/forged.py trace "$TMP/got" "data.json=\"$TMP/home/json\""
  hogring replay "$TMP/got" --quiet --json "$TMP/out.json" >/dev/null 2>"$TMP/stderr"
  grep -q "ignored: --json:" "$TMP/stderr"
  [ "$(cat "$TMP/home/json")" = precious ]
}

@test "the reference kernels give the same bits with any vector instructions" {
  record --strategy ps-async --kernels reference
  HOGRING_ISA=plain hogring replay "$TMP/run.trace" --quiet | grep -q "equals the recorded one"
}

@test "a replay under valgrind gives the bits of the run" {
  case ${HOGRING:-} in *asan*|*tsan*) skip "a sanitizer's build does not run under valgrind" ;; esac
  command -v valgrind >/dev/null || skip "valgrind is not installed"
  record --strategy ps-async --kernels reference --model "flatten, dense 8, relu, dense 10" --max-steps 20 --seed 3
  valgrind -q --error-exitcode=9 "${HOGRING:-build/hogring}" replay "$TMP/run.trace" --quiet >"$TMP/replayed" 2>"$TMP/stderr"
  grep -q "equals the recorded one" "$TMP/replayed"
}

@test "a replay does not warn of workers that take turns: one process runs all" {
  HOGRING_CPUS=1 hogring train --model softmax --epochs 1 --strategy ps-async --workers 4 --record "$TMP/t.trace" --quiet >/dev/null
  HOGRING_CPUS=1 hogring replay "$TMP/t.trace" 2>"$TMP/err" >/dev/null
  ! grep "take turns" "$TMP/err"
}
