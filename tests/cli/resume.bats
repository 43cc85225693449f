#!/usr/bin/env bats
# A run that goes on is the run that began.
load support

# A run of other options than the defaults, stopped half-way.
own=(--model softmax --workers 2 --batch-size 16 --lr 0.1 --momentum 0.5 --epochs 3 --quiet)
begin() { hogring train "${own[@]}" --checkpoint-dir "$TMP/c" --max-steps 50 >/dev/null; }
digest() { json "$1" 'd["runs"][0]["weights_digest"]'; }

@test "what is not given comes from the checkpoint" {
  hogring train "${own[@]}" --json "$TMP/whole.json" >/dev/null
  begin
  hogring train --quiet --checkpoint-dir "$TMP/c" --resume --json "$TMP/resumed.json" >/dev/null 2>"$TMP/stderr"
  [ ! -s "$TMP/stderr" ]
  [ "$(digest "$TMP/whole.json")" = "$(digest "$TMP/resumed.json")" ]
  [ "$(json "$TMP/resumed.json" 'd["config"]["lr"], d["config"]["workers"], d["config"]["epochs"]')" = "(0.1, 2, 3)" ]
}

@test "data and their options come from the checkpoint, too" {
  python3 - "$TMP/d.csv" <<'P'
import random, sys
random.seed(1)
with open(sys.argv[1], "w") as f:
    f.write("kind,a,b\n")
    for i in range(200):
        k = i % 2
        f.write(f"{'cat' if k else 'dog'},{random.gauss(k, 1):.3f},{random.gauss(-k, 1):.3f}\n")
P
  hogring train --data "$TMP/d.csv" --label-column kind --test 0.3 --model "flatten, dense 2" --epochs 1 --quiet --checkpoint-dir "$TMP/c" >/dev/null
  hogring train --resume "$TMP/c" --epochs 2 --quiet --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'd["config"]["data"]["name"].endswith("d.csv"), d["config"]["data"]["options"]["test-fraction"]')" = "(True, 0.3)" ]
  run hogring train --resume "$TMP/c" --quiet --test 0.5
  [ "$status" = 2 ]
  [[ "$output" == *"it was trained with data"* ]]
}

@test "what is given and differs is said, a line each; another loss is refused" {
  begin
  hogring train --quiet --resume "$TMP/c" --lr 0.2 --strategy ps-sync --augment crop:1 --workers 2 2>"$TMP/stderr" >/dev/null
  grep -qF -- "--lr 0.2: previously 0.1" "$TMP/stderr"
  grep -qF -- "--strategy ps-sync: previously allreduce" "$TMP/stderr"
  grep -qF -- "--augment crop:1: previously none" "$TMP/stderr"
  [ "$(wc -l <"$TMP/stderr")" = 3 ]
  refused 2 "it was trained with --loss cross-entropy, this run has mse" train --resume "$TMP/c" --loss mse
  refused 2 "it was trained with model" train --resume "$TMP/c" --model mlp
}

@test "other kernels are said, and refused under repro" {
  [[ "$(hogring --version)" == *reference* ]] && skip "there are no other kernels here"
  repro=(--model softmax --reduce repro --global-batch-size 64 --workers 2 --epochs 2 --quiet)
  begin
  hogring train --quiet --resume "$TMP/c" --kernels reference 2>"$TMP/stderr" >/dev/null
  grep -q "here \"reference.*: bits may change from here" "$TMP/stderr"
  hogring train "${repro[@]}" --kernels reference --checkpoint-dir "$TMP/r" --max-steps 5 >/dev/null
  hogring train --quiet --resume "$TMP/r" >/dev/null 2>"$TMP/stderr"
  [ ! -s "$TMP/stderr" ] # reference kernels come from the checkpoint
  run hogring train --quiet --resume "$TMP/r" --kernels fast
  [ "$status" = 2 ]
  [[ "$output" == *"--reduce repro guarantees bits"* ]]
}

@test "--resume auto begins, goes on, and is content with what is finished" {
  refused 2 "--resume auto: from where? give --checkpoint-dir too" train --resume auto
  auto=(train "${own[@]}" --checkpoint-dir "$TMP/c" --resume auto --json "$TMP/out.json")
  refused 2 "--overwrite: is not supported with --resume auto" "${auto[@]}" --overwrite
  hogring "${auto[@]}" --max-steps 50 >/dev/null
  hogring "${auto[@]}" >/dev/null
  whole=$(json "$TMP/out.json" '[(p["samples"], p["test_loss"]) for p in d["runs"][0]["curve"]]')
  hogring "${auto[@]}" >/dev/null 2>"$TMP/stderr"
  grep -q "this run is finished, at step 135" "$TMP/stderr"
  [ "$(json "$TMP/out.json" '[(p["samples"], p["test_loss"]) for p in d["runs"][0]["curve"]]')" = "$whole" ]
  [ "$(json "$TMP/out.json" 'd["runs"][0]["updates"], d["runs"][0]["total_updates"]')" = "(0, 135)" ]
  refused 2 "raise --epochs to continue" train --quiet --checkpoint-dir "$TMP/c" --resume
}

