#!/usr/bin/env bats
# Pages as Chromium shows them, where it is installed: tests/cli/chromium.py says what is looked at, page_check.py
# compares what is drawn with the documents.
load support

setup() {
  cd "$BATS_TEST_DIRNAME/../.."
  TMP=$(mktemp -d)
  command -v chromium >/dev/null || skip "no chromium (Debian: chromium)"
}

looked() { timeout 150 python3 "$BATS_TEST_DIRNAME/chromium.py" "$@"; }
check() { python3 "$BATS_TEST_DIRNAME/page_check.py" "$1.html" "$1.json" "$1.dom"; }

@test "pages are whole at 390, 1280 and 1440 pixels, light and dark, with scripts and without" {
  hogring compare "${quick[@]}" --epochs 3 --workers 2 --seeds 2 --report "$TMP/compare.html" --json "$TMP/compare.json" --checkpoint-dir "$TMP/run.d" >/dev/null
  hogring bench all_reduce --sizes 4:16 --algorithm all --report "$TMP/bench.html" >/dev/null
  hogring eval "$TMP/run.d/allreduce/seed-1" --json "$TMP/eval.json" >/dev/null
  hogring report "$TMP/eval.json" --out "$TMP/eval.html" >/dev/null
  looked "$TMP/compare.html" "$TMP/bench.html" "$TMP/eval.html"
  check "$TMP/compare"
}

@test "what is drawn is what the document says, and the command on it is the command that was run" {
  hogring compare "${quick[@]}" --epochs 2 --workers 2 --seeds 2 --orders 2 --clock virtual --compute-time 'uniform(1ms,2ms)' --strategies allreduce,ps-sync,ssp \
    --time-to accuracy=0.2 --margin 5 --report "$TMP/it's a \$page.html" --json "$TMP/tests.json" >/dev/null
  mv "$TMP/it's a \$page.html" "$TMP/tests.html"
  hogring train "${quick[@]}" --epochs 2 --workers 3 --strategy ps-async --clock virtual --inject kill:1@step=3 --on-loss continue --report "$TMP/losses.html" --json "$TMP/losses.json" >/dev/null
  hogring train "${quick[@]}" --epochs 2 --model mlp --pipeline 2 --report "$TMP/pipeline.html" --json "$TMP/pipeline.json" >/dev/null
  hogring compare "${quick[@]}" --epochs 2 --strategies ssp --staleness 1,8 --workers 2 --report "$TMP/variants.html" --json "$TMP/variants.json" >/dev/null
  # ps-async diverges there: 1.
  run hogring compare --workers 8 --epochs 2 --clock virtual --strategies allreduce,ps-async --quiet --tune lr=0.3,0.6 --seeds 2 --time-to accuracy=0.3 --report "$TMP/chance.html" --json "$TMP/chance.json"
  [ "$status" = 1 ]
  QUICK=1 looked "$TMP/tests.html" "$TMP/losses.html" "$TMP/pipeline.html" "$TMP/variants.html" "$TMP/chance.html"
  for page in tests losses pipeline variants chance; do check "$TMP/$page"; done
  grep -q 'id="losses"' "$TMP/losses.dom"
  grep -q 'id="pipelines"' "$TMP/pipeline.dom"
  grep -q 'class="warn">at chance' "$TMP/chance.dom"
  [ "$(grep -o '<b>chosen</b>' "$TMP/chance.dom" | wc -l)" = 2 ]
  python3 - "$TMP/tests.dom" "$TMP/tests.json" "$TMP/variants.dom" <<'PY'
import html, json, re, shlex, sys
dom, document, variants = open(sys.argv[1]).read(), json.load(open(sys.argv[2])), open(sys.argv[3]).read()
command = html.unescape(re.search('<pre class="command"[^>]*><code>(.*?)</code>', dom, re.S)[1])
assert shlex.split(command) == document["command"], command
def keys(text):
    return set(re.findall(r'class="key"[^>]*style="--c:var\(--s-([^;]*)\);--d:([^"]*)"', text))
assert keys(dom) == {("allreduce", "none"), ("ps-sync", "none"), ("ssp", "none")}, keys(dom)
assert {c for c, d in keys(variants)} == {"ssp"} and len(keys(variants)) == 2, keys(variants)
PY
}

@test "documents that are anybody's, and of earlier versions, break no page" {
  hogring compare "${quick[@]}" --epochs 3 --workers 2 --seeds 2 --strategies allreduce,ssp,hogwild --json "$TMP/compare.json" >/dev/null
  hogring train "${quick[@]}" --model mlp --pipeline 2 --json "$TMP/pipeline.json" >/dev/null
  hogring bench all_reduce --sizes 4:16 --algorithm all --json "$TMP/bench.json" >/dev/null
  mkdir "$TMP/hostile"
  python3 "$BATS_TEST_DIRNAME/hostile.py" "$TMP/hostile" "$TMP/compare.json" "$TMP/pipeline.json" "$TMP/bench.json"
  for document in "$TMP"/hostile/*.json; do hogring report "$document" --out "${document%json}html" >/dev/null; done
  QUICK=1 looked "$TMP"/hostile/*.html
}
