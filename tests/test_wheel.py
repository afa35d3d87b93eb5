"""What `pip install` puts elsewhere: the library with its studies, at work from any folder."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import yaml
from packaging.specifiers import SpecifierSet

import as2lib

ROOT = Path(__file__).parents[1]


def test_every_locked_package_installs_on_the_oldest_python_that_is_promised():
    promised = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    oldest = f"{re.match(r'>=([0-9.]+)', promised)[1]}.0"
    asked = {found.name: found.metadata.get("Requires-Python") or "" for found in distributions()}
    assert not {name: text for name, text in asked.items() if not SpecifierSet(text).contains(oldest)}


def test_a_wheel_plans_a_study_from_an_empty_folder_and_writes_nothing_there(tmp_path):
    for name in ("as2lib", "params"):  # building leaves files beside the sources
        shutil.copytree(ROOT / name, tmp_path / "clone" / name, symlinks=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / "clone")
    (tmp_path / "clone/params/local.yaml").write_text("local: {}\n")
    options = ["-q", "--no-deps", "--no-build-isolation", "-w", tmp_path]
    build = [sys.executable, "-m", "pip", "wheel", *options, tmp_path / "clone"]
    made = subprocess.run(build, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    (wheel,) = tmp_path.glob("as2lib-*.whl")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(tmp_path / "installed")
    shipped = {path.name for path in (tmp_path / "installed/as2lib/params").iterdir()}
    assert shipped == {"sample.yaml", "wikiqa.yaml", "paper.yaml", "expected"}  # and nobody's local.yaml
    (tmp_path / "empty").mkdir()
    environment = {
        "PYTHONPATH": str(tmp_path / "installed"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": os.environ["PATH"],
    }
    for arguments, code, said in (
        ("--version", 0, f"as2lib {as2lib.__version__}"),
        ("plan sample", 0, "0 done"),
        ("study sample", 2, "expected the repository's Snakefile and notebooks, got none: pages are made in a clone"),
    ):
        command = [sys.executable, "-m", "as2lib", *arguments.split()]
        found = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path / "empty")
        assert said in (found.stderr if code else found.stdout), found.stderr
        assert (found.returncode, found.stderr.count("\n")) == (code, int(code > 0))
    assert not list((tmp_path / "empty").iterdir())
    rows = [f"q{i // 2}\twhat is {i // 2} ?\tit is {i}\t{i % 2}" for i in range(60)]
    pairs = tmp_path / "empty" / "my.tsv"
    pairs.write_text("\n".join(["question_id\tquestion\tanswer\tlabel", *rows]) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "as2lib", "init", "my.tsv", "--quick"]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path / "empty")
    assert "written: params/my.yaml" in found.stdout, found.stderr


def test_ranking_and_training_need_no_notebook_and_the_extra_brings_what_studies_do():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    study = {"jupyterlab", "papermill", "snakemake", "matplotlib"}
    assert study <= set(project["optional-dependencies"]["study"])
    assert not study & set(project["dependencies"])


def test_an_environment_has_the_locked_version_of_everything_that_is_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = {*project["dependencies"], *extras["study"], *extras["test"]}
    locked = dict(re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    (pip,) = (one["pip"] for one in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"][2:])
    names = sorted(name.replace("_", "-") for name in named)
    assert pip == ["--editable .[study,test]", *(f"{name}=={locked[name]}" for name in names)]
