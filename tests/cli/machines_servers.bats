#!/usr/bin/env bats
# Servers on several machines, and what is compressed on its way between them: machines_train.bats has what all runs share.
load machines_support

@test "servers are where they were told, and have the bits of one machine" {
  local shared=(--workers 4 --epochs 2 --strategy ps-sync)
  same_bits openmpi 2 "${shared[@]}" --servers 1
  same_bits mpich 2 "${shared[@]}" --servers 2
  same_bits openmpi 2 "${shared[@]}" --servers 3
  local alone=$(digest_of "$output")
  several mpich 2 "${shared[@]}" --servers 3
  [[ "$output" == *"4 workers and 3 servers (2 on m0, 1 on m1)"* ]] || { echo "$output"; return 1; }
  [ "$(digest_of "$output")" = "$alone" ]
  several mpich 4 "${shared[@]}" --servers 3 --placement dedicated:first
  [[ "$output" == *"4 workers and 3 servers (3 on m0)"* ]] || { echo "$output"; return 1; }
  [ "$(digest_of "$output")" = "$alone" ]
}

# compressed LIBRARY OPTIONS...: the bits of one machine, and as many bytes: powersgd's are of threads alone.
compressed() {
  local at=$BATS_TEST_TMPDIR library=$1 alone bytes='d["runs"][0]["bytes"]["sent"]'
  shift
  alone=$(build/hogring train --workers 4 --epochs 1 --quiet --json "$at/alone" "$@")
  several $library 2 --workers 4 --epochs 1 --quiet --json "$at/apart" "$@"
  [ "$(digest_of "$output")" = "$(digest_of "$alone")" ] || { echo "$library: $*: $output"; return 1; }
  [[ "$*" == *powersgd* ]] || [ "$(json "$at/apart" "$bytes == json.load(open('$at/alone'))${bytes#d}")" = True ] || { echo "$*: bytes"; return 1; }
}

@test "what is compressed has the bits of one machine, and as many bytes" {
  compressed openmpi --compress int8
  compressed mpich --compress powersgd:2
  compressed mpich --compress topk:1% --strategy ps-sync --servers 3
  compressed openmpi --compress bf16
  compressed mpich --strategy gossip --compress int8
}

@test "asynchronous servers count every sample, and pass no bound" {
  several openmpi 2 --workers 4 --epochs 3 --quiet --strategy ssp --staleness 1 --servers 2 --json "$BATS_TEST_TMPDIR/ssp.json"
  [ "$status" -eq 0 ]
  run python3 -c 'import json,sys; r=json.load(open(sys.argv[1]))["runs"][0]; print(r["samples"], r["max_skew"])' "$BATS_TEST_TMPDIR/ssp.json"
  [ "$output" = "4314 1" ] || { echo "$output"; return 1; }
}

@test "servers have no place on one machine" {
  refused 2 "--placement dedicated:first: is not supported on one machine (it belongs to a run on several, which mpirun starts)" \
    train --strategy ps-sync --placement dedicated:first
}

# node_bits OPTIONS...: 2 machines of 2 workers that push as one have the bits of one machine, over both libraries.
node_bits() {
  local at=$BATS_TEST_TMPDIR shared=(--workers 4 --epochs 2 --quiet --strategy ps-sync "$@") library alone
  alone=$(build/hogring train "${shared[@]}")
  for library in openmpi mpich; do
    several $library 2 "${shared[@]}" --aggregate node --json "$at/run"
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    [ "$(digest_of "$output")" = "$(digest_of "$alone")" ] || { echo "$library: $output"; return 1; }
    [ "$(json "$at/run" 'd["runs"][0]["node_step"]["workers"]')" = 2 ]
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
  [[ "$output" == *"pushes   one per machine: gradients of its 2 workers are added there"* ]] || { echo "$output"; return 1; }
  [[ "$output" == *"of a mean worker: load "*", aggregate "*" (2 workers per machine), push "* ]] || { echo "$output"; return 1; }
  local bytes='d["runs"][0]["bytes"]["sent"], d["runs"][0]["bytes"]["received"]'
  [ "$(json "$at/none" "$bytes")" = "$(json "$at/node" "tuple(2 * b for b in ($bytes))")" ]
  [ "$(json "$at/none" 'd["runs"][0]["node_step"]')" = None ]
  [ "$(json "$at/node" 'abs(sum(s for k, s in d["runs"][0]["node_step"].items() if k != "workers") - d["runs"][0]["seconds"]) < 1e-6')" = True ]
  several mpich 2 --workers 4 --epochs 1 --strategy ps-sync --record "$at/trace"
  [[ "$output" == *"pushes   one per worker (--aggregate none): the trace is replayed on one machine"* ]] || { echo "$output"; return 1; }
  several mpich 2 --workers 4 --epochs 1 --strategy ps-sync --compress bf16
  [[ "$output" == *"pushes   one per worker (--aggregate none): each keeps what its own push left out"* ]] || { echo "$output"; return 1; }
}

@test "who pushes is said of every run with servers on several machines" {
  pushes() {
    local said=$1
    shift
    several mpich 2 --epochs 1 "$@"
    [ "$status" -eq 0 ] && [[ "$output" == *"  pushes   $said"$'\n'* ]] || { echo "$*: $output"; return 1; }
  }
  pushes "one per worker (--aggregate none)" --workers 4 --strategy ps-sync --aggregate none
  pushes "one per worker (--aggregate none): 3 per machine cannot add in the order of all" --workers 6 --strategy ps-sync
  pushes "one per worker (--aggregate none): each is an update of its own" --workers 4 --strategy ps-async
  [[ "$output" == *"one update for each minibatch of 32"* ]] || { echo "$output"; return 1; }
  pushes "one per worker: each machine has one" --workers 2 --strategy ps-sync
  pushes "one per worker" --workers 4 --strategy backup-workers
}

@test "a push of parts and one of a machine are two things: who wants parts says so" {
  several mpich 2 --workers 4 --epochs 1 --strategy ps-sync --overlap on
  [ "$status" -eq 2 ]
  [ "$(grep -c -- "--overlap on: a machine's workers push as one (--aggregate node), whole; expected --aggregate none as well, or --overlap off" <<<"$output")" = 1 ]
  several mpich 2 --workers 4 --epochs 1 --strategy ps-sync --overlap on:16K --aggregate none
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [[ "$output" == *"a push leaves in up to 2 parts"* ]] || { echo "$output"; return 1; }
}

@test "a run that goes on pushes as it did; its updates are counted as they are made" {
  local at=$BATS_TEST_TMPDIR/run
  several mpich 2 --workers 4 --strategy ps-async --aggregate node --placement dedicated:first --lr 0.02 --epochs 2 --checkpoint-dir "$at"
  [[ "$output" == *"length   2 epochs, 46 updates, seed 1"* ]] || { echo "$output"; return 1; } # of 45 batches each
  several mpich 2 --checkpoint-dir "$at" --resume --epochs 3
  [[ "$output" == *"pushes   one per machine: "*"length   3 epochs, 69 updates, resumed at 46,"* ]] || { echo "$output"; return 1; }
  # Another place: where they cannot, a line says so.
  several mpich 4 --checkpoint-dir "$at" --resume --epochs 4
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [[ "$output" == *"previously a machine's workers pushed as one; now each pushes: --aggregate node each machine has one worker"* ]] || { echo "$output"; return 1; }
  run build/hogring train --details --checkpoint-dir "$at" --resume --epochs 5
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [[ "$output" == *"--aggregate node is not supported on one machine"*"length   5 epochs, 159 updates, resumed at 114,"* ]] || { echo "$output"; return 1; }
  several mpich 2 --checkpoint-dir "$at" --resume --epochs 6
  [[ "$output" == *"pushes   one per machine: "*"length   6 epochs, 182 updates, resumed at 159,"* ]] || { echo "$output"; return 1; }
}

@test "where workers cannot push as one, that is said" {
  refused 2 "--aggregate node: is not supported on one machine (it belongs to a run on several, which mpirun starts)" \
    train --strategy ps-sync --aggregate node
  refused 2 "--aggregate node: is not supported on one machine (it belongs to a run on several, which mpirun starts)" \
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
  [[ "$output" == *"pushes   one per machine: gradients of its 2 workers, of a minibatch each, are added there, and are one update"* ]]
  [ "$(json "$BATS_TEST_TMPDIR/run" 'd["runs"][0]["updates"]')" = 23 ] # of 45 batches
}

# rows FILE: a table of 300 rows, whose memory is planned when its columns are known, before it is read.
rows() {
  awk 'BEGIN { print "a,b,c,y"; for (i = 0; i < 300; i++) print i * 7 % 13 / 13 "," i * 5 % 11 / 11 "," i % 4 ",k" i % 3 }' >"$1"
}

@test "data of one's own is planned for on the machines that it is trained on" {
  local at=$BATS_TEST_TMPDIR data
  rows "$at/rows.csv"
  for data in "$at/rows.csv" fashion-mnist; do
    [ $data != fashion-mnist ] || [ -d /usr/share/datasets/fashion-mnist ] || continue
    same_bits openmpi 2 --data $data --model softmax --workers 4 --max-steps 20 --strategy ps-sync
    local alone=$(digest_of "$output")
    several openmpi 2 --data $data --model softmax --workers 4 --max-steps 20 --strategy ps-sync --aggregate node --placement dedicated:first
    [ "$status" -eq 0 ] && [ "$(digest_of "$output")" = "$alone" ] || { echo "$data: $output"; return 1; }
    [[ "$output" == *"(1 on m0)"*"pushes   one per machine"* ]] || { echo "$output"; return 1; }
  done
  several openmpi 2 --data "$at/rows.csv" --workers 2 --strategy ps-sync --aggregate node
  [ "$status" -eq 2 ]
  [ "$(grep -c -- "--aggregate node: each machine has one worker" <<<"$output")" = 1 ]
  several openmpi 2 --data "$at/rows.csv" --workers 4 --epochs 1 --strategy hogwild --sync-every 4 --quiet
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  several openmpi 2 --data "$at/rows.csv" --workers 4 --epochs 1 --on-loss continue --quiet
  [ "$status" -eq 0 ] && [ "$(grep -c "survivors may wait" <<<"$output")" -le 1 ] || { echo "$output"; return 1; }
  several openmpi 2 --data "$at/rows.csv" --workers 4 --epochs 1 --strategy ps-sync --aggregate node --forecast
  [ "$status" -eq 0 ] && [[ "$output" == *"forecast: "* ]] || { echo "$output"; return 1; }
}

@test "a run on data of one's own goes on on other machines, and on one" {
  local at=$BATS_TEST_TMPDIR
  rows "$at/rows.csv"
  several openmpi 2 --data "$at/rows.csv" --workers 4 --strategy ps-sync --aggregate node --placement dedicated:first --epochs 1 --checkpoint-dir "$at/run"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  several openmpi 4 --checkpoint-dir "$at/run" --resume --epochs 2
  [ "$status" -eq 0 ] && [[ "$output" == *"each pushes: --aggregate node each machine has one worker"* ]] || { echo "$output"; return 1; }
  run build/hogring train --checkpoint-dir "$at/run" --resume --epochs 3
  [ "$status" -eq 0 ] && [[ "$output" == *"--aggregate node is not supported on one machine"* ]] || { echo "$output"; return 1; }
  refused 2 "--placement dedicated:first: is not supported on one machine" train --data "$at/rows.csv" --strategy ps-sync --placement dedicated:first
  refused 2 "--aggregate node: is not supported on one machine" train --data "$at/rows.csv" --strategy ps-sync --aggregate node
}
