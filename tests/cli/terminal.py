#!/usr/bin/env python3
"""terminal.py COLUMNSxLINES [--every TEXT [--resize COUNT:COLUMNSxLINES] [--send COUNT:KEYS] [--signal COUNT:N]] -- COMMAND...

Runs a command on a terminal of its own; what it wrote there goes to stdout, and stdin of this has no
part in it. COUNT: when TEXT has been written so often. Exits as it does (128 + N: by a signal). KEYS:
as printf would have them."""
import fcntl, os, pty, struct, sys, termios

def resize(fd, text):
    columns, lines = map(int, text.split("x"))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

def main():
    at = sys.argv.index("--")
    size, options, command = sys.argv[1], sys.argv[2:at], sys.argv[at + 1:]
    todo, every, written = [], b"", b""
    for what, how in zip(options[::2], options[1::2]):
        if what == "--every":
            every = how.encode()
            continue
        count, _, value = how.partition(":")
        todo.append((int(count), what, value))
    todo.sort()
    ready = os.pipe()
    pid, fd = pty.fork()
    if pid == 0:
        os.read(ready[0], 1)  # until the terminal has its size
        os.execvp(command[0], command)
    resize(fd, size)
    os.write(ready[1], b"x")
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        if todo:
            written += data
        while todo and written.count(every) >= todo[0][0]:
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
