#!/usr/bin/env python3
"""Machines lost at random moments: do the survivors notice, name it, and leave in time?

    tests/machines/losses.py -m openmpi|openmpi5|openmpi5-ulfm|mpich [--bin BIN] [-n MACHINES] [--process 50] [--daemon 20] \
                             [--link 20] [--survive 0] [--pause 0] [-d SECONDS] [-j N] PROGRAM...

Each trial is a bed of its own (bed.py) in which PROGRAM runs under mpirun, with the flags that `hogring help machines` names;
PROGRAM has to go on until it is stopped. At a drawn moment, once it says anything, a drawn machine that is not mpirun's loses its
process (SIGKILL), MPI's daemon, or its link. All processes of PROGRAM on other machines have to be gone SECONDS (20) later, and
one of them has to have named the lost host; but MPICH's processes do without a daemon that is gone, and have to go on. N trials
(1) at a time: they mostly wait. Prints a line a trial, and the longest time; exits with 1 when one was not as it should be.
--survive: a process is killed, and the others have to name it and go on (--on-loss continue); a second later SIGTERM ends them, and
they have to leave the run's JSON, all within SECONDS (not what mpirun passes on: MPICH's may die of a pipe to the proxy that is gone).
--pause: a process is stopped, until the others have named it; PROGRAM ends by itself, and they leave the JSON, and nobody waits for
the one that they went on without. BIN is bed.py's; openmpi5-ulfm is openmpi5 with --with-ft ulfm.
"""
import argparse, concurrent.futures, os, random, re, shlex, subprocess, sys, tempfile, time
from pathlib import Path

import bed

HERE = Path(__file__).resolve().parent
ON = str(HERE / "on.py")
FLAGS = {"openmpi": ["--mca", "odls_base_sigkill_timeout", "5"], "openmpi5": ["--prtemca", "odls_base_sigkill_timeout", "5"],
         "openmpi5-ulfm": ["--with-ft", "ulfm"], "mpich": ["-disable-auto-cleanup"]}
DAEMON = {"openmpi": "orted", "openmpi5": "prted", "openmpi5-ulfm": "prted", "mpich": "hydra_pmi_proxy"}

def mpirun(options):
    library = options.library.removesuffix("-ulfm")
    return bed.command_of(library, bed.mpirun_of(library, options.folder), options.machines, FLAGS[options.library], options.program)

def on(machine, command):
    return subprocess.run([ON, f"m{machine}", command], capture_output=True, text=True)

def harm(kind, machine, options, name):
    """-> was there something to harm?"""
    if kind in ("process", "survive", "pause"):
        return on(machine, f"pkill -{'STOP' if kind == 'pause' else 'KILL'} -f {shlex.quote('^[^ ]*' + name)}").returncode == 0
    if kind == "daemon":
        return on(machine, f"pkill -KILL {DAEMON[options.library]}").returncode == 0
    return subprocess.run(["ip", "link", "set", f"port{machine}", "down"]).returncode == 0

def goes_on(options, name, run):
    time.sleep(4)
    there = [m for m in range(options.machines) if on(m, f"pgrep -r D,R,S,T -f {shlex.quote('^[^ ]*' + name)}").stdout.strip()]
    good = len(there) == options.machines and run.poll() is None
    print(f"{options.library:13} {options.trial:8} a daemon lost: processes on {len(there)} of {options.machines} machines go on, "
          f"{'and mpirun' if run.poll() is None else 'NOT mpirun'}", flush=True)
    sys.exit(0 if good else 1)

