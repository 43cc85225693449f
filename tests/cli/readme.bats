# README: every command in its ```sh blocks runs as it stands, and what it trains learns.
load support

@test "README is no manual: 120 lines of text at most" {
  [ "$(wc -l <README.md)" -le 120 ]
  [ "$(awk '/^```/ { block = !block } !block && length > 100' README.md | wc -l)" = 0 ]
}

@test "README's comparisons are fair" {
  sed -n '/^```sh$/,/^```$/p' README.md | sed ':a; /\\$/{N; s/\\\n *//; ta}' >"$TMP/commands"
  [ "$(grep -c "^hogring compare .*--tune --seeds 5" "$TMP/commands")" -ge 1 ]
  [ "$(grep "^hogring compare" "$TMP/commands" | grep -vc -e "--tune --seeds 5")" = 0 ]
}

# The commands, one behind the other in one folder. "hogring" there is this one, and leaves the results of training.
# With two seeds; HOGRING_LONG=1: with as many as are written.
@test "every command of README and of help start runs, and trains to 90 % at least where its bits repeat" {
  case ${HOGRING:-build/hogring} in build/hogring) ;; *) skip "the release build only" ;; esac
  mkdir -p "$TMP/bin" "$TMP/json" "$TMP/work"
  cat >"$TMP/bin/hogring" <<END
#!/bin/bash
case \$1 in train | compare | simulate | replay)
  case " \$* " in *" --json "*) ;; *) set -- "\$@" --json "$TMP/json/\$(ls "$TMP/json" | wc -l).json" ;; esac ;;
esac
exec "$PWD/build/hogring" "\$@"
END
  chmod +x "$TMP/bin/hogring"
  sed -n '/^```sh$/,/^```$/p' README.md | grep -v '^```' >"$TMP/readme.sh"
  sed -n 's/^    //p' src/cli/manual/start.txt >"$TMP/start.sh"
  [ "$(cat "$TMP"/*.sh | grep -c '^hogring')" -ge 20 ]
  [ -n "${HOGRING_LONG:-}" ] || sed -i 's/--seeds [0-9]*/--seeds 2/' "$TMP"/*.sh
  for text in readme start; do
    mkdir "$TMP/work/$text"
    (cd "$TMP/work/$text" && PATH=$TMP/bin:$PATH bash -eux "$TMP/$text.sh") >"$TMP/$text.said" 2>&1 || { tail -n 20 "$TMP/$text.said"; return 1; }
  done
  # The table that README shows is of this kind: its columns, and its strategies.
  sed -n '/^strategy /,/^mean/p' README.md | tr -s ' ' | cut -d' ' -f1 >"$TMP/shown"
  sed -n '/^strategy .*to target/,/^mean\|^target/p' "$TMP/readme.said" | tr -s ' ' | cut -d' ' -f1 >"$TMP/printed"
  [ "$(grep -c . "$TMP/shown")" -ge 6 ]
  head -n 6 "$TMP/shown" | cmp - <(head -n 6 "$TMP/printed")
  python3 - "$TMP"/json/*.json "$TMP"/work/*/*.json <<'PY'
import json, sys
documents = [(path, json.load(open(path))) for path in sys.argv[1:]]
runs = [(path, run, document.get("tuning")) for path, document in documents if isinstance(document, dict) for run in document.get("runs", [])]  # a timeline is a list
# Bits that do not repeat are those of a schedule: with updates as stale as a loaded machine makes them, it learns, and less. What a
# search chose for such a strategy may be close to what diverges.
# Of text it is the loss: e^-3 is a twelfth of what knows nothing.
low = [(path, run["strategy"], run["test_accuracy"], run["test_loss"]) for path, run, tuned in runs if
       (run["test_loss"] > 3 if run["tokens"] else run["test_accuracy"] < (0.9 if run["repeats"] else 0 if tuned else 0.3))]
sys.exit(f"too low: {low}" if low else 0 if len(runs) > 15 else f"{len(runs)} runs")
PY
}
