"""The Snakefile over a tiny study of stubs, in processes of its own: `as2 study` as a user calls it; and why pages."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import nbformat
import pytest

from as2lib import Study
from as2lib.cli import main
from as2lib.study import pages
from as2lib.study.run import Notebook, by_name
from tests.study.conftest import graph_notebooks, graph_systems, stub_systems, write_study

CLONE = Path(__file__).parents[2]
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
STUBS = """
import os, re, subprocess, sys, time
from pathlib import Path
from types import SimpleNamespace
from as2lib.study.run import by_name
from as2lib.study.study import Study
from tests.study.conftest import graph_notebooks, graph_systems, stub_fit

def fit(store, run, folder, progress):
    root = Path(os.environ["AS2_ROOT"])
    with open(root / "started.txt", "a") as file:
        print(run.name, file=file)
    if "STUB_GPU" in os.environ:
        if job_id := os.environ.get("SLURM_JOB_ID"):  # which names the device where it is a real one
            said = subprocess.run(["scontrol", "show", "job", "-d", job_id], capture_output=True, text=True).stdout
            os.environ["CUDA_VISIBLE_DEVICES"] = re.search(r"IDX:([0-9]+)", said)[1]
        gpu = root / ("gpu-" + os.environ["CUDA_VISIBLE_DEVICES"])
        shared = "shared" if gpu.exists() else "alone"
        gpu.touch()
        with open(root / "gpus.txt", "a") as file:
            print(gpu.name, shared, len(list(root.glob("gpu-*"))), file=file)
        until = time.monotonic() + 240 * run.name.startswith("teacher")
        while not (root / "four").exists() and time.monotonic() < until:  # until four compute at once
            if len(list(root.glob("gpu-*"))) == 4:
                (root / "four").touch()
            time.sleep(0.2)
    if run.name.startswith("teacher"):
        time.sleep(float(os.environ.get("STUB_SECONDS", "0")))
    if "STUB_GPU" in os.environ:
        gpu.unlink()
    made = stub_fit(store, run, folder)
    with open(os.environ["AS2_ROOT"] + "/fits.txt", "a") as file:
        file.write(run.name + "\\n")
    return made

