#!/usr/bin/env bats
# bench links: the textbook's figures, rings, laws; and one line for what cannot be.
load support

T=data/topologies
# row TOPOLOGY ALGORITHM [OPTIONS]: time and textbook's time in ms
row() {
  hogring bench links --topology "$1" --algorithm "$2" "${@:3}" --json "$TMP/out.json" >"$TMP/table"
  json "$TMP/out.json" '"%.6f %.3f" % (d["rows"][0]["seconds"] * 1e3, d["rows"][0]["textbook_seconds"] * 1e3)'
}

@test "three strategies on four GPUs take 60, 80 and 15 ms exactly" {
  [ "$(row $T/pcie-4.txt master-worker --bytes 160MB)" = "60.000000 60.000" ]
  [ "$(row $T/pcie-4.txt master-worker --root cpu)" = "80.000000 80.000" ]
  grep -q "host (shared) *100.0 %" "$TMP/table"
  [ "$(row $T/pcie-4.txt direct)" = "15.000000 15.000" ]
  [ "$(row $T/pcie-4.txt master-worker --root gpu2)" = "60.000000 60.000" ]
}

@test "the rings of eight GPUs take 5.199 ms, about the textbook's 6" {
  run row $T/nvlink-8.txt rings
  [[ $output == 5.199*" 5.926" ]]
}

@test "rings are found, with their lanes" {
  hogring bench links --topology $T/nvlink-8.txt --find-rings --json "$TMP/out.json" >"$TMP/table"
  grep -qF "2 lanes, 36 GB/s: gpu1 - gpu2 - gpu3 - gpu4 - gpu5 - gpu6 - gpu7 - gpu8 - gpu1" "$TMP/table"
  grep -qF "1 lane, 18 GB/s: gpu1 - gpu4 - gpu6 - gpu3 - gpu5 - gpu8 - gpu2 - gpu7 - gpu1" "$TMP/table"
  [ "$(json "$TMP/out.json" '[(r["lanes"], len(r["order"]), r["complete"]) for r in d["rows"]]')" = "[(2, 8, True), (1, 8, True)]" ]
  refused 1 "no ring: gpu0 has links to 0 other ranks" bench links --topology $T/pcie-4.txt --find-rings
}

@test "every algorithm has a row, and bytes on links add up" {
  hogring bench links --topology $T/cluster-2x4.txt --json - >"$TMP/out.json"
  [ "$(json "$TMP/out.json" 'len(d["rows"]) >= 9 and d["machine"]["processors"] > 0')" = True ]
  [ "$(json "$TMP/out.json" 'all(r["seconds"] == max(r["step_seconds"]) for r in d["rows"])')" = True ]
  [ "$(json "$TMP/out.json" '[r["bytes_sent"] for r in d["rows"] if r["algorithm"] == "ring"][0]')" = 2240000000 ]
  [ "$(json "$TMP/out.json" 'sum(r["algorithm"] == "hierarchical (4 a node)" for r in d["rows"])')" = 1 ]
}

@test "one server is O(m), n servers are O(m / n)" {
  hogring bench links --sweep --link 1GB/s --bytes 1024kB --json "$TMP/out.json" >"$TMP/table"
  grep -q "law, 2 N / (n B) *2.048000 *1.024000 *0.512000 *0.256000" "$TMP/table"
  [ "$(json "$TMP/out.json" 'len(d["rows"])')" = 128 ]
  [ "$(json "$TMP/out.json" 'all(abs(r["slope_seconds"] / r["law_slope_seconds"] - 1) < 0.02 for r in d["rows"])')" = True ]
  [ "$(json "$TMP/out.json" '[r["seconds"] for r in d["rows"] if r["workers"] == 32]')" = "[0.065536, 0.032768, 0.016384, 0.008192]" ]
}

@test "families on paper, up to 1024 ranks" {
  # A ring deals out runs of 64 KiB: three of them for each of 1024 ranks; or one, for the first.
  [ "$(row star:1024 ring --link 16GB/s,1us --bytes 201326592 | cut -d' ' -f1)" = 29.233248 ]
  [ "$(row ring:3 ring --bytes 192)" = "0.000048 0.000" ]
  refused 2 "--topology star:1025: expected 2 to 1024 ranks" bench links --topology star:1025
}

@test "what cannot be gets one line" {
  refused 2 "expected --topology star:N" bench links
  refused 3 "no/such" bench links --topology no/such
  printf 'gpu a b\nlink a c 1GB/s\n' >"$TMP/bad.txt"
  refused 3 "bad.txt:2: c: no such node" bench links --topology "$TMP/bad.txt"
  refused 2 "--root cpux: no such node" bench links --topology $T/pcie-4.txt --root cpux
  refused 2 "--root: is not supported with --algorithm direct" bench links --topology $T/pcie-4.txt --root cpu --algorithm direct
  refused 2 "there are: " bench links --topology star:4 --algorithm star
  refused 2 "--algorithm auto: is chosen by measuring" bench links --topology star:4 --algorithm auto
  refused 2 "--bytes 3: expected 4 to 1000GB" bench links --topology star:4 --bytes 3
  refused 2 "--bytes much: expected" bench links --topology star:4 --bytes much
  refused 2 "--link 16GB: expected BANDWIDTH[,LATENCY]" bench links --topology star:4 --link 16GB
  refused 2 "--link: the file" bench links --topology $T/pcie-4.txt --link 1GB/s
  refused 2 "--ranks: is not supported with bench links" bench links --topology star:4 --ranks 3
  refused 2 "--topology: is not supported with --sweep" bench links --topology star:4 --sweep
  refused 2 "--bytes: is not supported with --find-rings" bench links --topology ring:4 --find-rings --bytes 4
  refused 2 "--sweep: needs" bench all_reduce --sweep
  refused 2 "--find-rings: needs" bench all_reduce --find-rings
}

@test "--emulate measures what the walk predicts" {
  # 6 steps of 1 MiB at 1 GB/s; a busy machine may be late, sometimes, but links are never faster than they are.
  for _ in $(seq 10); do
    hogring bench links --topology ring:4 --link 1GB/s --bytes 4M --algorithm ring --emulate --json "$TMP/out.json" | grep -q "emulated (ms)"
    [ "$(json "$TMP/out.json" 'round(d["rows"][0]["seconds"], 4) == 0.0063 and d["rows"][0]["emulated_seconds"] >= 0.0062')" = True ]
    in_time=$(json "$TMP/out.json" 'd["rows"][0]["emulated_seconds"] < 0.060')
    [ "$in_time" != True ] || break
  done
  [ "$in_time" = True ]
  refused 2 "--emulate: needs" bench all_reduce --emulate
}
