"""A process that has imported what fits and notebooks need, and forks them: each by itself would import for seconds.

`as2 study` runs Snakemake below it (`python -m as2lib.forks COMMAND`); commands ask it by `as2lib.runs.forked`.
"""

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import import_module

from as2lib.__main__ import main
from as2lib.report import kernel
from as2lib.runs.alone import end_once, stopped_by_signals
from as2lib.runs.forked import SOCKET

IMPORTED = {  # before the first fork for it
    "fit": ("as2lib.runs.fit",),
    "notebook": ("as2lib.report.pages",),
    "kernel": ("ipykernel.kernelapp", "as2lib.report.output", "as2lib.report.figures", "as2lib.papers.frontier.tables"),
}


def serve(command: list[str]) -> int | tuple[socket.socket, dict]:
    """Run a command and fork for what is below it; its exit code, and in each fork who asks, and for what."""
    folder, server = tempfile.mkdtemp(prefix="as2-"), os.getpid()
    try:
        with socket.socket(socket.AF_UNIX) as listening, stopped_by_signals():
            listening.bind(f"{folder}/socket")
            listening.listen()
            running, forks = subprocess.Popen(command, env={**os.environ, SOCKET: f"{folder}/socket"}), set()
            while running.poll() is None:
                if select.select([listening], [], [], 0.2)[0]:
                    connection, streams, request = _accepted(listening)
                    if request and not (fork := os.fork()):
                        _become(request, streams)
                        return connection, request
                    forks |= {fork} if request else set()
                    for descriptor in (connection.detach(), *streams):
                        os.close(descriptor)
                forks = {fork for fork in forks if os.waitpid(fork, os.WNOHANG) == (0, 0)}
        return running.returncode
    finally:
        if os.getpid() == server:
            shutil.rmtree(folder)


def _accepted(listening: socket.socket) -> tuple[socket.socket, list[int], dict | None]:
    """Who asks, its streams, and what it asks for, imported; None where it ended before it had said so."""
    connection, _ = listening.accept()
    _, streams, *_ = socket.recv_fds(connection, 1, 3)
    with connection.makefile() as said:
        line = said.readline()
    request = json.loads(line) if line.endswith("\n") else None
    if request:
        os.environ.update(request["environment"])  # libraries read some of it as they are imported
        for module in IMPORTED[request["what"]]:
            with suppress(Exception):  # the fork meets it too, and says so
                import_module(module)
    return connection, streams, request


def _become(request: dict, streams: list[int]) -> None:
    """Take the place of the process that asks."""
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])


def answer(connection: socket.socket, request: dict) -> int:
    """Do what is asked, and say how it ended; ends with who asked."""
    end_once(lambda: connection.recv(1))  # comes to an end
    code = (kernel.run if request["what"] == "kernel" else main)(request["given"])
    sys.stdout.flush()
    sys.stderr.flush()
    with suppress(OSError):
        connection.sendall(bytes([code]))
    return code


if __name__ == "__main__":
    ended = serve(sys.argv[1:])
    sys.exit(ended if isinstance(ended, int) else answer(*ended))
