#!/usr/bin/env bats
# --precision bf16: the same bits along every rung of the ladder; what says it; what is refused.
load support

net=(--model "conv 6 3x3 pad 1, relu, maxpool 2, batchnorm, flatten, dense 40, relu, dense 10" --epochs 1 --max-steps 12 --precision bf16)
digest() { hogring train "${net[@]}" "$@" --quiet | sed -n 's/^weights digest  \([0-9a-f]*\).*/\1/p'; }

@test "synchronous strategies, launches, threads, kernels and instruction sets agree" {
  export HOGRING_ISA=v4bf16 # the order of machines without AMX, which the reference has
  want=$(digest --workers 2)
  [ -n "$want" ]
  [ "$(digest --workers 2 --precision float32)" != "$want" ]
  for how in "--strategy ps-sync" "--strategy ssp --staleness 0" "--algorithm tree" "--launch process" \
    "--threads-per-worker 2" "--kernels reference" "--clock virtual" "--overlap on" "--clock explore:3"; do
    [ "$(digest --workers 2 $how)" = "$want" ] || { echo "$how"; return 1; }
  done
  HOGRING_ISA=v2 refused 2 "HOGRING_ISA=v2: expected plain, v3, neon, v4, v4bf16 or v4amx" train --epochs 1
  for isa in plain v3 v4; do
    [ "$(HOGRING_ISA=$isa digest --workers 2)" = "$want" ] || { echo "$isa"; return 1; }
  done
}

@test "AMX has an order of its own, on any machine, which is named, and a trace is replayed in" {
  export HOGRING_ISA=v4amx
  want=$(digest --workers 2)
  [ "$want" != "$(HOGRING_ISA=v4bf16 digest --workers 2)" ]
  for how in "--strategy ps-sync" "--launch process" "--threads-per-worker 2" "--clock virtual"; do
    [ "$(digest --workers 2 $how)" = "$want" ] || { echo "$how"; return 1; }
  done
  [ "$(digest --workers 2 --kernels reference)" = "$(HOGRING_ISA=v4bf16 digest --workers 2)" ]
  hogring train "${net[@]}" --workers 2 --strategy ps-async --record "$TMP/run.trace" --json "$TMP/out.json" --quiet >"$TMP/stdout"
  [ "$(json "$TMP/out.json" 'd["bits"]["bf16"]')" = amx ]
  json "$TMP/out.json" 'd["runs"][0]["kernels"]' | grep -q "v4amx$\|in AMX's order$"
  hogring replay "$TMP/run.trace" --quiet | grep -q "equals the recorded one"
  HOGRING_ISA=v4bf16 refused 2 "whose bf16 was \"amx\", here it is \"pairs\": the bits would differ; HOGRING_ISA=v4amx has them on any machine" \
    replay "$TMP/run.trace"
  hogring train --workers 1 --max-steps 3 --record "$TMP/float.trace" --quiet >/dev/null # of which it decides nothing
  HOGRING_ISA=v4bf16 hogring replay "$TMP/float.trace" --quiet | grep -q "equals the recorded one"
}

@test "one worker: asynchronous strategies agree, recorded and replayed too" {
  want=$(digest --workers 1)
  for how in ps-async hogwild local-sgd; do
    [ "$(digest --workers 1 --strategy $how)" = "$want" ] || { echo "$how"; return 1; }
  done
  hogring train "${net[@]}" --workers 2 --strategy ps-async --record "$TMP/run.trace" --quiet >"$TMP/stdout"
  hogring replay "$TMP/run.trace" --quiet >"$TMP/again"
  [ "$(grep -o 'weights digest  [0-9a-f]*' "$TMP/stdout")" = "$(grep -o 'weights digest  [0-9a-f]*' "$TMP/again")" ]
  refused 2 "--precision: unknown option" replay "$TMP/run.trace" --precision float32
  HOGRING_ISA=v4bf16 hogring train "${net[@]}" --workers 2 --strategy ps-async --record "$TMP/pairs.trace" --quiet >"$TMP/again"
  HOGRING_ISA=plain hogring replay "$TMP/pairs.trace" --quiet >"$TMP/plain"
  [ "$(grep -o 'weights digest  [0-9a-f]*' "$TMP/plain")" = "$(grep -o 'weights digest  [0-9a-f]*' "$TMP/again")" ]
}

