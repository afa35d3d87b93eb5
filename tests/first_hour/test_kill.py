"""Two workers that share a study, one of them killed at the worst moment, when all is computed and nothing is named."""

import multiprocessing
import os
import shutil
import signal
import time

from as2lib.cli import main
from as2lib.fit import loop
from as2lib.fit.checkpoint import Progress
from tests.study.conftest import write_study

COMMAND = ["fit", "tiny", "base/electra/seed-0", "base/electra/seed-1"]  # both start from one transfer step


def killed():
    """A worker that is killed when a folder is to get its name."""
    replace = os.replace

    def kill(source, target):
        if str(source).endswith(".partial"):
            os.kill(os.getpid(), signal.SIGKILL)
        return replace(source, target)

    os.replace = kill
    main(COMMAND)


def test_two_workers_one_killed_make_every_step_once_and_leave_the_same_scores(own_root, monkeypatch):
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    root, add = write_study(own_root), Progress.add

    def noted(progress, *batch):
        with open(root / "steps.txt", "a") as file:
            print(progress.step, file=file)
        return add(progress, *batch)

    def made() -> tuple[list[str], dict[str, bytes]]:
        """The steps of all workers, and each run's scores."""
        steps, runs = sorted((root / "steps.txt").read_text().split()), root / "work" / "runs"
        scores = {str(path.relative_to(runs)): path.read_bytes() for path in runs.glob("*/scores/*.parquet")}
        assert not [path for path in runs.rglob("*") if "partial" in path.name or "checkpoint" in path.name]
        return steps, scores

    monkeypatch.setattr(Progress, "add", noted)
    assert main(COMMAND) == 0
    alone = made()
    assert len(alone[0]) == 3 * 4
    (root / "steps.txt").unlink()
    shutil.rmtree(root / "work")
    first = multiprocessing.get_context("fork").Process(target=killed)
    first.start()
    while not list(root.glob("work/runs/*.partial/spec.json")):
        assert first.is_alive()
        time.sleep(0.01)
    assert main(COMMAND) == 0
    first.join()
    assert first.exitcode == -signal.SIGKILL
    assert made() == alone
