#!/usr/bin/env bats
# hogring train on several machines, over both MPI libraries: the same bits as on one, one voice, one exit code.
load support

BED="$BATS_TEST_DIRNAME/../machines/bed.py"

# several LIBRARY MACHINES OPTIONS...: hogring train there; $output is both streams.
several() {
  local library=$1 machines=$2
  shift 2
  command -v "mpirun.$library" >/dev/null || skip "$library is not installed"
  [ -x "build/hogring-$library" ] || skip "build/hogring-$library is not built (MPI=)"
  [ "${HOGRING:-build/hogring}" = build/hogring ] || skip "only the release build has MPI"
  run timeout 100 python3 "$BED" -n "$machines" -m "$library" "${PROGRAM:-build/hogring-$library}" train "$@"
  [ "$status" -ne 77 ] || skip "$output"
}

digest_of() {
  grep "^weights digest" <<<"$1"
}

check_bits() {
  local strategy
  for strategy in allreduce "allreduce --algorithm ring" "local-sgd --sync-every 3" gossip; do
    run build/hogring train --workers 4 --epochs 2 --quiet --strategy $strategy
    local alone=$output
    several "$1" "$2" --workers 4 --epochs 2 --quiet --strategy $strategy
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    [ "$(digest_of "$output")" = "$(digest_of "$alone")" ] || { echo "$strategy: $output"; return 1; }
    [ "$(grep -c "^weights digest" <<<"$output")" = 1 ]
  done
}

@test "two machines of two workers have the bits of one: Open MPI" {
  check_bits openmpi 2
}

@test "two machines of two workers have the bits of one: MPICH" {
  check_bits mpich 2
}

@test "four machines of one worker have the bits of one" {
  check_bits mpich 4
}

@test "workers are as many as all processors, unless it is said" {
  several mpich 2 --epochs 1
  [ "$status" -eq 0 ]
  [[ "$output" == *" $((2 * $(nproc))) "* ]]
}

