#!/usr/bin/env bats
# --budget: the length of a run, the same for all that are compared.
load support

@test "samples, updates and virtual seconds end runs of all strategies alike" {
  hogring compare --strategies allreduce,ssp,hogwild --workers 2 --clock virtual --budget 5Ksamples --quiet --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'all(5000 <= r["samples"] <= 5064 for r in d["runs"]), d["config"]["budget"]')" = "(True, '5Ksamples')" ]
  hogring compare --strategies allreduce,ssp,hogwild --workers 2 --clock virtual --budget 90updates --quiet --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" '[r["updates"] for r in d["runs"]]')" = "[90, 90, 90]" ]
  hogring compare --strategies allreduce,ssp,hogwild --workers 2 --clock virtual --budget 1s --quiet --json "$TMP/out.json" >/dev/null
  [ "$(json "$TMP/out.json" 'all(1 <= r["seconds"] <= 1.1 for r in d["runs"])')" = True ]
}

@test "a budget is the length to which rates fall, and a run of as many epochs is the same run" {
  hogring train --strategy allreduce --workers 2 --epochs 2 --lr-schedule cosine --quiet --json "$TMP/a.json" >/dev/null
  samples=$(json "$TMP/a.json" 'd["runs"][0]["samples"]')
  hogring train --strategy allreduce --workers 2 --budget "${samples}samples" --lr-schedule cosine --quiet --json "$TMP/b.json" >/dev/null
  [ "$(json "$TMP/a.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/b.json" 'd["runs"][0]["weights_digest"]')" ]
}

@test "models on sparse rows take whole epochs" {
  hogring data make sparse --out "$TMP/rows.svm" >/dev/null
  hogring train --model logistic --data "$TMP/rows.svm" --epochs 2 --workers 1 --quiet --json "$TMP/a.json" >/dev/null
  samples=$(json "$TMP/a.json" 'd["runs"][0]["samples"]')
  hogring train --model logistic --data "$TMP/rows.svm" --budget "$((samples - 5))samples" --workers 1 --quiet --json "$TMP/b.json" >/dev/null
  [ "$(json "$TMP/b.json" 'd["runs"][0]["samples"]')" = "$samples" ]
  [ "$(json "$TMP/a.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/b.json" 'd["runs"][0]["weights_digest"]')" ]
}

@test "a run that goes on from a checkpoint has its budget, or another" {
  hogring train --budget 3Ksamples --checkpoint-dir "$TMP/c" --quiet >/dev/null
  refused 2 "raise --budget" train --checkpoint-dir "$TMP/c" --resume --quiet
  hogring train --budget 6Ksamples --checkpoint-dir "$TMP/c" --resume --quiet --json "$TMP/b.json" >/dev/null
  hogring train --budget 6Ksamples --quiet --json "$TMP/a.json" >/dev/null
  [ "$(json "$TMP/a.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/b.json" 'd["runs"][0]["weights_digest"]')" ]
}

@test "what is replayed ends where it ended, not when" {
  hogring train --strategy ps-async --workers 2 --budget 200ms --record "$TMP/t" --quiet --json "$TMP/a.json" >/dev/null
  hogring replay "$TMP/t" --quiet --json "$TMP/b.json" >/dev/null
  [ "$(json "$TMP/a.json" 'd["runs"][0]["weights_digest"]')" = "$(json "$TMP/b.json" 'd["runs"][0]["weights_digest"]')" ]
}

@test "what a budget cannot mean is refused" {
  refused 2 "expected samples, updates or a time" train --budget 500
  refused 2 "expected one of the two" train --budget 5Ksamples --epochs 3
  refused 2 "nobody knows" train --budget 5s --lr-schedule linear
  refused 2 "--warmup-epochs 4: expected 0 to 2" train --budget 2874samples --warmup-epochs 4
}
