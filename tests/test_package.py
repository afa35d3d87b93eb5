"""An installed package works with what it declares, and with nothing else; its wheel has every study."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical

from tests.first_hour.hub_like import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with this package as its wheel has it."""
    folder, sources, wheels = (tmp_path_factory.mktemp(name) for name in ("site", "sources", "wheels"))
    for name in ("as2lib", "params"):  # building leaves files beside the sources
        shutil.copytree(ROOT / name, sources / name, symlinks=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    options = ["-q", "--no-deps", "--no-build-isolation", "-w", wheels]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, sources], check=True, capture_output=True)
    (wheel,) = wheels.glob("as2lib-*.whl")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(folder)
    return folder


CORE = """
import sys
from importlib.machinery import PathFinder
class Core(PathFinder):
    @classmethod
    def find_spec(cls, name, *rest):
        return None if name in {absent} else super().find_spec(name, *rest)
sys.meta_path[sys.meta_path.index(PathFinder)] = Core
"""


def run(site: Path, folder: Path, code: str) -> str:
    """What Python prints in a folder, with that package and without what the extras alone bring."""
    extras = declared(EXTRAS["study"], EXTRAS["serve"]) - {"pygments"}  # which typer brings
    absent = [name for name, of in packages_distributions().items() if {*map(canonical, of)} <= extras]
    code = CORE.format(absent=absent) + code
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "OMP_NUM_THREADS": "1", "AS2_ROOT": str(folder)}
    environment |= {"PYTHONPATH": str(site), "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-P", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_readmes_lines_on_own_data_run_in_an_empty_folder_without_extras(site, tmp_path):
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Your own data")[2]
    (python,), (bash,) = (re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL) for kind in ("python", "bash"))
    commands = [shlex.split(line, comments=True)[1:] for line in bash.splitlines()]
    module, function = PROJECT["scripts"]["as2"].split(":")
    python = python.replace('"all").to_csv', '"all").select(range(200)).to_csv')
    lines = [python, f"from {module} import {function} as as2", "import as2lib", "print(as2lib.__file__)"]
    lines += [f"assert as2({command!r}) == 0" for command in commands]
    assert str(site) in run(site, tmp_path, "\n".join(lines))
    assert (tmp_path / "params" / "my.yaml").exists()


def declared(*groups: list[str]) -> set[str]:
    return {canonical(Requirement(text).name) for group in groups for text in group}


def test_the_wheel_has_every_study_and_what_its_pages_need(site):
    for folder in ("params", "as2lib/papers", "as2lib/report/template", "as2lib/commands"):
        for path in (ROOT / folder).rglob("*"):
            data = path.suffix in (".yaml", ".csv", ".json", ".j2", ".css", ".js", ".md") and path.name != "local.yaml"
            name = path.relative_to(ROOT) if folder != "params" else Path("as2lib") / path.relative_to(ROOT)
            assert not data or (site / name).exists(), f"{name}: not in the wheel; see package-data in pyproject.toml"


def test_every_declared_package_has_its_pin():
    lock = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    needed = declared(PROJECT["dependencies"], EXTRAS["study"], EXTRAS["test"])
    assert needed <= set(lock)
    environment = re.findall(r"^ +- ([a-z0-9.-]+)==(\S+)$", (ROOT / "environment.yml").read_text(), re.MULTILINE)
    assert dict(environment) == {name: lock[name] for name in needed}