@test "a run of two machines goes on on four, and on one" {
  local at=$BATS_TEST_TMPDIR
  several openmpi 2 --workers 4 --epochs 1 --quiet --checkpoint-dir "$at/a"
  [ "$status" -eq 0 ]
  cp -r "$at/a" "$at/b"
  run build/hogring train --workers 4 --epochs 3 --quiet
  local whole=${output##*weights digest}
  several openmpi 4 --workers 4 --epochs 3 --quiet --checkpoint-dir "$at/a" --resume
  [[ "$output" == *"weights digest${whole:0:34}"* ]] || { echo "$output"; return 1; }
  run build/hogring train --workers 4 --epochs 3 --quiet --checkpoint-dir "$at/b" --resume
  [[ "$output" == *"weights digest${whole:0:34}"* ]]
}

@test "servers are where they were told, and have the bits of one machine" {
  local servers library where
  for servers in 1 2 3; do
    run build/hogring train --workers 4 --epochs 2 --quiet --strategy ps-sync --servers $servers
    local alone=$output
    for library in openmpi mpich; do
      several $library 2 --workers 4 --epochs 2 --quiet --strategy ps-sync --servers $servers
      [ "$(digest_of "$output")" = "$(digest_of "$alone")" ] || { echo "$servers: $output"; return 1; }
    done
  done
  several mpich 2 --workers 4 --epochs 1 --strategy ps-sync --servers 3
  [[ "$output" == *"4 workers and 3 servers (2 on m0, 1 on m1)"* ]] || { echo "$output"; return 1; }
  several mpich 4 --workers 4 --epochs 2 --strategy ps-sync --servers 3 --server-placement first
  [[ "$output" == *"4 workers and 3 servers (3 on m0)"* ]] || { echo "$output"; return 1; }
  [ "$(digest_of "$output")" = "$(digest_of "$alone")" ]
}

@test "what is compressed has the bits of one machine, and as many bytes" {
  local how library
  for how in "--compress int8" "--compress powersgd:2" "--compress topk:1% --strategy ps-sync --servers 3" "--compress bf16 --launch process" "--strategy gossip --compress int8"; do
    run build/hogring train --workers 4 --epochs 1 --quiet $how --json "$BATS_TEST_TMPDIR/alone.json"
    local alone=$output
    for library in openmpi mpich; do
      several $library 2 --workers 4 --epochs 1 --quiet $how --json "$BATS_TEST_TMPDIR/apart.json"
      [ "$(digest_of "$output")" = "$(digest_of "$alone")" ] || { echo "$how: $output"; return 1; }
      [[ "$how" == *powersgd* ]] || [ "$(json "$BATS_TEST_TMPDIR/apart.json" 'd["runs"][0]["bytes"]["sent"]')" = \
        "$(json "$BATS_TEST_TMPDIR/alone.json" 'd["runs"][0]["bytes"]["sent"]')" ] || { echo "$how: bytes"; return 1; }
    done
  done
}

@test "asynchronous servers count every sample, and pass no bound" {
  several openmpi 2 --workers 4 --epochs 3 --quiet --strategy ssp --staleness 1 --servers 2 --json "$BATS_TEST_TMPDIR/ssp.json"
  [ "$status" -eq 0 ]
  run python3 -c 'import json,sys; r=json.load(open(sys.argv[1]))["runs"][0]; print(r["samples"], r["max_skew"])' "$BATS_TEST_TMPDIR/ssp.json"
  [ "$output" = "4314 1" ] || { echo "$output"; return 1; }
}

@test "servers have no place on one machine" {
  refused 2 "--server-placement first: means nothing on one machine (it belongs to a run on several, which mpirun starts)" \
    train --strategy ps-sync --server-placement first
}

# node_bits OPTIONS...: 2 machines of 2 workers that push as one have the bits of one machine, of threads and processes.
node_bits() {
  local library launch at=$BATS_TEST_TMPDIR
  run build/hogring train --workers 4 --epochs 2 --quiet --strategy ps-sync "$@"
  local alone=$output
  for library in openmpi mpich; do
    for launch in thread process; do
      several $library 2 --workers 4 --epochs 2 --quiet --strategy ps-sync --aggregate node --launch $launch "$@" --json "$at/run"
      [ "$status" -eq 0 ] || { echo "$output"; return 1; }
      [ "$(digest_of "$output")" = "$(digest_of "$alone")" ] || { echo "$library $launch: $output"; return 1; }
      [ "$(json "$at/run" 'd["runs"][0]["node_step"]["workers"]')" = 2 ]
    done
  done
}

@test "a machine's workers push as one: the bits of one machine" {
  local servers
  for servers in 1 3; do
    node_bits --servers $servers
  done
}

@test "a machine's workers push as one, to servers colocated in them" {
  node_bits --placement colocated
}

@test "a machine's workers push half of what they would alone; a step's parts add up" {
  local at=$BATS_TEST_TMPDIR
  several mpich 2 --workers 4 --epochs 2 --strategy ps-sync --aggregate none --json "$at/none"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [[ "$output" != *"of a mean worker"* ]]
  several mpich 2 --workers 4 --epochs 2 --strategy ps-sync --json "$at/node"
  [[ "$output" == *"pushes   one a machine: gradients of its 2 workers are added there"* ]] || { echo "$output"; return 1; }
  [[ "$output" == *"of a mean worker: load "*", aggregate "*" (2 workers a machine), push "* ]] || { echo "$output"; return 1; }
  local bytes='d["runs"][0]["bytes"]["sent"], d["runs"][0]["bytes"]["received"]'
  [ "$(json "$at/none" "$bytes")" = "$(json "$at/node" "tuple(2 * b for b in ($bytes))")" ]
  [ "$(json "$at/none" 'd["runs"][0]["node_step"]')" = None ]
  [ "$(json "$at/node" 'abs(sum(s for k, s in d["runs"][0]["node_step"].items() if k != "workers") - d["runs"][0]["seconds"]) < 1e-6')" = True ]
  several mpich 2 --workers 4 --epochs 1 --strategy ps-sync --record "$at/trace"
  [[ "$output" == *"pushes   one a worker (--aggregate none): the trace is replayed on one machine"* ]] || { echo "$output"; return 1; }
  several mpich 2 --workers 4 --epochs 1 --strategy ps-sync --compress bf16
  [[ "$output" == *"pushes   one a worker (--aggregate none): each keeps what its own push left out"* ]] || { echo "$output"; return 1; }
}

@test "where workers cannot push as one, that is said" {
  refused 2 "--aggregate node: means nothing on one machine (it belongs to a run on several, which mpirun starts)" \
    train --strategy ps-sync --aggregate node
  refused 2 "--aggregate node: means nothing on one machine (it belongs to a run on several, which mpirun starts)" \
    train --strategy ps-async --aggregate node
  several mpich 2 --workers 6 --strategy ps-sync --aggregate node
  [ "$status" -eq 2 ]
  [ "$(grep -c -- "--aggregate node: 3 workers on each machine cannot add in the order of all; expected 2, 4, 8, ..." <<<"$output")" = 1 ]
  several mpich 2 --workers 4 --strategy ps-sync --aggregate node --compress bf16
  [ "$status" -eq 2 ]
  [ "$(grep -c -- "--aggregate node: with --compress each worker keeps what its own push left out; expected it without" <<<"$output")" = 1 ]
}

@test "a machine's workers are one to asynchronous servers, when it is asked for" {
  several mpich 2 --workers 4 --epochs 1 --strategy ssp --aggregate node --json "$BATS_TEST_TMPDIR/run"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [[ "$output" == *"pushes   one a machine: gradients of its 2 workers, of a minibatch each, are added there, and are one update"* ]]
  [ "$(json "$BATS_TEST_TMPDIR/run" 'd["runs"][0]["updates"]')" = 23 ] # of 45 batches
}

@test "hogwild inside machines, averaged between them: one model, and every sample" {
  local at=$BATS_TEST_TMPDIR library
  for library in openmpi mpich; do
    several $library 2 --workers 4 --epochs 3 --strategy hogwild --sync-every 4 --expect-accuracy 0.85 --json "$at/run"
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    [[ "$output" == *"sync-every 4, machines averaged"* ]] || { echo "$output"; return 1; }
    [ "$(json "$at/run" 'd["runs"][0]["updates"], d["runs"][0]["samples"]')" = "(135, 4314)" ]
  done
}

@test "a forecast says that it is of one machine" {
  several mpich 2 --workers 2 --epochs 1 --forecast
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [ "$(grep -c -- "--forecast: it is of one machine: time on links is not in it" <<<"$output")" = 1 ]
}

@test "what does not work on several machines is refused once, with exit code 2" {
  several mpich 2 --strategy hogwild
  [ "$status" -eq 2 ]
  [ "$(grep -c -- "--strategy hogwild: machines share no weights; expected --sync-every H as well" <<<"$output")" = 1 ]
  several mpich 2 --strategy hogwild --sync-every 4 --record "$BATS_TEST_TMPDIR/trace"
  [ "$status" -eq 2 ]
  [ "$(grep -c "record of hogwild: not there yet on several machines" <<<"$output")" = 1 ]
  several mpich 2 --workers 3
  [ "$status" -eq 2 ]
  [[ "$output" == *"--workers 3: cannot be dealt out to 2 machines evenly; expected a multiple of 2"* ]]
  several mpich 2 --model logistic --data digits
  [ "$status" -eq 2 ]
  [[ "$output" == *"--model logistic: not there yet on several machines"* ]]
}

# A command of each machine: hogring train there, which gets SIGTERM on m1 when it has trained for two seconds.
terminate_one() {
  cat >"$BATS_TEST_TMPDIR/run" <<'EOF'
"$@" &
pid=$!
[ "$(hostname)" != m1 ] || { sleep 2; kill -TERM $pid; }
wait $pid
code=$?
echo "$(hostname) left with $code"
EOF
  run timeout 100 python3 "$BED" -n 2 -m mpich bash "$BATS_TEST_TMPDIR/run" build/hogring-mpich train "$@"
  [ "$status" -ne 77 ] || skip "$output"
}

@test "a signal to one machine is the exit code of all" {
  several mpich 2 --epochs 1 --quiet
  terminate_one --workers 2 --epochs 100000 --quiet --checkpoint-dir "$BATS_TEST_TMPDIR/t"
  [[ "$output" == *"m0 left with 143"* ]] || { echo "$output"; return 1; }
  [[ "$output" == *"m1 left with 143"* ]] || { echo "$output"; return 1; }
  [[ "$output" == *"interrupted at step "*"--resume goes on from there"* ]]
}

@test "a failure has its rank and its host, and is every machine's exit code" {
  several mpich 2 --workers 4 --quiet --inject nan:3@step=5
  [ "$status" -eq 1 ]
  [ "$(grep -c "rank 3 (on m1), step 5: the gradient is not finite" <<<"$output")" = 1 ]
  several mpich 2 --epochs 1 --quiet --workers 4 --expect-accuracy 101
  [ "$status" -eq 1 ] || [ "$status" -eq 2 ]
}

# Of one machine, and of two, by processes; and one of them killed.
check_processes() {
  run build/hogring train --workers 4 --epochs 2 --quiet
  local alone=$output
  several "$1" 2 --workers 4 --epochs 2 --quiet --launch process
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [ "$(digest_of "$output")" = "$(digest_of "$alone")" ]
  several "$1" 2 --workers 4 --quiet --launch process --inject kill:3@step=5
  [ "$status" -eq 4 ] || { echo "$output"; return 1; }
  [[ "$output" == *"rank 3 (on m1), step 5: pid "*" was killed by signal 9"* ]]
}

@test "ranks that are processes have the same bits, and are named when they are killed: Open MPI" {
  check_processes openmpi
}

@test "ranks that are processes have the same bits, and are named when they are killed: MPICH" {
  check_processes mpich
}

@test "workers of several ranks have the bits of one machine: whole, and in stages on both, with servers there" {
  local split library=openmpi
  for split in "--workers 2 --pipeline 2 --tensor-parallel 2" "--workers 1 --pipeline 2" \
    "--workers 1 --pipeline 2 --strategy ps-sync --servers 2" \
    "--workers 1 --pipeline 2 --pipeline-schedule pipedream --launch process"; do
    run build/hogring train --epochs 1 --quiet $split
    local alone=$output
    several $library 2 --epochs 1 --quiet $split
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    [ "$(digest_of "$output")" = "$(digest_of "$alone")" ]
    library=mpich
  done
}

@test "machines are said, and use the lowest instruction set among them" {
  local at=$BATS_TEST_TMPDIR
  printf '#!/bin/sh\n[ "$(hostname)" = m0 ] || export HOGRING_ISA=plain\nexec build/hogring-mpich "$@"\n' >"$at/unlike"
  chmod +x "$at/unlike"
  PROGRAM=$at/unlike several mpich 2 --workers 4 --epochs 1 --json "$at/run"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  if [ "$(json "$at/run" 'd["runs"][0]["machines"][0]["isa"]')" != plain ]; then
    grep -q "m1 no more than plain: all use plain" <<<"$output"
  fi
  grep -Eq "machines m0 \(workers 0 to 1, .*\), m1 \(workers 2 to 3, .*, plain, clock to .* us\)" <<<"$output"
  [ "$(json "$at/run" '[m["host"] for m in d["runs"][0]["machines"]], d["bits"]["isa"]')" = "(['m0', 'm1'], 'plain')" ]
  local machines=$(json "$at/run" '" ".join(d["runs"][0]["machines"][1])') field
  build/hogring help json >"$at/fields"
  for field in $machines; do
    grep -qw "$field" "$at/fields" || { echo "not described: $field"; return 1; }
  done
}

@test "a recorded run of two machines is replayed on one; its timeline adds up" {
  local at=$BATS_TEST_TMPDIR
  several openmpi 2 --workers 4 --epochs 2 --quiet --record "$at/trace" --json "$at/run" --timeline "$at/line"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  build/hogring replay "$at/trace" >"$at/out"
  grep -q "equals the recorded one" "$at/out"
  python3 tests/cli/timeline_check.py "$at/line" "$at/run"
}
