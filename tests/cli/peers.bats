#!/usr/bin/env bats
# What make peers makes of what it measured: medians, intervals, shares that are withheld; and README quotes the page.
load support

@test "README quotes the page of figures, and nothing else" {
  python3 tests/peers/figures.py README.md tests/peers/FIGURES.md
  sed '/tests\/peers\/FIGURES.md\](/s/:.*/: 99 times as fast; `make peers` repeats it./' README.md >"$TMP/README"
  run python3 tests/peers/figures.py "$TMP/README" tests/peers/FIGURES.md
  [ "$status" -eq 1 ]
  [[ "$output" == *"README says"* ]]
}

@test "the table holds medians against the best peer, and says why a share is withheld" {
  python3 - "$BATS_TEST_DIRNAME/../peers" "$TMP" <<'PY'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import cells, figures, pages, table

def roofs(*sides, rate=80):
    return [{"kind": "float32", "threads": 1, "flops_per_s": rate, "roof_before": a, "roof_after": b} for a, b in sides]

load = {"others": 0.01, "steal": 0.0, "loadavg": "1 1 1"}
steady = roofs((100, 100), (100, 102), (102, 100), (100, 100))
row = {"when": "2026-01-01 00:00", "ours": [300, 310, 320, None], "roofs": steady, "load": load,
       "tried": {"JAX (jit)": 151.0, "TensorFlow (tf.function)": 50.0},
       "theirs": [{"who": "PyTorch (eager)", "samples": [100, 110, 90, 100]}, {"who": "JAX (jit)", "samples": [150, 155, 160, 150]}]}
wavering = dict(row, roofs=roofs((100, 100), (100, 112), (100, 89), (111, 88)))
passed = dict(row, roofs=roofs((100, 100), (100, 100), (100, 100), rate=125))
point = {"buffers": "shared", "loop": "barrier", "bytes": 1 << 20, "ours": [10.0, 10.0, 10.0], "theirs": [25.0, 25.0, 26.0], "who": "MPICH (auto)"}
kept = {"rows": {"mlp": row, "lenet": wavering, "vgg-small": passed, "dense-bf16": {"when": row["when"], "left out": "no --precision"},
                 "mlp-ddp": dict(row, ours=[290, 300, 310, 300]),
                 "allreduce": {"when": row["when"], "points": [point], "load": load, "notes": ["said"]}},
        "versions": {"PyTorch": "2.15.0"}, "notes": ["JAX was slow"]}
facts = {"cpu": "AMD EPYC", "family": 26, "processors": 2, "kernel": "6", "loadavg": ["1", "1", "1"], "flags": ["avx512f", "avx512_bf16", "hypervisor"]}
text = pages.table_text(kept, facts)
for said in ("2 processors of an AMD EPYC with AVX-512 and AVX512_BF16 (Zen 5), a virtual machine, Linux 6", "PyTorch 2.15.0",
             "| `mlp`, 1 worker | 64 | 310 [300, 320] | JAX (jit): 152 [150, 160] | 2.00x [2.00, 2.00] | 80 % [79, 80] |",
             "none: the roof wavered by 24.0 %", "none: 125 % cannot be", "left out: no --precision", "left out: not measured yet",
             "| all_reduce of 1M, shared buffers | 10.00 [10.00, 10.00] | MPICH (auto): 25.00 [25.00, 26.00] | 2.50x [2.50, 2.60] |",
             "- mlp: PyTorch (eager) 100 [90, 110]; JAX (jit) 152 [150, 160]; TensorFlow (tf.function) 50", "- note: JAX was slow", "- note: said"):
    assert said in text, (said, text)
kept["rows"]["mlp"]["load"] = dict(load, others=0.3)
assert "not to be quoted" in pages.table_text(kept, facts) and "not to be quoted" not in text
assert cells.middle(range(1, 13)) == (6.5, 3, 10)

# What a peer uses that goes on is ours, not others'; so is that of one whose starter has ended.
import os, subprocess
cells.adopt_orphans()
burn = "import sys, time\nwhile time.process_time() < 0.3: pass\nprint(flush=True); sys.stdin.read()"
before = cells._family_ticks(os.getpid())
for starter in ([], ["setsid", "-f"]):
    read, write = os.pipe()
    peer = subprocess.Popen([*starter, sys.executable, "-c", burn], stdin=read, stdout=subprocess.PIPE)
    os.close(read)
    peer.stdout.readline()
    after = cells._family_ticks(os.getpid())
    assert after - before >= 0.25 * os.sysconf("SC_CLK_TCK"), (starter, before, after)
    before = after
    os.close(write)
    peer.wait()

# The page keeps other sections, this one stands first, and README's line has its ratios.
page = figures.replaced("# Page\n\n## Other\n\nkept\n", figures.FIRST, text)
assert page.index(figures.FIRST) < page.index("## Other") and "kept" in page
line = " ".join(figures.quote(page).split())
assert "`mlp` on 2 workers 1.97x" in line and "all_reduce of 1 MiB 2.50x" in line, line
assert "LIBLINEAR" in figures.quote("# Page\n")
assert len({row.name for row in table.rows()}) == len(table.rows()) == 12
PY
}

