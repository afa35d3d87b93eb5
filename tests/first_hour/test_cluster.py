"""A study on a cluster that is two scripts, one that submits a job and one that cancels it; and on several GPUs."""

import shlex
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest
import yaml

from as2lib.cli import main
from tests.first_hour.hub_like import ROOT
from tests.study.test_pages import as2, in_background, lines, study_root  # noqa: F401

pytest.importorskip("snakemake_executor_plugin_cluster_generic")

# The first worker begins; the second one waits in the queue.
SUBMIT = r"""#!/bin/bash
job="bash $1" list=jobs
if [ -e {folder}/first ]; then job="sleep 600" list=waiting; fi
touch {folder}/first
setsid $job < /dev/null > {folder}/job.log 2>&1 &
number=$!
(sleep 1; echo $number >> {folder}/$list) < /dev/null > /dev/null 2>&1 &  # once Snakemake has been told of it
echo $number
"""
CANCEL = """#!/bin/bash
for job in "$@"; do echo $job >> {folder}/cancelled; kill -- -$job; done
"""


@pytest.fixture
def cluster(study_root, tmp_path):  # noqa: F811
    """The options of a study whose jobs run on the node, its environment, and the folder of the cluster's files."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    options = ["--workers", "2", "--executor", "cluster-generic", "--jobs", "2"]
    for name, content in {"submit": SUBMIT, "cancel": CANCEL}.items():
        (folder / name).write_text(content.format(folder=folder))
        (folder / name).chmod(0o755)
        options += [f"--cluster-generic-{name}-cmd", str(folder / name)]
    yield options, study_root[1], folder
    for job in lines(folder / "jobs") + lines(folder / "waiting"):
        subprocess.run(["kill", "--", f"-{job}"], capture_output=True, check=False)


def test_an_interrupt_cancels_the_jobs_of_a_cluster(cluster):
    options, environment, folder = cluster
    command = [sys.executable, "-m", "as2lib", "study", "tiny", *options]
    study = in_background(command, environment | {"STUB_SECONDS": "600"}, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 300
    try:
        while not (lines(folder / "waiting") and lines(folder.parent / "root" / "fits.txt")):
            assert study.poll() is None, "the study ended"
            assert time.monotonic() < until, "waited in vain"
            time.sleep(0.2)
        study.send_signal(signal.SIGINT)
        study.wait(300)  # a busy machine takes long to end, and that is no fault
    finally:
        study.kill()
    assert lines(folder.parent / "root" / "fits.txt") == ["transfer/electra/seed-0"]
    assert sorted(lines(folder / "cancelled")) == sorted(lines(folder / "waiting") + lines(folder / "jobs"))


def printed(study: str, title: str) -> list[list[str]]:
    """The commands of `as2` in a section of docs/scale.md, of another study."""
    section = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    commands = [shlex.split(line, comments=True) for line in section.splitlines() if line.startswith("as2 ")]
    return [[word.replace("paper_table2", study) for word in command[1:]] for command in commands]


def has_slurm() -> bool:
    """Whether there is a Slurm with GPUs, and Snakemake's executor of it."""
    if not shutil.which("sinfo") or not find_spec("snakemake_executor_plugin_slurm"):
        return False
    return "gpu" in subprocess.run(["sinfo", "-h", "-o", "%G"], capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize(
    "title",
    [
        "Several GPUs in a box",
        pytest.param("A Slurm cluster", marks=pytest.mark.skipif(not has_slurm(), reason="no Slurm: CONTRIBUTING.md")),
    ],
)
def test_no_two_fits_share_one_of_four_gpus_and_all_four_compute(study_root, title):  # noqa: F811
    root, environment = study_root
    path = root / "params" / "tiny.yaml"
    content = yaml.safe_load(path.read_text())
    content["study"] |= {"seeds": list(range(4)), "gpu": True}
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    environment |= {"STUB_GPU": "1"}
    if title != "A Slurm cluster":
        environment["CUDA_VISIBLE_DEVICES"] = "0,1,2,3"
    [command] = printed("tiny", title)
    made = as2(environment, *command)
    assert made.returncode == 0, made.stdout + made.stderr
    uses = [line.split() for line in (root / "gpus.txt").read_text().splitlines()]
    assert [use for use in uses if use[1] == "shared"] == []
    assert max(int(count) for _, _, count in uses) == 4  # at once


def test_what_is_printed_before_a_study_is_started_makes_nothing(study_root, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setenv("AS2_ROOT", str(study_root[0]))
    for command in printed("tiny", "First: what it takes"):
        assert main(command) == 0, capsys.readouterr().err
