#!/usr/bin/env bats
# --log FILE.jsonl and --tensorboard DIR: what a run writes while it goes on.
load support

# A Python with tensorboard and pandas: PYTHON= names another than python3.
python=${PYTHON:-python3}
metrics() { "$python" tests/cli/metrics.py "$@"; }
needs_tensorboard() { "$python" -c 'import tensorboard' 2>/dev/null || skip "no tensorboard (PYTHON= names another Python)"; }

small=(--model softmax --quiet --epochs 2 --workers 3 --batch-size 16)

@test "the lines of a comparison add up to its JSON, in real and virtual time, side by side too" {
  local all
  all=$(strategies | sed 's/backup-workers/&:backups=1/' | paste -sd ,)
  hogring compare "${small[@]}" --strategies $all --log "$TMP/a.jsonl" --json "$TMP/a.json" >/dev/null
  metrics log "$TMP/a.jsonl" "$TMP/a.json"
  hogring compare "${small[@]}" --strategies $all --clock virtual --log "$TMP/v.jsonl" --json "$TMP/v.json" >/dev/null
  metrics log "$TMP/v.jsonl" "$TMP/v.json"
  hogring compare "${small[@]}" --strategies ssp,allreduce --seeds 2 --concurrent --log "$TMP/c.jsonl" --json "$TMP/c.json" >/dev/null
  metrics log "$TMP/c.jsonl" "$TMP/c.json"
}

@test "a log changes no bit, of processes, threads and ranks that one process runs" {
  for strategy in $(strategies '$4 == "term"'); do
    for how in "--launch thread" "--launch process" "--clock virtual" "--clock explore:3"; do
      hogring train "${small[@]}" --strategy $strategy $how --json "$TMP/a.json" >/dev/null
      hogring train "${small[@]}" --strategy $strategy $how --json "$TMP/b.json" --log "$TMP/log" --overwrite >/dev/null
      [ "$(json "$TMP/a.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/b.json" 'd["runs"][0]["weights_digest"]')" ]
      metrics log "$TMP/log" "$TMP/b.json"
    done
  done
}

@test "replay, sparse models and pipelines have logs too" {
  hogring train "${small[@]}" --strategy ps-async --record "$TMP/t" --json "$TMP/a.json" >/dev/null
  hogring replay "$TMP/t" --quiet --log "$TMP/r.jsonl" --json "$TMP/r.json" >/dev/null
  metrics log "$TMP/r.jsonl" "$TMP/r.json"
  hogring data make sparse --out "$TMP/s" --rows 500 >/dev/null
  hogring train --data "$TMP/s" --model logistic --epochs 2 --quiet --log "$TMP/s.jsonl" --json "$TMP/s.json" >/dev/null
  metrics log "$TMP/s.jsonl" "$TMP/s.json"
  hogring train --model mlp --pipeline 2,schedule=pipedream --quiet --epochs 2 --workers 1 --log "$TMP/p.jsonl" --json "$TMP/p.json" >/dev/null
  metrics log "$TMP/p.jsonl" "$TMP/p.json"
}

@test "one step in N has a line, and the times of all of them" {
  hogring train "${small[@]}" --strategy allreduce --clock virtual --log "$TMP/a" >/dev/null
  hogring train "${small[@]}" --strategy allreduce --clock virtual --log "$TMP/b,every=10" >/dev/null
  python3 - "$TMP/a" "$TMP/b" <<'END'
import json, sys
a, b = [[l for l in map(json.loads, open(f)) if l["event"] == "step"] for f in sys.argv[1:]]
assert {l["step"] for l in b} == {10, 20, 30, 40, 50, 60}, {l["step"] for l in b}
spent = lambda lines: sum(l["compute_s"] for l in lines if l["step"] <= 60)
assert abs(spent(a) - spent(b)) < 1e-6 * spent(a), (spent(a), spent(b))
END
}

