"""A fit that is killed at its worst moment, when all is computed and nothing has its name; a job whose time is up."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch

from as2lib.cli import main
from as2lib.fit import loop
from tests.study.conftest import STEP, write_study

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

TERMINATED = """
import sys
from as2lib.cli import main
from as2lib.fit import loop

loop.CHECKPOINT_SECONDS = 0.5
sys.exit(main(["fit", "tiny"]))
"""


@pytest.fixture
def steps(monkeypatch):
    """An item for each step of an optimizer."""
    made, step = [], torch.optim.AdamW.step

    def counted(*arguments, **options):
        made.append(1)
        return step(*arguments, **options)

    monkeypatch.setattr(torch.optim.AdamW, "step", counted)
    return made


def test_a_fit_killed_before_its_folder_has_its_name_goes_on_from_its_checkpoint(tmp_path, steps, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    root = write_study(tmp_path)
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


def test_a_worker_whose_time_is_up_saves_a_checkpoint_and_is_put_back_in_the_queue(tmp_path, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    long = {**STEP, "steps": 1_000_000}
    root = write_study(tmp_path, fit={"transfer": long, "adapt": STEP})
    (root / "bin").mkdir()
    (root / "bin" / "scontrol").write_text(f"#!/bin/sh\necho $* >> {root}/scontrol.txt\n")
    (root / "bin" / "scontrol").chmod(0o755)
    environment = {"PATH": f"{root / 'bin'}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}
    process = subprocess.Popen([sys.executable, "-c", TERMINATED], env=os.environ | environment)
    while not any((root / "work" / "runs").glob("*.partial/checkpoint")):
        assert process.poll() is None, "the fit ended"
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 128 + signal.SIGTERM
    assert (root / "scontrol.txt").read_text() == "requeue 7\n"
