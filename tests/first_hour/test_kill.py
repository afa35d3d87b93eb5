"""A fit that is killed at its worst moment, when all is computed and nothing has its name."""

import multiprocessing
import os
import shutil
import signal

import pytest

from as2lib.cli import main
from as2lib.fit import loop
from as2lib.fit.checkpoint import Progress
from tests.study.conftest import write_study

RUN = "base/electra/seed-0"  # four steps of its own, and four of what it starts from


def killed():
    """Fits, and is killed when a folder is to get its name."""
    replace = os.replace

    def kill(source, target):
        if str(source).endswith(".partial"):
            os.kill(os.getpid(), signal.SIGKILL)
        return replace(source, target)

    loop.CHECKPOINT_SECONDS, os.replace = 0.0, kill
    main(["fit", "tiny", RUN])


def forked(target, *arguments):
    """A process of its own that begins with what is imported here."""
    process = multiprocessing.get_context("fork").Process(target=target, args=arguments)
    process.start()
    return process


@pytest.fixture
def steps(monkeypatch):
    """The number of each step that this process makes."""
    numbers, add = [], Progress.add

    def counted(progress, *batch):
        numbers.append(progress.step)
        return add(progress, *batch)

    monkeypatch.setattr(Progress, "add", counted)
    return numbers


def test_a_fit_killed_before_its_folder_has_its_name_goes_on_from_its_checkpoint(tmp_path, steps, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    root = write_study(tmp_path)
    assert main(["fit", "tiny", RUN]) == 0
    whole = len(steps)
    [scores] = (root / "work" / "runs").glob("*/scores/test.parquet")  # what it starts from is not scored
    before = scores.read_bytes()
    shutil.rmtree(scores.parents[1])
    process = forked(killed)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not scores.exists()

    steps.clear()
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    assert main(["fit", "tiny", RUN]) == 0
    assert len(steps) < whole / 2
    assert scores.read_bytes() == before
    assert not [path for path in scores.parents[1].rglob("*") if "checkpoint" in path.name]