# resumed STRATEGY: trains to step 100, loses what came after the last checkpoint but one, tears the log, and goes on.
resumed() {
  opts=("${small[@]}" --strategy $1 --clock virtual --checkpoint-every 7)
  hogring train "${opts[@]}" --tensorboard "$TMP/whole" --log "$TMP/whole.jsonl" --json "$TMP/whole.json" --checkpoint-dir "$TMP/w" >/dev/null
  hogring train "${opts[@]}" --tensorboard "$TMP/tb" --log "$TMP/log" --checkpoint-dir "$TMP/c" --max-steps $2 >/dev/null
  printf '{"run":"%s/seed-1","event":"step","st' $1 >>"$TMP/log"
  rm -r "$TMP/c/step-$(printf %08d $2)"
  hogring train --resume "$TMP/c" --quiet --log "$TMP/log" --tensorboard "$TMP/tb" --checkpoint-dir "$TMP/c" >/dev/null
  python3 - "$TMP/whole.jsonl" "$TMP/log" "$TMP/log.overtaken" $1 <<'END'
import json, sys
whole, log = [[json.loads(l) for l in open(f)] for f in sys.argv[1:3]]
def told(lines):
    keys = ("step", "worker", "loss", "samples", "norm") if sys.argv[4] == "allreduce" else ("step",)
    return sorted(tuple(l[k] for k in keys) for l in lines if l["event"] == "step")
assert told(whole) == told(log), set(told(whole)) ^ set(told(log))
points = [[l["step"] for l in lines if l["event"] == "evaluation"] for lines in (whole, log)]
assert points[0] == points[1], points
starts = [l for l in log if l["event"] == "start"]
assert [l["life"] for l in starts] == [1, 2] and starts[1]["resumed"] and starts[1]["overtaken_lines"] > 0 and starts[1]["torn_bytes"] > 40, starts[1]
assert len([l for l in log if l["event"] == "end"]) == 1
overtaken = open(sys.argv[3]).read().splitlines()
assert overtaken[-1].endswith('"st') and len(overtaken) == starts[1]["overtaken_lines"] + 1
END
}

@test "a run that was killed and resumed has each step once, as one that never stopped" {
  resumed allreduce 40
  ! "$python" -c 'import tensorboard' 2>/dev/null || metrics purged "$TMP/tb/allreduce/seed-1" "$TMP/log"
}

@test "so has one whose saves are pauses" {
  resumed ps-async 100
  ! "$python" -c 'import tensorboard' 2>/dev/null || metrics purged "$TMP/tb/ps-async/seed-1" "$TMP/log"
}

@test "--resume auto goes on with a log of a run that was never saved: all of it is overtaken" {
  auto=(train "${quick[@]}" --log "$TMP/log" --tensorboard "$TMP/tb" --checkpoint-dir "$TMP/c" --resume auto)
  hogring "${auto[@]}" >/dev/null
  lines=$(($(wc -l <"$TMP/log") - 1)) # but "start"
  rm -r "$TMP/c"
  hogring "${auto[@]}" >/dev/null
  [ "$(wc -l <"$TMP/log.overtaken")" = $lines ]
  [ "$(grep -c '"event":"start"' "$TMP/log")" = 2 ]
  [ "$(grep -c '"event":"end"' "$TMP/log")" = 1 ]
  [ "$(ls "$TMP/tb/allreduce/seed-1" | wc -l)" = 1 ]
}

@test "a run that was killed when all was saved gets its end when it is resumed, once" {
  auto=(train "${quick[@]}" --log "$TMP/log" --checkpoint-dir "$TMP/c" --resume auto)
  hogring "${auto[@]}" >/dev/null
  tail -n 1 "$TMP/log" >"$TMP/end"
  sed -i '$d' "$TMP/log"
  hogring "${auto[@]}" >/dev/null
  hogring "${auto[@]}" >/dev/null
  [ "$(grep -c '"event":"end"' "$TMP/log")" = 1 ]
  [ "$(tail -n 1 "$TMP/log" | grep -o '"weights_digest.*')" = "$(grep -o '"weights_digest.*' "$TMP/end")" ]
  [ "$(grep -c '"event":"start"' "$TMP/log")" = 1 ]
}

@test "lines are whole and there when all is killed" {
  forever --strategy ps-async --workers 2 --log "$TMP/log"
  for _ in $(seq 1200); do [ "$(wc -l <"$TMP/log")" -le 100 ] || break; sleep 0.05; done
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null || true
  pid=
  python3 -c 'import json, sys; lines = [json.loads(l) for l in open(sys.argv[1])]; assert len(lines) > 100 and lines[-1]["event"] != "end"' "$TMP/log"
}

@test "a diverged run's log ends with why, and a worker's loss has its line" {
  run hogring train --model mlp --quiet --epochs 2 --inject nan:0@step=7 --log "$TMP/d"
  [ "$status" = 1 ]
  tail -n 1 "$TMP/d" | grep -q '"event":"end".*"exit":1,"message":".*not finite'
  hogring train "${small[@]}" --strategy ps-async --clock virtual --on-loss continue --inject kill:1@step=5 --log "$TMP/l" >/dev/null 2>&1
  grep -q '"event":"lost",.*"worker":1,"gradients":5,.*"how":"killed by --inject"' "$TMP/l"
}

