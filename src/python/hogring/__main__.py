"""python -m hogring ...: the command, in place of this process."""

import os, sys
from ._command import path_of


def main():
    command = path_of("hogring")
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
