#!/usr/bin/env bats
# --on-loss: a run goes on without the ranks that it loses, and every sample is accounted for.
load support

samples=1438 # of the digits, an epoch
run=(train --model softmax --compute-time 1ms --quiet)

# accounted FILE EPOCHS: each sample was trained on, lost or dropped; and whoever was not there has no time.
accounted() {
  python3 - "$1" $(($2 * samples)) <<'PY'
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
assert run["losses"], "no losses"
all, had = int(sys.argv[2]), run["samples"] + run["samples_lost"] + run["dropped"]["samples"]
assert had == all, (all, run["samples"], run["losses"], run["dropped"])
assert run["samples_lost"] == sum(loss["samples_lost"] for loss in run["losses"])
lost = {loss["rank"] for loss in run["losses"] if not loss["server"]}
for rank, t in enumerate(run["time"]["workers"]):
    total = sum(t[k] for k in ("load", "compute", "communicate", "wait", "absent"))
    assert abs(total - run["seconds"]) < 1e-6, (rank, t, run["seconds"])
    assert (t["absent"] > 0) <= (rank in lost or run["micro_shards"] > 0), (rank, t)
PY
}

no_segment_left() { ! ls /dev/shm/hogring."$1".* 2>/dev/null; }

# started WORDS...: a run in the background with a result of its own, by which pgrep knows its processes.
started() { heard "$@" --details --json "$TMP/run.json" >"$TMP/said" 2>"$TMP/stderr" & pid=$!; }

# ended CODE: the run did, and left neither processes nor memory.
ended() {
  local code=0 left
  wait $pid || code=$?
  [ $code = $1 ] || { echo "exit $code, wanted $1"; cat "$TMP/stderr"; return 1; }
  left=$(pgrep -f "$TMP/run.json" || true)
  [ -z "$left" ] || { echo "left: $left"; return 1; }
  no_segment_left $pid
}

# Wait until stderr holds text $1 (a minute at most).
await() { for _ in $(seq 6000); do grep -q "$1" "$TMP/stderr" 2>/dev/null && return; sleep 0.01; done; cat "$TMP/stderr"; return 1; }

losses() { json "$TMP/run.json" "[(l['rank'], l['server'], l['back']) for l in d['runs'][0]['losses']], d['runs'][0]['restarts']"; }

for_each_launch() { printf "%s\n" thread process | together $1; }

# for_each FUNCTION: with every strategy, both ways to go on, and both launches: as threads one way and as processes the
# other, in turns. HOGRING_LONG=1: each way as both.
for_each() {
  local ways=(continue restart) s
  for s in $(strategies); do
    printf "%s\n" "$s ${ways[0]} thread" "$s ${ways[1]} process"
    [ -z "${HOGRING_LONG:-}" ] || printf "%s\n" "$s ${ways[0]} process" "$s ${ways[1]} thread"
    ways=("${ways[1]}" "${ways[0]}")
  done | together $1
}

dies() {
  started "${run[@]}" --strategy $1 --on-loss $2 --launch $3 --workers 3 --epochs 4 --inject kill:2@step=8
  ended 0 && accounted "$TMP/run.json" 4 || return 1
  if [ $2 = continue ]; then
    grep -q "worker 2 was lost: .*; the others go on" "$TMP/stderr" && [ "$(losses)" = "([(2, False, False)], 0)" ]
  else
    grep -q "worker 2 was lost: .*; it is started again" "$TMP/stderr" && [ "$(losses)" = "([(2, False, True)], 1)" ]
  fi || { cat "$TMP/stderr"; losses; return 1; }
  grep -q "^lost: worker 2 after 8 gradients, at " "$TMP/said" && [ "$(json "$TMP/run.json" 'd["runs"][0]["test_accuracy"] > 0.8')" = True ]
}

@test "a worker that dies is told, and the others go on: every strategy, as threads and as processes" { for_each dies; }

@test "each form of --inject is in the help" {
  hogring help train --all | tr -s ' \n' ' ' >"$TMP/help"
  for form in slow: stall:1 load: kill:2@step kill:2@time kill:server: kill:any stall:any nan: flip-bit: drop-push:; do grep -q -- "--inject.* $form.*--calibrate" "$TMP/help" || { echo $form; return 1; }; done
}

# killed_in NTH WORDS...: a run of processes whose NTH is killed in epoch 2, with a result as ended() wants; sets victim and
# epochs. A run that is over before it is killed is too short.
killed_in() {
  local nth=$1
  shift
  for epochs in 100 500 2500; do
    started train --model softmax --compute-time 1ms --launch process --epochs $epochs "$@"
    await "^epoch 2/"
    victim=$(child_of $pid $nth)
    kill -KILL $victim 2>/dev/null && break
    wait $pid
  done
  ended 0 && accounted "$TMP/run.json" $epochs
}

