#!/usr/bin/env bats
# Text as data, to every command: what works, and one line where it means nothing.
load support

tiny=(--text context=8 --model "embedding 8, attention 2, tied" --batch-size 4)

make_texts() {
  for i in {1..60}; do echo "the cat number $i sat on a mat"; done >"$TMP/cats.txt"
  head -n 20 "$TMP/cats.txt" >"$TMP/other.txt"
}

digest() { hogring train "${tiny[@]}" --max-steps 3 --quiet "$@" | sed -n 's/^weights digest  \([0-9a-f]*\).*/\1/p'; }

@test "the same text as a file, a folder, gzip and packed trains to the same weights" {
  make_texts
  mkdir "$TMP/folder"
  head -n 30 "$TMP/cats.txt" >"$TMP/folder/a.txt"
  tail -n 30 "$TMP/cats.txt" | gzip >"$TMP/folder/b.txt.gz"
  hogring data make tokens "$TMP/cats.txt" --out "$TMP/cats.npy"
  want=$(digest --data "$TMP/cats.txt")
  [ -n "$want" ]
  [ "$(digest --data "$TMP/folder")" = "$want" ]
  [ "$(digest --data "$TMP/cats.npy")" = "$want" ]
  hogring data make tokens "$TMP/cats.txt" --out "$TMP/chars.npy" --text lines,vocabulary=chars
  [ "$(digest --data "$TMP/chars.npy")" = "$(digest --data "$TMP/cats.txt" --text lines,vocabulary=chars)" ]
}

@test "a text larger than the memory allowed is mapped" {
  truncate -s 300M "$TMP/large.txt"
  [ -n "$(digest --data "$TMP/large.txt" --max-memory 32M)" ]
  refused 3 "of memory, and there is" train "${tiny[@]}" --data "$TMP/large.txt" --max-memory 32M --text lines
}

@test "eval reads other texts by the model's own characters, all its checkpoints too" {
  make_texts
  hogring train "${tiny[@]}" --data "$TMP/cats.txt" --text vocabulary=chars --max-steps 3 --checkpoint-dir "$TMP/d" --checkpoint-every 1 --quiet
  hogring eval "$TMP/d" --json "$TMP/json" | grep -q "nats per token, perplexity 24, .* bits per byte"
  python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert d["classes"] is None and d["test_accuracy"] is None and 23 < d["perplexity"] < 25 and d["test_text"] == {k: d[k] for k in ("perplexity", "bits_per_byte")} and d["test_scores"] is None' "$TMP/json"
  [ "$(hogring eval "$TMP/d" --all | grep -c "^ *[123] ")" -eq 3 ]
  hogring eval "$TMP/d" --data "$TMP/other.txt" 2>"$TMP/err" | grep -q "samples of 8 tokens"
  grep -q "is not the data that" "$TMP/err"
  echo "THE CAT, and another one, and so on" >"$TMP/upper.txt"
  refused 3 'upper.txt: "T" (byte 1) is none of the 24 characters' eval "$TMP/d" --data "$TMP/upper.txt"
  tr a A <"$TMP/cats.txt" >"$TMP/upper.txt"
  refused 3 "its tokens are others" train "${tiny[@]}" --data "$TMP/upper.txt" --text vocabulary=chars --init-weights "$TMP/d" --max-steps 3
  refused 2 "hogring sample" predict "$TMP/d" --data "$TMP/cats.txt"
  refused 2 "--worst: is not supported for text" eval "$TMP/d" --worst 3
  refused 2 "--outputs: is not supported for text" eval "$TMP/d" --outputs "$TMP/x.npy"
}

@test "bits per byte and the guess are of what is tested, whose characters may be others" {
  python3 - "$TMP" <<'PY'
import random, sys
r = random.Random(3)
open(f"{sys.argv[1]}/z.txt", "w").write("".join(r.choices("abcdefgh \n", k=4000)) + "".join(r.choices("猫狗鱼", k=1000)))
PY
  hogring train "${tiny[@]}" --data "$TMP/z.txt" --text vocabulary=chars --max-steps 3 --checkpoint-dir "$TMP/d" --quiet --json "$TMP/r.json" >/dev/null
  hogring eval "$TMP/d" --json "$TMP/e.json" >/dev/null
  hogring data info "$TMP/z.txt" --text vocabulary=chars,context=8 --json "$TMP/i.json" >/dev/null
  python3 - "$TMP" <<'PY'
import collections, json, math, sys
tmp = sys.argv[1]
r, e, i = (json.load(open(f"{tmp}/{name}.json")) for name in "rei")
for loss, text in ((e["test_loss"], e["test_text"]), (r["runs"][0]["test_loss"], r["runs"][0]["test_text"])):
    assert abs(text["bits_per_byte"] - loss / math.log(2) / 3) < 1e-9, text
text = open(f"{tmp}/z.txt").read()
train, test = text[:4000], text[4001:4001 + 999 // 8 * 8]
n, all = collections.Counter(train), len(train) + len(set(text))
assert abs(i["text"]["guess_loss"] + sum(math.log((n[c] + 1) / all) for c in test) / len(test)) < 1e-9
PY
}

@test "other commands take text, or say in a line that they do not" {
  make_texts
  on=(--data "$TMP/cats.txt" "${tiny[@]}")
  hogring compare "${on[@]}" --max-steps 3 --strategies allreduce,ps-async --quiet >"$TMP/said"
  hogring simulate "${on[@]}" --max-steps 3 --quiet >"$TMP/said"
  hogring train "${on[@]}" --max-steps 3 --record "$TMP/t" --validation 0.2 --quiet >"$TMP/said"
  hogring train "${on[@]}" --max-steps 3 --json "$TMP/r.json" --quiet >"$TMP/said"
  hogring replay "$TMP/t" >"$TMP/said" 2>&1
  hogring gate "$TMP/r.json" >"$TMP/said" 2>&1
  hogring train "${on[@]}" --max-steps 3 --details 2>&1 >/dev/null | grep -q " [0-9.]*[kM]* tokens/s  allreduce, seed 1$"
  hogring data info "$TMP/cats.txt" --text context=8 --json "$TMP/info.json" >/dev/null
  [ "$(json "$TMP/info.json" '[(t["context"], t["vocabulary"], t["tokens"] > t["train_tokens"], t["guess_loss"] < 4) for t in [d["text"]]]')" = "[(8, 'bytes', True, True)]" ]
  hogring data info "$TMP/cats.txt" --text context=8 | grep -q "^test .* tokens, [0-9]* samples: .* sat on a mat"
  hogring forecast "${on[@]}" --strategies allreduce --workers 2 >"$TMP/said" 2>&1
  refused 2 "is not supported for text" compare "${on[@]}" --folds 3
  refused 2 "--normalize: is not supported for text" train "${on[@]}" --normalize
  refused 2 "--classes: is not supported for text" train "${on[@]}" --classes 300
  refused 2 "as --model gpt-nano" train --data "$TMP/cats.txt" --model mlp
  refused 2 "the data are no text" train --model gpt-nano
  refused 2 "not sparse" train --data "$TMP/cats.txt" --model logistic
  refused 2 "data make tokens" data pack --data "$TMP/cats.txt" --out "$TMP/x"
  refused 2 "--rows" data make tokens "$TMP/cats.txt" --out "$TMP/x.npy" --rows 3
  cp "$TMP/cats.txt" "$TMP/words"
  refused 3 "--text lines reads a list of words as text" train --data "$TMP/words"
}
