#!/usr/bin/env bats
# hogring train on several machines, over both MPI libraries: the same bits as on one, one voice, one exit code.
# Servers and compressed messages: machines_servers.bats.
load machines_support

@test "two machines of two workers have the bits of one: Open MPI" {
  same_bits openmpi 2 --workers 4 --epochs 2
  same_bits openmpi 2 --workers 4 --epochs 2 --algorithm ring
  same_bits openmpi 2 --workers 4 --epochs 2 --strategy local-sgd --sync-every 3
  same_bits openmpi 2 --workers 4 --epochs 2 --strategy diloco --sync-every 3 --compress topk:5%
  same_bits openmpi 2 --workers 4 --epochs 2 --strategy gossip
  [ "$(grep -c "^weights digest" <<<"$output")" = 1 ]
}

@test "two machines of two workers have the bits of one: MPICH" {
  same_bits mpich 2 --workers 4 --epochs 2
  same_bits mpich 2 --workers 4 --epochs 2 --strategy gossip
  [ "$(grep -c "^weights digest" <<<"$output")" = 1 ]
}

@test "four machines of one worker have the bits of one" {
  same_bits mpich 4 --workers 4 --epochs 2 --algorithm ring
  same_bits openmpi 4 --workers 4 --epochs 2 --strategy local-sgd --sync-every 3
  same_bits mpich 4 --workers 4 --max-steps 20 --strategy diloco --sync-every 3
  same_bits mpich 4 --workers 4 --epochs 2 --strategy gossip
}

@test "a table with words and holes, and Fashion-MNIST, have the bits of one" {
  local table=$BATS_TEST_TMPDIR/t.csv
  { echo id,a,b,word,y; for i in $(seq 300); do echo "$i,$((i * 37 % 101)).5,$((i % 9 ? i * 53 % 97 : 0)),${i: -1},$((i * 37 % 101 > 50))"; done; } |
    sed 's/,0,\([0-9],[01]\)$/,,\1/' >"$table"
  same_bits mpich 2 --workers 4 --max-steps 12 --data "$table" --drop id --one-hot word --missing mean --normalize
  same_bits openmpi 2 --workers 4 --max-steps 4 --data fashion-mnist --epoch-size 1500 --strategy ps-sync
}