# stderr_has TEXT: or it is shown.
stderr_has() { grep -q "$1" "$TMP/stderr" || { cat "$TMP/stderr"; return 1; }; }

# The second of the processes is worker 1.
is_killed() {
  [ $3 = process ] || return 0
  killed_in 2 --strategy $1 --on-loss $2 --workers 3 && stderr_has "worker 1 was lost: pid $victim was killed by signal 9 "
}

@test "a worker process that is killed from outside is told, and the others go on" { for_each is_killed; }

# The second time it is away for 0.1 s, the third time for 0.2 s.
@test "a worker that is killed from outside still dies as often as --inject says" {
  started train --model softmax --compute-time 1ms --strategy hogwild --on-loss restart --launch process --workers 3 --epochs 200 --inject kill:1@step=600,kill:1@step=640
  await "^epoch 2/"
  kill -KILL "$(child_of $pid 2)"
  ended 0
  accounted "$TMP/run.json" 200
  [ "$(losses)" = "([(1, False, True), (1, False, True), (1, False, True)], 3)" ]
  [ "$(json "$TMP/run.json" '{600, 640} <= {l["step"] for l in d["runs"][0]["losses"]}')" = True ]
}

# All others wait for it at a cut, and what they say of that tells when.
@test "a worker that is lost while the others wait for it has no more time than the run" {
  started train --model softmax --compute-time 30ms --strategy hogwild --on-loss continue:count --launch process --workers 3 --epochs 2 --timeout 30s:300ms
  await "^epoch 1/"
  victim=$(child_of $pid 2)
  kill -STOP $victim
  await "(--timeout T:WARN)"
  kill -KILL $victim
  ended 0
  accounted "$TMP/run.json" 2
  [ "$(json "$TMP/run.json" 'd["runs"][0]["losses"][0]["seconds"] <= d["runs"][0]["seconds"]')" = True ]
}

loses_a_batch() {
  started "${run[@]}" --strategy $1 --on-loss continue:$2 --launch $3 --workers 3 --epochs 2 --inject kill:2@step=8
  ended 0
  accounted "$TMP/run.json" 2
  [ "$(json "$TMP/run.json" '[(l["samples_lost"] > 0, l["samples_again"] > 0) for l in d["runs"][0]["losses"]]')" = "[($([ $2 = count ] && echo "True, False" || echo "False, True"))]" ]
}

@test "a batch that a lost worker had is handed out again, or counted as lost" {
  for how in "ps-async reissue" "ps-async count" "hogwild reissue" "hogwild count"; do printf "%s\n" "$how thread" "$how process"; done |
    together loses_a_batch
}

loses_its_server() {
  started "${run[@]}" --strategy ps-async --on-loss continue --launch $1 --workers 2 --epochs 4 --inject kill:server:0@step=150
  ended 0
  accounted "$TMP/run.json" 4
  [ "$(losses)" = "([(0, True, True)], 1)" ]
  grep -q "^lost: server 0 at " "$TMP/said"
}

@test "a lost server is started again, and all go back to the last cut" { for_each_launch loses_its_server; }

# The third of the processes is server 0.
server_is_killed() {
  killed_in 3 --strategy $1 --on-loss $2 --workers 2 && [ "$(losses)" = "([(0, True, True)], 1)" ] || return 1
  stderr_has "server 0 was lost: pid $victim was killed by signal 9 .*; it is started again, all from step "
}

@test "a server process that is killed from outside is started again, whatever the strategy" {
  printf "%s\n" "ps-sync continue" "ps-async restart" "ssp continue" "elastic-averaging restart" "backup-workers continue" | together server_is_killed
}

ends_at_a_loss() {
  started "${run[@]}" --strategy $1 --launch $2 --workers 3 --epochs 4 --inject kill:2@step=8
  ended 4
  grep -q "^hogring: rank 2, step [0-9]*: .*killed by " "$TMP/stderr"
}

@test "without --on-loss the first loss ends the run with 4" {
  for s in allreduce ps-async hogwild; do printf "%s\n" "$s thread" "$s process"; done | together ends_at_a_loss
}

