#!/usr/bin/env bats
# Every option that is a number, at the ends of what numbers are: it is obeyed, or refused in a line.
# What adds or multiplies too far shows under make asan, whose build checks its promises.
load support

# The options that give NAME a meaning.
company() {
  case $1 in
    features|cost|factors|hot-copies) echo --data "$TMP/a.libsvm" --model logistic --strategy hogwild --solver sgd ;;
    servers) echo --strategy ps-sync ;;
    staleness) echo --strategy ssp ;;
    backups) echo --strategy backup-workers --workers 3 ;;
    sync-every) echo --strategy local-sgd ;;
    moving-rate) echo --strategy elastic-averaging ;;
    micro-shards) echo --reduce repro --global-batch-size 64 ;;
    bucket-size) echo --overlap on ;;
    --servers=time=) echo --clock virtual --strategy ps-sync ;;
    --pipeline=2,*) echo --workers 1 ;;
    beta1|beta2|eps) echo --optimizer adam ;;
    trust-coefficient) echo --optimizer lars ;;
    lr-step-epochs|lr-gamma) echo --lr-schedule step ;;
    base-batch-size) echo --scale-lr linear ;;
    checkpoint-every|keep) echo --checkpoint-dir "$(mktemp -d "$TMP/XXXXXX")" ;;
  esac
}

@test "numbers at their ends are obeyed, or refused in one line" {
  printf '1 1:1 2:3\n2 2:1\n1 1:1\n2 2:2\n' >"$TMP/a.libsvm"
  options=$(hogring help train --all | sed -nE 's/^  --([a-z0-9-]+) (N|X|S|K|E|G|B|M|T|C|D|RATE|LAMBDA|CLOCKS|STEPS|ALPHA|BYTES|SIZE|MODEL)( .*|$)/\1/p')
  [ "$(wc -w <<<"$options")" -gt 25 ]
  # Numbers that are parts of other options, or stand in place of a file.
  parts="--servers=time= --pipeline=2,micro-batches= --pipeline=2,schedule=interleaved: --json=$TMP/json,digests= --validation= --test= --expect=accuracy= --time-to=accuracy= --log=$TMP/log,every= --timeline=$TMP/timeline,steps=0:"
  for name in $options $parts; do
    case $name in --*) given=$name ;; *) given=--$name= ;; esac
    for value in 0 1 4294967296 18446744073709551615 18446744073709551616 1e300; do
      code=0
      # shellcheck disable=SC2046
      hogring train --model softmax --max-steps 20 --quiet $(company "$name") "$given$value" >"$TMP/out" 2>"$TMP/err" || code=$?
      [ $code -le 3 ] || { echo "$given$value: exit $code"; cat "$TMP/err"; return 1; }
      [ $code = 0 ] || [ "$(wc -l <"$TMP/err")" = 1 ] || { echo "$given$value: exit $code"; cat "$TMP/err"; return 1; }
    done
  done
}
