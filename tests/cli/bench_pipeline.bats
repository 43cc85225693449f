#!/usr/bin/env bats
# bench pipeline: schedules on paper, with the papers' bubbles where stages are equal; pictures; and one line for what cannot be.
load support

one() { hogring bench pipeline --pipeline "$1",micro-batches="$2",schedule="$3" "${@:4}"; }
# The same, refused with exit code 2 and this text.
none() { refused 2 "$1" bench pipeline --pipeline "$2",micro-batches="$3",schedule="$4" "${@:5}"; }

@test "equal stages have the bubble of the formula, in every row of a sweep" {
  hogring bench pipeline --pipeline 1,2,4,16,micro-batches=16,64,schedule=gpipe,1f1b,interleaved:3,zero-bubble,pipedream \
    --json "$TMP/out.json" >"$TMP/table"
  [ "$(json "$TMP/out.json" 'len(d["rows"]), d["model"], d["ranks"]')" = "(40, None, [])" ]
  [ "$(json "$TMP/out.json" 'max(abs(r["bubble"] - r["bubble_formula"]) for r in d["rows"]) < 1e-12')" = True ]
  [ "$(json "$TMP/out.json" 'all(abs(r["speed_up"] - r["stages"] * (1 - r["bubble"])) < 1e-9 for r in d["rows"])')" = True ]
  [ "$(json "$TMP/out.json" '[r["stored"] for r in d["rows"] if (r["stages"], r["micro_batches"]) == (4, 64)]')" = "[64, 4, 15, 4, 4]" ]
  [ "$(json "$TMP/out.json" '[r["messages"] for r in d["rows"] if (r["stages"], r["micro_batches"]) == (4, 16)]')" = "[96, 96, 352, 96, 96]" ]
  grep -q "^1f1b  *4  *16  *0.297  *3.37  *15.8 %  *15.8 %  *4  *1.00$" "$TMP/table"
  grep -q "^interleaved  *4x3  *16  *" "$TMP/table"
  [ "$(hogring bench pipeline --json - | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["rows"]))')" = 36 ]
}

@test "a model's stages are cut by multiply-adds, and balance says how evenly" {
  hogring bench pipeline --model mlp --pipeline 2,micro-batches=4,8,schedule=gpipe,1f1b --json "$TMP/out.json" >"$TMP/table"
  # Forward and gradients of the weights: 784 x 256; from there on of the input, too: 256 x 128 and 128 x 10.
  [ "$(json "$TMP/out.json" 'd["model"], d["madds"]')" = "('mlp', $((2 * 784 * 256 + 3 * (256 * 128 + 128 * 10))).0)" ]
  [ "$(json "$TMP/out.json" 'all(abs(r["balance"] - d["madds"] / 2 / (2 * 784 * 256)) < 1e-9 for r in d["rows"])')" = True ]
  [ "$(json "$TMP/out.json" 'all(r["bubble"] > 1 - r["balance"] - 1e-9 for r in d["rows"])')" = True ]
  one 2 4 1f1b --model mlp --json "$TMP/out.json" >"$TMP/table"
  grep -q "^0  *0 to 2  *79.7 %" "$TMP/table"
  one 2 4 1f1b --model mlp --pipeline stages=5,1 --json "$TMP/out.json" >"$TMP/table"
  grep -q "^1  *5  *0.8 %" "$TMP/table"
  [ "$(json "$TMP/out.json" '[(r["stage"], r["layers"], r["stored"], r["staleness"]) for r in d["ranks"]]')" = "[(0, '0 to 4', 2, None), (1, '5', 1, None)]" ]
}

@test "one combination is drawn" {
  one 2 2 zero-bubble >"$TMP/out"
  grep -qx "rank 0  F0--F1--....D0--W0--D1--W1--" "$TMP/out"
  grep -qx "rank 1  ....F0--D0--F1--D1--W0--W1--" "$TMP/out"
  grep -qx "F forward, D backward data, W backward weights, . idle, number: micro-batch" "$TMP/out"
  one 4 8 pipedream --json "$TMP/out.json" >"$TMP/out"
  [ "$(json "$TMP/out.json" '[tuple(r["staleness"].values()) for r in d["ranks"]]')" = "[(4, 3, 3), (3, 2, 2), (2, 1, 1), (1, 0, 0)]" ]
  one 4 8 unstashed --json "$TMP/out.json" >"$TMP/out"
  [ "$(json "$TMP/out.json" '[tuple(r["staleness"].values()) for r in d["ranks"]]')" = "[(1, 3, 0), (1, 2, 0), (1, 1, 0), (1, 0, 0)]" ]
}

