#!/usr/bin/env python3
"""The first process of a machine of bed.py: carries out what on.py asks for, and buries orphans.

Names the machine, mounts its /dev/shm, gives it a TMPDIR, and listens at $HOGRING_BED/NAME.sock. A request is a shell command with the caller's
stdin, stdout and stderr; the answer is one byte, its exit code. Whoever asked may go; the command stays, as under sshd without a
terminal.
"""
import os, selectors, signal, socket, subprocess, sys
from pathlib import Path

def begin(name, bed):
    socket.sethostname(name)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/dev/shm"], check=True)
    subprocess.run(["mount", "-t", "sysfs", "none", "/sys"], check=True) # its links: UCX looks there
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # Open MPI keeps what is its own here by host name and process number: another bed has the same.
    os.environ["TMPDIR"] = str(bed / f"{name}.tmp")
    os.mkdir(os.environ["TMPDIR"])
    # Named when it listens: who sees it may ask.
    listener.bind(str(bed / f"{name}.new"))
    listener.listen(64)
    os.rename(bed / f"{name}.new", bed / f"{name}.sock")
    return listener

def start(connection):
    """One request -> the process that carries it out."""
    command, files, *_ = socket.recv_fds(connection, 1 << 17, 3)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        for target, file in enumerate(files):
            os.dup2(file, target)
        os.closerange(3, 256)
        os.execv("/bin/sh", ["sh", "-c", command.decode()])
    for file in files:
        os.close(file)
    return pid

def bury(callers):
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if caller := callers.pop(pid, None):
            code = os.waitstatus_to_exitcode(status)
            try:
                caller.send(bytes([code if code >= 0 else 128 - code]))
            except OSError:
                pass
            caller.close()

def main():
    listener = begin(sys.argv[1], Path(os.environ["HOGRING_BED"]))
    reader, writer = socket.socketpair()
    for end in (reader, writer):
        end.setblocking(False)
    signal.set_wakeup_fd(writer.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    callers, selector = {}, selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(reader, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is reader:
                reader.recv(4096)
            else:
                connection, _ = listener.accept()
                callers[start(connection)] = connection
        bury(callers)

main()
