#!/usr/bin/env python3
"""Several machines on this one, for as long as a command runs.

    tests/machines/bed.py [-n MACHINES] [-r RATE] [-m openmpi|openmpi5|mpich] [--bin BIN] [-o "OPTIONS"] [-b BED] COMMAND...

Machines m0, m1, ... have a host name, network interface, process numbers and /dev/shm of their own; they share the other files,
and a bridge of veth pairs. RATE (1gbit) limits each one's link, both ways, by tbf; without it the link is the kernel's.
With -m COMMAND is started by that library's mpirun on m0, one process a machine, OPTIONS go to mpirun; the library's own daemons
reach other machines by on.py, which stands for ssh. Its mpirun is mpirun.LIBRARY on PATH; of openmpi5 the one in the folder BIN,
by default $HOGRING_MPI_BIN, where there is one. Without -m COMMAND runs beside the machines, where on.py reaches them, too, and
`ip link set port1 down` cuts the link of m1, and $HOGRING_BED names the bed: while COMMAND runs, `bed.py -b BED -m ...` starts
others on its first MACHINES, from outside, too.

All of it lives in namespaces whose first process is this program: however that ends, the kernel removes them, their links, mounts
and processes. Exit code: COMMAND's; 77 with a reason where namespaces or the library are not to be had.
"""
import argparse, os, shlex, shutil, signal, subprocess, sys, tempfile, threading, time
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMESPACES = ["--pid", "--fork", "--kill-child", "--net", "--mount", "--ipc", "--uts", "--mount-proc"]

def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)

def as_root():
    return [] if os.geteuid() == 0 else ["--user", "--map-root-user"]

def look(library, mpirun):
    """Is everything there?"""
    for tool in ("unshare", "ip", "mount", "tc", *([mpirun] if library else [])):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    probe = "mount -t tmpfs none /dev/shm && mount -t sysfs none /sys && ip link add one type veth peer name two && ip link add three type bridge"
    run = subprocess.run(["unshare", *as_root(), *NAMESPACES, "sh", "-c", probe], capture_output=True, text=True)
    if run.returncode:
        skip("no namespaces with links here: " + (run.stderr.strip().splitlines() or ["unshare failed"])[0])

def ip(*words, tool="ip"):
    subprocess.run([tool, *" ".join(map(str, words)).split()], check=True)

def limit(rate, device, on=None):
    words = f"tc qdisc add dev {device} root tbf rate {rate} burst 16kb latency 50ms"
    if on:
        subprocess.run([HERE / "on.py", on, words], check=True)
    else:
        ip(words.removeprefix("tc "), tool="tc")

def build(bed, machines, rate):
    """Machines and their links -> nothing; each answers on.py when this returns."""
    hosts = bed / "hosts"
    hosts.write_text("127.0.0.1 localhost\n" + "".join(f"10.77.0.{m + 1} m{m}\n" for m in range(machines)))
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
    ip("link set lo up")
    ip("link add bridge type bridge")
    ip("link set bridge up")
    for m in range(machines):
        outer = subprocess.Popen(["unshare", *NAMESPACES, sys.executable, HERE / "machine.py", f"m{m}"]).pid
        until = time.monotonic() + 10
        while not (bed / f"m{m}.sock").exists():
            if time.monotonic() > until:
                sys.exit(f"machine m{m} did not start")
            time.sleep(0.005)
        first = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0]
        ip(f"link add port{m} type veth peer name eth0 netns {first}")
        ip(f"link set port{m} master bridge up")
        subprocess.run([HERE / "on.py", f"m{m}", f"ip link set lo up && ip addr add 10.77.0.{m + 1}/24 dev eth0 && ip link set eth0 up"], check=True)
        if rate:
            limit(rate, "eth0", on=f"m{m}")
            limit(rate, f"port{m}")

LIBRARIES = ["openmpi", "openmpi5", "mpich"]

def mpirun_of(library, folder):
    return str(Path(folder) / "mpirun") if folder and library == "openmpi5" else f"mpirun.{library}"

def command_of(library, mpirun, machines, options, command):
    """-> the words that start COMMAND, one process a machine, from m0."""
    names = [f"m{m}" for m in range(machines)]
    if library == "mpich":
        words = [mpirun, "-hosts", ",".join(names), "-ppn", "1", "-n", str(machines), "-bind-to", "none",
                 "-launcher", "ssh", "-launcher-exec", str(HERE / "on.py")]
    else:
        agent = ["--prtemca", "plm_ssh_agent"] if library == "openmpi5" else ["--mca", "plm_rsh_agent"]
        words = [mpirun, "--allow-run-as-root", "-host", ",".join(names), "--map-by", "ppr:1:node", "--bind-to", "none",
                 *agent, str(HERE / "on.py"), "-x", "PATH"]
    return [*words, *options, *command]

def on_first(options):
    """-> the words that carry COMMAND out on m0, by mpirun."""
    mpirun = mpirun_of(options.library, options.folder)
    words = command_of(options.library, mpirun, options.machines, shlex.split(options.options), options.command)
    return [str(HERE / "on.py"), "m0", f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(words)}"]

def end_with(pipe, bed):
    """When whoever started this is gone, be gone."""
    os.read(pipe, 1)
    shutil.rmtree(bed, ignore_errors=True)
    os._exit(1)

def first_process(bed, options):
    """Of the namespaces: build, run, and end; the kernel removes the rest."""
    threading.Thread(target=end_with, args=(options.pipe, bed), daemon=True).start()
    os.environ["HOGRING_BED"] = str(bed)
    os.environ["HOGRING_BED_MACHINES"] = str(options.machines)
    build(bed, options.machines, options.rate)
    run = subprocess.Popen(on_first(options) if options.library else options.command)
    code = run.wait()
    sys.exit(code if code >= 0 else 128 - code)

def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-n", dest="machines", type=int, default=2)
    parser.add_argument("-r", dest="rate", default="")
    parser.add_argument("-m", dest="library", choices=LIBRARIES)
    parser.add_argument("--bin", dest="folder", default=os.environ.get("HOGRING_MPI_BIN", ""))
    parser.add_argument("-o", dest="options", default="")
    parser.add_argument("-b", dest="bed", default="")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--pipe", type=int, help=argparse.SUPPRESS)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        parser.error("no command")
    if options.bed:
        if not options.library:
            parser.error("-b without -m: on.py reaches its machines")
        os.environ["HOGRING_BED"] = options.bed
        os.execv(HERE / "on.py", on_first(options))
    if options.inside:
        first_process(Path(options.inside), options)
    look(options.library, mpirun_of(options.library, options.folder))
    # The write end is ours alone: the first process sees its end, and goes.
    pipe, _ = os.pipe()
    with tempfile.TemporaryDirectory(prefix="hogring-bed.", ignore_cleanup_errors=True) as bed:
        inside = [sys.executable, __file__, "--inside", bed, "--pipe", str(pipe), *sys.argv[1:]]
        run = subprocess.Popen(["unshare", *as_root(), *NAMESPACES, *inside], pass_fds=[pipe])
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: run.kill())
        code = run.wait()
    sys.exit(code if code >= 0 else 128 - code)

if __name__ == "__main__":
    main()
