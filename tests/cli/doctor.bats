#!/usr/bin/env bats
# hogring doctor: names the culprit of a run that does not go on, shows what a crash left, and removes that when asked.
load support

# Each test has a /dev/shm of its own: other runs remove what those here leave. Functions are called in it.
alone() {
  [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "needs root and mount namespaces"
  export TMP HOGRING BATS_TEST_DIRNAME
  unshare -m bash -ec 'mount -t tmpfs none /dev/shm; load() { :; }; test() { :; }; source tests/cli/support.bash
    source <(sed -n "/^# --- in it/,/^# --- tests/p" tests/cli/doctor.bats); "$@"' - "$@"
}

# --- in it
await() { for _ in $(seq 1200); do grep -q -- "$2" "$1" 2>/dev/null && return; sleep 0.05; done; cat "$1"; return 1; }

# begin ARGUMENTS...: a run without end, $pid.
begin() {
  : >"$TMP/err"
  heard train --workers 2 --epochs 1000000 --timeout 60s --details "$@" 2>"$TMP/err" >"$TMP/out" &
  pid=$!
  trap 'kill -KILL $pid 2>/dev/null || true' EXIT
  await "$TMP/err" "epoch 1/"
}

# doctor CODE ARGUMENTS...: what it says, filled or not, in one line, in $TMP/said.
doctor() {
  local code=0 wanted=$1
  shift
  hogring doctor "$@" >"$TMP/doctor" 2>&1 || code=$?
  tr -s ' \n' ' ' <"$TMP/doctor" >"$TMP/said"
  [ $code = "$wanted" ] || { echo "exit $code, wanted $wanted: doctor $*"; cat "$TMP/doctor"; return 1; }
}

says() { grep -qE -- "$1" "$TMP/said" || { echo "no \"$1\" in:"; cat "$TMP/doctor"; return 1; }; }

# died: $pid does, and its ranks with it.
died() { kill -KILL $pid; wait $pid 2>/dev/null || true; }

stopped_rank() {
  begin --launch process "$@"
  local rank=0 victim
  for victim in $(pgrep -P $pid); do
    kill -STOP "$victim"
    # Until others have come to wait for it.
    for _ in $(seq 1200); do hogring doctor $pid | tr -s ' \n' ' ' | grep -q "has been stopped for [1-9].* waited .* for it" && break; sleep 0.05; done
    doctor 1 $pid
    says "rank $rank \(pid $victim\) has been stopped for [0-9.]+ s, while [a-z' ]+( at step [0-9]+)?; rank [0-9]+ (and [0-9] more have waited up to|has waited) [0-9.]+ s for it"
    hogring doctor $pid --json - >"$TMP/json" || true
    [ "$(json "$TMP/json" '[d["runs"][0]["culprits"], d["runs"][0]["state"], d["runs"][0]["ranks"][0]["rank"]]')" = "[[$rank], 'stopped', 0]" ]
    [ "$(json "$TMP/json" "d['runs'][0]['ranks'][$rank]['stopped']")" = True ]
    kill -CONT "$victim"
    for _ in $(seq 1200); do hogring doctor $pid >"$TMP/doctor" && break; sleep 0.05; done
    rank=$((rank + 1))
  done
}

stopped_launcher() {
  begin "$@"
  kill -STOP $pid
  for _ in $(seq 1200); do hogring doctor $pid >"$TMP/doctor" || break; sleep 0.05; done
  doctor 1 $pid
  says "the (launcher|process) \(pid $pid\) has been stopped for [0-9.]+ s"
  kill -CONT $pid
}

sleeper() {
  begin --compute-time 5ms --inject stall:1@step=100+200s "$@"
  for _ in $(seq 1200); do hogring doctor $pid >"$TMP/doctor" || break; sleep 0.05; done
  doctor 1 $pid
  says "rank 1 \(pid $pid\) has been computing a gradient at step [0-9]+ for [0-9.]+ s; rank 0 (and . more have waited up to|has waited) [0-9.]+ s for it"
}

# crashed WHAT ARGUMENTS...: all ranks' last state is there, until another crash; and --clean removes it.
crashed() {
  begin "$@"
  hogring doctor $pid --json "$TMP/before" >/dev/null
  died
  doctor 1
  says " $pid 2 [0-9-]+ [0-9:]+ [0-9]+ s dead hogring train --workers 2 "
  doctor 1 $pid --json "$TMP/json"
  says "the run died: its launcher \(pid $pid\) is gone"
  [ "$(json "$TMP/json" '[d["runs"][0]["state"], [r["rank"] for r in d["runs"][0]["ranks"]], min(r["step"] for r in d["runs"][0]["ranks"]) > 0]')" = "['dead', [0, 1], True]" ]
  [ "$(json "$TMP/json" '[r["pid"] for r in d["runs"][0]["ranks"]]')" = "$(json "$TMP/before" '[r["pid"] for r in d["runs"][0]["ranks"]]')" ]
}

crashes() {
  local first second
  crashed --launch process
  hogring train "${quick[@]}"
  doctor 1 $pid
  first=$pid
  crashed --launch thread
  second=$pid
  doctor 1
  says "$first 2 .* left behind hogring train .* $second 2 .* dead hogring train"
  hogring train "${quick[@]}"
  doctor 3 $first
  says "^hogring: doctor $first: there is no run of that process; it may have ended"
  doctor 1 $second
}

clean() {
  echo other >/dev/shm/hogring.other
  echo other >/dev/shm/hogring.1.2
  doctor 0 --clean
  says "^nothing to remove"
  crashed --launch process
  local dead=$pid
  begin --launch process
  doctor 2 $pid --clean
  says "the process lives; only what dead ones have left is removed"
  : >/dev/shm/hogring.$pid.1.00000000
  doctor 0 --clean
  says "^removed /dev/shm/hogring.$pid.1.0+, which pid $pid has left removed /dev/shm/hogring.$dead.[0-9]*.[0-9a-f.]*, which pid $dead has left $"
  doctor 0
  says "^ *pid ranks started age state command $pid 2 [^ ]* [^ ]* [0-9]+ s alive hogring train --workers 2 --epochs 1"
  [ -e /dev/shm/hogring.other ]
  [ -e /dev/shm/hogring.1.2 ]
  doctor 0 $pid
}

# What a file of that name holds is any bytes.
strangers() {
  begin --launch process
  local file name
  file=$(echo /dev/shm/hogring.$pid.*)
  name=${file%.*}.00000000
  python3 - "$file" "$name" <<'END'
import random, subprocess, sys, os
whole = open(sys.argv[1], "rb").read()
draw = random.Random(1)
hogring = os.environ.get("HOGRING") or "build/hogring"
for k in range(40):
    data = bytearray(whole)
    for _ in range(1 + k % 4):
        data[draw.randrange(64 if k % 2 else len(data))] = draw.randrange(256)
    if k % 3 == 0:
        data = data[:draw.randrange(len(data))]
    open(sys.argv[2], "wb").write(data)
    for more in [], ["--json", "-"]:
        run = subprocess.run([hogring, "doctor", str(int(sys.argv[2].split(".")[1])), *more], capture_output=True)
        assert run.returncode in (0, 1, 3), (k, run)
        assert run.returncode != 3 or run.stderr.count(b"\n") == 1, (k, run)
END
  printf 'HOGRING\0\001\0\0\0' >"$name"
  head -c 100000 /dev/zero >>"$name"
  doctor 3 $pid
  says "^hogring: /dev/shm/hogring.*\.0+ is of another version of hogring \(1, here [0-9]+\) $"
  doctor 1
  says "unreadable is of another version"
  head -c 100 "$file" >"$name"
  doctor 3 $pid
  says "is torn: 100 bytes are too few for a run"
  chown 12345 "$name"
  doctor 3 $pid
  says "is another user's \(uid 12345\)"
  doctor 0
}

# Of one process, or of two that it has started.
several() {
  heard compare --strategies allreduce,hogwild --model softmax --epochs 1000000 --concurrent --quiet >/dev/null 2>&1 &
  pid=$!
  trap 'kill -KILL $pid 2>/dev/null || true' EXIT
  for _ in $(seq 1200); do [ "$(ls /dev/shm | wc -l)" = 2 ] && hogring doctor $pid >"$TMP/doctor" && break; sleep 0.05; done
  [ "$(grep -c "^hogring compare --strategies allreduce,hogwild" "$TMP/doctor")" = 2 ] || { cat "$TMP/doctor"; return 1; }
}

played() {
  heard simulate --workers 4 --model softmax --epochs 1000000 --quiet >/dev/null 2>&1 &
  pid=$!
  trap 'kill -KILL $pid 2>/dev/null || true' EXIT
  for _ in $(seq 1200); do hogring doctor $pid >"$TMP/doctor" 2>&1 && break; sleep 0.05; done
  doctor 0 $pid
  says "4 ranks run by one process \(virtual time, explore, replay\) Nobody holds up others"
  kill -STOP $pid
  for _ in $(seq 1200); do hogring doctor $pid >"$TMP/doctor" || break; sleep 0.05; done
  doctor 1 $pid
  says "the process \(pid $pid\) is stopped"
}

# The file is there in the list, and gone when it is opened.
vanishes() {
  begin --launch process
  strace -qq -e trace=openat -P "$(echo /dev/shm/hogring.$pid.*)" -e inject=openat:error=ENOENT -o "$TMP/trace" "${HOGRING:-build/hogring}" doctor $pid 2>"$TMP/doctor" && return 1
  grep -qx "hogring: doctor $pid: the run has just ended" "$TMP/doctor" || { cat "$TMP/doctor"; return 1; }
}

nothing() {
  doctor 0
  says "^no runs are here, and none has left anything $"
  doctor 2 4x
  says "^hogring: doctor 4x: expected the pid of a run"
  doctor 2 1 2
  doctor 3 4711
  doctor 0 --json -
  [ "$(json "$TMP/doctor" '[d["runs"], d["removed"]]')" = "[[], []]" ]
}

# fits FILE: 80 columns.
fits() { awk 'length > 80 { print; bad = 1 } END { exit bad }' "$1"; }

# A container that shares this /dev/shm: its pids mean nothing here.
container() {
  unshare -p -f --kill-child -m "$(realpath "${HOGRING:-build/hogring}")" train --workers 2 --epochs 1000000 --model softmax --details 2>"$TMP/err" >"$TMP/out" &
  pid=$!
  trap 'kill -KILL $pid 2>/dev/null || true' EXIT
  await "$TMP/err" "epoch 1/"
  doctor 1
  says "unreadable is another container"
  doctor 0 --clean
  hogring train --model softmax --epochs 1 --quiet >/dev/null # sweeps what the dead have left
  doctor 1
  says "unreadable is another container"
}

another_user() {
  begin
  chmod 755 "$TMP"
  # From a copy: its own place may be closed to others.
  cp "${HOGRING:-build/hogring}" "$TMP/program"
  setpriv --reuid 65534 --clear-groups "$TMP/program" doctor >"$TMP/said"
  grep -q "no runs of this user are here" "$TMP/said"
  grep -q "1 of other users cannot be read" "$TMP/said"
  grep -q "/dev/shm/hogring.$pid\." "$TMP/said"
  fits "$TMP/said"
  setpriv --reuid 65534 --clear-groups "$TMP/program" doctor --json - >"$TMP/json"
  [ "$(json "$TMP/json" 'len(d["runs"]), len(d["others"])')" = "(0, 1)" ]
}

reads_only() {
  begin --launch process
  strace -f -e trace=openat,open,mmap,kill,ptrace -o "$TMP/trace" "${HOGRING:-build/hogring}" doctor $pid >/dev/null
  grep -q "/dev/shm/hogring.$pid" "$TMP/trace"
  ! grep "/dev/shm/hogring" "$TMP/trace" | grep -v O_RDONLY || return 1
  ! grep -E "^[0-9]+ +(ptrace|kill)\(" "$TMP/trace" | grep -v "kill([0-9]*, 0)"
}

# --- tests

need_strace() {
  command -v strace >/dev/null || skip "no strace"
  case ${HOGRING:-} in *tsan*) skip "the sanitizer begins anew below strace" ;; esac
  export ASAN_OPTIONS=detect_leaks=0 # which needs ptrace for itself
}

