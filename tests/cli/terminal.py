#!/usr/bin/env python3
"""terminal.py COLUMNSxLINES [--resize AFTER_S:COLUMNSxLINES] [--send AFTER_S:KEYS] [--signal AFTER_S:N] -- COMMAND...

Runs a command on a terminal of its own; what it wrote there goes to stdout, and stdin of this has no
part in it. Exits as it does (128 + N: by a signal). KEYS: as printf would have them."""
import fcntl, os, pty, select, struct, sys, termios, time

def resize(fd, text):
    columns, lines = map(int, text.split("x"))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

def main():
    at = sys.argv.index("--")
    size, options, command = sys.argv[1], sys.argv[2:at], sys.argv[at + 1:]
    todo = []
    for what, how in zip(options[::2], options[1::2]):
        after, _, value = how.partition(":")
        todo.append((float(after), what, value))
    todo.sort()
    ready = os.pipe()
    pid, fd = pty.fork()
    if pid == 0:
        os.read(ready[0], 1)  # until the terminal has its size
        os.execvp(command[0], command)
    resize(fd, size)
    os.write(ready[1], b"x")
    began = time.monotonic()
    while True:
        if select.select([fd], [], [], 0.05)[0]:
            try:
                data = os.read(fd, 65536)
            except OSError:
                break
            if not data:
                break
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        if todo and time.monotonic() - began > todo[0][0]:
            _, what, value = todo.pop(0)
            if what == "--resize":
                resize(fd, value)
            elif what == "--send":
                os.write(fd, value.encode().decode("unicode_escape").encode())
            else:
                os.kill(pid, int(value))
    status = os.waitpid(pid, 0)[1]
    sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))

main()
