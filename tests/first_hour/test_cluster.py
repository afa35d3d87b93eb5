"""A study on several GPUs, in a box and on a Slurm cluster, by the commands that docs/scale.md prints."""

import shlex
import shutil
import subprocess
from importlib.util import find_spec

import pytest
import yaml

from as2lib.cli import main
from tests.first_hour.hub_like import ROOT
from tests.study.test_pages import as2, study_root  # noqa: F401


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