@test "workers are as many as all cores, unless it is said" {
  local cores=$(python3 -c 'import os
print(len({tuple(open(f"/sys/devices/system/cpu/cpu{cpu}/topology/{what}").read() for what in ("physical_package_id", "core_id")) for cpu in os.sched_getaffinity(0)}))')
  several mpich 2 --epochs 1
  [ "$status" -eq 0 ]
  [[ "$output" == *" $((2 * cores)) "* ]]
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

# Replicas, anchor, momentum and states come from all machines, and go to all.
@test "diloco goes on from the middle of a period on other machines" {
  local library whole at=$BATS_TEST_TMPDIR run=(--workers 4 --strategy diloco --sync-every 4 --quiet)
  run build/hogring train "${run[@]}" --max-steps 13
  whole=${output##*weights digest}
  for library in mpich openmpi; do
    several $library 2 "${run[@]}" --max-steps 6 --checkpoint-dir "$at/$library"
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    several $library 4 "${run[@]}" --max-steps 10 --checkpoint-dir "$at/$library" --resume
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    run build/hogring train "${run[@]}" --max-steps 13 --checkpoint-dir "$at/$library" --resume
    [[ "$output" == *"weights digest${whole:0:34}"* ]] || { echo "$output"; return 1; }
  done
}

@test "hogwild inside machines, averaged between them: one model, and every sample" {
  local at=$BATS_TEST_TMPDIR library
  for library in openmpi mpich; do
    several $library 2 --workers 4 --epochs 3 --strategy hogwild --sync-every 4 --expect accuracy=0.7 --json "$at/run"
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    [[ "$output" == *"sync-every 4, machines averaged"* ]] || { echo "$output"; return 1; }
    [ "$(json "$at/run" 'd["runs"][0]["updates"], d["runs"][0]["samples"]')" = "(135, 4314)" ]
  done
}

@test "hogwild on several machines goes on with the averaging that it began with" {
  local at=$BATS_TEST_TMPDIR
  several mpich 2 --workers 4 --epochs 1 --quiet --strategy hogwild --sync-every 4 --checkpoint-dir "$at/a"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  several mpich 2 --checkpoint-dir "$at/a" --resume --epochs 2
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [[ "$output" == *"sync-every 4, machines averaged"* ]] || { echo "$output"; return 1; }
  # An allreduce has nothing to say of it.
  build/hogring train --workers 4 --epochs 1 --quiet --checkpoint-dir "$at/b"
  several mpich 2 --strategy hogwild --checkpoint-dir "$at/b" --resume --epochs 2
  [ "$status" -eq 2 ]
  [[ "$output" == *"machines share no weights; expected --sync-every H as well"* ]] || { echo "$output"; return 1; }
}

@test "of Open MPI 4 it is said, once, that survivors may wait in it" {
  several openmpi 2 --workers 2 --epochs 1 --on-loss continue
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [[ "$output" == *"MPI between machines"* ]]
  mpirun.openmpi --version | grep -q " 4\." || skip "another Open MPI"
  [ "$(grep -c -- "--on-loss continue: survivors may wait in Open MPI 4[.0-9]* until --timeout ends the run" <<<"$output")" = 1 ] || { echo "$output"; return 1; }
  several mpich 2 --workers 2 --epochs 1 --on-loss continue
  [[ "$output" != *"survivors may wait"* ]]
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
  [ "$(grep -c -- "--record [^ ]*: not with --strategy hogwild on several machines: a trace is replayed on one" <<<"$output")" = 1 ]
  several mpich 2 --workers 2 --launch process
  [ "$status" -eq 2 ]
  [ "$(grep -c -- "--launch process: not on several machines: there each has one process" <<<"$output")" = 1 ] || { echo "$output"; return 1; }
  several mpich 2 --workers 3
  [ "$status" -eq 2 ]
  [[ "$output" == *"--workers 3: cannot be dealt out to 2 machines evenly; expected a multiple of 2"* ]]
  several mpich 2 --model logistic --data digits
  [ "$status" -eq 2 ]
  [[ "$output" == *"--model logistic: not on several machines: not there yet"* ]]
}

# A command of each machine: hogring train there, which gets SIGTERM on m1 when it has saved. It notes its exit code in a file
# and is a session of its own: where m1 ends first MPICH's launcher may end what it has started on m0 before that has said so.
terminate_one() {
  local try
  cat >"$BATS_TEST_TMPDIR/run" <<'EOF'
saves=$1
shift
"$@" --checkpoint-dir "$saves" &
pid=$!
[ "$(hostname)" != m1 ] || { until [ -e "$saves/latest" ] || ! kill -0 $pid; do sleep 0.05; done; kill -TERM $pid; }
wait $pid
code=$?
echo "$(hostname) left with $code" >>"$saves.left"
EOF
  start_on mpich 2 setsid -w bash "$BATS_TEST_TMPDIR/run" "$BATS_TEST_TMPDIR/t" build/hogring-mpich train --max-seconds 200s "$@"
  for try in $(seq 1200); do [ "$(grep -c left "$BATS_TEST_TMPDIR/t.left")" = 2 ] && break; sleep 0.05; done
  output+=$(cat "$BATS_TEST_TMPDIR/t.left")
}

@test "a signal to one machine is the exit code of all" {
  terminate_one --workers 2 --epochs 100000 --quiet
  [[ "$output" == *"m0 left with 143"* ]] || { echo "$output"; return 1; }
  [[ "$output" == *"m1 left with 143"* ]] || { echo "$output"; return 1; }
  [[ "$output" == *"interrupted at step "*"--resume goes on from there"* ]]
}

@test "a failure has its rank and its host, and is every machine's exit code" {
  several mpich 2 --workers 4 --quiet --inject nan:3@step=5
  [ "$status" -eq 1 ]
  [ "$(grep -c "rank 3 (on m1), step 5: the gradient is not finite" <<<"$output")" = 1 ]
  several mpich 2 --epochs 1 --quiet --workers 4 --expect accuracy=101
  [ "$status" -eq 1 ] || [ "$status" -eq 2 ]
}

@test "workers of several ranks have the bits of one machine: whole, and in stages on both, with servers there" {
  same_bits openmpi 2 --epochs 1 --workers 2 --pipeline 2 --tensor-parallel 2
  same_bits mpich 2 --epochs 1 --workers 1 --pipeline 2
  same_bits mpich 2 --epochs 1 --workers 1 --pipeline 2 --strategy ps-sync --servers 2
  same_bits mpich 2 --epochs 1 --workers 1 --pipeline 2,schedule=pipedream
}

@test "machines are said, and use the lowest instruction set among them" {
  local at=$BATS_TEST_TMPDIR
  printf '#!/bin/sh\n[ "$(hostname)" = m0 ] || export HOGRING_ISA=plain\nexec build/hogring-mpich "$@"\n' >"$at/unlike"
  chmod +x "$at/unlike"
  PROGRAM=$at/unlike several mpich 2 --workers 4 --epochs 1 --details --json "$at/run"
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