ends_without_ranks() {
  started "${run[@]}" --strategy hogwild --on-loss continue --launch $1 --workers 2 --epochs 4 --inject kill:0@step=8,kill:1@step=9
  ended 4
  grep -q "^hogring: rank [01], .*killed by .*; no worker is left" "$TMP/stderr"
  started "${run[@]}" --strategy hogwild --on-loss restart:,1 --launch $1 --workers 1 --epochs 4 --inject kill:0@step=3,kill:0@step=9
  ended 4
  started "${run[@]}" --strategy ps-async --on-loss continue:,0 --launch $1 --workers 2 --epochs 4 --inject kill:server:0@step=15
  ended 4
}

@test "the last worker ends a run with 4, and so does a server that may not be started again" { for_each_launch ends_without_ranks; }

# On a busy machine the one whose step is last need not be the one who comes to it last.
restarts_two() {
  started "${run[@]}" --strategy hogwild --on-loss restart:,2 --launch $1 --workers 3 --epochs 12 --inject kill:0@step=3,kill:1@step=10,kill:2@step=18
  ended 0
  accounted "$TMP/run.json" 12
  [ "$(json "$TMP/run.json" 'sorted(l["rank"] for l in d["runs"][0]["losses"]), [l["back"] for l in d["runs"][0]["losses"]], d["runs"][0]["restarts"]')" = "([0, 1, 2], [True, True, False], 2)" ]
}

@test "how many are started again is a number of the whole run; then those go on who are left" { for_each_launch restarts_two; }

# comes_back_alike STRATEGY LAUNCH WORDS...
comes_back_alike() {
  hogring "${run[@]}" --strategy $1 --launch $2 --workers 3 --epochs 4 "${@:3}" --json "$TMP/whole.json" >/dev/null
  started "${run[@]}" --strategy $1 --on-loss restart --launch $2 "${@:3}" --workers 3 --epochs 4 --inject kill:2@step=8,kill:0@step=25
  ended 0
  [ "$(losses)" = "([(2, False, True), (0, False, True)], 2)" ]
  [ "$(json "$TMP/run.json" 'd["runs"][0]["weights_digest"], d["runs"][0]["samples"]')" = "$(json "$TMP/whole.json" 'd["runs"][0]["weights_digest"], d["runs"][0]["samples"]')" ]
}

@test "where a loss ends the term, one that comes back changes no bit" {
  for s in $(strategies '$4 == "term"'); do printf "%s\n" "$s thread" "$s process"; done >"$TMP/list"
  for how in "--overlap on:4KiB" "--transport copy" "--algorithm ring --overlap on"; do printf "%s\n" "allreduce thread $how" "allreduce process $how"; done |
    cat "$TMP/list" - >"$TMP/more"
  printf "%s\n" "allreduce thread --compress topk:5%" "allreduce process --compress powersgd:2" "ps-sync thread --compress int8" "gossip process --compress topk:5%" |
    cat "$TMP/more" - | together comes_back_alike
}

# An epoch of several seconds: there has been a cut in it.
goes_back_a_little() {
  started train --model softmax --compute-time 4ms --strategy $1 --on-loss continue --workers 3 --epochs 1 --epoch-size 120000 --inject $2 "${@:3}"
  ended 0
  stderr_has "; .*, all from step [1-9]"
  [ "$(json "$TMP/run.json" '(lambda r: (r["samples"], r["samples_lost"], r["losses"][0]["followed"], 0 < r["losses"][0]["samples_again"] < r["samples"]))(d["runs"][0])')" = "(120000, 0, 'rollback', True)" ]
}

@test "a loss takes back less than an epoch of seconds" {
  printf "%s\n" "allreduce kill:1@time=4s" "local-sgd kill:2@time=4s" "gossip kill:0@time=4s" "ps-async kill:server:0@time=4s" "allreduce kill:1@time=4s --clock virtual" | together goes_back_a_little
}

# Whoever is left computes a share in parts, of which none may be summed before all are added.
is_left_alike() {
  local words=(train --model mlp --compute-time 1ms --workers 3 --epochs 2 --launch $1 --algorithm $2 --on-loss continue --inject kill:1@step=3,kill:2@step=15)
  started "${words[@]}" --overlap on:4KiB
  ended 0
  accounted "$TMP/run.json" 2
  json "$TMP/run.json" 'd["runs"][0]["weights_digest"]' >"$TMP/digest"
  started "${words[@]}"
  ended 0
  [ "$(json "$TMP/run.json" 'd["runs"][0]["weights_digest"]')" = "$(cat "$TMP/digest")" ]
}

@test "sums that begin during backward are those of whole gradients, whoever is left" {
  for l in thread process; do printf "%s\n" "$l direct" "$l ring"; done | together is_left_alike
}

