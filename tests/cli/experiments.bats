#!/usr/bin/env bats
# The experiments: what their files say is understood, and their judges judge.
load support

run_py="$BATS_TEST_DIRNAME/../experiments/run.py"

@test "every experiment names options that hogring has, cells that exist and judges that are there" {
  python3 "$run_py" --check
}

@test "an experiment with a mistake is refused by name" {
  cp "$BATS_TEST_DIRNAME"/../experiments/*.py "$TMP"
  mkdir -p "$TMP/tests/experiments" && mv "$TMP"/*.py "$TMP/tests/experiments"
  printf '[experiment]\ntitle=t\nfinding=f\nsource=s\nmeasure=final test_loss\n[options]\nworkesr=2\n' >"$TMP/tests/experiments/a.ini"
  HOGRING=$(realpath "${HOGRING:-build/hogring}") run python3 "$TMP/tests/experiments/run.py" --check
  [ "$status" -eq 2 ]
  [[ "$output" == *"a: hogring simulate has no --workesr"* ]]
}

@test "judges, measures and intervals give the answers of the textbook" {
  python3 "$BATS_TEST_DIRNAME/../experiments/test_judges.py"
}

@test "a measurement replaces its own section of the page of figures, and no other" {
  python3 - "$BATS_TEST_DIRNAME/../peers" <<'PY'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from figures import replaced
page = "# Page\n\nintro\n\n## A\n\nold a\n\n## B\n\nold b\n"
assert replaced(page, "A", "new a") == "# Page\n\nintro\n\n## A\n\nnew a\n\n## B\n\nold b\n"
assert replaced(page, "C", "new c") == page + "\n## C\n\nnew c\n"
PY
}