# A limit on files stands for a full disk: it is above what ranks share.
@test "a full disk ends the log with a warning, training goes on, and the exit is 3" {
  local got=0
  (ulimit -f 2000; trap '' XFSZ; hogring train --model softmax --quiet --batch-size 1 --epochs 8 --log "$TMP/log" --json "$TMP/json" >/dev/null 2>"$TMP/err") || got=$?
  [ $got = 3 ] || { cat "$TMP/err"; return 1; }
  grep -q "warning: $TMP/log: File too large; it ends here, training goes on" "$TMP/err"
  [ "$(json "$TMP/json" 'len(d["runs"][0]["curve"])')" = 8 ]
  python3 -c 'import json, sys; assert len([json.loads(l) for l in open(sys.argv[1])]) > 1000' "$TMP/log"
  refused 3 "--log: /dev/full: No space left on device" train "${quick[@]}" --log /dev/full
}

@test "what is there is not touched unasked, and what cannot be is refused before training" {
  hogring train "${quick[@]}" --log "$TMP/log" --tensorboard "$TMP/tb" >/dev/null
  before=$(cat "$TMP/log" | md5sum)
  refused 2 "--log: $TMP/log is there already: expected --resume" train "${quick[@]}" --log "$TMP/log"
  refused 2 "--tensorboard: $TMP/tb/allreduce/seed-1 is there already" train "${quick[@]}" --tensorboard "$TMP/tb"
  refused 2 "--log: $TMP/log is there already" compare "${quick[@]}" --log "$TMP/log"
  refused 3 "--log $TMP/none/log" train "${quick[@]}" --log "$TMP/none/log"
  refused 2 "--log every=N: of what?" train "${quick[@]}" --log every=2
  refused 2 "--log every=0: expected 1 or more" train "${quick[@]}" --log "$TMP/x,every=0"
  refused 2 '--log "": expected FILE.jsonl' train "${quick[@]}" --log ""
  refused 2 '--tensorboard "": expected DIR' train "${quick[@]}" --tensorboard ""
  refused 2 "--overwrite: what?" train "${quick[@]}" --overwrite
  [ "$before" = "$(cat "$TMP/log" | md5sum)" ]
  hogring train "${quick[@]}" --log "$TMP/log" --tensorboard "$TMP/tb" --overwrite >/dev/null
  [ "$(grep -c '"event":"start"' "$TMP/log")" = 1 ]
  [ "$(ls "$TMP/tb/allreduce/seed-1" | wc -l)" = 1 ]
  # Another run's log: it has later steps, and never saw this checkpoint.
  hogring train "${quick[@]}" --max-steps 5 --checkpoint-dir "$TMP/c" >/dev/null
  refused 2 "it is another run's" train --quiet --resume "$TMP/c" --max-steps 9 --log "$TMP/log"
  [ ! -e "$TMP/log.overtaken" ]
  echo text >"$TMP/text"
  refused 2 "line 1 is none of a log of hogring" train --quiet --resume "$TMP/c" --max-steps 9 --log "$TMP/text"
}

@test "TensorBoard's reader finds what the JSON says; every checksum is right" {
  hogring compare "${small[@]}" --strategies allreduce,ssp --clock virtual --tensorboard "$TMP/tb" --json "$TMP/j" >/dev/null
  for file in "$TMP"/tb/*/*/events.out.tfevents.*; do
    metrics records "$file" >"$TMP/n"
    grep -q records "$TMP/n"
  done
  needs_tensorboard
  metrics board "$TMP/tb" "$TMP/j"
}

@test "the programs of the manual page run" {
  "$python" -c 'import pandas' 2>/dev/null || skip "no pandas (PYTHON= names another Python)"
  hogring train "${small[@]}" --strategy ps-async --log "$TMP/run.jsonl" >/dev/null
  hogring compare "${small[@]}" --log "$TMP/all.jsonl" >/dev/null
  hogring help log | sed -n '/^    import pandas/,/^    print(points/s/^    //p' >"$TMP/page.py"
  (cd "$TMP" && "$python" page.py) >"$TMP/said"
  grep -q "allreduce/seed-1" "$TMP/said"
}

