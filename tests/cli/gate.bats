#!/usr/bin/env bats
# hogring gate: what an earlier run gave, run again and judged.
load support

me() { readlink -f "${HOGRING:-build/hogring}"; }
small=(--quiet --model softmax --workers 3 --epochs 1)

# What a gate says in $TMP/said, exit code $1.
gates() {
  local want=$1 got=0
  shift
  hogring gate "$@" >"$TMP/said" 2>"$TMP/stderr" || got=$?
  [ "$got" = "$want" ] || { echo "exit $got, wanted $want: $*"; cat "$TMP/said" "$TMP/stderr"; return 1; }
}
says() { tr -s ' \n' ' ' <"$TMP/said" | grep -qF -- "$1" || { echo "no \"$1\" in:"; cat "$TMP/said"; return 1; }; }

# older: a program whose all-reduce adds in another order; its runs, as if the options were the same, are $TMP/old.json.
older() {
  cat >"$TMP/older" <<END
#!/bin/sh
command=\$1; shift
$(me) \$command --algorithm halving-doubling "\$@" || exit
for word; do case \$word in --json=*) sed -i 's/allreduce halving-doubling/allreduce direct/' "\${word#--json=}"; esac; done
END
  chmod +x "$TMP/older"
  hogring compare "${small[@]}" --strategies allreduce,ps-sync --seeds 2 --json "$TMP/new.json",digests=4 >/dev/null
  hogring compare "${small[@]}" --strategies allreduce:algorithm=halving-doubling,ps-sync --seeds 2 --json "$TMP/other.json",digests=4 >/dev/null
  python3 - "$TMP" <<'END'
import json, sys
new, other = (json.load(open(f"{sys.argv[1]}/{n}.json")) for n in ("new", "other"))
for a, b in zip(new["runs"], other["runs"]):
    for field in ("weights_digest", "step_digests"):
        a[field] = b[field]
json.dump(new, open(sys.argv[1] + "/old.json", "w"))
END
}

# edited FILE STATEMENT: its document d, after that, is $TMP/edited.json.
edited() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); exec(sys.argv[2]); json.dump(d, open(sys.argv[3], "w"))' "$1" "$2" "$TMP/edited.json"; }

@test "what is unchanged passes: by digests where bits repeat, by band where they do not" {
  # Of 100 gates one is wrong, and more of a machine that is busier now than it was: not one time after the other.
  for _ in $(seq 20); do
    hogring compare "${small[@]}" --strategies allreduce,local-sgd,ps-async --seeds 5 --json "$TMP/b.json" >/dev/null
    gates 0 "$TMP/b.json" --json "$TMP/g.json" && break
    says "gate: FAILED: ps-async ("
  done
  [ "$(tail -1 "$TMP/said")" = "gate: passed: 3 strategies (2 by digests, 1 by band)" ]
  says "in 1 of 100 gates all these intervals together raise a false alarm (2, of 0.5 % each)"
  awk 'length > 80 { print; bad = 1 } END { exit bad }' "$TMP/said"
  [ "$(json "$TMP/g.json" '[(s["rule"], s["verdict"], len(s["bands"])) for s in d["gate"]["strategies"]]')" = \
    "[('digests', 'passed', 0), ('digests', 'passed', 0), ('band', 'passed', 2)]" ]
  [ "$(json "$TMP/g.json" 'all(b["low"] <= b["now"] <= b["high"] and b["seen_with_80_percent"] > 0 for b in d["gate"]["strategies"][2]["bands"])')" = True ]
  gates 0 "$TMP/b.json" "$TMP/b.json"
  [ "$(tail -1 "$TMP/said")" = "gate: passed: 3 strategies (3 by digests, 0 by band)" ]
}

@test "where a strategy's bits are others it fails, and the step and the tensor are named" {
  older
  gates 1 "$TMP/old.json" --junit "$TMP/gate.xml" --annotations github
  [ "$(tail -1 "$TMP/said")" = "gate: FAILED: allreduce direct (digests); 1 of 2 strategies passed" ]
  says "2 of 2 seeds have other bits, first 1; seed 1: different at step 4: first in 1.weight"
  grep -q '^::error title=hogring gate%3A allreduce direct::2 of 2 seeds' "$TMP/said"
  python3 - "$TMP/gate.xml" <<'END'
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
suite = root.find("testsuite")
cases = suite.findall("testcase")
assert root.tag == "testsuites" and suite.get("tests") == str(len(cases)) == "2", tree.tostring(root)
assert suite.get("failures") == "1" and suite.get("errors") == suite.get("skipped") == "0"
assert [c.get("classname") for c in cases] == ["hogring.gate.allreduce direct", "hogring.gate.ps-sync"]
assert "at step 4" in cases[0].find("failure").get("message") and cases[1].find("failure") is None
END
  gates 1 "$TMP/old.json" --against "$TMP/older"
  says "seed 1: different at step 1: first in 1.weight"
  says "all ranks hold the same there, and no rank's loss differs"
  edited "$TMP/old.json" 'for r in d["runs"]: r["step_digests"] = None'
  gates 1 "$TMP/edited.json"
  says "which step? give --against OLD-BINARY, or make the baseline with --json FILE,digests=N"
}

