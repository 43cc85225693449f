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
  run timeout 100 python3 "$BED" -n "$machines" -m "$library" "build/hogring-$library" train "$@"
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

@test "what does not work on several machines is refused once, with exit code 2" {
  several mpich 2 --strategy hogwild
  [ "$status" -eq 2 ]
  [ "$(grep -c "hogwild: not there yet on several machines" <<<"$output")" = 1 ]
  several mpich 2 --workers 3
  [ "$status" -eq 2 ]
  [[ "$output" == *"--workers 3: cannot be dealt out to 2 machines evenly; expected a multiple of 2"* ]]
  several mpich 2 --model logistic --data digits
  [ "$status" -eq 2 ]
  [[ "$output" == *"--model logistic: not there yet on several machines"* ]]
}

@test "a failure has its rank and its host, and is every machine's exit code" {
  several mpich 2 --workers 4 --quiet --inject nan:3@step=5
  [ "$status" -eq 1 ]
  [ "$(grep -c "rank 3 (on m1), step 5: the gradient is not finite" <<<"$output")" = 1 ]
  several mpich 2 --epochs 1 --quiet --workers 4 --expect-accuracy 101
  [ "$status" -eq 1 ] || [ "$status" -eq 2 ]
}
