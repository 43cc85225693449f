#!/usr/bin/env bats
# Machines that are lost under MPI: killed, without a daemon, without a link.
load support

LINK=build/release/tests/machines/wire_link

needs_mpi() {
  command -v "mpicc.$1" >/dev/null && command -v "mpirun.$1" >/dev/null || skip "$1 is not installed"
  [ "${HOGRING:-build/hogring}" = build/hogring ] || skip "only the release build has MPI"
  [ -x "$LINK-$1" ] || make -s "$LINK-$1" >/dev/null
}

# One loss of each kind; HOGRING_LONG: as many as tests/machines/losses.py has.
check_losses() {
  needs_mpi "$1"
  local few=(-j 3 -d 12 --process 1 --daemon 1 --link 1)
  [ -z "${HOGRING_LONG:-}" ] || few=()
  run timeout 3000 python3 "$BATS_TEST_DIRNAME/../machines/losses.py" -m "$1" "${few[@]}" "$LINK-$1" lose 60
  [ "$status" -ne 77 ] || skip "$output"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [[ "$output" == *" losses, at most "*" s, 0 not as they should be" ]]
}

@test "survivors of a machine's loss notice, name it, and leave: Open MPI" {
  check_losses openmpi
}

@test "survivors of a machine's loss notice, name it, and leave: MPICH" {
  check_losses mpich
}

# check_named LIBRARY: a run that stops with it, as it does unless it is told otherwise. HOGRING_LONG: on four machines, too.
check_named() {
  local few=1
  [ -x "build/hogring-$1" ] && command -v "mpirun.$1" >/dev/null || skip "$1 is not installed, or build/hogring-$1 not built (MPI=)"
  [ "${HOGRING:-build/hogring}" = build/hogring ] || skip "only the release build has MPI"
  [ -z "${HOGRING_LONG:-}" ] || few=8
  for machines in 2 ${HOGRING_LONG:+4}; do
    run timeout 600 python3 "$BATS_TEST_DIRNAME/../machines/losses.py" -m "$1" -n $machines -d 30 --process "$few" --daemon 0 --link 0 \
      "build/hogring-$1" train --workers $((2 * machines)) --data digits --epochs 1000000 --timeout 10s
    [ "$status" -ne 77 ] || skip "$output"
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    [[ "$output" == *" losses, at most "*" s, 0 not as they should be" ]]
  done
}

@test "a run on several machines names the one that it lost: Open MPI" {
  check_named openmpi
}

@test "a run on several machines names the one that it lost: MPICH" {
  check_named mpich
}

# check_survivors LIBRARY OPTIONS...: also of Open MPI 5, where HOGRING_MPI_BIN says where its mpirun is.
check_survivors() {
  local library=${1%-ulfm} few=1
  [ -x "build/hogring-$library" ] || skip "build/hogring-$library is not built (MPI=)"
  [ -n "${HOGRING_MPI_BIN:-}" ] || command -v "mpirun.$library" >/dev/null || skip "there is no mpirun.$library"
  [ -z "${HOGRING_LONG:-}" ] || few=20
  run timeout 1500 python3 "$BATS_TEST_DIRNAME/../machines/losses.py" -m "$1" --process 0 --daemon 0 --link 0 --survive "$few" -d 30 \
    "build/hogring-$library" train --workers 6 --data digits --epochs 1000000 --on-loss continue "${@:2}"
  [ "$status" -ne 77 ] || skip "$output"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [[ "$output" == *" losses, at most "*" s, 0 not as they should be" ]]
}

@test "survivors go on without a machine: MPICH" {
  check_survivors mpich
}

@test "survivors go on without a machine and the servers on it: MPICH" {
  check_survivors mpich --strategy ps-sync
  check_survivors mpich --strategy ps-async
}

@test "survivors go on without a machine: Open MPI 5" {
  check_survivors openmpi5-ulfm
}