alone_together() { together alone; }

@test "whichever rank is stopped is named, worker or server" {
  printf -- "stopped_rank --strategy %s\n" allreduce ps-async hogwild local-sgd | alone_together
}

@test "a launcher, or a process of threads, that is stopped is named" {
  printf -- "stopped_launcher --launch %s\n" process thread | alone_together
}

@test "a thread that sleeps is named, whatever the strategy" {
  printf -- "sleeper --strategy %s\n" allreduce ps-sync ssp elastic-averaging | alone_together
}

@test "a crash is kept until the next, and shows each rank's last state" { alone crashes; }
@test "--clean removes what dead processes have left, and nothing else" { alone clean; }
@test "a file that is not what it should be is refused in one line" { alone strangers; }
@test "a run in another container is not called dead, nor removed" { alone container; }
@test "other users' runs are said, and not read" { alone another_user; }
@test "without runs it says so, and what is wrong is refused" { alone nothing; }

@test "a command that has started several runs shows each, and one that runs all ranks itself" {
  printf "%s\n" several played | alone_together
}

@test "a run that ends while it is looked at is said" {
  need_strace
  alone vanishes
}

@test "it opens nothing for writing, and touches no process" {
  need_strace
  alone reads_only
}

@test "the list fits 80 columns" {
  hogring doctor >"$TMP/list" || true
  fits "$TMP/list"
}
