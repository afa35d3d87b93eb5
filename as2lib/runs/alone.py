"""One at a time, and nothing left behind: a lock, and a command all of whose processes end with its caller."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psutil
from filelock import lock_descriptor

from as2lib.paths import work_folder

PATIENCE = 10.0  # seconds for processes to end by themselves


@contextmanager
def only_one(name: str, what: str) -> Iterator[int]:
    """A lock, as its file's descriptor; says so when another process holds it.

    The system releases it when its holder has ended, and every process that was given the descriptor.
    """
    locks = work_folder() / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / f"{name}.lock").open("a") as file:
        if not lock_descriptor(file.fileno(), blocking=False):
            print(f"{what} is being made by another process; waiting for it", file=sys.stderr, flush=True)
            lock_descriptor(file.fileno())
        yield file.fileno()


@contextmanager
def guarded(command: list[str], lock: int, **settings) -> Iterator[subprocess.Popen]:
    """Run a command that ends with its caller, however that ends, together with all processes that it started.

    Between the two stands a guard, this module run as a script: it sees its standard input end with the caller.  `lock`
    is the standard input of the command, so that it is held until the last of them has ended.
    settings: of `Popen`.
    """
    guard = [sys.executable, "-m", __name__, str(lock), *command]
    running = subprocess.Popen(guard, stdin=subprocess.PIPE, pass_fds=[lock], start_new_session=True, **settings)
    try:
        yield running
    finally:
        running.stdin.close()
        if running.wait() < 0:  # killed before it could end the others
            with suppress(ProcessLookupError, PermissionError):  # nobody is left; on macOS, nobody who has not ended
                os.killpg(running.pid, signal.SIGKILL)
        for pipe in filter(None, (running.stdout, running.stderr)):  # now nobody is left who could hold them open
            pipe.close()


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP (but under nohup) end what is within as an exit does."""

    def stop(number: int, _) -> None:
        sys.exit(128 + number)

    kept = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    numbers = (signal.SIGINT, signal.SIGTERM, *(() if kept else (signal.SIGHUP,)))
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_once(returns: Callable[[], object]) -> None:
    """Ask this process to end as soon as a call returns that waits for the end of another."""

    def waiting() -> None:
        returns()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=waiting, daemon=True).start()


def _guard(lock: int, command: list[str]) -> int:
    with stopped_by_signals():
        running = subprocess.Popen(command, stdin=lock)
        try:
            end_once(lambda: os.read(sys.stdin.fileno(), 1))  # comes to an end with the caller
            return running.wait()
        finally:
            _end_family()


def _end_family() -> None:
    """End what this process started, and what those started: by request, then by force."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    family: set[psutil.Process] = set()
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + PATIENCE
        asked: set[psutil.Process] = set()
        while (family := set(filter(_lives, family | _below()))) and time.monotonic() < until:
            for process in family - asked:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)
            asked |= family
            time.sleep(0.1)


def _below() -> set[psutil.Process]:
    """This process's group, also who lost their parent, and all below: a notebook's kernel is in a group of its own."""
    found = {process for process in psutil.process_iter() if _group(process.pid) == os.getpgrp()}
    for process in list(found):
        with suppress(psutil.NoSuchProcess):
            found |= {*process.children(recursive=True)}
    return found - {psutil.Process()}


def _group(process: int) -> int | None:
    with suppress(ProcessLookupError, PermissionError):
        return os.getpgid(process)
    return None


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


if __name__ == "__main__":
    sys.exit(_guard(int(sys.argv[1]), sys.argv[2:]))
