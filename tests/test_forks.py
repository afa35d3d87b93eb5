"""A process that forks for others: the fork is to who asks as a process of its own, and ends with it."""

import json
import os
import signal
import subprocess
import sys

import psutil
import pytest

from as2lib.runs import forked

SERVER = """
import json, os, sys, time
from as2lib import forks
forks.IMPORTED = {"fit": ("fractions",)}
def main(given):
    if given[1:] == ["long"]:
        print(os.getpid(), flush=True)
        time.sleep(60)
    if given[1:] == ["killed"]:
        os.kill(os.getpid(), 9)
    facts = {"given": given, "folder": os.getcwd(), "own": os.environ["OWN"], "imported": "fractions" in sys.modules}
    print(json.dumps({**facts, "parent": os.getppid()}))
    return 3
forks.main = main
ended = forks.serve(sys.argv[1:])
sys.exit(ended if isinstance(ended, int) else forks.answer(*ended))
"""
ASKS = """
import os, sys
from as2lib.runs.forked import asked
os.chdir("/")
os.environ["OWN"] = "mine"
print(os.getppid(), flush=True)
code = asked("fit", ["fit", *sys.argv[1:]])
sys.exit(99 if code is None else code)
"""


def below(*given: str, threads: str = "1", **settings) -> subprocess.Popen:
    """A process that asks for a fork of the one above it."""
    command = [sys.executable, "-c", SERVER, sys.executable, "-c", ASKS, *given]
    environment = {**os.environ, forked.THREADS: threads}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, **settings)


def test_a_fork_has_the_arguments_folder_environment_and_streams_of_who_asks_and_its_exit_code_is_passed_on():
    running = below("one", "two")
    server, said = running.communicate(timeout=60)[0].splitlines()
    found = json.loads(said)
    assert found.pop("parent") == int(server) == running.pid  # of who asks, the same process
    assert found == {"given": ["fit", "one", "two"], "folder": "/", "own": "mine", "imported": True}
    assert running.returncode == 3


def test_a_killed_fork_is_told_and_fails():
    running = below("killed", stderr=subprocess.PIPE)
    said = running.communicate(timeout=60)[1]
    assert (running.returncode, said) == (
        1,
        "as2 fit: the process that did it was killed, perhaps for want of memory\n",
    )


def test_a_fork_ends_with_who_asked():
    with below("long") as running:
        running.stdout.readline()
        fork = psutil.Process(int(running.stdout.readline()))
        asks = next(child for child in psutil.Process(running.pid).children() if child != fork)
        asks.send_signal(signal.SIGKILL)
        psutil.wait_procs([fork], timeout=30)
        assert not fork.is_running() or fork.status() == psutil.STATUS_ZOMBIE
        assert running.wait(timeout=30)


def test_a_server_that_is_told_to_end_leaves_no_socket(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with below("long") as running:
        running.stdout.readline()
        running.stdout.readline()
        left = psutil.Process(running.pid).children(recursive=True)
        assert [path.name for path in tmp_path.glob("as2-*/*")] == ["socket"]
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=30) == 128 + signal.SIGTERM
        for process in left:
            process.kill()
    assert not list(tmp_path.iterdir())


def test_what_computes_on_several_threads_is_not_forked():
    running = below(threads="2")
    running.communicate(timeout=60)
    assert running.returncode == 99


@pytest.mark.parametrize("socket", [None, "/nowhere/socket"])
def test_where_nobody_forks_a_command_goes_its_own_way(socket, monkeypatch):
    monkeypatch.setenv(forked.THREADS, "1")
    monkeypatch.setenv(forked.SOCKET, socket) if socket else monkeypatch.delenv(forked.SOCKET, raising=False)
    assert forked.asked("fit", []) is None


def test_a_gpu_is_not_taken_by_a_process_that_forks(monkeypatch):
    monkeypatch.setattr(forked, "gpus", lambda: ["0"])
    assert forked.below_forks(["snakemake"]) == ["snakemake"]
