#!/usr/bin/env bats
# Samples that are shuffled within windows of a file: one order, whatever the data came from.
load support

setup() { cd "$BATS_TEST_DIRNAME/../.."; TMP=$(mktemp -d); run=(--epochs 3 --quiet --shuffle-window 100); }

digest() { hogring train "${run[@]}" "$@" | sed -n 's/^weights digest *\([0-9a-f]*\).*/\1/p'; }

@test "the order is the same for packed data, threads, processes, decoded ahead and in virtual time" {
  hogring data pack digits --out "$TMP/digits.hrp" >/dev/null
  want=$(digest)
  [ "$(digest --data "$TMP/digits.hrp")" = "$want" ]
  for how in "--launch process" "--prefetch 2" "--clock virtual" "--strategy ps-sync"; do
    [ "$(digest --data "$TMP/digits.hrp" $how)" = "$want" ]
  done
  [ "$(digest --shuffle-window 50)" != "$want" ]
  [ "$(digest --shuffle-window 0)" != "$want" ]
  [ "$(digest --shuffle-window 100000)" = "$(digest --shuffle-window 0)" ]
}

@test "a run that goes on has the windows that it began with" {
  want=$(digest)
  hogring train "${run[@]}" --max-steps 30 --checkpoint-dir "$TMP/c" >/dev/null
  refused 2 "it was trained with --shuffle-window 100, this run has 50" train --resume "$TMP/c" --quiet --shuffle-window 50
  [ "$(digest --resume "$TMP/c")" = "$want" ]
}

@test "a validation split is drawn as ever, and what is left is read in order" {
  hogring data pack digits --out "$TMP/digits.hrp" >/dev/null
  want=$(digest --validation 0.2)
  [ "$(digest --validation 0.2 --data "$TMP/digits.hrp" --workers 2 --launch process)" = "$want" ]
}

@test "a file that memory does not hold is read, and what would read it in order is said" {
  python3 - "$TMP/npy" <<'PY'
import os, random, struct, sys
os.mkdir(sys.argv[1])
def save(name, shape, data):
    head = repr({"descr": "|u1", "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)
random.seed(1)
for split, n in ("train", 30000), ("test", 100):
    save("X_" + split, (n, 1000), random.randbytes(1000 * n))
    save("y_" + split, (n,), bytes(i % 10 for i in range(n)))
PY
  hogring data pack "$TMP/npy" --out "$TMP/large.hrp" >/dev/null
  large=(--data "$TMP/large.hrp" --model "flatten, dense 10" --lr 0.001 --epochs 1 --json "$TMP/out.json")
  hogring train "${large[@]}" >/dev/null 2>"$TMP/err"
  ! grep -q "shuffle-window" "$TMP/err" || { cat "$TMP/err"; return 1; }
  want=$(json "$TMP/out.json" 'd["runs"][0]["weights_digest"]')
  hogring train "${large[@]}" --max-memory 24M >/dev/null 2>"$TMP/err"
  grep -q "large.hrp: is larger than the memory there is, .*--shuffle-window N reads it in order" "$TMP/err"
  [ "$(json "$TMP/out.json" 'd["runs"][0]["weights_digest"]')" = "$want" ]
  hogring train "${large[@]}" --max-memory 24M --shuffle-window 20000 >/dev/null 2>"$TMP/err"
  fits=$(sed -n 's/.*large.hrp: two windows of 20000 samples are larger than the memory there is; --shuffle-window \([0-9]*\) would fit$/\1/p' "$TMP/err")
  [ "$fits" -gt 5000 ]
  [ "$fits" -lt 12583 ] # half of 24M
  hogring train "${large[@]}" --max-memory 24M --shuffle-window $((fits - 500)) >/dev/null 2>"$TMP/err"
  ! grep -q "larger than the memory" "$TMP/err" || return 1
  hogring train "${large[@]}" --shuffle-window 5000 >/dev/null 2>"$TMP/err"
  ! grep -q "larger than the memory" "$TMP/err" || return 1
  want=$(json "$TMP/out.json" 'd["runs"][0]["weights_digest"]')
  hogring train "${large[@]}" --shuffle-window 5000 --data "$TMP/npy" >/dev/null 2>"$TMP/err"
  [ "$(json "$TMP/out.json" 'd["runs"][0]["weights_digest"], d["config"]["shuffle-window"]')" = "('$want', 5000)" ]
}

@test "a file that is cut while it is mapped, or that address space does not hold, is an error with words" {
  printf 'a,b,label\n' >"$TMP/rows.csv"
  awk 'BEGIN { for (i = 0; i < 20000; i++) print i % 7 ".5," i % 3 "," i % 2 }' >>"$TMP/rows.csv"
  hogring data pack --data "$TMP/rows.csv" --out "$TMP/whole.hrp" >/dev/null
  for launch in "thread 3" "process 4"; do
    set -- $launch
    cp "$TMP/whole.hrp" "$TMP/cut.hrp"
    forever --data "$TMP/cut.hrp" --model "flatten, dense 2" --launch "$1"
    truncate -s 1000 "$TMP/cut.hrp"
    code=0
    wait "$pid" || code=$?
    [ "$code" = "$2" ] || { echo "$1: exit $code"; cat "$TMP/err"; return 1; }
    grep -q "a mapped data file is shorter than when it was opened, or its disk failed (SIGBUS)" "$TMP/err"
  done
  case ${HOGRING:-} in *asan*|*tsan*) skip "a sanitizer's shadow does not fit into limited address space" ;; esac
  truncate -s 200M "$TMP/cut.hrp"
  code=0
  (ulimit -v 150000; hogring data info "$TMP/cut.hrp" >/dev/null 2>"$TMP/err") || code=$?
  [ "$code" = 3 ]
  grep -q "cut.hrp: 209715200 bytes cannot be mapped: address space is limited (ulimit -v)" "$TMP/err"
}

@test "windows are refused where they mean nothing" {
  refused 2 "--shuffle-window: is not supported with --model logistic" train --model logistic --shuffle-window 100
  refused 2 "--shuffle-window lots: expected a whole number" train --shuffle-window lots
}
