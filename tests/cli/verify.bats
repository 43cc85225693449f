#!/usr/bin/env bats
# hogring verify: everything holds here; a machine on which something does not is told so.
load support

@test "verify: every check holds, and the table is that of the JSON" {
  hogring verify --seconds 0 --json "$TMP/json" >"$TMP/table"
  awk 'length > 80 { print; bad = 1 } END { exit bad }' "$TMP/table"
  n=$(hogring verify --list | wc -l)
  [ "$n" -ge 19 ]
  [ "$(json "$TMP/json" '[len(d["checks"]), d["hold"] + d["skipped"], d["failed"], d["seed"]]')" = "[$n, $n, 0, 1]" ]
  [ "$(json "$TMP/json" 'all(c["cases"] == 1 and c["compared"] > 0 for c in d["checks"] if c["result"] == "ok")')" = True ]
  tail -n 1 "$TMP/table" | grep -q "^$n checks in .* s, seed 1: $(json "$TMP/json" 'd["hold"]') hold, 0 FAILED, "
  for name in $(json "$TMP/json" '" ".join(c["check"] for c in d["checks"])'); do grep -q "^$name " "$TMP/table"; done
}

@test "verify: JSON alone, of the checks that were asked for" {
  hogring verify --only one-worker,products --seed 7 --seconds 0.1 --json - >"$TMP/json"
  [ "$(json "$TMP/json" '[c["check"] for c in d["checks"]], d["seed"]')" = "(['one-worker', 'products'], 7)" ]
}

# A machine on which a name stays in /dev/shm that was to be gone.
@test "verify: what does not hold is named, with a way to have it again, and the exit code is 1" {
  case ${HOGRING:-build/hogring} in build/hogring) ;; *) skip "the release build only" ;; esac
  [ "$(df -k --output=avail /dev/shm | tail -n 1)" -gt 4096 ] || skip "/dev/shm is too small"
  echo 'int shm_unlink(const char *name) { return name == 0; }' >"$TMP/stay.c"
  cc -shared -fPIC -o "$TMP/stay.so" "$TMP/stay.c"
  code=0
  LD_PRELOAD=$TMP/stay.so hogring verify --only memory,rings --seconds 0 --seed 3 --json "$TMP/json" >"$TMP/table" || code=$?
  rm -f "$(grep -o '/dev/shm/hogring[^ ]*' "$TMP/table")"
  [ $code = 1 ]
  grep -q "^memory .* FAILED$" "$TMP/table"
  grep -q "^memory, case 0: /dev/shm/hogring.* is still there$" "$TMP/table"
  grep -q "to re-run: hogring verify --only memory --seed 3$" "$TMP/table"
  grep -q "seed 3: 1 hold, 1 FAILED, 0 skipped$" "$TMP/table"
  [ "$(json "$TMP/json" '[c["result"] for c in d["checks"]]')" = "['FAILED', 'ok']" ]
}

@test "verify: what cannot be tried is skipped with its reason" {
  TMPDIR=$TMP/nothing hogring verify --only replay,rings --seconds 0 >"$TMP/table"
  grep -q "^replay .* skipped$" "$TMP/table"
  grep -q "^replay, skipped: $TMP/nothing/.*: this folder cannot be made" "$TMP/table"
  grep -q "1 hold, 0 FAILED, 1 skipped$" "$TMP/table"
}

@test "verify: no room for OpenBLAS is needed where there are tiles" {
  case ${HOGRING:-build/hogring} in build/hogring) ;; *) skip "the release build only" ;; esac
  [[ "$(hogring --version)" == *tiles* ]] || skip "OpenBLAS multiplies here"
  (ulimit -v 150000; hogring verify --only instructions --seconds 0) >"$TMP/table"
  grep -q "1 hold, 0 FAILED, 0 skipped$" "$TMP/table"
}

@test "verify: a tiny /dev/shm, with which all else holds" {
  [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "needs root and mount namespaces"
  unshare -m bash -ec 'mount -t tmpfs -o size=64k none /dev/shm; "$1" verify --seconds 0' - "${HOGRING:-build/hogring}" >"$TMP/table"
  grep -q "^memory, skipped: /dev/shm has no room for 1 MiB (64 KiB free)" "$TMP/table"
  grep -q "0 FAILED, 1 skipped$" "$TMP/table"
}

@test "verify: refusals" {
  refused 2 "there is no such check" verify --only nothing
  refused 2 "expected options alone" verify rings
  refused 2 "--seconds" verify --seconds -1
  refused 2 "--json: is not supported with --list" verify --list --json "$TMP/json"
}