@test "a schedule is drawn, on paper and as it was measured" {
  command -v gnuplot >/dev/null || skip "no gnuplot"
  one 4 8 zero-bubble --plot "$TMP/paper.svg" >/dev/null
  grep -q "backward for weights" "$TMP/paper.svg"
  one 2 4 1f1b --model mlp --data digits --rounds 1 --plot "$TMP/both.svg" --json "$TMP/out.json" >"$TMP/out"
  grep -q "the last step that was measured" "$TMP/both.svg"
  grep -q "^measured  *stages  *micro  *bubble" "$TMP/out"
  [ "$(json "$TMP/out.json" '0 < d["rows"][0]["measured"]["bubble_least"] <= d["rows"][0]["measured"]["bubble"] < 1')" = True ]
  awk 'length > 80 { print; bad = 1 } END { exit bad }' "$TMP/out"
}

@test "what is shown fits 80 columns" {
  { hogring bench pipeline; hogring bench pipeline --model resnet8 --pipeline 2,4,6; one 16 64 interleaved:4; one 8 200 unstashed --model vgg-small
    one 64 1024 zero-bubble; } >"$TMP/out"
  awk 'length > 80 { print; bad = 1 } END { exit bad }' "$TMP/out"
}

@test "help pipeline has the pictures that the command prints" {
  sed -e ':more' -e '/\\$/{N;s/\\\n *//;bmore' -e '}' src/cli/manual/pipeline.txt | sed -n 's/^    //p' >"$TMP/page"
  grep -q "^rank" "$TMP/page"
  while read -r line; do
    case $line in
    hogring\ bench*schedule=*) eval "$line" >"$TMP/out"; grep "^rank" "$TMP/out" >"$TMP/drawn"; cat "$TMP/drawn" >>"$TMP/all" ;;
    esac
  done <"$TMP/page"
  grep "^rank" "$TMP/page" | diff - "$TMP/all"
}

@test "what cannot be gets one line with what would work" {
  none "--pipeline 0: expected 1 to 1024" 0 4 1f1b
  none "--pipeline x: expected up to 16 numbers, as 4 or 2,4,8" x 4 1f1b
  none "--pipeline micro-batches=2,,4: expected up to 16 numbers" 2 2,,4 1f1b
  none "--pipeline micro-batches=65537: expected 1 to 65536" 2 65537 1f1b
  none "there is no such schedule (there are: gpipe, 1f1b, interleaved, zero-bubble, pipedream, unstashed)" 2 2 f1b1
  none "--pipeline micro-batches=6: interleaved wants a multiple of the 4 stages, as 4 or 8" 4 6 interleaved
  none "expected 1 to 64" 4 8 interleaved:65
  none "--pipeline schedule=1f1b:2: expected it without, or interleaved:V" 4 8 1f1b:2
  none "the model can be cut into at most 3 parts, not 4" 4 8 1f1b --model mlp
  refused 2 "the model can be cut into at most 1 part, not 2" bench pipeline --model softmax
  refused 2 "--pipeline stages=3,3: expected --pipeline K beside it, one number" bench pipeline --model mlp --pipeline stages=3,3
  none "--pipeline stages=3,4: 7 layers, the model has 6" 2 2 1f1b --model mlp --pipeline stages=3,4
  none "--pipeline stages: needs --model" 2 2 1f1b --pipeline stages=3,3
  none "--input: needs --model" 2 2 1f1b --input 1x8x8
  none "--plot: draws a single schedule; expected one" 2 2 1f1b,gpipe --plot "$TMP/x.svg"
  none "--rounds: needs --model" 2 2 1f1b --rounds 1
  none "--rounds 100: expected 0 to 99" 2 2 1f1b --model mlp --rounds 100
  refused 2 '--pipeline: needs "hogring bench pipeline"' bench all_reduce --pipeline 2
  # A sweep goes on without it.
  hogring bench pipeline --pipeline 4,micro-batches=6,8,schedule=interleaved >"$TMP/out"
  grep -q "^# without interleaved, 4 stages, 6 micro-batches:" "$TMP/out"
  grep -q "^interleaved  *4x2  *8 " "$TMP/out"
}

@test "text is measured in tokens" {
  seq 400 | sed 's/$/ a line of text/' >"$TMP/text.txt"
  text=(--model gpt-nano --data "$TMP/text.txt")
  one 2 2 1f1b "${text[@]}" --rounds 1 --json "$TMP/out.json" >"$TMP/out"
  grep -q "^measured .* tokens/s  *speed-up" "$TMP/out"
  [ "$(json "$TMP/out.json" '(m := d["rows"][0]["measured"])["tokens_per_s"] > 2 * m["samples_per_s"]')" = True ]
  one 2 4 1f1b --model mlp --data digits --rounds 1 --json "$TMP/out.json" | grep -q "^measured .* samples/s  *speed-up"
  [ "$(json "$TMP/out.json" 'd["rows"][0]["measured"]["tokens_per_s"]')" = None ]
}
