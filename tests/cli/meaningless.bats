#!/usr/bin/env bats
# What would be accepted and do nothing is refused, by every command.
load support

@test "bench: an operation has its own options" {
  for option in "algorithm ring" "redop max" "group-size 2"; do
    refused 2 "--${option% *}: is not supported with bench broadcast" bench broadcast --$option
  done
  for option in "type int64" "sizes 4:8" "buffers private" "plot $TMP/out.svg"; do
    refused 2 "--${option% *}: is not supported with bench barrier" bench barrier --$option
  done
  refused 2 "--group-size: is not supported with bench all_reduce --algorithm ring" bench all_reduce --algorithm ring --group-size 2
  refused 2 "--link: the file" bench all_reduce --ranks 8 --transport copy --topology data/topologies/ring-8.txt --link 1GB/s
  for bench in all_reduce links layers train store; do
    refused 2 "--quiet: unknown option" bench $bench --quiet
  done
  hogring bench all --ranks 2 --sizes 4K:4K --algorithm hierarchical --group-size 2 --redop max --type int64 >/dev/null
}

@test "bench links draws nothing, and has rings on paper only" {
  refused 2 "--plot: is not supported with bench links" bench links --sweep --plot "$TMP/out.svg"
  refused 2 "--plot: is not supported with bench links" bench links --topology star:4 --plot "$TMP/out.svg"
  refused 2 "--group-size: is not supported with --algorithm ring" bench links --topology star:4 --algorithm ring --group-size 2
  refused 2 "--emulate: is not supported with --algorithm rings" bench links --topology ring:4 --algorithm rings --emulate
}

@test "bench train knows its strategy" {
  refused 2 "--servers: is not supported with --strategy allreduce" bench train --model softmax --servers 2
  refused 2 "--algorithm: is not supported with --strategy hogwild" bench train --model softmax --strategy hogwild --algorithm ring
}

@test "inspect: what a file says itself is not asked for" {
  hogring train "${quick[@]}" --checkpoint-dir "$TMP/run" >/dev/null 2>&1
  for option in "input 1x8x8" "classes 3" "batch-size 3"; do
    refused 2 "--${option% *}: is not supported for $TMP/run" inspect "$TMP/run" --$option
    hogring inspect "softmax" --$option >/dev/null
  done
}

@test "virtual time: messages and servers there are none of" {
  refused 2 "--servers time: is not supported with --strategy allreduce" simulate --servers time=1ms
  refused 2 "--servers time: is not supported with --strategy hogwild" simulate --strategy hogwild --servers time=1ms
  refused 2 "--link: is not supported with --strategy hogwild" simulate --strategy hogwild --link 1GB/s
  refused 2 "--topology: is not supported with --strategy hogwild" simulate --strategy hogwild --topology star:2
  refused 2 "--link: the file" simulate --workers 8 --topology data/topologies/ring-8.txt --link 1GB/s
  hogring compare "${quick[@]}" --clock virtual --strategies ps-async,hogwild --link 1GB/s --servers time=1ms >/dev/null
}

@test "one worker has nobody to send messages to" {
  for strategy in allreduce local-sgd; do
    for option in "link 1GB/s" "topology star:1" "algorithm ring"; do
      refused 2 "--${option% *}: is not supported with --workers 1" simulate --strategy $strategy --workers 1 --$option
    done
  done
  refused 2 "--transport: is not supported with --workers 1" train --workers 1 --transport copy
  refused 2 "--link: is not supported with --workers 1" compare --clock virtual --strategies allreduce:workers=1,local-sgd:workers=1 --link 1GB/s
  hogring simulate "${quick[@]}" --strategy ps-async --workers 1 --link 1GB/s >/dev/null
  hogring compare "${quick[@]}" --strategies allreduce:workers=1,allreduce:workers=2 --algorithm tree >/dev/null
}

@test "a period of one step cannot become shorter" {
  refused 2 "--strategy local-sgd:adaptive: not with --sync-every 1: it shortens periods" train --strategy local-sgd:adaptive --sync-every 1
  refused 2 "--strategy local-sgd:adaptive: not with --sync-every 1: it shortens periods" compare --strategies allreduce,local-sgd:adaptive:sync-every=1
  hogring train "${quick[@]}" --strategy local-sgd:adaptive --sync-every 2 >/dev/null
}

@test "trouble in a step that there is none of is warned of" {
  stall() { hogring "$1" "${quick[@]}" --workers 2 --max-steps 10 --strategy $2 --inject "$3" 2>&1 >/dev/null; }
  for command in train simulate; do
    [ "$(stall $command allreduce stall:1@step=10+1ms)" = "hogring: warning: --inject: worker 1 never stalled: step 10 (counted from 0) was not among its 10 steps" ]
    [ "$(stall $command ps-sync 'stall:*@step=5000+1s,slow:0x2')" = "hogring: warning: --inject: no worker stalled: step 5000 (counted from 0) was not among its 10 steps" ]
    [ -z "$(stall $command allreduce 'stall:1@step=9+1ms,stall:*@step=3+1ms')" ]
    [ "$(stall $command allreduce nan:1@step=10)" = "hogring: warning: --inject: worker 1 never met a NaN: step 10 (counted from 0) was not among its 10 steps" ]
    [ "$(stall $command allreduce flip-bit:weights:0@step=10)" = "hogring: warning: --inject: worker 0 never had a bit flipped: step 10 (counted from 0) was not among its 10 steps" ]
  done
}

@test "a death that never came is warned of" {
  death() { hogring train "${quick[@]}" --workers 2 --compute-time 1ms --epochs 2 --strategy ps-async --on-loss $1 --inject "$2" 2>&1 >/dev/null | grep -v " was lost: " || true; }
  [ "$(death continue kill:1@step=900 | sed 's/its [0-9]* steps/its N steps/')" = "hogring: warning: --inject: worker 1 never died: step 900 (counted from 0) was not among its N steps" ]
  [ "$(death continue kill:1@step=3,kill:1@step=9)" = "hogring: warning: --inject: worker 1 did not die again: step 9 (counted from 0) was not among its 3 steps" ]
  [ -z "$(death restart kill:1@step=3,kill:1@step=9)" ]
  [ "$(death stop kill:0@time=100s)" = "hogring: warning: --inject: worker 0 never died: the run was over before 100 s" ]
  [ "$(death stop kill:server:0@step=5000,kill:server:0@time=90s)" = "hogring: warning: --inject: server 0 never died: input 5000 (counted from 0) was not among those it took
hogring: warning: --inject: server 0 never died: the run was over before 90 s" ]
}

@test "explored schedules have no times" {
  for option in "compute-time 10ms" "link 1GB/s"; do
    refused 2 "--${option% *}: is not supported with --clock explore:1" train --clock explore:1 --$option
  done
  for what in slow:1x2 stall:1@step=3+1s load:0+1ms; do
    refused 2 "--inject slow, stall, load: not with --clock explore:1: nothing takes time there" train --clock explore:1 --workers 2 --inject nan:1@step=999,$what
  done
}

@test "replay: nothing is kept of what never was" {
  hogring train "${quick[@]}" --strategy ps-async --record "$TMP/run.trace" >/dev/null 2>&1
  refused 2 "--keep: where?" replay "$TMP/run.trace" --keep 1
  for option in "checkpoint-dir $TMP/again" "keep 1" "max-steps 3" "expect accuracy=0.1"; do
    refused 2 "--${option% *}: is not supported with --what-if" replay "$TMP/run.trace" --what-if staleness=1 --$option
  done
  [ ! -e "$TMP/again" ]
}
