# Every command, for tests that treat all of them alike; none may run longer than $patience seconds.

patience=120
# bench layers fills twice the third level, which some machines say is half a GiB.
export HOGRING_CACHES=32K,512K,8M

# Every command, small. Words are split at blanks.
commands() {
  cat <<END
--version
help
help compare
train ${quick[*]}
train ${quick[*]} --launch process --strategy ps-async
train ${quick[*]} --strategy hogwild --record $TMP/out.trace
train ${quick[*]} --checkpoint-dir $TMP/out.d --json $TMP/out.json --plot $TMP/out.svg
train ${quick[*]} --threads-per-worker 2 --prefetch 1
train ${quick[*]} --resume $TMP/run.d --epochs 2
train --data $TMP/rows.libsvm --model logistic --epochs 1 --quiet
compare ${quick[*]} --workers 2 --strategies allreduce,ssp
compare ${quick[*]} --workers 2 --strategies allreduce,hogwild --concurrent
simulate ${quick[*]} --workers 4
eval $TMP/run.d
predict $TMP/run.d --data digits --out $TMP/out.csv
inspect $TMP/run.d
inspect $TMP/run.trace
replay $TMP/run.trace
data info
data pack --out $TMP/out.hrp
data make sparse --out $TMP/out.libsvm --rows 2000
bench all_reduce --sizes 4:4K --workers 2
bench links --topology dgx1
bench links --sweep
bench layers --model softmax --max-seconds 0.05s
forecast --strategies allreduce --workers 3
forecast --clock virtual --workers 2 --json $TMP/out.json
report $TMP/run.json --out $TMP/out.html
verify --list
verify --only one-worker,memory --seconds 0
gate $TMP/run.json --quiet
doctor
doctor --clean --json -
top --once
top 1 --once --json -
END
}

# A checkpoint, a trace and rows to read.
make_inputs() {
  hogring train "${quick[@]}" --checkpoint-dir "$TMP/run.d" --json "$TMP/run.json" >"$TMP/said" 2>&1
  hogring train "${quick[@]}" --strategy ps-async --record "$TMP/run.trace" >"$TMP/said" 2>&1
  hogring data make sparse --out "$TMP/rows.libsvm" --rows 500 >"$TMP/said" 2>&1
}

# ended CODE WHAT: neither killed by timeout (137) nor by a crash, and not without words; 126 and 127: it could not be loaded.
ended() {
  case $1 in
    [0-4] | 126 | 127 | 130 | 143) ! grep -qx "hogring: *" "$TMP/said" && return ;;
  esac
  echo "$2: exit $1"; tail -n 3 "$TMP/said"; return 1
}
