"""A fit that is killed at its worst moment, when all is computed and nothing has its name yet."""

import shutil
import subprocess
import sys

import pytest
import torch

from as2lib.cli import main
from as2lib.fit import loop
from tests.study.conftest import write_study

RUN = "base/electra/seed-0"  # four steps of its own, and four of what it starts from
KILLED = """
import os, signal
from as2lib.cli import main
from as2lib.fit import loop

def killed(source, target, replace=os.replace):
    if str(source).endswith(".partial"):
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(source, target)

loop.CHECKPOINT_SECONDS, os.replace = 0.0, killed
main(["fit", "tiny", "base/electra/seed-0"])
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    return write_study(tmp_path)


@pytest.fixture
def steps(monkeypatch):
    """An item for each step of an optimizer."""
    made, step = [], torch.optim.AdamW.step

    def counted(*arguments, **options):
        made.append(1)
        return step(*arguments, **options)

    monkeypatch.setattr(torch.optim.AdamW, "step", counted)
    return made


def test_a_fit_killed_before_its_folder_has_its_name_goes_on_from_its_checkpoint(root, steps, monkeypatch):
    assert main(["fit", "tiny", RUN]) == 0
    whole = len(steps)
    [scores] = (root / "work" / "runs").glob("*/scores/test.parquet")  # what it starts from is not scored
    before = scores.read_bytes()
    shutil.rmtree(scores.parents[1])
    assert subprocess.run([sys.executable, "-c", KILLED], check=False).returncode == -9
    assert not scores.exists()

    steps.clear()
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    assert main(["fit", "tiny", RUN]) == 0
    assert len(steps) < whole / 2
    assert scores.read_bytes() == before
    assert not [path for path in scores.parents[1].rglob("*") if "checkpoint" in path.name]
