#!/usr/bin/env python3
"""on.py [OPTIONS] MACHINE COMMAND...: runs a shell command on a machine of bed.py, as ssh would; MPI's daemons are started by it.

Options of ssh (hydra says -x) are passed over. Exit code: the command's, 255 when the machine is not there.
"""
import os, socket, sys

words = sys.argv[1:]
while words and words[0].startswith("-"):
    words.pop(0)
if len(words) < 2:
    sys.exit("usage: on.py MACHINE COMMAND...")
machine, command = words[0], " ".join(words[1:])
connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
    connection.connect(os.path.join(os.environ["HOGRING_BED"], f"{machine}.sock"))
    socket.send_fds(connection, [command.encode()], [0, 1, 2])
    answer = connection.recv(1)
except OSError as error:
    print(f"on.py: {machine}: {error.strerror}", file=sys.stderr)
    sys.exit(255)
sys.exit(answer[0] if answer else 255)
