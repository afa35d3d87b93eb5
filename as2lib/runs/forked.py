"""What asks `as2lib.forks`, where a study has started it, to do something in a fork of a process that is warm."""

import json
import os
import socket
import sys

from as2lib.runs.gpu import gpus

SOCKET = "AS2_FORKS"  # the environment's name for where it listens
THREADS = "OMP_NUM_THREADS"  # Snakemake sets it, with others like it; libraries read them once


def below_forks(command: list[str]) -> list[str]:
    """A command, below a process that forks for it; as it is where a GPU would be taken by what that one imports."""
    serves = sys.platform == "linux" and not gpus()  # elsewhere a fork may not use what was imported
    return [sys.executable, "-m", "as2lib.forks", *command] if serves else command


def asked(what: str, given: list[str]) -> int | None:
    """The exit code of a fork that did this (`fit`, `notebook` or `kernel`); None where nobody forks for this process.

    The fork has this process's arguments, environment, folder and streams, and ends with it.  What computes on several
    threads is not forked.
    """
    if SOCKET not in os.environ or os.environ.get(THREADS) != "1":
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(os.environ[SOCKET])
        except OSError:
            return None
        request = {"what": what, "given": given, "folder": os.getcwd(), "environment": dict(os.environ)}
        socket.send_fds(connection, [b"\0"], [0, 1, 2])
        connection.sendall(json.dumps(request).encode() + b"\n")
        code = connection.recv(1)
    if not code:
        print(f"as2 {what}: the process that did it was killed, perhaps for want of memory", file=sys.stderr)
    return code[0] if code else 1
