"""The graph, without running it: what Snakemake would do."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from as2lib import Study
from as2lib.__main__ import main

ROOT = Path(__file__).parents[1]


@pytest.fixture
def project(root):
    for name in ("notebooks", "profiles", "as2lib"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Snakefile", root)
    return root


def planned_jobs(project, study="tiny"):
    """(rule → number of jobs, the groups to fit) of a dry run of a study, by name or file."""
    options = ["--cores", "2", "--dry-run", "--quiet", "host", "--config", f"study={study}"]
    command = [sys.executable, "-m", "snakemake", *options]
    found = subprocess.run(command, cwd=project, capture_output=True, text=True, env={**os.environ})
    assert found.returncode == 0, found.stderr[-2000:]
    said = found.stdout + found.stderr
    jobs = {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", said, flags=re.MULTILINE)}
    return jobs, set(re.findall(r"wildcards: group=([\w-]+),", said))


def pretend_done():
    """Leave the markers of every group, each after those that it learns from."""
    store = Study.load("tiny").store
    groups = dict.fromkeys(run.group for run in reversed(store.plan.values()))
    for group in reversed(groups):
        store.marker(group).parent.mkdir(parents=True, exist_ok=True)
        store.marker(group).touch()


def test_a_fresh_study_fits_every_group_and_runs_every_notebook(project, elsewhere):
    jobs, groups = planned_jobs(project, elsewhere)  # by its file: the other tests by its name
    assert {"lexical", "students-0", "mhs-1", "electra-large"} <= groups
    assert jobs["fit"] == len(groups) == 13
    assert {job for job in jobs if "notebook" in job} == {
        f"notebook_{number:02}" for number in (0, 1, 2, 3, 4, 6, 7, 11)
    }
    assert jobs["check"] == 1


def test_a_changed_key_refits_only_what_depends_on_it(project):
    pretend_done()
    assert planned_jobs(project)[1] == set()
    path = project / "params" / "tiny.yaml"
    content = yaml.safe_load(path.read_text())
    content["distillation"]["tau"] = 5
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    assert planned_jobs(project)[1] == {"students-0", "students-1", "mhs-0", "mhs-1", "strategies"}


@pytest.fixture
def elsewhere(project, tmp_path):
    """The tiny study as a file outside of params/, under another name."""
    content = yaml.safe_load((project / "params" / "tiny.yaml").read_text()) | {"study": "mine"}
    file = tmp_path / "my files" / "mine.yaml"
    file.parent.mkdir()
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


def test_the_study_of_a_file_is_given_to_snakemake_as_that_file(elsewhere, monkeypatch, capsys):
    monkeypatch.chdir(elsewhere.parent.parent)
    asked = []
    monkeypatch.setattr("as2lib.commands.walk", lambda store, lock, *arguments, **_: asked.append(arguments) or 0)
    assert main(["study", "my files/mine.yaml", "--cores", "1", "--", "--dry-run"]) == 0
    assert asked[0][:2] == ("--config", f"study={elsewhere}")
    assert asked[0][-1] == "--dry-run"
    assert "reports/mine/index.html" in capsys.readouterr().out


def test_a_file_of_another_studys_name_runs_only_with_that_studys_content(project, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("as2lib.commands.walk", lambda *_, **__: 0)
    file, content = tmp_path / "tiny.yaml", yaml.safe_load((project / "params" / "tiny.yaml").read_text())
    file.write_text(yaml.safe_dump(content))
    assert main(["study", str(file)]) == 0
    file.write_text(yaml.safe_dump(content | {"seeds": [0]}))
    assert main(["study", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{file}: the study tiny is that of params/tiny.yaml, which has other content" in said


def test_the_snakefile_is_short():
    assert len((ROOT / "Snakefile").read_text().splitlines()) < 80


def test_files_that_git_would_keep_name_no_package_index_and_no_home():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("needs git")
    for name in listed.stdout.splitlines():
        if name.endswith((".py", ".md", ".yaml", ".yml", ".toml", ".lock", ".ipynb", ".cfg")):
            text = (ROOT / name).read_text()
            assert f"{ROOT.parent}{os.sep}" not in text, name
            assert f"{Path.home()}{os.sep}" not in text, name
