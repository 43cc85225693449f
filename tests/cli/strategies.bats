#!/usr/bin/env bats
# The strategies' own options: what they belong to, their ranges, where they are told.
load support

@test "local-sgd: its options, its banner, its JSON" {
  refused 2 "--sync-every: is not supported with --strategy allreduce (it belongs to hogwild on several machines, local-sgd, diloco and elastic-averaging)" train --sync-every 4
  refused 2 "--sync-every: is not supported with --strategy hogwild on one machine (it belongs to hogwild on several machines, local-sgd, diloco and elastic-averaging)" train --strategy hogwild --sync-every 4
  refused 2 "--sync-every 0: expected 1 to 1048576" train --strategy local-sgd --sync-every 0
  refused 2 "--async-lr: is not supported with --strategy local-sgd" train --strategy local-sgd --async-lr divide
  refused 2 "--reduce repro: not with --strategy local-sgd: it averages weights" train --strategy local-sgd --reduce repro --global-batch-size 64
  refused 2 "--overlap on: not with --strategy local-sgd" train --strategy local-sgd --overlap on
  hogring train --details --model softmax --epochs 1 --strategy local-sgd:adaptive --sync-every 4 --algorithm ring --json "$TMP/out.json" 2>"$TMP/stderr" >/dev/null
  grep -q "local-sgd (ring, " "$TMP/stderr"
  grep -q "manner   sync-every 4, adaptive" "$TMP/stderr"
  [ "$(json "$TMP/out.json" 'd["runs"][0]["manner"], d["config"]["sync-every"], d["config"]["adaptive-sync"]')" = "('sync-every 4, adaptive', 4, True)" ]
  hogring train "${quick[@]}" --strategy local-sgd --transport copy --workers 2 >/dev/null
}

@test "diloco: its options, its banner, its JSON" {
  refused 2 "M of --strategy diloco 1: expected 0 to less than 1" train --strategy diloco:,1
  refused 2 "LR of --strategy diloco 0: expected more than 0 to 1000000" train --strategy diloco:0
  hogring train --details --model softmax --epochs 1 --strategy diloco:0.5 --sync-every 4 --json "$TMP/out.json" 2>"$TMP/stderr" >/dev/null
  grep -q "manner   sync-every 4, outer-lr 0.5, outer-momentum 0.9" "$TMP/stderr"
  [ "$(json "$TMP/out.json" 'd["runs"][0]["manner"], d["config"]["outer-lr"]')" = "('sync-every 4, outer-lr 0.5, outer-momentum 0.9', 0.5)" ]
}

@test "compare says the outer rate of diloco once" {
  hogring compare "${quick[@]}" --strategies diloco:outer-lr=0.5,diloco >"$TMP/stdout"
  grep -q "^diloco direct sync-every 8, outer-lr 0.5, outer-momentum 0.9  *[0-9]" "$TMP/stdout"
}

# Replicas, anchor and momentum: with two workers fewer all begin with the mean, and a line says so.
@test "diloco goes on from the middle of a period, with other workers too" {
  hogring train "${quick[@]}" --strategy diloco --workers 4 --sync-every 4 --max-steps 6 --checkpoint-dir "$TMP/a" >/dev/null
  cp -r "$TMP/a" "$TMP/b"
  hogring train --checkpoint-dir "$TMP/a" --resume --max-steps 9 --json "$TMP/a.json" >/dev/null
  hogring train "${quick[@]}" --strategy diloco --workers 4 --sync-every 4 --max-steps 9 --json "$TMP/whole.json" >/dev/null
  [ "$(json "$TMP/a.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/whole.json" 'd["runs"][0]["weights_digest"]')" ]
  hogring train --checkpoint-dir "$TMP/b" --resume --workers 2 --max-steps 14 2>"$TMP/stderr" >/dev/null
  grep -q "its 4 workers had weights of their own; with 2 workers now, all begin with their mean" "$TMP/stderr"
}

@test "compare tells two periods of local-sgd apart" {
  hogring compare "${quick[@]}" --strategies local-sgd:sync-every=2,local-sgd:sync-every=8 >"$TMP/stdout"
  grep -q "^local-sgd direct sync-every 2 " "$TMP/stdout"
  grep -q "^local-sgd direct sync-every 8 " "$TMP/stdout"
}

