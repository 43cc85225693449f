#!/usr/bin/env python3
"""The size of the house, to print beside a change: lines and files of each folder of src/, and what its middle knows.

    tests/balance.py [REVISION [REVISION]]     of HEAD, of a revision, or of two side by side
"""
import re, subprocess, sys

def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True).stdout

def files_of(revision):
    """{path: text} of src/ at a revision."""
    paths = [p for p in git("ls-tree", "-r", "--name-only", revision, "--", "src").decode().split("\n") if p]
    asked = "".join(f"{revision}:{p}\n" for p in paths)
    out = subprocess.run(["git", "cat-file", "--batch"], input=asked.encode(), check=True, capture_output=True).stdout
    files, at = {}, 0
    for path in paths:
        end = out.index(b"\n", at)
        size = int(out[at:end].split()[2])
        files[path] = out[end + 1:end + 1 + size].decode(errors="replace")
        at = end + 2 + size
    return files

CODE = re.compile(r"\.(c|h|S|js|css|html|txt)$")
# Folders that may know of several machines: beneath the primitives.
BELOW = re.compile(r"^src/(comm/\w+|shm|launch|plan|group|machines|store|observe|compress)/")
# Names of recovery: that a rank is gone, what it had in its hands, who goes on, and how. Whose code says one depends on how losses are
# outlived; comments do not. Not counted, though they sound like it: means of a loss function (hr_epoch_losses, validation_loss), updates
# that others overwrote (hr_lost), and that a loss ends a run (HR_E_LOST).
RECOVERY = re.compile(r"""\b(?:outlives|hr_train_outlives|on_loss|reissues|losses_are_inputs|\w+_takes_losses|lost_batch\w*|lost_work
    |hr_lost_(?:batch|work|ranks)\w*|(?:hr_)?batch_states\w*|nlosses|struct[ ]hr_loss|hr_losses\w*|hr_(?:launcher|metrics|replica|record)_lost
    |hr_record_(?:back|term)|hr_run_group_lost|hr_groups_lost_alike|hr_staged_lose|hr_server_loss\w*|hr_loss_at_shard|hr_shard_lose\w*
    |hr_shard_sees_loss|(?:hr_)?(?:roster|quiesce|membership)\w*|revoke\w*|hr_(?:train_)?worker_(?:restart|drop|sit_out)|HR_MEMBERSHIP\w*
    |hr_last_cut_\w+|hr_staleness_(?:keep|kept|restore)\w*|hr_stats_(?:mark|back_to_mark|mend|take_back|roll_back)|schedule->levels|bool[ ]levels
    |HR_(?:GONE|LEFT_GONE|E_GONE|E_REVOKED))\b""", re.X)
COMMENT = re.compile(r"/\*.*?\*/", re.S)

def measure(files):
    rows = {}
    for path, text in files.items():
        if CODE.search(path):
            folder = rows.setdefault(path.split("/")[-2], [0, 0])
            folder[0] += text.count("\n")
            folder[1] += 1
    sources = {p: t for p, t in files.items() if re.search(r"\.[ch]$", p)}
    table = next((re.search(r"^struct hr_strategy \{.*?^\};", t, re.S | re.M) for p, t in sources.items() if p.endswith("strategy.h") and "struct hr_strategy {" in t), None)
    table = table[0] if table else ""
    facts = {
        "functions of struct hr_strategy": len(re.findall(r"\(\*", table)),
        "flags of struct hr_strategy": len(re.findall(r"^ *bool [a-z_]*;", table, re.M)),
        "files outside comm that speak of machines": sum(bool(re.search(r"machine", t, re.I)) for p, t in sources.items() if not BELOW.match(p)),
        "files outside comm that include machines": sum('#include "machines/' in t for p, t in sources.items() if not BELOW.match(p)),
        "files that depend on recovery": sum(bool(RECOVERY.search(COMMENT.sub("", t))) for t in sources.values()),
        "headers under 30 lines": sum(t.count("\n") < 30 for p, t in sources.items() if p.endswith(".h")),
        "comparisons of strings as state": sum(len(re.findall(r"strcmp\(o(?:ptions)?->", t)) for t in sources.values()),
    }
    return rows, facts

revisions = sys.argv[1:3] or ["HEAD"]
measured = [measure(files_of(r)) for r in revisions]
print(f"{'':44}" + "".join(f"{r[:12]:>16}" for r in revisions))
# By the rooms of the last revision: src/ROOM/FOLDER/, or src/ROOM/ itself; what it has no more comes last.
rooms = {}
for path in files_of(revisions[-1]):
    rooms.setdefault(path.split("/")[-2], path.split("/")[1])
folders = sorted(set().union(*(rows for rows, _ in measured)), key=lambda name: (rooms.get(name, "~"), name))
for room in dict.fromkeys(rooms.get(name, "~") for name in folders):
    inside = [(name, [rows.get(name, [0, 0]) for rows, _ in measured]) for name in folders if rooms.get(name, "~") == room]
    sums = [[sum(cells[k][part] for _, cells in inside) for part in (0, 1)] for k in range(len(measured))]
    print(f"{'gone' if room == '~' else 'src/' + room:44}" + "".join(f"{lines:>10}{count:>6}" for lines, count in sums))
    for name, cells in inside if len(inside) > 1 else []:
        print(f"    {name:40}" + "".join(f"{lines:>10}{count:>6}" for lines, count in cells))
print(f"{'all lines and files':44}" + "".join(f"{sum(c[0] for c in rows.values()):>10}{sum(c[1] for c in rows.values()):>6}" for rows, _ in measured))
for name in measured[0][1]:
    print(f"{name:44}" + "".join(f"{facts[name]:>16}" for _, facts in measured))