repro=("${run[@]}" --reduce repro --global-batch-size 64 --workers 4 --epochs 3)

loses_no_bit() {
  started "${repro[@]}" --strategy $1 --on-loss $2 --launch $3 --inject $4
  ended 0
  accounted "$TMP/run.json" 3
  [ "$(json "$TMP/run.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/../$1.json" 'd["runs"][0]["weights_digest"]')" ]
}

@test "under --reduce repro losses change no bit, and who is left over sits out" {
  for s in allreduce ps-sync; do hogring "${repro[@]}" --strategy $s --json "$TMP/$s.json" >/dev/null; done
  for how in "continue thread" "continue process" "restart thread" "restart process"; do
    for who in kill:3@step=7 kill:0@step=17,kill:1@step=30; do printf "%s\n" "allreduce $how $who" "ps-sync $how $who"; done
  done | together loses_no_bit
}

@test "what is measured for a model outlives losses" {
  for launch in thread process; do
    hogring train --quiet --strategy ps-async --workers 3 --epochs 2 --launch $launch --on-loss restart --compute-time 1ms \
      --inject kill:1@step=5,kill:server:0@step=40 --calibrate "$TMP/$launch.ini" >/dev/null 2>&1
    hogring simulate --quiet --config "$TMP/$launch.ini" --strategy ps-async --workers 3 --epochs 1 >/dev/null
  done
}

@test "what cannot be put in order again is refused with --on-loss" {
  for how in continue restart; do
    refused 2 "--on-loss: is not supported with --model logistic" train --model logistic --on-loss $how
  done
  refused 2 "--on-loss go: expected stop, continue or restart" train --on-loss go
  refused 2 "BATCH of --on-loss continue drop: expected reissue or count" train --on-loss continue:drop
  refused 2 "N of --on-loss continue 4097: expected 0 to 4096" train --on-loss restart:,4097
  refused 2 "--on-loss stop:count: expected stop, continue or restart" train --on-loss stop:count
}

saves_what_it_evaluated() {
  hogring "${run[@]}" --strategy hogwild --workers 3 --epochs 2 --launch $1 --on-loss continue --inject kill:1@step=2,kill:2@step=30 --checkpoint-dir "$TMP/c" --json "$TMP/run.json" >/dev/null 2>&1
  hogring eval "$TMP/c" --json "$TMP/eval.json" >/dev/null
  [ "$(json "$TMP/run.json" 'd["runs"][0]["test_accuracy"]')" = "$(json "$TMP/eval.json" 'd["test_accuracy"]')" ]
}

@test "what was evaluated after a loss is the model that was saved" { for_each_launch saves_what_it_evaluated; }

# Where workers may be lost all go on from the center after every save; one that was lost has no replica.
saves_the_center() {
  hogring "${run[@]}" --strategy elastic-averaging --sync-every 3 --workers 3 --epochs 1 --launch $1 --on-loss continue --inject kill:1@step=5 \
    --checkpoint-dir "$TMP/c" --checkpoint-every 10 --keep 0 >/dev/null 2>&1
  python3 - "$TMP/c" <<'PY'
import glob, json, struct, sys
def tensors(path):
    data = open(path, "rb").read()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    return {name: data[end:][slice(*it["data_offsets"])] for name, it in json.loads(data[8:end]).items() if name != "__metadata__"}
steps = glob.glob(sys.argv[1] + "/step-*")
assert len(steps) == 5, steps
for step in steps:
    center, saved = tensors(step + "/model.safetensors"), tensors(step + "/trainer.safetensors")
    apart = [name for name in saved if name.split(".", 2)[-1] in center and saved[name] != center[name.split(".", 2)[-1]]]
    assert not apart, (step, apart)
PY
  rm -r "$TMP/c/step-00000045" "$TMP/c/step-00000040"
  hogring train --resume "$TMP/c" --epochs 1 --quiet --json "$TMP/run.json" >/dev/null
  [ "$(json "$TMP/run.json" '(d["runs"][0]["resumed_step"], d["runs"][0]["steps"])')" = "(30, 45)" ]
}

@test "what is saved of elastic-averaging's replicas is no lost worker's" { for_each_launch saves_the_center; }

comes_back() {
  hogring "${run[@]}" --strategy hogwild --workers 1 --epochs 2 --launch $1 --on-loss restart --inject kill:0@step=3,kill:0@step=50 --json "$TMP/run.json" >/dev/null 2>&1
  accounted "$TMP/run.json" 2
  [ "$(json "$TMP/run.json" 'd["runs"][0]["restarts"]')" = 2 ]
}

@test "the only worker comes back, and trains on" { for_each_launch comes_back; }

