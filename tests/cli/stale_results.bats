#!/usr/bin/env bats
# What lies in --json FILE after a run is of that run, however it ended.
load support

broken=(--model softmax --epochs 1 --quiet --loss mse --lr 1e5)

@test "a run that fails says so in its JSON, where an earlier run's was" {
  echo '{"runs": ["old"]}' >"$TMP/run.json"
  for command in train simulate; do
    ! hogring $command "${broken[@]}" --json "$TMP/run.json" --plot "$TMP/p.svg" 2>"$TMP/err" >/dev/null || return 1
    [ "$(json "$TMP/run.json" '(d["runs"], [(f["label"], f["strategy"], f["seed"]) for f in d["failed"]])')" = "([], [('allreduce', 'allreduce', 1)])" ]
    grep -qF "$(json "$TMP/run.json" 'd["failed"][0]["message"]')" "$TMP/err"
    [ "$(json "$TMP/run.json" 'd["config"]["lr"] > 99999 and "cpu" in d["machine"]')" = True ]
    [ ! -e "$TMP/p.svg" ]
  done
}

@test "compare lists the runs that failed beside those that ended well" {
  local list="allreduce,ssp:lr=1e5"
  for how in "" --concurrent; do
    ! hogring compare "${quick[@]}" --loss mse --strategies "$list" --seeds 2 $how --json "$TMP/run.json" >/dev/null 2>&1 || return 1
    [ "$(json "$TMP/run.json" '([r["strategy"] for r in d["runs"]], [(f["label"], f["strategy"], f["seed"]) for f in d["failed"]])')" = "(['allreduce', 'allreduce'], [('ssp:lr=1e5', 'ssp', 1), ('ssp:lr=1e5', 'ssp', 2)])" ]
    [ "$(json "$TMP/run.json" 'all("finite" in f["message"] for f in d["failed"])')" = True ]
  done
  hogring train "${quick[@]}" --json "$TMP/run.json" >/dev/null
  [ "$(json "$TMP/run.json" 'd["failed"]')" = "[]" ]
}

@test "a run that is killed leaves no results of an earlier one" {
  local out=(--json "$TMP/run.json" --plot "$TMP/run.svg")
  hogring train "${quick[@]}" "${out[@]}" >/dev/null
  cp "$TMP/run.json" "$TMP/target"
  ln -s target "$TMP/link.json"
  for json in run.json link.json; do
    rm -f "$TMP/err" # else the last one's epochs are taken for its own
    : >"$TMP/err"
    heard train --details --epochs 1000000 "${out[@]:2}" --json "$TMP/$json" >/dev/null 2>"$TMP/err" 3>&- &
    pid=$!
    until grep -q "^epoch" "$TMP/err"; do sleep 0.02; done
    kill -KILL "$pid"
    wait "$pid" || true
  done
  [ ! -e "$TMP/run.json" ] && [ ! -e "$TMP/run.svg" ] && [ -L "$TMP/link.json" ] && [ ! -s "$TMP/target" ]
}

@test "what is refused leaves earlier results alone" {
  hogring train "${quick[@]}" --json "$TMP/run.json" >/dev/null
  cp "$TMP/run.json" "$TMP/copy"
  for bad in "--lr -1" "--algorithm none" "--data $TMP/none.csv" "--workers 2 --batch-size 0"; do
    ! hogring train $bad --json "$TMP/run.json" 2>/dev/null || return 1
    ! hogring compare $bad --json "$TMP/run.json" 2>/dev/null || return 1
    cmp "$TMP/run.json" "$TMP/copy"
  done
}