@test "corrections of what is stale belong to those that push asynchronously" {
  for how in inverse none,0.5; do
    for strategy in allreduce ps-sync local-sgd; do
      refused 2 "--async-lr: is not supported with --strategy $strategy (it belongs to ps-async, ssp of" train --strategy $strategy --async-lr same:$how
    done
    for strategy in ps-async ssp hogwild; do
      hogring train "${quick[@]}" --strategy $strategy --async-lr same:$how >/dev/null
    done
  done
  refused 2 "--async-lr: is not supported with --strategy ssp" train --strategy ssp --staleness 0 --async-lr same:inverse
  refused 2 "STALENESS of --async-lr same twice: expected none or inverse" train --strategy ssp --async-lr same:twice
  refused 2 "LAMBDA of --async-lr same 10000000: expected 0 to 1000000" train --strategy ssp --async-lr same:none,1e7
  refused 2 "--staleness-lr inverse: is said behind a colon: --async-lr same:inverse" train --strategy ssp --staleness-lr inverse
  hogring train --details --model softmax --epochs 1 --strategy ps-async --async-lr same:inverse,0.5 --json "$TMP/out.json" 2>"$TMP/stderr" >/dev/null
  grep -q "manner   lr / (1 + staleness), delay-compensation 0.5" "$TMP/stderr"
  [ "$(json "$TMP/out.json" 'd["config"]["staleness-lr"], d["config"]["delay-compensation"]')" = "('inverse', 0.5)" ]
}

@test "backup-workers: one server, fewer backups than workers, drops are told" {
  refused 2 "--strategy backup-workers:3: expected fewer than the 3 workers" train --strategy backup-workers:3 --workers 3
  refused 2 "--servers 2: not with --strategy backup-workers: one server decides" train --strategy backup-workers --servers 2
  refused 2 "--async-lr: is not supported with --strategy backup-workers" train --strategy backup-workers --async-lr same:inverse
  hogring train "${quick[@]}" --strategy backup-workers:2 --workers 4 --clock explore:1 --details --json "$TMP/out.json" >"$TMP/stdout"
  grep -Eq "^dropped +[0-9]+ gradients of [0-9]+ samples; by worker:( [0-9]+){4}$" "$TMP/stdout"
  [ "$(json "$TMP/out.json" 'd["runs"][0]["dropped"]["gradients"] == sum(d["runs"][0]["dropped"]["by_worker"]) > 0, d["runs"][0]["manner"]')" = "(True, 'backups 2')" ]
  hogring compare "${quick[@]}" --concurrent --workers 3 --strategies backup-workers:backups=0,backup-workers:backups=1 --json "$TMP/out.json" >"$TMP/stdout"
  grep -q "^backup-workers backups 0 " "$TMP/stdout"
  [ "$(json "$TMP/out.json" '[len(r["dropped"]["by_worker"]) for r in d["runs"]]')" = "[3, 3]" ]
}

@test "elastic-averaging: its options, its banner" {
  refused 2 "ALPHA of --strategy elastic-averaging 2: expected more than 0 to 1" train --strategy elastic-averaging:2
  refused 2 "--async-lr: is not supported with --strategy elastic-averaging" train --strategy elastic-averaging --async-lr divide
  hogring train --details --model softmax --epochs 1 --strategy elastic-averaging --workers 3 --servers 2 --sync-every 4 2>"$TMP/stderr" >/dev/null
  grep -q "manner   sync-every 4, moving-rate 0.3" "$TMP/stderr"
  hogring train "${quick[@]}" --strategy elastic-averaging --launch process --workers 3 --optimizer lamb >/dev/null
}

