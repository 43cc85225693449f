#!/usr/bin/env bats
# The strategies' own options: what they belong to, their ranges, where they are told.
load support

@test "local-sgd: its options, its banner, its JSON" {
  refused 2 "--sync-every: means nothing with --strategy allreduce (it belongs to local-sgd" train --sync-every 4
  refused 2 "--adaptive-sync: means nothing with --strategy hogwild (it belongs to local-sgd)" train --strategy hogwild --adaptive-sync
  refused 2 "--sync-every 0: expected 1 to 1048576" train --strategy local-sgd --sync-every 0
  refused 2 "--async-lr: means nothing with --strategy local-sgd" train --strategy local-sgd --async-lr divide
  refused 2 "--reduce repro: local-sgd averages weights" train --strategy local-sgd --reduce repro --global-batch-size 64
  refused 2 "--overlap on: means nothing with --strategy local-sgd" train --strategy local-sgd --overlap on
  hogring train --model softmax --epochs 1 --strategy local-sgd --sync-every 4 --adaptive-sync --algorithm ring --json "$TMP/out.json" 2>"$TMP/stderr" >/dev/null
  grep -q "local-sgd (ring: " "$TMP/stderr"
  grep -q "manner   sync-every 4, adaptive" "$TMP/stderr"
  [ "$(json "$TMP/out.json" 'd["runs"][0]["manner"], d["config"]["sync-every"], d["config"]["adaptive-sync"]')" = "('sync-every 4, adaptive', 4, True)" ]
  hogring train "${quick[@]}" --strategy local-sgd --transport copy --workers 2 >/dev/null
}

@test "compare tells two periods of local-sgd apart" {
  hogring compare "${quick[@]}" --strategies local-sgd:sync-every=2,local-sgd:sync-every=8 >"$TMP/stdout"
  grep -q "^local-sgd direct sync-every 2 " "$TMP/stdout"
  grep -q "^local-sgd direct sync-every 8 " "$TMP/stdout"
}