@test "what a checkpoint settled and an entry leaves open is one row" {
  some=(compare --quiet --model softmax --epochs 2 --checkpoint-dir "$TMP/c" --strategies allreduce,ps-sync:optimizer=adam)
  hogring "${some[@]}" >/dev/null
  mkdir "$TMP/d"
  for s in allreduce ps-sync; do mkdir -p "$TMP/d/$s"; cp -r "$TMP/c/$s" "$TMP/d/$s/seed-1"; done
  hogring compare --quiet --model softmax --epochs 2 --checkpoint-dir "$TMP/d" --resume auto --seeds 2 \
    --strategies allreduce,ps-sync:optimizer=adam --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" '[(s["label"], s["seeds"]) for s in d["comparison"]["strategies"]]')" = \
    "[('allreduce direct sgd', 2), ('ps-sync adam', 2)]" ]
}

@test "what saving took is told, where something was saved" {
  hogring train "${own[@]}" --details --checkpoint-dir "$TMP/c" --checkpoint-every 10 --json "$TMP/out.json" >"$TMP/stdout"
  saves='d["runs"][0]["saves"]'
  [ "$(json "$TMP/out.json" "$saves['written'], $saves['failed'], all($saves[k] > 0 for k in ('rest_seconds', 'copy_seconds', 'write_seconds'))")" = "(14, 0, True)" ] # 135 steps: 10, ..., 130, 135
  grep -qE "^saves +14, written in [0-9.]+ s beside training; workers rested [0-9.e-]+ s$" "$TMP/stdout"
  hogring train "${own[@]}" --json "$TMP/out.json" >"$TMP/stdout"
  [ "$(json "$TMP/out.json" "$saves")" = None ]
  [ "$(grep -c ^saves "$TMP/stdout")" = 0 ]
}

@test "compare goes on in every folder, and begins where there is none" {
  some=(compare "${own[@]}" --checkpoint-dir "$TMP/c" --resume auto --json "$TMP/out.json" --strategies)
  hogring "${some[@]}" allreduce,ps-sync:lr=0.3 >/dev/null
  hogring "${some[@]}" allreduce,ps-sync,local-sgd >/dev/null
  [ "$(json "$TMP/out.json" '[(r["strategy"], r["updates"], r["total_updates"]) for r in d["runs"]]')" = \
    "[('allreduce', 0, 135), ('ps-sync', 0, 135), ('local-sgd', 135, 135)]" ]
  # What defaults came to tells no row from another.
  [ "$(json "$TMP/out.json" '[r["setting"] for r in d["runs"]]')" = "[None, None, None]" ] || { json "$TMP/out.json" '[r["setting"] for r in d["runs"]]'; return 1; }
  refused 3 "--resume $TMP/c/ssp: holds no checkpoint; --resume auto begins there" compare --quiet --resume "$TMP/c" --strategies ssp
  hogring compare --quiet --resume "$TMP/c" --strategies allreduce,ps-sync --epochs 4 --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" '[r["lr"] for r in d["runs"]]')" = "[0.1, 0.3]" ]
}

# Every option that says where something is written, and every limit.
planted=(json report plot timeline log tensorboard calibrate record export checkpoint-dir)

@test "a checkpoint of somebody else decides what is trained, and nothing else" {
  begin
  cp -r "$TMP/c" "$TMP/got"
  for o in "${planted[@]}"; do words+=("$o=$TMP/home/$o"); done
  python3 tests/cli/forged.py checkpoint "$TMP/got" "${words[@]}" lr=0.05 overwrite=on max-steps=1 timeout=0s max-memory=64G quiet=on config="$TMP/f" no-such-option=1 || skip "no libxxhash"
  mkdir "$TMP/home"
  for o in "${planted[@]}"; do echo precious >"$TMP/home/$o"; done
  hogring train --resume "$TMP/got" --json "$TMP/out.json" >/dev/null 2>"$TMP/stderr"
  for o in "${planted[@]}"; do [ "$(cat "$TMP/home/$o")" = precious ]; done
  for o in "${planted[@]}" overwrite max-steps timeout max-memory quiet config no-such-option; do
    grep "ignored:" "$TMP/stderr" | grep -qE -- "--$o[,:]" || { echo "--$o is not said"; cat "$TMP/stderr"; return 1; }
  done
  [ "$(json "$TMP/out.json" 'd["config"]["lr"], d["config"]["timeout"]')" = "(0.05, 30.0)" ]
  for data in /dev/zero "$TMP/fifo"; do
    [ -e $data ] || mkfifo $data
    python3 tests/cli/forged.py checkpoint "$TMP/got" data=$data
    timeout 120 "${HOGRING:-build/hogring}" train --resume "$TMP/got" >/dev/null 2>"$TMP/stderr" && return 1 || [ $? = 3 ]
    grep -qF "$data: is not a regular file" "$TMP/stderr"
  done
}