@test "gossip: its graphs, its banner, record and replay, resume" {
  refused 2 "--strategy gossip:star: expected ring, torus, hypercube, complete, or a file" train --strategy gossip:star
  printf '0 1\n1 2\0 3\n2 3\n' >"$TMP/nul"
  refused 2 "--strategy gossip:$TMP/nul:2: expected a link as two different workers" train --strategy gossip:$TMP/nul --workers 4
  refused 2 "--strategy gossip:hypercube: 3 workers; expected a power of two" train --strategy gossip:hypercube --workers 3
  printf '0 1\n2 3\n' >"$TMP/graph"
  refused 2 "--strategy gossip: worker 0 reaches 2 of 4 workers; expected a graph that joins all" train --strategy gossip:$TMP/graph --workers 4
  echo "1 2 # now it does" >>"$TMP/graph"
  hogring train "${quick[@]}" --strategy gossip:$TMP/graph --workers 4 --record "$TMP/run.trace" --json "$TMP/out.json" 2>"$TMP/stderr" >/dev/null
  [ "$(json "$TMP/out.json" 'd["runs"][0]["manner"]')" = "gossip-graph $TMP/graph, 3 links" ]
  hogring replay "$TMP/run.trace" --quiet | grep "equals the recorded one"
  hogring train "${quick[@]}" --strategy gossip:$TMP/graph --workers 4 --max-steps 5 --checkpoint-dir "$TMP/drawn" >/dev/null
  echo "# the same links" >>"$TMP/graph"
  hogring train "${quick[@]}" --resume "$TMP/drawn" >/dev/null
  echo "0 3" >>"$TMP/graph"
  refused 2 "--strategy gossip:$TMP/graph: is not the graph it was trained with" train "${quick[@]}" --resume "$TMP/drawn"
  refused 2 "--strategy gossip:$TMP/graph: is not the graph it was trained with" replay "$TMP/run.trace"
  hogring train --resume "$TMP/drawn" --strategy gossip:complete 2>&1 >/dev/null | grep -q -- "--strategy gossip:complete: previously $TMP/graph"
  hogring train "${quick[@]}" --strategy gossip --workers 4 --launch process | grep -o "weights digest  [0-9a-f]*" >"$TMP/whole"
  hogring train "${quick[@]}" --strategy gossip --workers 4 --max-steps 5 --checkpoint-dir "$TMP/saved" >/dev/null
  hogring train "${quick[@]}" --strategy gossip --workers 4 --resume "$TMP/saved" | grep -o "weights digest  [0-9a-f]*" >"$TMP/resumed"
  diff "$TMP/whole" "$TMP/resumed"
  hogring train "${quick[@]}" --strategy gossip --workers 2 --resume "$TMP/saved" >/dev/null # from the mean
  hogring compare "${quick[@]}" --strategies gossip:gossip-graph=ring,gossip:gossip-graph=complete,local-sgd --workers 4 >"$TMP/stdout"
  grep -q "^gossip gossip-graph ring, 4 links  " "$TMP/stdout"
  grep -q "^gossip gossip-graph complete, 6 links  " "$TMP/stdout"
  grep -q "^local-sgd direct   " "$TMP/stdout"
  hogring simulate --strategy gossip:torus --workers 16 --link 1GB/s,5us --epochs 1 >/dev/null
}

@test "accumulate: bits of as many workers, its banner, what it is not with" {
  hogring train "${quick[@]}" --batch-size 8 --workers 4 | grep -o "weights digest  [0-9a-f]*" >"$TMP/workers"
  hogring train "${quick[@]}" --batch-size 8 --workers 1 --accumulate 4 2>"$TMP/stderr" | grep -o "weights digest  [0-9a-f]*" >"$TMP/parts"
  diff "$TMP/workers" "$TMP/parts"
  hogring train --details --model softmax --epochs 1 --accumulate 4 2>&1 >/dev/null | grep -q "update   sgd, momentum 0.9, of 4 minibatches each; lr 0.05"
  refused 2 "--accumulate 0: expected 1 to 1024" train --accumulate 0
  refused 2 "--accumulate 2: not with --overlap on" train --accumulate 2 --overlap on
  refused 2 "--accumulate 4: each of the 4 workers has 2 micro-shards, and none is larger than a minibatch: expected at most 2, or --reduce repro:16" train --accumulate 4 --workers 4 --reduce repro --global-batch-size 64
  hogring train "${quick[@]}" --accumulate 4 --workers 4 --reduce repro:16 --global-batch-size 64 >/dev/null
  refused 2 "--accumulate 32: each of the 4 workers has 2 micro-shards, and none is larger than a minibatch: expected at most 2" train --accumulate 32 --workers 4 --reduce repro --global-batch-size 64
}