Study.systems = property(lambda study: by_name(graph_systems(study)))
Study.notebooks = property(graph_notebooks)
sys.modules["as2lib.study.make"] = SimpleNamespace(MAKERS={"fit": fit, "lexical": stub_fit})  # whose own imports torch
"""


def write_notebook(root: Path, name: str, code: str) -> Path:
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": KERNEL})
    first = 'study = "tiny"\noverrides = {}\nsave = False'
    parameters = nbformat.v4.new_code_cell(first, metadata={"tags": ["parameters"]})
    notebook.cells = [nbformat.v4.new_markdown_cell(f"# {name}"), parameters, nbformat.v4.new_code_cell(code)]
    path = root / "notebooks" / f"{name}.ipynb"
    path.parent.mkdir(exist_ok=True)
    nbformat.write(notebook, path)
    return path


RECORD = """from pathlib import Path
from as2lib import Study
from as2lib.study.store import write_json
study = Study.load(study, overrides)
means = {{run.name: float(run.scores()["score"].mean()) for name in {systems} for run in study.runs(name)}}
write_json(Path(save) / "metrics" / "{number}.json", means)
"""
READ = {"00_overview": ["teacher/electra"], "01_data": ["lexical/word_overlap"]}
FITS = ["transfer/electra/seed-0", "teacher/electra/seed-0"]


@pytest.fixture
def study_root(tmp_path):
    """A root with the Snakefile, two notebooks and the tiny study, and the environment of its commands."""
    root = write_study(tmp_path / "root", seeds=[0])
    shutil.copy(CLONE / "Snakefile", root)
    shutil.copytree(CLONE / "profiles", root / "profiles")
    for name, systems in READ.items():
        write_notebook(root, name, RECORD.format(number=name[:2], systems=systems))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(STUBS)
    path = os.pathsep.join([str(tmp_path / "site"), str(CLONE)])
    environment = {"AS2_ROOT": str(root), "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HOME": str(tmp_path)}
    return root, os.environ | environment


def as2(environment, *arguments):
    return subprocess.run([sys.executable, "-m", "as2lib", *arguments], env=environment, capture_output=True, text=True)


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


@pytest.fixture
def root_here(study_root, monkeypatch):
    """The root, in this process."""
    monkeypatch.setenv("AS2_ROOT", str(study_root[0]))
    monkeypatch.setattr(Study, "systems", property(lambda study: by_name(graph_systems(study))))
    monkeypatch.setattr(Study, "notebooks", property(graph_notebooks))
    return study_root[0]


def test_a_study_makes_only_what_has_to_be_made_and_says_why(study_root, root_here, capsys):
    root, environment = study_root

    def reasons() -> list[str | None]:
        """Why `as2 study --dry-run` would make each page, in this process; None where it would not."""
        capsys.readouterr()
        assert main(["study", "tiny", "--dry-run"]) == 0
        said = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
        return [said.get(page) for page in READ]

    assert reasons() == ["not made yet"] * 2
    whole = as2(environment, "study", "tiny", "--cores", "1")
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert "study tiny: reports/tiny/index.html" in whole.stdout
    assert re.search(r"^2/3 transfer/electra/seed-0, \d+ s, dev MAP 50.0$", whole.stdout, re.MULTILINE), whole.stdout
    assert not re.search("not all is made|profile", whole.stderr), whole.stderr
    assert lines(root / "fits.txt") == FITS
    assert reasons() == [None, None]
    page = root / "reports" / "tiny" / "01_data.html"
    page.write_text("an old page")
    os.utime(page, (0, 0))  # put back with its old times
    assert reasons() == [None, "its page, or what it saved, was changed or removed"]
    write_notebook(root, "01_data", "1 / 0")
    assert reasons() == ["what it reads changed"] * 2
    assert main(["page", "tiny", "--beside"]) == 1
    assert page.read_text() == "an old page"  # one that fails leaves the one before it
    assert "failed: 01_data: " in capsys.readouterr().out
    assert "ZeroDivisionError" in (root / "reports" / "tiny" / "executed" / "01.log").read_text()


def test_an_interrupted_study_ends_its_jobs_and_keeps_what_is_finished_and_two_at_once_wait(study_root):
    root, environment = study_root
    command = [sys.executable, "-m", "as2lib", "study", "tiny"]
    ignore = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)  # as of what a shell starts in the background
    first = subprocess.Popen(command, env=environment | {"STUB_SECONDS": "600"}, preexec_fn=ignore)
    try:
        while "teacher" not in "".join(lines(root / "started.txt")):
            assert first.poll() is None, "the study ended"
            time.sleep(0.2)
        second = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while "study tiny is being made by another process; waiting for it" not in (line := second.stderr.readline()):
            assert line, "it did not wait"
        first.send_signal(signal.SIGINT)
        first.wait(300)  # of 600; a busy machine takes long to end
    finally:
        first.kill()
    _, errors = second.communicate()
    assert second.returncode == 0, errors
    assert lines(root / "fits.txt") == FITS


def test_a_page_is_of_the_study_s_file_and_a_changed_first_cell_is_no_part_of_it(root_here):
    path = root_here / "notebooks" / "01_data.ipynb"
    path.write_text(path.read_text().replace("overrides = {}", "overrides = {'seeds': [0]}"))
    assert main(["page", "tiny", "01"]) == 1
    assert "expected overrides = {}" in (root_here / "reports" / "tiny" / "executed" / "01.log").read_text()


def test_a_page_of_sets_that_are_not_at_hand_writes_no_blanks_over_published_numbers(root_here, monkeypatch, capsys):
    def execute(source, executed, parameters):
        write(Path(parameters["save"]), "set,pairs\nWikiQA,\n")

    def write(folder, content):
        folder.joinpath("tables").mkdir(parents=True)
        (folder / "tables" / "01_table_1.csv").write_text(content)

    monkeypatch.setattr("as2lib.commands.studying.lock", lambda *_, wait: {True: nullcontext()}[wait])
    monkeypatch.setattr("as2lib.report.pages.execute", execute)
    write(root_here / "reports" / "tiny", "set,pairs\nWikiQA,2351\n")
    assert main(["page", "tiny", "01"]) == 0
    assert "tables/01_table_1.csv has numbers of what is not at hand" in capsys.readouterr().out
    assert (root_here / "reports" / "tiny" / "tables" / "01_table_1.csv").read_text() == "set,pairs\nWikiQA,2351\n"
    assert not (root_here / "reports" / "tiny" / "01_data.html").exists()


def test_a_notebook_s_stamp_changes_with_what_decides_its_page(root, monkeypatch):
    study = Study.load("tiny")
    path = write_notebook(root, "01_data", "from as2lib.study import results")

    def stamp(study=study, label="word overlap"):
        system = replace(stub_systems(study)[0], label=label)
        return pages.stamp(study, Notebook("01_data", "?", (system,), files=("reports/*.json",)))

    assert "study/results.py" in pages.library()
    assert "study/make.py" not in pages.library()
    stamps = [stamp(), stamp(label="shared words"), stamp(Study.load("tiny", {"threads": 2}))]
    path.write_text(path.read_text().replace("01_data", "01_DATA"))
    stamps.append(stamp())
    made = type("Made", (), {"published": False, "facts": {"seconds": 9}})
    monkeypatch.setattr(study.store, "find", lambda name: made)
    stamps.append(stamp())  # of a run that was made anew
    (root / "reports").mkdir()
    (root / "reports" / "bench.json").write_text("{}")
    stamps.append(stamp())
    monkeypatch.setattr(pages, "library", lambda: {"study/results.py": "changed"})
    stamps.append(stamp())
    (root / "dev.tsv").write_text((root / "dev.tsv").read_text().replace("river", "lake"))
    stamps.append(stamp(Study.load("tiny")))
    assert len(set(stamps)) == len(stamps)
    assert stamp(Study.load("tiny")) == stamps[-1]