@test "pipelines are the whole, accumulated; shards are computed by any ranks; numbers of workers change no bit" {
  want=$(digest --workers 1 --batch-size 8 --accumulate 4)
  [ -n "$want" ]
  mlp=(--model mlp)
  whole=$(digest "${mlp[@]}" --workers 1 --batch-size 8 --accumulate 4)
  for schedule in 1f1b zero-bubble gpipe; do
    [ "$(digest "${mlp[@]}" --workers 1 --batch-size 32 --pipeline 2,micro-batches=4,schedule=$schedule)" = "$whole" ] || return 1
  done
  shards=$(digest "${mlp[@]}" --workers 1 --tensor-parallel 1:2)
  [ -n "$shards" ]
  [ "$(HOGRING_ISA=v4bf16 digest "${mlp[@]}" --workers 1 --tensor-parallel 1:2)" != "$(HOGRING_ISA=v4bf16 digest "${mlp[@]}" --workers 1)" ]
  [ "$(digest "${mlp[@]}" --workers 1 --tensor-parallel 2)" = "$shards" ]
  [ "$(digest "${mlp[@]}" --workers 1 --tensor-parallel 2 --launch process)" = "$shards" ]
  repro=$(digest --workers 1 --reduce repro --global-batch-size 64)
  [ "$(digest --workers 2 --reduce repro --global-batch-size 64)" = "$repro" ]
}

@test "banner, JSON, checkpoints and eval say it; tensors stay float32" {
  hogring train --details "${net[@]}" --workers 1 --checkpoint-dir "$TMP/run" --checkpoint-every 6 --json "$TMP/out.json" 2>"$TMP/stderr" >"$TMP/stdout"
  grep -q "engine   kernels bf16, tiles " "$TMP/stderr"
  [ "$(json "$TMP/out.json" 'd["config"]["precision"], d["runs"][0]["precision"]')" = "('bf16', 'bf16')" ]
  json "$TMP/out.json" 'd["runs"][0]["kernels"]' | grep -q "^bf16, tiles "
  last=$(ls -d "$TMP"/run/step* | sort -V | tail -1)
  hogring eval "$last" --json "$TMP/eval.json" | grep -q "samples, computed in bf16)"
  [ "$(json "$TMP/eval.json" 'd["precision"], d["test_loss"]')" = "('bf16', $(json "$TMP/out.json" 'd["runs"][0]["test_loss"]'))" ]
  python3 - "$last/model.safetensors" <<'END'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
assert header.pop("__metadata__")["hogring.precision"] == "bf16"
assert {t["dtype"] for t in header.values()} <= {"F32", "I64"}, header
END
  first=$(ls -d "$TMP"/run/step* | sort -V | head -1)
  want=$(grep -o 'weights digest  [0-9a-f]*' "$TMP/stdout")
  hogring train --resume "$first" --max-steps 12 --quiet >"$TMP/resumed"
  [ "$(grep -o 'weights digest  [0-9a-f]*' "$TMP/resumed")" = "$want" ]
  hogring train --resume "$first" --max-steps 12 --precision float32 --json "$TMP/other.json" --quiet >/dev/null
  [ "$(json "$TMP/other.json" 'd["runs"][0]["precision"]')" = "float32" ]
}

@test "a run that goes on in bfloat16 is told that, and nothing of an order of sums that its floats never had" {
  hogring train --epochs 1 --checkpoint-dir "$TMP/floats" --quiet >/dev/null
  HOGRING_ISA=v4amx hogring train --resume "$TMP/floats" --epochs 2 --precision bf16 --quiet >/dev/null 2>"$TMP/err"
  grep -q -- "--precision bf16: previously float32" "$TMP/err"
  run grep "bits change" "$TMP/err"
  [ "$status" -eq 1 ]
}

@test "compare and bench take it; what cannot be is refused" {
  hogring compare --model softmax --epochs 1 --workers 1 --strategies allreduce,allreduce:precision=bf16 2>/dev/null >"$TMP/stdout"
  grep -q "^allreduce direct precision bf16 " "$TMP/stdout"
  hogring bench train --model mlp --workers 1 --max-seconds 0.2 --precision float32,bf16 --json "$TMP/bench.json" >/dev/null
  [ "$(json "$TMP/bench.json" '[r["roof"]["kind"] for r in d["rows"]]')" = "['float32', 'bfloat16']" ]
  HOGRING_CACHES=32K,512K,8M hogring bench layers --model mlp --max-seconds 0.2 --precision bf16 --json "$TMP/layers.json" >/dev/null
  json "$TMP/layers.json" 'd["kernels"]' | grep -q "^bf16, tiles "
  refused 2 "--kernels openblas: has no products of bfloat16 values" train --precision bf16 --kernels openblas
  refused 2 "--kernels openblas: has no products of bfloat16 values" bench layers --model mlp --precision bf16 --kernels openblas
  refused 2 "--precision half: expected float32 or bf16" train --precision half
  refused 2 "--precision: is not supported with --model logistic" train --model logistic --precision bf16
}