@test "an environment that is not there is refused, and no row that was measured is lost to one that was not" {
  run env PEERS_VENV="$TMP/none" python3 tests/peers/compare.py --quick --rows mlp
  [ "$status" -eq 2 ]
  [[ "$output" == *"PEERS_VENV=$TMP/none: has no bin/python; make peers-venv PEERS_VENV=$TMP/none makes it"* ]] || return 1
  PEERS_VENV="$TMP/none" python3 - "$BATS_TEST_DIRNAME/../peers" "$TMP" <<'PY'
import json, os, sys, types
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import compare, figures, pages, table

scratch = sys.argv[2]
row = {"when": "2026-01-01 00:00", "ours": [300, 310, 320], "roofs": [], "theirs": [], "tried": {}}
facts = {"cpu": "AMD EPYC", "processors": 2, "kernel": "6", "when": "today", "loadavg": ["1", "1", "1"], "flags": [], "family": 26}
options = types.SimpleNamespace(programs=scratch, quick=False, rows=["mlp", "dense"], hogring=os.environ.get("HOGRING", "build/hogring"), page=os.path.join(scratch, "page"))
with open(os.path.join(scratch, "table.json"), "w") as file:
    json.dump({"cpu": facts["cpu"], "rows": {"mlp": row}}, file)
kept = table.run(options, {}, facts, lambda text: None)
assert kept["rows"]["mlp"] == row, kept
assert "left out" in kept["rows"]["dense"], kept

text = pages.table_text(kept, facts)
page = figures.replaced("# Page\n\n## Other\n\nkept\n", figures.FIRST, text)
assert figures.lost(page, text) == figures.lost("# Page\n", text) == []
new = os.path.join(scratch, "new-page")
figures.write(new, figures.FIRST, facts, "", text, as_it_is=True)
assert figures.measured(figures.read(new)) == ["`mlp`, 1 worker"], figures.read(new)
kept["rows"].pop("mlp")
assert figures.lost(page, pages.table_text(kept, facts)) == ["`mlp`, 1 worker"]

def written(page):
    """Is the page rewritten by a run that could measure nothing, beside the figures in table.json?"""
    with open(options.page, "w") as file:
        file.write(page)
    return compare.part_table(options, facts, {})

assert written("# Page\n")
assert written(page)
os.remove(os.path.join(scratch, "table.json"))
assert not written(page)
assert not written("# Page\n")
PY
}

@test "however compare.py ends, nothing that it has started remains" {
  cat >"$TMP/fake.py" <<'PY'
import os, sys
sys.dont_write_bytecode = True
peers, scratch, how = sys.argv[1:]
sys.path.insert(0, peers)
import compare
from cells import Cell
from peer_process import Peer

def part(options, facts, report):
    """Peers with children of their own, in their group and in sessions of theirs; then a cell that takes long."""
    there = "sleep 600 & setsid sleep 600 & setsid -f sleep 600;"
    peers = [Peer(["sh", "-c", f"{there} exec cat"], os.path.join(scratch, "log"), {}) for _ in range(2)]
    assert peers[0].ask(1, 20) == 1
    peers[0].close()
    if how == "raise":
        raise ValueError("as asked")
    Cell(["sh", "-c", f"{there} touch {scratch}/ready; {'sleep 600' if how != 'end' else 'exit 0'}"], limit=60)
    return False

compare.PARTS, compare.venv.missing = [("table", "Fake", part)], lambda: None
sys.argv = ["compare.py", "--quick", "--page", os.path.join(scratch, "page"), "--json", os.path.join(scratch, "json")]
sys.exit(compare.main())
PY
  remain() { grep -lazs "^FAKE_PEER=$TMP$" /proc/[0-9]*/environ | cut -d / -f 3 | xargs -r ps -o pid=,args= -p; }
  for how in end raise TERM HUP INT; do
    rm -f "$TMP/ready"
    FAKE_PEER=$TMP env --default-signal=INT,HUP python3 "$TMP/fake.py" "$BATS_TEST_DIRNAME/../peers" "$TMP" $how >"$TMP/out" 2>&1 &
    case $how in end | raise) ;; *)
      for _ in {1..600}; do [ -e "$TMP/ready" ] && break; sleep 0.1; done
      [ -e "$TMP/ready" ] || { cat "$TMP/out"; return 1; }
      kill -$how $! ;;
    esac
    wait $! || true
    [ -z "$(remain)" ] || { echo "$how:"; remain; return 1; }
  done
}
