#!/usr/bin/env bats
# The bed of tests/machines: machines with names, links and memory of their own, and MPI between them.
load support

BED="$BATS_TEST_DIRNAME/../machines/bed.py"
ON="$BATS_TEST_DIRNAME/../machines/on.py"

# The reason of a bed that cannot be, or of a library that is not there.
bed() {
  run python3 "$BED" "$@"
  [ "$status" -ne 77 ] || skip "$output"
}

build_link() {
  command -v "mpicc.$1" >/dev/null || skip "mpicc.$1 is not installed"
  "mpicc.$1" -O2 -o "$TMP/link" "$BATS_TEST_DIRNAME/../machines/mpi_link.c"
}

@test "machines have names, processes and shared memory of their own, and one folder" {
  bed -n 3 sh -c "for m in m0 m1 m2; do
      $ON \$m 'hostname; touch /dev/shm/of-'\$m'; ls /dev/shm; ls /proc | grep -c ^[0-9]; echo here >> $TMP/shared'; done"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  # First process, shell, ls and grep, in each.
  [ "$output" = "m0
of-m0
4
m1
of-m1
4
m2
of-m2
4" ]
  [ "$(wc -l <"$TMP/shared")" = 3 ]
}

@test "an exit code comes back, from beside the machines and from one" {
  bed sh -c 'exit 5'
  [ "$status" -eq 5 ]
  bed "$ON" m1 'exit 6'
  [ "$status" -eq 6 ]
  bed "$ON" m1 'kill -9 $$'
  [ "$status" -eq 137 ]
  bed "$ON" m2 true
  [ "$status" -eq 255 ]
}

@test "nothing is left of a bed that is killed" {
  bed true
  export TMPDIR="$TMP"
  python3 "$BED" sh -c "$ON m1 'touch $TMP/begun; sleep 4$$' & sleep 4$$" &
  for _ in $(seq 600); do [ -e "$TMP/begun" ] && break; sleep 0.1; done
  [ -e "$TMP/begun" ]
  kill -KILL $!
  for _ in $(seq 600); do pgrep -f "sleep 4$$" >/dev/null || break; sleep 0.1; done
  [ -z "$(pgrep -f "sleep 4$$")" ]
  [ -z "$(ls "$TMP" | grep hogring-bed)" ]
}

# Two hosts, every byte over the link, and no faster than it is limited to: 12.5 MB/s.
check_link() {
  build_link "$1"
  bed -n 2 -r 100mbit -m "$1" "$TMP/link" 6
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  [[ "$output" == *"0 of 2 on m0, "* ]]
  [[ "$output" == *"1 of 2 on m1, "* ]]
  echo "$output"
  awk '$1 == 1048576 { good = $5 >= 1 && $5 < 1.3 && $3 < 14 } END { exit !good }' <<<"$output"
}

@test "Open MPI speaks over the machines' link" {
  check_link openmpi
}

@test "MPICH speaks over the machines' link" {
  check_link mpich
}
