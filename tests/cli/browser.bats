#!/usr/bin/env bats
# Pages as Chromium shows them, where it is installed: tests/cli/chromium.py says what is looked at.
load support

@test "pages are whole at 360, 800 and 1440 pixels, light and dark, with scripts and without" {
  command -v chromium >/dev/null || skip "no chromium (Debian: chromium)"
  hogring compare "${quick[@]}" --epochs 3 --workers 2 --seeds 2 --report "$TMP/compare.html" --checkpoint-dir "$TMP/run.d" >/dev/null
  hogring bench all_reduce --sizes 4:1K --algorithm all --report "$TMP/bench.html" >/dev/null
  hogring eval "$TMP/run.d/allreduce/seed-1" --json "$TMP/eval.json" >/dev/null
  hogring report "$TMP/eval.json" --out "$TMP/eval.html" >/dev/null
  timeout 150 python3 "$BATS_TEST_DIRNAME/chromium.py" "$TMP/compare.html" "$TMP/bench.html" "$TMP/eval.html"
}