@test "the first step is found among many, and the rank whose part differs" {
  python3 - "$TMP" <<'END'
import json, sys
def run(bad):
    parts = lambda s: {"0.weight": "a", "worker.0.0.weight": "b", "worker.1.0.weight": "c" if s < 40 or not bad else "x"}
    return {"label": "l", "strategy": "local-sgd", "seed": 1, "weights_digest": "y" if bad else "n", "repeats": True, "kernels": "k",
            "step_digests": [{"step": s, "parts": parts(s)} for s in range(1, 60)]}
for bad in (0, 1):
    json.dump({"hogring": "0.1.0", "command": ["hogring", "compare"], "config": {"data": {"digest": "d"}},
               "bits": dict.fromkeys(["kernels", "isa", "gemm", "libm"], "z"), "runs": [run(bad)]}, open(f"{sys.argv[1]}/{bad}.json", "w"))
END
  gates 1 "$TMP/0.json" "$TMP/1.json"
  says "equal at step 39, different at step 40: first in worker.1.0.weight (1 of 3 parts); rank 1's part differs, 1 of 2 ranks' are equal"
}

# The reference kernels' bits are the same on every machine: there none has others.
own_bits() { [[ "$(hogring --version)" == *reference* ]] && skip "there are no other kernels here"; :; }

@test "where machines sum bf16 in other orders both are named" {
  bf16=(--quiet --model mlp --workers 1 --epochs 1 --max-steps 12 --precision bf16)
  HOGRING_ISA=v4bf16 hogring train "${bf16[@]}" --json "$TMP/pairs.json" >/dev/null
  HOGRING_ISA=v4amx hogring train "${bf16[@]}" --json "$TMP/amx.json" >/dev/null
  gates 2 "$TMP/pairs.json" "$TMP/amx.json"
  says "the baseline's machine sums bf16 in the order pairs, this one in the order amx, and a band needs 5 seeds: the baseline has 1"
}

@test "where the machine has other bits the band judges, or the old program's runs here" {
  own_bits
  hogring train "${small[@]}" --json "$TMP/b.json" >/dev/null
  edited "$TMP/b.json" 'd["bits"]["isa"] = "z9"; d["runs"][0]["weights_digest"] = "0"'
  gates 2 "$TMP/edited.json"
  says "gate: NOT JUDGED: allreduce direct"
  says "the baseline's machine has another isa, and a band needs 5 seeds: the baseline has 1"
  gates 0 "$TMP/edited.json" --against "$(me)"
  says "judged by the runs of"
  [ "$(tail -1 "$TMP/said")" = "gate: passed: 1 strategy (1 by digests, 0 by band)" ]
}

@test "what cannot be judged is no pass" {
  hogring train "${small[@]}" --strategy ps-async --json "$TMP/b.json" >/dev/null
  edited "$TMP/b.json" 'd["runs"][0]["weights_digest"] = "0"' # though it were the same by luck
  gates 2 "$TMP/edited.json" --junit "$TMP/gate.xml"
  says "not bit-reproducible, and a band needs 5 seeds: the baseline has 1"
  grep -q '<skipped message="not bit-repro' "$TMP/gate.xml"
}

@test "a worse accuracy fails, and a run that fails" {
  hogring compare "${small[@]}" --strategies ps-async --seeds 5 --json "$TMP/b.json" >/dev/null
  edited "$TMP/b.json" 'for r in d["runs"]: r["test_accuracy"] -= 0.9; r["weights_digest"] = "0"'
  gates 1 "$TMP/b.json" "$TMP/edited.json"
  says "gate: FAILED: ps-async (accuracy); 0 of 1 strategy passed"
  edited "$TMP/b.json" 'd["failed"] = [{"label": "ps-async", "seed": 3, "message": "training diverged"}]; del d["runs"][2]'
  gates 1 "$TMP/b.json" "$TMP/edited.json"
  says "ps-async: seed 3 failed: training diverged"
}