ratings() { awk 'BEGIN { for (i = 0; i < 1500; i++) printf "%d %d:%.2f %d:%.2f\n", int(i * 7.3) % 50, 1 + i % 15, 3 + i % 4 / 2, 20 + i % 7, 4 - i % 3 }' >"$TMP/r"; }
values() { awk '{ $1 = NR % 17 + $1; print }' "$TMP/s" >"$TMP/v"; }
rows_of() { case $1 in mf) echo "$TMP/r" ;; linear) echo "$TMP/v" ;; *) echo "$TMP/s" ;; esac; }

@test "blocks of sparse models add up, change no bit, and lose nothing with every=N" {
  hogring data make sparse --out "$TMP/s" --rows 1500 >/dev/null
  ratings
  values
  for m in logistic:dual logistic:sgd svm:dual svm:sgd linear:dual linear:sgd mf:sgd; do
    a=(train --model ${m%:*} --solver ${m#*:} --data "$(rows_of ${m%:*})" --epochs 2 --quiet)
    hogring "${a[@]}" --workers 1 --json "$TMP/a.json" >/dev/null
    hogring "${a[@]}" --workers 1 --json "$TMP/b.json" --log "$TMP/b" --tensorboard "$TMP/tb" --overwrite >/dev/null
    [ "$(json "$TMP/a.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/b.json" 'd["runs"][0]["weights_digest"]')" ]
    metrics log "$TMP/b" "$TMP/b.json"
    hogring "${a[@]}" --workers 3 --launch process --json "$TMP/c.json" --log "$TMP/c" --overwrite >/dev/null
    metrics log "$TMP/c" "$TMP/c.json"
    hogring "${a[@]}" --workers 1 --log "$TMP/d,every=1000" --overwrite >/dev/null
    python3 - "$TMP/b" "$TMP/d" ${m#*:} <<'END'
import json, sys
b, d = [[l for l in map(json.loads, open(f)) if l["event"] == "step"] for f in sys.argv[1:3]]
of = lambda s: (s["step"], s["loss"], s["lr"])
assert [of(s) for s in d] == [of(s) for s in b if s["step"] // 1000 > (s["step"] - s["batch"]) // 1000] and len(d) == 2, d
assert all((s["lr"] is None) == (sys.argv[3] == "dual") for s in b), b
assert sys.argv[3] == "dual" or len({s["lr"] for s in b if s["epoch"] == 1}) == 1 and b[0]["lr"] > b[-1]["lr"], b
END
    metrics records "$TMP"/tb/*/*/events* | grep -qx "$(($(grep -c '"event":"\(step\|evaluation\)"' "$TMP/b") + 1)) records"
  done
}

# With weights that stay, the objectives of two costs differ by the sum of the losses.
@test "the loss of blocks is what the objective sums" {
  hogring data make sparse --out "$TMP/s" --rows 1500 >/dev/null
  ratings
  values
  for m in logistic svm linear mf; do
    a=(train --model $m --solver sgd --data "$(rows_of $m)" --quiet)
    hogring "${a[@]}" --epochs 2 --checkpoint-dir "$TMP/$m" >/dev/null
    a+=(--epochs 1 --lr 1e-12 --init-weights "$(ls "$TMP/$m"/step-*/model.safetensors | tail -n 1)")
    hogring "${a[@]}" --cost 1 --workers 2 --log "$TMP/$m.jsonl" --json "$TMP/1.json" >/dev/null
    hogring "${a[@]}" --cost 3 --json "$TMP/3.json" >/dev/null
    python3 - "$TMP/$m.jsonl" "$TMP/1.json" "$TMP/3.json" <<'END'
import json, sys
told = sum(s["loss"] * s["batch"] for s in map(json.loads, open(sys.argv[1])) if s["event"] == "step")
one, three = [json.load(open(f))["runs"][0]["train_loss"] for f in sys.argv[2:]]
assert told > 0 and abs(told - (three - one) / 2) < 1e-4 * told, (told, one, three)
END
  done
}

# broken SIGNAL WORKERS [LOG]: a sparse run that a signal ends on its way, and that is resumed, and has the blocks of LOG.
broken() {
  local a=(train --data "$TMP/s" --model svm --solver sgd --workers $2 --quiet --log "$TMP/$1" --checkpoint-dir "$TMP/$1.c" --epochs 40 --resume auto)
  heard "${a[@]}" >/dev/null 2>&1 &
  pid=$!
  for _ in $(seq 3000); do ! grep -qs '"saved"' "$TMP/$1" || break; sleep 0.02; done
  kill -$1 "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  pid=
  hogring "${a[@]}" --json "$TMP/$1.json" >/dev/null
  python3 - "$TMP/$1" "$TMP/$1.json" "${@:3}" <<'END'
import json, sys
log = [json.loads(l) for l in open(sys.argv[1])]
run, done = json.load(open(sys.argv[2]))["runs"][0], 0
blocks = sorted((l["step"], l["batch"], l["loss"], l["lr"]) for l in log if l["event"] == "step")
for step, rows, *_ in blocks:
    assert step == done + rows, (step, rows, done)
    done = step
assert done == run["steps"] == [l for l in log if l["event"] == "evaluation"][-1]["step"], (done, run["steps"])
if len(sys.argv) > 3:
    whole = [json.loads(l) for l in open(sys.argv[3])]
    assert blocks == [(l["step"], l["batch"], l["loss"], l["lr"]) for l in whole if l["event"] == "step"]
END
}

@test "a sparse run that was killed, or stopped in the middle of an epoch, and resumed has each block once" {
  hogring data make sparse --out "$TMP/s" --rows 8000 >/dev/null
  hogring train --data "$TMP/s" --model svm --solver sgd --workers 1 --quiet --epochs 40 --log "$TMP/whole" >/dev/null
  broken KILL 1 "$TMP/whole"
  broken INT 3
}

@test "a log has one writer at a time, whatever is asked" {
  forever --model softmax --log "$TMP/log"
  refused 3 "another run writes it now" train "${quick[@]}" --log "$TMP/log" --overwrite
  hogring train "${quick[@]}" --max-steps 2 --checkpoint-dir "$TMP/c" >/dev/null
  refused 3 "another run writes it now" train --quiet --resume "$TMP/c" --max-steps 4 --log "$TMP/log"
  ends_at INT 130
  [ "$(grep -c '"event":"start"' "$TMP/log")" = 1 ]
  hogring train "${quick[@]}" --log "$TMP/log" --overwrite >/dev/null
}

@test "of runs that begin at once one has the log" {
  for i in 1 2 3; do
    (hogring train "${quick[@]}" --seed $i --log "$TMP/log" >/dev/null 2>&1; echo $? >"$TMP/code.$i") &
  done
  wait
  [ "$(cat "$TMP"/code.? | grep -c '^0$')" = 1 ]
  [ "$(grep -c '"event":"start"' "$TMP/log")" = 1 ]
}

@test "--overwrite removes logs and event files alone" {
  echo "my notes" >"$TMP/notes"
  refused 2 "is no log of hogring" train "${quick[@]}" --log "$TMP/notes" --overwrite
  [ "$(cat "$TMP/notes")" = "my notes" ]
  hogring train "${quick[@]}" --tensorboard "$TMP/tb" >/dev/null
  echo "my notes" | tee "$TMP/tb/allreduce/seed-1/tfevents.txt" >"$TMP/tb/allreduce/seed-1/events.out.tfevents.1"
  hogring train "${quick[@]}" --tensorboard "$TMP/tb" --overwrite >/dev/null
  [ "$(ls "$TMP/tb/allreduce/seed-1" | wc -l)" = 3 ]
  [ "$(cat "$TMP/tb/allreduce/seed-1/tfevents.txt" "$TMP/tb/allreduce/seed-1/events.out.tfevents.1" | sort -u)" = "my notes" ]
}

@test "a reader with a lock keeps nobody from writing a log" {
  printf '%s\n' 'import fcntl, sys, time' 'f = open(sys.argv[1])' 'fcntl.lockf(f, fcntl.LOCK_SH)' 'print(1, flush=True)' 'time.sleep(100)' >"$TMP/lock.py"
  hogring train "${quick[@]}" --log "$TMP/log" >/dev/null
  coproc python3 -IS "$TMP/lock.py" "$TMP/log" 3>&-
  pid=$COPROC_PID
  read -r _ <&"${COPROC[0]}"
  hogring train "${quick[@]}" --max-steps 3 --checkpoint-dir "$TMP/c" >/dev/null
  hogring train --quiet --resume "$TMP/c" --max-steps 6 --seed 1 --log "$TMP/log2" >/dev/null
  hogring train "${quick[@]}" --log "$TMP/log" --overwrite >/dev/null
  grep -q '"event":"end"' "$TMP/log"
}

@test "results for a FIFO that nobody reads end with --timeout" {
  mkfifo "$TMP/fifo"
  code=0
  hogring train "${quick[@]}" --max-steps 2 --timeout 3s:1s --json "$TMP/fifo" >/dev/null 2>"$TMP/err" || code=$?
  [ $code = 3 ]
  grep -q "nobody read from it in 3 s" "$TMP/err"
}