def trial(options):
    """Inside a bed -> its line."""
    draw = random.Random(options.seed)
    name = Path(options.program[0]).name
    lost = draw.randrange(1, options.machines)
    survivors = [m for m in range(options.machines) if m != lost]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryDirectory() as folder:
        said = lambda begin=0: os.pread(out.fileno(), 1 << 20, begin).decode(errors="replace")
        result = Path(folder) / "result.json"
        options.program += ["--json", str(result)] if options.trial in ("survive", "pause") else []
        command = f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(mpirun(options))}"
        run = subprocess.Popen([ON, "m0", command], stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        begun = time.monotonic()
        while not said() and time.monotonic() < begun + 60:
            time.sleep(0.05)
        time.sleep(draw.uniform(0.2, 3))
        before = len(said().encode())
        harmed = time.monotonic()
        until = harmed + options.deadline
        hit = harm(options.trial, lost, options, name)
        if options.trial == "daemon" and options.library == "mpich":
            goes_on(options, name, run)
        here = lambda: [m for m in survivors if on(m, f"pgrep -r D,R,S,T -f {shlex.quote('^[^ ]*' + name)}").stdout.strip()]
        named = lambda: f"m{lost}" in said(before)
        left = survivors
        while left and not named() and time.monotonic() < until:
            time.sleep(0.05)
            left = here()
        named_after = gone_after = time.monotonic() - harmed
        if options.trial == "survive": # they go on, until they are told to end
            time.sleep(1)
            on(0, f"pkill -TERM -f {shlex.quote('^[^ ]*' + name)}")
        if options.trial == "pause":
            on(lost, f"pkill -CONT -f {shlex.quote('^[^ ]*' + name)}")
        while (left := here()) and time.monotonic() < until:
            time.sleep(0.1)
        if options.trial != "survive":
            gone_after = time.monotonic() - harmed
        try:
            code = run.wait(timeout=max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            code = None # mpirun's own affair: it waits for a daemon that it cannot reach
        good = hit and not left and named() and (options.trial not in ("survive", "pause") or result.is_file())
        print(f"{options.library:13} {options.trial:8} m{lost} {'lost' if hit else 'NOT THERE'}: {'named' if named() else 'NOT NAMED'} after {named_after:4.1f} s"
              f"{'' if options.trial == 'survive' else f', survivors gone after {gone_after:4.1f} s'}{f', but on m{left}' if left else ''}, "
              f"mpirun {'returned ' + str(code) if code is not None else 'waits on'}", flush=True)
        if not good:
            print(said(), flush=True)
    sys.exit(0 if good else 1)

def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-m", dest="library", choices=list(FLAGS), required=True)
    parser.add_argument("-n", dest="machines", type=int, default=3)
    parser.add_argument("-d", dest="deadline", type=float, default=20)
    parser.add_argument("--bin", dest="folder", default=os.environ.get("HOGRING_MPI_BIN", ""))
    for kind, usual in (("process", 50), ("daemon", 20), ("link", 20), ("survive", 0), ("pause", 0)):
        parser.add_argument(f"--{kind}", type=int, default=usual)
    parser.add_argument("-j", dest="abreast", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trial", help=argparse.SUPPRESS)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.trial:
        trial(options)
    def begin(kind, number):
        words = ["-m", options.library, "--bin", options.folder, "-n", options.machines, "-d", options.deadline,
                 "--seed", options.seed * 1000 + number, "--trial", kind]
        run = subprocess.run([sys.executable, HERE / "bed.py", "-n", str(options.machines), sys.executable, __file__, *map(str, words), *options.program],
                             stdout=subprocess.PIPE, text=True)
        print(run.stdout, end="", flush=True)
        return run.returncode, max((float(s) for s in re.findall(r"after +([0-9.]+) s", run.stdout.split("\n")[0])), default=0)
    trials = [(kind, number) for kind in ("process", "daemon", "link", "survive", "pause") for number in range(getattr(options, kind))]
    with concurrent.futures.ThreadPoolExecutor(options.abreast) as pool:
        ends = list(pool.map(lambda words: begin(*words), trials))
    codes = [code for code, seconds in ends]
    if 77 in codes:
        sys.exit(77)
    bad = sum(code != 0 for code in codes)
    print(f"{options.library}: {len(codes)} losses, at most {max(seconds for code, seconds in ends):.1f} s, {bad} not as they should be")
    sys.exit(1 if bad else 0)

main()
