#!/usr/bin/env bats
# --overlap on: gradients leave while the rest is computed. With servers: the same weights, sooner in
# virtual time; or refused, with the reason.
load support

# one OVERLAP STRATEGY [OPTION...]: "digest seconds"; what is said to $TMP/said.
one() {
  local overlap=$1 strategy=$2
  shift 2
  hogring train --details --clock virtual --compute-time 5ms --link 1Gb/s,50us --workers 2 --epochs 1 \
    --strategy "$strategy" --overlap "$overlap" --json "$TMP/out.json" "$@" >"$TMP/said" 2>&1
  json "$TMP/out.json" '"%s %.9f" % (d["runs"][0]["weights_digest"], d["runs"][0]["seconds"])'
}

@test "a push in parts: the bits of one that is whole, and less time" {
  local off on
  for strategy in ps-sync backup-workers; do
    off=$(one off $strategy)
    on=$(one on $strategy --overlap on:16K)
    grep -q "  overlap  a push leaves in 2 parts, all but one while backward computes the rest" "$TMP/said"
    [ "${off% *}" = "${on% *}" ]
    # All of the last 16384 of 134912 multiply-adds of 5 ms, in each of 23 steps, but for a head or two.
    python3 -c 'import sys; off, on = map(float, sys.argv[1:])
sys.exit(abs((off - on) / 23 - (0.005 * 16384 / 134912 - 64 * 8e-9)) > 1e-6)' "${off#* }" "${on#* }"
  done
}

@test "where no part of a push leaves ahead, that is said" {
  one on ps-async --overlap on:256K
  grep -q "  overlap  none: no layers behind the first fill a part of 256K (--overlap on:BYTES)" "$TMP/said"
  hogring train --details --strategy ssp --epochs 1 --overlap on >"$TMP/said" 2>&1
  grep -q "  overlap  none: servers read a gradient where it lies, and no push travels" "$TMP/said"
}

@test "an all-reduce says its buckets, or that nothing overlaps" {
  hogring train --details --workers 2 --epochs 1 --overlap on:16K >"$TMP/said" 2>&1
  grep -q "  overlap  gradients are added in 2 buckets, all but one while backward computes the rest" "$TMP/said"
  hogring train --details --workers 2 --epochs 1 --overlap on:4K --pipeline 2 >"$TMP/said" 2>&1
  grep -q "  overlap  gradients are added in 2 buckets, all but one" "$TMP/said"
  hogring train --details --workers 2 --epochs 1 --overlap on >"$TMP/said" 2>&1
  grep -q "  overlap  none: no layers behind the first fill a bucket of 256K (--overlap on:BYTES), and a gradient is added whole" "$TMP/said"
  hogring train --details --workers 1 --epochs 1 --overlap on:16K >"$TMP/said" 2>&1
  grep -q "  overlap  none: one worker has nobody to add its gradient with" "$TMP/said"
}

@test "what needs a push whole is refused" {
  refused 2 "--overlap on: not with --strategy elastic-averaging: its workers hand in no gradient" \
    train --strategy elastic-averaging --overlap on
  refused 2 "--overlap on: not with --pipeline 2 and --strategy ps-sync: a worker pushes when all of its stages are through" \
    train --strategy ps-sync --pipeline 2 --overlap on
  refused 2 "a gradient is compressed as a whole" train --strategy ps-sync --compress bf16 --overlap on
  refused 2 "--overlap on: not with --strategy allreduce and --clock virtual" \
    train --clock virtual --overlap on
}