# timed NAME FACTOR: this program, whose runs say that they took FACTOR times as long.
timed() {
  cat >"$TMP/$1" <<END
#!/bin/sh
$(me) "\$@" || exit
for word; do case \$word in --json=*) exec python3 - "\${word#--json=}" <<'CODE'
import json, sys
d = json.load(open(sys.argv[1]))
for r in d["runs"]: r["wall_seconds"] *= $2; r["cpu_seconds"] *= $2
json.dump(d, open(sys.argv[1], "w"))
CODE
esac; done
END
  chmod +x "$TMP/$1"
}

@test "speed is judged beside the old program alone" {
  hogring train "${small[@]}" --epochs 3 --json "$TMP/b.json" >/dev/null
  gates 0 "$TMP/b.json"
  says "speed is not judged: "
  timed fast 0.001
  timed slow 1000
  gates 1 "$TMP/b.json" --against "$TMP/fast" --slower 20% --pairs 3 --json "$TMP/g.json"
  says "gate: FAILED: allreduce direct (speed); 0 of 1 strategy passed"
  [ "$(json "$TMP/g.json" 'd["gate"]["strategies"][0]["speed"]["cpu_seconds"]["slower"]')" = True ]
  gates 0 "$TMP/b.json" --against "$TMP/slow" --slower 20% --pairs 3
  says "3 pairs, in turn"
}

# stand_in NAME LINE...: a program that is this one, but for these lines before (sh; "$@" is its command line).
stand_in() {
  local name=$1
  shift
  { echo '#!/bin/bash'; printf '%s\n' "$@"; echo "exec $(me) \"\$@\""; } >"$TMP/$name"
  chmod +x "$TMP/$name"
}
# Its command line with other strategies.
instead() { echo 'a=(); for x; do case $x in --strategies=*) x=--strategies='"$1"';; esac; a+=("$x"); done; set -- "${a[@]}"'; }

@test "what the old program lost is not judged, by name, and no gate passes without it" {
  own_bits
  hogring compare "${small[@]}" --model mlp --strategies allreduce,ps-sync --json "$TMP/b.json" >/dev/null
  edited "$TMP/b.json" 'd["bits"]["isa"] = "z9"
for r in d["runs"]: r["weights_digest"] = "0"'
  stand_in none "$(instead allreduce:lr=1000000,ps-sync:lr=1000000)"
  stand_in half "$(instead allreduce,ps-sync:lr=1000000)"
  gates 2 "$TMP/edited.json" --against "$TMP/none"
  says "gate: NOT JUDGED: allreduce direct, ps-sync; 0 of 2 strategies passed"
  says "ps-sync: the old program's seed 1 failed: "
  gates 2 "$TMP/edited.json" --against "$TMP/half" --junit "$TMP/gate.xml"
  says "gate: NOT JUDGED: ps-sync; 1 of 2 strategies passed"
  grep -q '<skipped message="the old program' "$TMP/gate.xml"
  gates 2 "$TMP/b.json" --against "$TMP/half" --slower 1000% --pairs 3 --json "$TMP/g.json"
  says "gate: NOT JUDGED: ps-sync; 1 of 2 strategies passed"
  says "ps-sync: speed: not judged: 3 of 3 pairs lack a run"
  [ "$(json "$TMP/g.json" '[s["verdict"] for s in d["gate"]["strategies"]]')" = "['passed', 'not judged']" ]
}

@test "labels that the old program alone has mean nothing" {
  hogring compare "${small[@]}" --strategies allreduce,ps-sync --json "$TMP/b.json" >/dev/null
  edited "$TMP/b.json" 'd["bits"]["isa"] = "z9"'
  cat >"$TMP/more" <<END
#!/bin/sh
$(me) "\$@" || exit
for word; do case \$word in --json=*) exec python3 - "\${word#--json=}" <<'CODE'
import json, sys
d = json.load(open(sys.argv[1]))
d["runs"] = [dict(d["runs"][0], label=f"extra {i}", wall_seconds=1e-9) for i in range(200)] + d["runs"]
json.dump(d, open(sys.argv[1], "w"))
CODE
esac; done
END
  chmod +x "$TMP/more"
  gates 0 "$TMP/edited.json" --against "$TMP/more" --slower 1000% --pairs 3
  [ "$(tail -1 "$TMP/said")" = "gate: passed: 2 strategies (2 by digests, 0 by band)" ]
}

