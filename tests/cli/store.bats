#!/usr/bin/env bats
# bench store: every number of workers and servers once, the law of links, and one line for what cannot be.
load support

@test "bench store shows a row a size, with sums that were checked" {
  hogring bench store --workers 2 --servers 1 --sizes 4K:16K --keys 3 --json "$TMP/out.json" --plot "$TMP/store.svg" >"$TMP/table"
  grep -q "push_pull of 3 keys by every worker (ps-async, thread, arena buffers)" "$TMP/table"
  [ "$(grep -c '^ .* 2W1PS ' "$TMP/table")" = 2 ]
  [ "$(json "$TMP/out.json" '[(r["setup"], r["bytes"], r["keys"], r["law_us"], r["wrong"]) for r in d["rows"]]')" = \
    "[('2W1PS', 4096, 3, None, 0), ('2W1PS', 16384, 3, None, 0)]" ]
  grep -q 2W1PS "$TMP/store.svg"
}

@test "a sweep has all workers with all servers, dedicated and colocated" {
  hogring bench store --sweep --workers 3 --servers 2 --placement both --sizes 4K --launch process --buffers private --strategy ps-sync --json - >"$TMP/out.json"
  [ "$(json "$TMP/out.json" '" ".join(r["setup"] for r in d["rows"] if r["placement"] == "dedicated")')" = "1W1PS 2W1PS 3W1PS 1W2PS 2W2PS 3W2PS" ]
  [ "$(json "$TMP/out.json" '" ".join(r["setup"].replace(" colocated", "") for r in d["rows"] if r["placement"] == "colocated")')" = "1W1PS 2W1PS 3W1PS 2W2PS 3W2PS" ]
  [ "$(json "$TMP/out.json" '{(r["strategy"], r["launch"], r["buffers"]) for r in d["rows"]}')" = "{('ps-sync', 'process', 'private')}" ]
}

@test "a link of each server makes the latency data / total bandwidth, or more" {
  hogring bench store --sweep --workers 2 --servers 2 --sizes 64K --link 100MB/s --json "$TMP/out.json" --plot "$TMP/sweep.svg" >"$TMP/table"
  grep -q ">workers<" "$TMP/sweep.svg" # a curve a number of servers
  grep -q ">2 servers<" "$TMP/sweep.svg"
  grep -q "every server has a link of 100MB/s, emulated" "$TMP/table"
  [ "$(json "$TMP/out.json" '[round(r["law_us"], 2) for r in d["rows"]]')" = "[1310.72, 2621.44, 655.36, 1310.72]" ]
  [ "$(json "$TMP/out.json" 'all(r["time_us"]["p50"] >= 0.999 * r["law_us"] for r in d["rows"])')" = True ]
}

@test "what cannot be gets one line" {
  refused 2 "--placement nowhere: expected dedicated, colocated or both" bench store --placement nowhere
  refused 2 "--strategy hogwild: bench store has ps-async and ps-sync" bench store --strategy hogwild
  refused 2 "--workers 33: expected 1 to 32" bench store --workers 33
  refused 2 "--servers 0: expected at least 1" bench store --servers 0
  refused 2 "--servers 3: colocated in 2 workers" bench store --placement colocated --workers 2 --servers 3
  refused 2 "--keys 0: expected 1 to 1024" bench store --keys 0
  refused 2 "--keys 5: expected 1 to 1024, and a float for each" bench store --keys 5 --sizes 16
  refused 2 "--sizes 3: expected LO:HI" bench store --sizes 3
  refused 2 "--link fast: expected" bench store --link fast
  refused 2 '--placement: needs "hogring bench store"' bench all_reduce --placement both
  refused 2 "--ranks: is not supported with bench store" bench store --ranks 2
}
