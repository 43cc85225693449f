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
