#!/usr/bin/env bats
# --inject: failures as inputs.
load support

softmax=(--model softmax --epochs 1 --batch-size 16 --seed 2 --quiet) # seed 1 flips a bit that is rounded away
flip=flip-bit:weights:1@step=3

digest() { json "$1" 'd["runs"][0]["weights_digest"]'; }

@test "a failure that cannot be is said in one line" {
  refused 2 "--inject kill:2@step=3: expected a worker from 0 to 1" train --workers 2 --inject kill:2@step=3
  refused 2 "kill:server:0@step=3: this strategy has no servers" train --workers 2 --strategy allreduce --inject kill:server:0@step=3
  for command in train simulate; do
    refused 2 "not with --placement colocated: a server dies with its worker; expected kill:W, or" $command --workers 2 --strategy ps-async --placement colocated --inject kill:server:0@step=3
  done
  refused 2 "--inject kill:any, stall:any: not with --clock real" train --workers 2 --inject kill:any@p=0.1
}

@test "a worker that is told to die ends the run with 4 and its rank, unless --on-loss says otherwise" {
  for how in "--compute-time 1ms" "--compute-time 1ms --launch process" "--clock explore:3" "--clock virtual"; do
    refused 4 "rank 1" train "${quick[@]}" --workers 2 --strategy hogwild --inject kill:1@step=3 $how
    hogring train "${quick[@]}" --workers 2 --strategy hogwild --inject kill:1@step=3 $how --on-loss continue 2>"$TMP/stderr"
    grep -q "worker 1 was lost" "$TMP/stderr"
  done
}

@test "pushes that are lost are sent again, told, and change no synchronous weights" {
  hogring train "${quick[@]}" --workers 3 --strategy ps-sync --json "$TMP/whole.json"
  for how in "--launch thread" "--launch process" "--clock explore:3" "--clock virtual"; do
    hogring train "${quick[@]}" --workers 3 --strategy ps-sync $how --inject drop-push:p=0.4+1ms --details --json "$TMP/lossy.json" >"$TMP/stdout"
    [ "$(digest "$TMP/lossy.json")" = "$(digest "$TMP/whole.json")" ]
    [ "$(json "$TMP/lossy.json" '(lambda r: r["resent"] > r["duplicates"] > 0)(d["runs"][0])')" = True ]
    grep -Eq "^resent +[0-9]+ pushes, lost or not answered; [0-9]+ had arrived before$" "$TMP/stdout"
    grep -q "pushes" "$TMP/stdout"
  done
  [ "$(json "$TMP/whole.json" 'd["runs"][0]["resent"], d["runs"][0]["duplicates"]')" = "(0, 0)" ]
}

@test "where there are no pushes to servers none can be lost; nor for longer than others wait" {
  for s in allreduce hogwild local-sgd gossip; do
    refused 2 "--inject drop-push: not with --strategy $s: nobody pushes to servers; expected a strategy that does" train --strategy $s --inject drop-push:p=0.1
  done
  refused 2 "a push is sent again after 2 s, but waits end after --timeout 1 s" train --strategy ps-async --timeout 1s --inject drop-push:p=0.1+2s
}

# The rank and the tensor; the step is that of the batch. An early one: where workers are free, those of a busy machine may do
# most of the work.
nan_is_named() {
  refused 1 "rank 1, step " "$@" "${softmax[@]}" --workers 3 --inject nan:1@step=2
  grep -q ": the gradient is not finite, though the loss is: a nan in 1\.\(weight\|bias\) in epoch 1, samples " "$TMP/stderr"
}

@test "a NaN in a gradient is named by rank and tensor with every strategy, and the run ends with 1" {
  for s in $(strategies); do
    nan_is_named train --strategy $s --compute-time 1ms --launch thread
    nan_is_named train --strategy $s --compute-time 1ms --launch process
    nan_is_named train --strategy $s --compute-time 1ms --record "$TMP/run.trace"
    nan_is_named train --strategy $s --clock explore:5
    nan_is_named simulate --strategy $s
  done
  [ ! -e "$TMP/run.trace" ]
}

@test "a NaN is found in the step that it is in, in pieces that leave early and in parts that are added" {
  for how in "--overlap on" "--overlap on --algorithm ring" "--accumulate 2" "--reduce repro --global-batch-size 32 --workers 2" "--clip-norm 1"; do
    refused 1 "rank 1, step 7: the gradient is not finite" train --model mlp --epochs 1 --quiet --workers 3 --inject nan:1@step=7 $how
  done
}

@test "a bit that flips in a replica is found at the cut, and the rank is named" {
  for how in "train --algorithm tree" "train --algorithm ring --launch process" "train --clip-norm 1" "train --algorithm ring --clock explore:1" "simulate --algorithm tree"; do
    refused 1 " in 2 of 3 ranks: the weights of rank 1 were altered" $how "${softmax[@]}" --workers 3 --inject $flip
    refused 1 " in rank 0 and " $how "${softmax[@]}" --workers 2 --inject $flip
    grep -q " in rank 1: the weights of one of them were altered" "$TMP/stderr"
  done
}

# ps-sync has one order, so its bits tell that the gradient was another.
@test "a bit that flips in a copy that is pulled spoils one gradient, and the run goes on" {
  for flags in "" "--inject $flip"; do
    hogring train "${softmax[@]}" --strategy ps-sync --workers 2 $flags --json "$TMP/${flags:+flipped}.json" >/dev/null
  done
  [ "$(digest "$TMP/.json")" != "$(digest "$TMP/flipped.json")" ]
}

@test "a run with a flipped bit is replayed to the bit" {
  for how in "train --strategy ps-async --launch process --compute-time 1ms" "train --strategy hogwild --compute-time 1ms" "train --strategy ssp --clock explore:2" "simulate --strategy ps-async"; do
    hogring $how "${softmax[@]}" --workers 3 --inject flip-bit:weights:1@step=3,flip-bit:weights:2@step=5 --record "$TMP/run.trace" --json "$TMP/run.json" >/dev/null
    hogring replay "$TMP/run.trace" --quiet --json "$TMP/again.json" >/dev/null
    [ "$(digest "$TMP/run.json")" = "$(digest "$TMP/again.json")" ]
  done
}
