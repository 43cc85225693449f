#!/usr/bin/env bats
# No output takes the place of what a command reads, however that is named.
load support

# points N: a table of N rows.
points() { awk -v n="$1" 'BEGIN { print "a,b,side"; for (i = 0; i < n; i++) print i % 7, i % 5, i % 3 ? "in" : "out" }' | tr ' ' ,; }

layers=(--model "flatten, dense 2" --workers 2 --max-steps 2 --quiet)

# spared FILE WORDS...: the command is refused, and the file is what it was.
spared() {
  local file=$1 before got=0
  before=$(cksum <"$file")
  shift
  hogring "$@" >"$TMP/said" 2>&1 </dev/null || got=$?
  [ "$(cksum <"$file")" = "$before" ] || { echo "changed: $file by $*"; return 1; }
  [ $got = 2 ] && grep -q "read" "$TMP/said" || { echo "exit $got: $*"; cat "$TMP/said"; return 1; }
}

# by_all_names FILE WORDS...: WORDS end in an option; a symbolic and a hard link are tried, too.
by_all_names() {
  local file=$1
  shift
  ln -sf "$file" "$TMP/symbolic.html"
  ln -f "$file" "$TMP/hard.html"
  spared "$file" "$@" "$TMP/symbolic.html"
  spared "$file" "$@" "$TMP/hard.html"
  rm "$TMP/symbolic.html" "$TMP/hard.html"
}

@test "data that a checkpoint, a trace or a configuration names are not written over" {
  points 40 >"$TMP/d.csv"
  hogring train --data "$TMP/d.csv" "${layers[@]}" --checkpoint-dir "$TMP/k" >"$TMP/out"
  hogring train --data "$TMP/d.csv" "${layers[@]}" --strategy ps-async --record "$TMP/r.trace" >"$TMP/out"
  echo "data = $TMP/d.csv" >"$TMP/c.ini"
  hogring train --data "$TMP/d.csv" "${layers[@]}" --json "$TMP/base.json" >"$TMP/out"
  for output in json report timeline log; do
    by_all_names "$TMP/d.csv" train --resume "$TMP/k" --max-steps 4 --quiet --$output
    by_all_names "$TMP/d.csv" train --config "$TMP/c.ini" "${layers[@]}" --$output
    by_all_names "$TMP/c.ini" compare --config "$TMP/c.ini" "${layers[@]}" --$output
  done
  spared "$TMP/d.csv" replay "$TMP/r.trace" --json "$TMP/d.csv"
  spared "$TMP/r.trace" replay "$TMP/r.trace" --log "$TMP/r.trace" --overwrite
  spared "$TMP/d.csv" gate "$TMP/base.json" --json "$TMP/d.csv"
}

@test "files within values are not written over" {
  echo "0 1" >"$TMP/g.txt"
  echo 1ms >"$TMP/t.txt"
  spared "$TMP/g.txt" train "${quick[@]}" --strategy gossip:$TMP/g.txt --json "$TMP/g.txt"
  spared "$TMP/g.txt" compare "${quick[@]}" --workers 2 --strategies "allreduce,gossip:gossip-graph=$TMP/g.txt" --json "$TMP/g.txt"
  spared "$TMP/t.txt" train "${quick[@]}" --clock virtual --compute-time "trace:$TMP/t.txt" --record "$TMP/t.txt"
}

@test "a folder that is read as data keeps its files, and gets no new ones" {
  mkdir -p "$TMP/n"
  python3 -c '
import struct, sys
def npy(name, kind, shape, raw):
    h = ("{%r: %r, %r: False, %r: %s, }" % ("descr", kind, "fortran_order", "shape", shape)).encode()
    h += b" " * (-(11 + len(h)) % 64) + b"\n"
    open(sys.argv[1] + name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(h)) + h + raw)
npy("/X_train.npy", "<f4", "(40, 2)", struct.pack("<80f", *range(80)))
npy("/y_train.npy", "|u1", "(40,)", bytes(i % 2 for i in range(40)))' "$TMP/n"
  for output in json record timeline log; do
    spared "$TMP/n/y_train.npy" train --data "$TMP/n" "${layers[@]}" --$output "$TMP/n/y_train.npy"
    spared "$TMP/n/y_train.npy" train --data "$TMP/n" "${layers[@]}" --$output "$TMP/n/new"
  done
  for output in checkpoint-dir tensorboard; do
    spared "$TMP/n/y_train.npy" train --data "$TMP/n" "${layers[@]}" --$output "$TMP/n"
    spared "$TMP/n/y_train.npy" train --data "$TMP/n" "${layers[@]}" --$output "$TMP/n/new"
  done
  spared "$TMP/n/X_train.npy" data pack "$TMP/n" --out "$TMP/n/X_train.npy"
  spared "$TMP/n/X_train.npy" data info "$TMP/n" --json "$TMP/n/new.json"
  [ "$(ls "$TMP/n")" = "X_train.npy
y_train.npy" ]
}

@test "a checkpoint keeps its files; what is put beside them may be" {
  hogring train "${quick[@]}" --workers 2 --max-steps 4 --checkpoint-every 2 --checkpoint-dir "$TMP/k" >"$TMP/out"
  newest=$TMP/k/step-00000004
  for file in model.safetensors trainer.safetensors manifest.json; do
    spared $newest/$file inspect "$TMP/k" --json $newest/$file
    spared $newest/$file eval "$TMP/k" --json "$TMP/k/latest/$file"
    spared $newest/$file predict "$TMP/k" --data digits --json $newest/$file
    spared $newest/$file train "${quick[@]}" --init-weights "$TMP/k" --json $newest/$file
    spared $newest/$file compare "${quick[@]}" --workers 2 --init-weights "$TMP/k" --log $newest/$file --overwrite
    spared "$TMP/k/step-00000002/$file" eval "$TMP/k" --json "$TMP/k/step-00000002/$file"
  done
  spared "$TMP/k/.run" eval "$TMP/k" --json "$TMP/k/.run"
  hogring eval "$TMP/k" --json $newest/eval.json >"$TMP/out"
  hogring inspect "$TMP/k" --export $newest/model.onnx >"$TMP/out"
  [ "$(ls $newest | wc -l)" = 5 ]
  hogring train --checkpoint-dir "$TMP/k" --resume --max-steps 6 --quiet --json "$TMP/k/run.json" >"$TMP/out"
  [ -d "$TMP/k/step-00000006" ]
  [ -s "$TMP/k/run.json" ]
}

@test "files that an output names by itself take the place of nobody's" {
  points 9 | tee "$TMP/m.compute" "$TMP/m.server" >"$TMP/mine"
  # 2: a model did not fit, and durations were to go there.
  hogring train "${quick[@]}" --workers 2 --strategy ps-async --calibrate "$TMP/m" >"$TMP/out" 2>&1 || [ $? = 2 ]
  cmp "$TMP/m.compute" "$TMP/mine"
  cmp "$TMP/m.server" "$TMP/mine"
}
