#!/usr/bin/env bats
# MPI between machines: which program under which mpirun, where processes may be, and the wire itself (tests/machines).
load support

BED="$BATS_TEST_DIRNAME/../machines/bed.py"
LINK=build/release/tests/machines/wire_link

needs_mpi() {
  command -v "mpicc.$1" >/dev/null && command -v "mpirun.$1" >/dev/null || skip "$1 is not installed"
  [ "${HOGRING:-build/hogring}" = build/hogring ] || skip "only the release build has MPI"
  [ -x "$LINK-$1" ] || make -s "$LINK-$1" >/dev/null
}

# here LIBRARY PROGRAM...: two processes on this host.
here() {
  local library=$1 root=
  shift
  [ "$library" = mpich ] || root="--allow-run-as-root --oversubscribe"
  run timeout 250 "mpirun.$library" $root -n 2 "$@"
}

# Both ended with 2. MPICH's launcher may end the second one when the first has failed, and tell of that.
refused_by() { [ "$status" -eq 2 ] || { [ "$1" = mpich ] && [ "$status" -ne 0 ]; }; }

# The launcher and the program that are meant.
check_plain() {
  needs_mpi "$1"
  here "$1" build/hogring train
  refused_by "$1"
  [[ "$output" == *"hogring: started by $2's mpirun as process 1 of 2, but this program has no MPI: start hogring-$1"* ]]
  [[ "$output" != *"epoch"* ]]
}

check_same_host() {
  needs_mpi "$1"
  here "$1" "$LINK-$1" check
  refused_by "$1"
  [[ "$output" == *"processes 0 and 1 are both on $(hostname): one process per machine, its workers are threads ($2)"* ]]
}

check_wire() {
  needs_mpi "$1"
  for machines in 2 ${HOGRING_LONG:+3 4}; do
    run timeout 250 python3 "$BED" -n $machines -m "$1" "$LINK-$1" check ${HOGRING_LONG:+2000}
    [ "$status" -ne 77 ] || skip "$output"
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    [ "$(grep -c "of $machines on m.: .* 3 wires, refused at times, all whole, by $2 [0-9]" <<<"$output")" = $machines ]
  done
}

@test "without MPI hogring says which program to start: Open MPI" {
  check_plain openmpi "Open MPI"
}

@test "without MPI hogring says which program to start: MPICH" {
  check_plain mpich MPICH
}

# One of two machines starts something that never begins MPI; the other waits ten seconds for it, and not for ever, and
# leaves while that is still there.
check_never_begins() {
  needs_mpi "$1"
  run timeout 250 python3 "$BED" -n 2 -m "$1" sh -c "
    if [ \$(hostname) = m0 ]; then $LINK-$1 check; echo left with \$?; touch $TMP/left
    else until [ -e $TMP/left ]; do sleep 0.1; done; fi"
  [ "$status" -ne 77 ] || skip "$output"
  [[ "$output" == *"hogring: MPI_Init: not all machines have come within 10 s; see what they have printed"* ]] || { echo "$output"; return 1; }
  [[ "$output" == *"left with 4"* ]] || { echo "$output"; return 1; }
}

@test "who waits in MPI_Init for a machine that never begins leaves" {
  for library in mpich ${HOGRING_LONG:+openmpi}; do
    check_never_begins $library
  done
}

@test "no command but train runs as one of several processes" {
  export OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2
  for c in compare "simulate" "bench train" verify doctor "eval somewhere"; do
    refused 2 "${c%% *}: started by Open MPI's mpirun as process 1 of 2, and only train runs on several machines" $c
  done
}

@test "one process under mpirun is a run like any other" {
  needs_mpi mpich
  run timeout 250 mpirun.mpich -n 1 build/hogring train --epochs 1
  [ "$status" -eq 0 ]
  [[ "$output" == *"weights digest"* ]]
}

@test "two processes on one host are refused, with the flag that is missing: Open MPI" {
  check_same_host openmpi "Open MPI's mpirun: --map-by ppr:1:node"
}

@test "two processes on one host are refused, with the flag that is missing: MPICH" {
  check_same_host mpich "MPICH's mpirun: -ppn 1"
}

@test "a program of the other library is told so" {
  needs_mpi openmpi
  needs_mpi mpich
  here openmpi "$LINK-mpich" check
  [ "$status" -eq 2 ]
  [[ "$output" == *"as one of 2 processes, but MPICH "*" knows of 1: start hogring-openmpi"* ]]
  here mpich "$LINK-openmpi" check
  refused_by mpich
  [[ "$output" == *"as one of 2 processes, but Open MPI "*" knows of 1: start hogring-mpich"* ]]
}

@test "messages arrive whole and in order over Open MPI, also by a second wire" {
  check_wire openmpi "Open MPI"
}

@test "messages arrive whole and in order over MPICH, also by a second wire" {
  check_wire mpich MPICH
}