@test "what failed has failed, though the old program does not help to say where" {
  hogring train "${small[@]}" --model mlp --json "$TMP/b.json" >/dev/null
  edited "$TMP/b.json" 'd["runs"][0]["weights_digest"] = "0"'
  stand_in refuses 'for x; do case $x in --config=*) ! grep -q digest-every "${x#--config=}" || { echo "hogring: digest-every: no option" >&2; exit 2; };; esac; done'
  stand_in crashes 'kill -SEGV $$'
  stand_in babbles 'for x; do case $x in --json=*) echo "[" >"${x#--json=}"; exit 0;; esac; done'
  stand_in diverges 'set -- "$@" --lr=1000000'
  while IFS='|' read -r name reason; do
    gates 1 "$TMP/edited.json" --against "$TMP/$name" --json "$TMP/g.json" --junit "$TMP/gate.xml"
    says "where: not found: "; says "$reason"
    says "gate: FAILED: allreduce direct (digests); 0 of 1 strategy passed"
    [ "$(json "$TMP/g.json" 'd["gate"]["verdict"]')" = failed ]
    grep -q '<failure.*not found' "$TMP/gate.xml"
    rm "$TMP/g.json" "$TMP/gate.xml"
  done <<'END'
refuses|ended with 2: digest-every: no option
crashes|ended with 139: it said nothing
babbles|not JSON
diverges|seed 1 failed: 
END
  gates 1 "$TMP/edited.json" --against "$TMP/crashes" --slower 20% --pairs 3
  says "speed: not measured: "
  gates 1 "$TMP/edited.json" --against "$(me)"
  says "the old binary gives the new bits here, too"
}

@test "a program that cannot be run is refused at once" {
  hogring train "${small[@]}" --json "$TMP/b.json" >/dev/null
  : >"$TMP/plain"
  refused 2 "--against $TMP/none: No such file or directory" gate "$TMP/b.json" --against "$TMP/none"
  refused 2 "--against $TMP/plain: Permission denied" gate "$TMP/b.json" --against "$TMP/plain"
  refused 2 "--against $TMP: Is a directory" gate "$TMP/b.json" --against "$TMP"
  refused 2 "no such program in PATH" gate "$TMP/b.json" --against no-such-program
}

