"""A study's processes are Snakemake, shells, fits and kernels; here sleepers in the same places."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from as2lib.runs.alone import only_one

FIT = "import subprocess, time; subprocess.Popen(['sleep', '{0}'], stdin=-3, start_new_session=True); time.sleep({0})"
STUDY = """
import sys
from as2lib.runs.alone import guarded, only_one, stopped_by_signals
with stopped_by_signals(), only_one("study", "study") as lock:
    with guarded(["bash", "-c", sys.argv[1]], lock, stderr=-1, text=True) as running:
        print(running.pid, flush=True)
        for line in running.stderr:
            print(line)
print(running.returncode)
"""


@pytest.fixture
def begun(root):
    """A study whose command runs a shell with a fit below it, and a kernel below that; its sleepers carry a mark."""
    mark = str(100_000 + os.getpid() + time.monotonic_ns() % 100_000)
    command = f'sleep {mark} & {sys.executable} -c "{FIT.format(mark)}"; true'
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would stay ignored
    study = subprocess.Popen([sys.executable, "-c", STUDY, command], stdout=subprocess.PIPE, text=True)
    signal.signal(signal.SIGHUP, before)
    guard = psutil.Process(int(study.stdout.readline()))

    def living():
        lines = {process: process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline", "status"])}
        alive = {process for process in lines if process.info["status"] != psutil.STATUS_ZOMBIE}
        return {process for process in alive if any(mark in word for word in lines[process])}

    wait_until(lambda: len(living()) == 6)  # study, guard, shell, fit, and two that sleep
    yield study, guard, living
    for process in living():
        process.kill()


def wait_until(holds, seconds=60):
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_study_that_is_told_to_stop_ends_all_its_processes_first(begun, number):
    study, _, living = begun
    study.send_signal(number)
    assert study.wait(60) == 128 + number
    assert not living()


def test_a_killed_study_leaves_no_process_and_holds_its_lock_while_one_lives(begun, capfd):
    study, _, living = begun
    study.kill()
    with only_one("study", "study"):
        assert not living()
    assert capfd.readouterr().err == "study is being made by another process; waiting for it\n"


def test_nothing_is_left_where_the_command_is_killed_and_the_study_fails(begun):
    study, guard, living = begun
    guard.children()[0].kill()  # those below it have no parent then
    assert study.communicate(timeout=60)[0].strip() not in ("", "0")
    assert not living()


def test_a_study_whose_guard_is_killed_ends_the_others_itself(begun):
    study, guard, living = begun
    guard.kill()
    study.terminate()
    assert study.wait(60) == 128 + signal.SIGTERM
    wait_until(lambda: all("-c" not in process.cmdline() for process in living() if process.is_running()))


def test_the_lock_is_held_by_whoever_has_its_descriptor(root):
    with only_one("study", "study") as lock:
        child = subprocess.Popen(["sleep", "300"], stdin=lock)
    code = "from as2lib.runs.alone import only_one\nwith only_one('study', 'it'): pass"
    waiting = subprocess.Popen([sys.executable, "-c", code])
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(3)
    child.kill()
    assert waiting.wait(60) == 0