@test "what an earlier version kept of a limit is no surprise" {
  begin
  python3 tests/cli/forged.py checkpoint "$TMP/c" max-data=8589934592 inject= || skip "no libxxhash"
  hogring train --quiet --resume "$TMP/c" >/dev/null 2>"$TMP/stderr"
  [ ! -s "$TMP/stderr" ]
}

@test "what is no checkpoint stays, whatever --keep and --overwrite say" {
  run=(train --model softmax --workers 2 --quiet --checkpoint-dir "$TMP/k")
  hogring "${run[@]}" --max-steps 4 --checkpoint-every 2 >/dev/null
  mkdir "$TMP/k/step-00000001" "$TMP/k/step-00000010"
  echo mine | tee "$TMP/k/step-00000001/thesis.txt" "$TMP/k/step-00000010/notes" >"$TMP/mine"
  hogring eval "$TMP/k/step-00000002" --json "$TMP/k/step-00000002/eval.json" >/dev/null
  hogring "${run[@]}" --resume --max-steps 12 >/dev/null 2>"$TMP/err"
  cmp "$TMP/k/step-00000001/thesis.txt" "$TMP/mine"
  cmp "$TMP/k/step-00000010.aside/notes" "$TMP/mine"
  [ -s "$TMP/k/step-00000002/eval.json" ]
  [ ! -e "$TMP/k/step-00000004" ]
  [ "$(ls -d "$TMP"/k/step-????????)" = "$(printf "$TMP/k/step-%08d\n" 1 2 8 10 12)" ]
  [ "$(grep -c "thesis.txt" "$TMP/err")" = 1 ]
  refused 2 "none of a checkpoint's files" "${run[@]}" --max-steps 2 --overwrite
  rm -r "$TMP"/k/step-0000000[12]
  hogring "${run[@]}" --max-steps 2 --overwrite >/dev/null
  mv "$TMP/k/latest" "$TMP/link"; cp "$TMP/mine" "$TMP/k/latest"
  hogring "${run[@]}" --max-steps 4 --resume >/dev/null 2>&1
  cmp "$TMP/k/latest" "$TMP/mine"
  cp "$TMP/mine" "$TMP/k/.run"
  refused 2 "none of hogring's files" "${run[@]}" --max-steps 2 --overwrite
  cmp "$TMP/k/.run" "$TMP/mine"
}

@test "a run does not overwrite what it begins with" {
  hogring train --model softmax --max-steps 2 --quiet --checkpoint-dir "$TMP/k" >/dev/null
  refused 2 "is read here" train --model softmax --max-steps 2 --quiet --init-weights "$TMP/k" --checkpoint-dir "$TMP/k" --overwrite
  [ -s "$TMP/k/latest/model.safetensors" ]
}

@test "a folder of checkpoints that is renamed meanwhile is made again, and locked" {
  forever --model softmax --checkpoint-dir "$TMP/k"
  mv "$TMP/k" "$TMP/away"
  kill -USR1 "$pid"
  for _ in $(seq 1200); do [ -L "$TMP/k/latest" ] && break; sleep 0.05; done
  refused 3 "trains into this folder now" train "${quick[@]}" --checkpoint-dir "$TMP/k" --overwrite
  ends_at TERM 143
  grep -q "made again" "$TMP/err"
  hogring eval "$TMP/k" >/dev/null
}

@test "a newest checkpoint that cannot be read now is no reason to go back" {
  command -v strace >/dev/null || skip "needs strace"
  case ${HOGRING:-} in *asan*) skip "the sanitizer of leaks does not run under a tracer" ;; esac
  hogring train --model softmax --max-steps 4 --checkpoint-every 2 --quiet --checkpoint-dir "$TMP/k" >/dev/null
  code=0
  strace -f -qq -o /dev/null -P "$TMP/k/step-00000004/model.safetensors" -e trace=pread64 -e inject=pread64:error=EIO:when=1 \
    "${HOGRING:-build/hogring}" train --checkpoint-dir "$TMP/k" --resume --max-steps 6 --quiet >"$TMP/out" 2>"$TMP/err" || code=$?
  [ $code = 3 ]
  grep -q "step-00000004.*cannot be read" "$TMP/err"
}
