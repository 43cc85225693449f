#!/usr/bin/env bats
# A language model goes on with a text: what is printed, what is refused.
load support

# learn TEXT OPTIONS...: a small model of the text in $TMP/m
learn() {
  printf '%s' "$1" >"$TMP/t.txt"
  shift
  hogring train --data "$TMP/t.txt" --text context=8 --workers 1 --batch-size 2 --lr 0.1 --epochs 4 --quiet --checkpoint-dir "$TMP/m" \
    --model "embedding 8, position, residual (layernorm, attention 2), layernorm, tied" "$@" >/dev/null
}
prose() { for i in $(seq 30); do printf 'the cat sat on the mat; '; done; }

@test "the same command gives the same text, behind the prompt, and another seed another" {
  learn "$(prose)"
  hogring sample "$TMP/m" --prompt 'the ' --tokens 40 --temperature 2 >"$TMP/a"
  hogring sample "$TMP/m" --prompt 'the ' --tokens 40 --temperature 2 >"$TMP/b"
  hogring sample "$TMP/m" --prompt 'the ' --tokens 40 --temperature 2 --seed 2 >"$TMP/c"
  cmp "$TMP/a" "$TMP/b"
  ! cmp -s "$TMP/a" "$TMP/c" || return 1
  [ "$(head -c 4 "$TMP/a")" = "the " ]
  printf 'the ' | hogring sample "$TMP/m" --prompt - --tokens 40 --temperature 2 | cmp - "$TMP/a"
  [ "$(tail -c 1 "$TMP/a" | od -An -c | tr -d ' ')" = '\n' ]
}

@test "JSON has each text and its tokens; a pipe gets bytes as they are" {
  learn "$(prose)" --text vocabulary=bytes
  hogring sample "$TMP/m" --temperature 9 --top-k 0 --tokens 300 --count 2 --json "$TMP/j" >"$TMP/out"
  python3 - "$TMP/j" "$TMP/out" <<'END'
import json, sys
j, out = json.load(open(sys.argv[1])), open(sys.argv[2], "rb").read()
texts = [bytes(s["tokens"]) for s in j["samples"]]
assert [len(t) for t in texts] == [300, 300] and texts[0] != texts[1] and any(b > 127 for b in texts[0]), texts
assert out == b"\n".join(t if t.endswith(b"\n") else t + b"\n" for t in texts), out
assert (j["context"], j["vocabulary"], j["prompt"]) == (8, 256, "\n")
END
  hogring sample "$TMP/m" --temperature 0 --top-k 3 --tokens 5 --json - | python3 -c 'import json, sys; assert len(json.load(sys.stdin)["samples"][0]["tokens"]) == 5'
}

@test "a reader that has seen enough ends it, and nothing is said" {
  learn "$(prose)"
  hogring sample "$TMP/m" --tokens 100000000 2>"$TMP/err" | head -c 10 >/dev/null
  [ ! -s "$TMP/err" ]
}

@test "what does not fit is refused in a line" {
  learn "$(prose)" --text vocabulary=chars
  refused 3 'none of the 11 characters of the training text' sample "$TMP/m" --prompt 'the Cat'
  refused 3 'no UTF-8' sample "$TMP/m" --prompt "$(printf 'a\377')"
  refused 2 '--tokens' sample "$TMP/m" --tokens 0
  refused 2 '--temperature' sample "$TMP/m" --temperature -1
  refused 2 'which checkpoint' sample
  refused 3 'no checkpoint' sample "$TMP/none"
  hogring train "${quick[@]}" --checkpoint-dir "$TMP/digits" >/dev/null
  refused 3 'was not trained on text' sample "$TMP/digits"
  refused 2 'knows no newline' sample "$TMP/m"
  : | refused 2 '--prompt: is empty' sample "$TMP/m" --prompt -
}