marks_losses() {
  hogring compare --model softmax --compute-time 1ms --workers 3 --epochs 4 --seeds 2 "$@" --details --json "$TMP/runs.json" --on-loss continue \
    --strategies "hogwild:inject=(kill:2@step=8),allreduce:on-loss=stop" >"$TMP/said" 2>/dev/null
  grep -q "^hogwild.*~  " "$TMP/said"
  tr -s ' \n' ' ' <"$TMP/said" | grep -q " lost by hogwild, seed 2: worker 2 after 8 gradients, at "
  grep -q "^Lost ranks: hogwild.* (2 of 2 seeds); not like for like" "$TMP/said"
  [ "$(json "$TMP/runs.json" '[[len(r["losses"]) for r in d["runs"]], [s["runs_with_losses"] for s in d["comparison"]["strategies"]], d["comparison"]["lost_alike"]]')" = "[[1, 0, 1, 0], [2, 0], False]" ]
}

@test "comparisons mark who lost a worker, side by side or one behind the other" {
  printf "%s\n" --quiet "--quiet --concurrent" | together marks_losses
}

# virtually STRATEGY HOW: two at once and one at a time, on one processor and on two: the same run, told and accounted for.
virtually() {
  local words=(simulate --model softmax --quiet --details --strategy $1 --on-loss $2 --workers 4 --epochs 4 --inject kill:2@step=8,kill:1@step=8,kill:3@time=0.1s)
  for cpus in 1 2; do
    HOGRING_CPUS=$cpus hogring "${words[@]}" --json "$TMP/$cpus.json" >"$TMP/said" 2>"$TMP/stderr" || { cat "$TMP/stderr"; return 1; }
    [ "$(grep -c "^lost: worker [123] after " "$TMP/said")" = 3 ] && [ "$(grep -c "warning: worker [123] was lost" "$TMP/stderr")" = 3 ] || return 1
  done
  accounted "$TMP/1.json" 4 || return 1
  python3 - "$TMP/1.json" "$TMP/2.json" <<'PY'
import json, sys
a, b = (json.load(open(path))["runs"][0] for path in sys.argv[1:])
for run in a, b: del run["wall_seconds"], run["cpu_seconds"]
assert a == b
assert a["test_accuracy"] > 0.8 and any(abs(l["seconds"] - 0.103) < 1e-9 for l in a["losses"]), a
PY
}

@test "in virtual time a run with losses is the same again, to the last digit of its JSON, on any number of processors" {
  for s in $(strategies); do printf "%s\n" "$s continue" "$s restart"; done | together virtually
}

@test "in virtual time, too, a lost server takes all back, and a comparison marks who lost one" {
  hogring simulate --model softmax --quiet --strategy ps-async --on-loss continue --workers 3 --epochs 4 --inject kill:server:0@step=150 --json "$TMP/run.json" >"$TMP/said" 2>/dev/null
  accounted "$TMP/run.json" 4
  [ "$(losses)" = "([(0, True, True)], 1)" ]
  grep -q "^lost: server 0 at " "$TMP/said"
  hogring compare --clock virtual --model softmax --quiet --workers 3 --epochs 4 --seeds 2 --json "$TMP/runs.json" --on-loss continue \
    --strategies "hogwild:inject=(kill:2@step=8),allreduce:on-loss=stop" >"$TMP/said" 2>/dev/null
  grep -q "^hogwild.*~  " "$TMP/said"
  grep -q "^Lost ranks: .*; not like for like" "$TMP/said"
  [ "$(json "$TMP/runs.json" '[len(r["losses"]) for r in d["runs"]], d["comparison"]["lost_alike"]')" = "([1, 0, 1, 0], False)" ]
}

@test "in virtual time 256 workers outlive several of them, a server at a time and the last of its kind" {
  hogring simulate --model softmax --quiet --strategy ps-async --on-loss restart:,5 --workers 256 --batch-size 4 --lr 0.002 --momentum 0 --epochs 3 \
    --inject kill:0@step=0,kill:255@step=1,kill:17@time=12ms,kill:18@time=12ms,kill:server:0@time=30ms --json "$TMP/run.json" >/dev/null 2>&1
  accounted "$TMP/run.json" 3
  [ "$(json "$TMP/run.json" 'len(d["runs"][0]["losses"]), d["runs"][0]["restarts"]')" = "(5, 5)" ]
  run hogring simulate "${quick[@]}" --strategy hogwild --workers 2 --on-loss continue --inject kill:0@step=2,kill:1@step=2
  [ "$status" = 4 ]
}