@test "what is read is not written over" {
  python3 -c 'for i in range(300): print(i % 7, i % 5, i % 2, sep=",")' >"$TMP/d.csv"
  hogring train --quiet --data "$TMP/d.csv" --model softmax --workers 2 --epochs 1 --json "$TMP/b.json" >/dev/null
  cp "$TMP/b.json" "$TMP/n.json"; cp "$(me)" "$TMP/older"
  md5sum "$TMP"/*.json "$TMP/d.csv" "$TMP/older" >"$TMP/sums"
  refused 2 "written over" gate "$TMP/b.json" "$TMP/n.json" --json "$TMP/n.json"
  refused 2 "written over" gate "$TMP/b.json" --junit "$TMP/b.json"
  refused 2 "is read here" gate "$TMP/b.json" --against "$TMP/older" --json "$TMP/older"
  refused 2 "is read here" gate "$TMP/b.json" --junit "$TMP/d.csv"
  refused 2 "are one file" gate "$TMP/b.json" --json "$TMP/x" --junit "$TMP/./x"
  refused 2 "--junit -: cannot go to stdout" gate "$TMP/b.json" --junit -
  md5sum --quiet -c "$TMP/sums"
}

@test "a baseline decides what is trained, not where anything is written, nor limits" {
  hogring compare "${small[@]}" --strategies "allreduce:checkpoint-dir=$TMP/mine:overwrite=on,ps-sync:timeout=20s" --json "$TMP/b.json" >/dev/null
  rm -r "$TMP/mine"
  hogring compare "${small[@]}" --epochs 2 --strategies allreduce --checkpoint-dir "$TMP/mine" >/dev/null
  find "$TMP/mine" -type f -exec md5sum {} + >"$TMP/sums"
  gates 0 "$TMP/b.json" --timeout 1m
  says "gate: passed: 2 strategies"
  grep -q "ignored: --checkpoint-dir, --overwrite, --timeout, .*--json" "$TMP/stderr"
  grep -q "re-running: compare .* --timeout=6" "$TMP/stderr"
  mkdir "$TMP/home"
  for o in json plot report timeline log tensorboard checkpoint-dir config; do
    echo precious >"$TMP/home/$o"
    edited "$TMP/b.json" "d['given']['$o'] = '$TMP/home/$o'"; gates 0 "$TMP/edited.json"
    grep -qE -- "ignored: .*--$o[,:]" "$TMP/stderr"
    edited "$TMP/b.json" "d['given']['strategies'] += ':$o=$TMP/home/$o'"; hogring gate "$TMP/edited.json" >/dev/null 2>"$TMP/stderr" || true
    grep -qF -- "$o" "$TMP/stderr"
    [ "$(cat "$TMP/home/$o")" = precious ]
    edited "$TMP/b.json" "d['given']['$o=$TMP/home/$o'] = '1'"; refused 3 "which is no option of hogring compare" gate "$TMP/edited.json"
  done
  md5sum --quiet -c "$TMP/sums"
}

@test "interrupted once, it ends an old program that does not heed it" {
  hogring train "${small[@]}" --json "$TMP/b.json" >/dev/null
  edited "$TMP/b.json" 'd["runs"][0]["weights_digest"] = "0"'
  stand_in hangs "trap '' TERM INT" "echo \$\$ >$TMP/pid" 'while :; do sleep 1; done'
  mkdir "$TMP/tmp"
  TMPDIR=$TMP/tmp "$(me)" gate "$TMP/edited.json" --against "$TMP/hangs" --quiet >"$TMP/out" 2>&1 &
  pid=$!
  for _ in $(seq 1200); do [ ! -s "$TMP/pid" ] || break; sleep 0.05; done
  ends_at TERM 143
  [ -z "$(ls "$TMP/tmp")" ]
  ! kill -0 "$(cat "$TMP/pid")" 2>/dev/null
}

@test "what is no baseline is refused in a line" {
  hogring train "${small[@]}" --json "$TMP/b.json" >/dev/null
  hogring bench all_reduce --sizes 4:4 --json "$TMP/bench.json" >/dev/null
  echo '{"a": ' >"$TMP/cut.json"; echo '[1]' >"$TMP/list.json"; truncate -s 300M "$TMP/huge.json"; : >"$TMP/empty.json"
  refused 3 "line 2: not JSON" gate "$TMP/cut.json"
  refused 3 "not JSON" gate "$TMP/empty.json"
  refused 3 "not a document of hogring's --json" gate "$TMP/list.json"
  refused 3 "has no runs of training" gate "$TMP/bench.json"
  refused 3 "$TMP/huge.json" gate "$TMP/huge.json"
  refused 3 "No such file" gate "$TMP/nothing.json"
  edited "$TMP/b.json" 'd["runs"] = []'; refused 3 "has no runs, so there is nothing to judge by" gate "$TMP/edited.json"
  edited "$TMP/b.json" 'd["hogring"] = "99.0.0"'; refused 3 "which is later than this" gate "$TMP/edited.json"
  edited "$TMP/b.json" 'del d["given"]'; refused 3 "does not say what was given (earlier versions did not)" gate "$TMP/edited.json"
  edited "$TMP/b.json" 'd["given"]["resume"] = "x"'; refused 2 "no gate runs it again" gate "$TMP/edited.json"
  edited "$TMP/b.json" 'd["given"]["budget"] = "2s"'; refused 2 "the clock ended it" gate "$TMP/edited.json"
  edited "$TMP/b.json" 'd["given"]["strategies"] = "ssp:link=\"1GB/s,5us\":lr=0.1,ssp:max-seconds=1"'
  refused 2 "an entry of --strategies has max-seconds=1: the clock ended it" gate "$TMP/edited.json"
  hogring compare "${small[@]}" --strategies ps-async --seeds 2 --orders 2 --json "$TMP/orders.json" >/dev/null
  refused 3 "was made with --orders: ps-async has several runs with seed 1" gate "$TMP/orders.json"
  hogring simulate --quiet --search "strategy=allreduce,ssp" --workers 2 --max-steps 4 --time-to accuracy=0.1 --json "$TMP/search.json" >/dev/null
  refused 3 "was written by simulate --search" gate "$TMP/search.json"
  refused 2 '--slower "": expected X%' gate "$TMP/b.json" --slower ""
  edited "$TMP/b.json" 'd["config"]["data"]["digest"] = "0"'; refused 2 "its data are others" gate "$TMP/edited.json" "$TMP/b.json"
  edited "$TMP/b.json" 'd["config"]["lr"] = 0.5'; refused 2 "--lr was 0.5 in the baseline" gate "$TMP/edited.json" "$TMP/b.json"
  edited "$TMP/b.json" 'd["given"]["lr"] = "many"'; refused 2 "expected" gate "$TMP/edited.json" --quiet
  refused 2 "gate: by what?" gate
  refused 2 "--slower: than what?" gate "$TMP/b.json" --slower 20%
  refused 2 "expected a share in percent" gate "$TMP/b.json" --against x --slower 20
  refused 2 "nothing is run" gate "$TMP/b.json" "$TMP/b.json" --against x
  refused 2 "expected 3 to 1000" gate "$TMP/b.json" --against x --slower 20% --pairs 2
  refused 2 "--pairs: of what?" gate "$TMP/b.json" --pairs 4
  refused 3 "gate.xml" gate "$TMP/b.json" --junit "$TMP/none/gate.xml"
}

@test "interrupted, it ends at once and leaves nothing" {
  hogring train "${small[@]}" --json "$TMP/b.json" >/dev/null
  edited "$TMP/b.json" 'd["given"]["epochs"] = "1000000"'
  mkdir "$TMP/tmp"
  TMPDIR=$TMP/tmp env --default-signal=INT "$(me)" gate "$TMP/edited.json" --quiet >"$TMP/out" 2>&1 &
  pid=$!
  for _ in $(seq 1200); do [ -z "$(pgrep -P $pid)" ] || break; sleep 0.05; done
  sleep 0.5
  ends_at INT 130
  [ -z "$(ls "$TMP/tmp")" ]
}

# workflow NAME: that literal of hogring help gate, as YAML.
workflow() { sed -n "/^    # $1/,/^[^ ]/p" src/cli/manual/gate.txt | sed -n '/^    /s/^    //p'; }

@test "the workflows of help gate are YAML, and their gates run" {
  python3 -c 'import yaml' 2>/dev/null || skip "no YAML parser"
  mkdir -p "$TMP/c/build" "$TMP/base/build"
  ln -s "$(me)" "$TMP/c/build/hogring"; ln -s "$(me)" "$TMP/base/build/hogring"
  hogring train "${small[@]}" --json "$TMP/c/baseline.json" >/dev/null
  for kind in GitHub GitLab; do
    workflow $kind >"$TMP/$kind.yml"
    python3 - "$TMP/$kind.yml" <<'END' >"$TMP/$kind.sh"
import sys, yaml
def lines(x):
    if isinstance(x, dict):
        for k, v in x.items():
            if k in ("run", "script"): yield from ([v] if isinstance(v, str) else v)
            else: yield from lines(v)
    elif isinstance(x, list):
        for v in x: yield from lines(v)
gates = [l for l in lines(yaml.safe_load(open(sys.argv[1]))) if "hogring gate" in l]
assert len(gates) == 1
print(gates[0].replace("20%", "1000%").replace("--slower", "--pairs 3 --slower"))
END
    (cd "$TMP/c" && bash -eux "$TMP/$kind.sh") >"$TMP/$kind.said" 2>&1 || { cat "$TMP/$kind.said"; return 1; }
    [ -s "$TMP/c/gate.xml" ]; rm "$TMP/c/gate.xml"
  done
}

@test "a tuned baseline is judged at the values that were chosen, and nothing is tuned again" {
  hogring compare --clock virtual "${small[@]}" --strategies allreduce,ssp --lr 0.05,0.1 --seeds 2 --tune --json "$TMP/tuned.json" >/dev/null
  gates 0 "$TMP/tuned.json"
  says "passed: 4 strategies"
  [ "$(grep -c -e "--tune" "$TMP/stderr")" = 0 ]
  grep -q "re-running: compare .*:momentum=" "$TMP/stderr"
}

@test "a baseline has its number of workers, of entries without their own, too" {
  HOGRING_CPUS=2 hogring compare --clock virtual --quiet --model softmax --epochs 1 --strategies allreduce:workers=3,ssp --json "$TMP/two.json" >/dev/null
  HOGRING_CPUS=4 gates 0 "$TMP/two.json"
  HOGRING_CPUS=4 hogring compare --clock virtual --quiet --model softmax --epochs 1 --strategies ssp --json "$TMP/four.json" >/dev/null
  HOGRING_CPUS=2 gates 0 "$TMP/four.json"
}

@test "parameters of values are those of the baseline, whichever binary runs" {
  hogring train "${small[@]}" --optimizer sgd:nesterov --lr-schedule step:,0.5 --epochs 2 --json "$TMP/base.json" >/dev/null
  gates 0 "$TMP/base.json" --against "$(me)" --slower 1000% --pairs 3
  says "the same bits"
}
