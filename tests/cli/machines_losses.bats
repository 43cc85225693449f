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
  [[ "$output" == *" losses, 0 not as they should be" ]]
}

@test "survivors of a machine's loss notice, name it, and leave: Open MPI" {
  check_losses openmpi
}

@test "survivors of a machine's loss notice, name it, and leave: MPICH" {
  check_losses mpich
}
