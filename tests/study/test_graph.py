"""The Snakefile over a tiny study of stubs, in processes of its own: `as2 study` as a user calls it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from as2lib.study import Study, graph
from as2lib.study.run import Notebook
from tests.study.conftest import stub_systems, write_study

CLONE = Path(__file__).parents[2]
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
STUBS = """
import os, re, subprocess, time
from pathlib import Path
from as2lib.study import catalogue, make
from as2lib.study.run import Notebook
from tests.study.conftest import stub_fit, stub_systems

def systems(study):
    return [system for system in stub_systems(study) if system.run in ("lexical/word_overlap", "teacher/electra")]

def notebooks(study):
    overlap, teacher = systems(study)
    read = {"00_overview": (), "01_data": (overlap,), "02_teachers": (overlap, teacher)}
    return [Notebook(name, "?", "", systems) for name, systems in read.items()]

def fit(job):
    root = Path(os.environ["AS2_ROOT"])
    (root / "started.txt").touch()
    if "STUB_GPU" in os.environ:
        make.take_gpu()
        if job_id := os.environ.get("SLURM_JOB_ID"):  # which names the device where it is a real one
            said = subprocess.run(["scontrol", "show", "job", "-d", job_id], capture_output=True, text=True).stdout
            os.environ["CUDA_VISIBLE_DEVICES"] = re.search(r"IDX:([0-9]+)", said)[1]
        gpu = root / ("gpu-" + os.environ["CUDA_VISIBLE_DEVICES"])
        shared = "shared" if gpu.exists() else "alone"
        gpu.touch()
        with open(root / "gpus.txt", "a") as file:
            print(gpu.name, shared, len(list(root.glob("gpu-*"))), file=file)
    time.sleep(float(os.environ.get("STUB_SECONDS", "0")))
    if "STUB_GPU" in os.environ:
        gpu.unlink()
    facts = stub_fit(job)
    with open(os.environ["AS2_ROOT"] + "/fits.txt", "a") as file:
        file.write(job.run.name + "\\n")
    return facts

catalogue.systems, catalogue.notebooks = systems, notebooks
make.MAKERS["fit"] = fit
"""


def write_notebook(root: Path, name: str, code: str) -> Path:
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": KERNEL})
    parameters = nbformat.v4.new_code_cell('study = "tiny"\noverrides = {}', metadata={"tags": ["parameters"]})
    notebook.cells = [nbformat.v4.new_markdown_cell(f"# {name}"), parameters, nbformat.v4.new_code_cell(code)]
    path = root / "notebooks" / f"{name}.ipynb"
    path.parent.mkdir(exist_ok=True)
    nbformat.write(notebook, path)
    return path


RECORD = """from as2lib import Study
from as2lib.paths import find_root
from as2lib.study.store import write_json
study = Study.of_notebook(study, overrides)
means = {{run.name: float(run.scores()["score"].mean()) for name in {systems} for run in study.runs(name)}}
write_json(find_root() / "reports" / study.variant / "metrics" / "{number}.json", means)
"""


@pytest.fixture
def study_root(tmp_path):
    """A root with the Snakefile, three notebooks and the tiny study, and the environment of its commands."""
    root = write_study(tmp_path / "root")
    shutil.copy(CLONE / "Snakefile", root)
    shutil.copytree(CLONE / "profiles", root / "profiles")
    systems = ["lexical/word_overlap", "teacher/electra"]
    for place, name in enumerate(["00_overview", "01_data", "02_teachers"]):
        write_notebook(root, name, RECORD.format(number=name[:2], systems=systems[:place]))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(STUBS)
    path = os.pathsep.join([str(tmp_path / "site"), str(CLONE)])
    environment = {"AS2_ROOT": str(root), "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HOME": str(tmp_path)}
    return root, os.environ | environment


def as2(environment, *arguments):
    command = [sys.executable, "-m", "as2lib", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def study_made(environment) -> str:
    """What `as2 study` says of a study that it makes."""
    ended = as2(environment, "study", "tiny", "--cores", "2")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def made(root):
    return (root / "fits.txt").read_text().split() if (root / "fits.txt").exists() else []


def test_a_study_is_made_once_and_again_only_where_what_decides_a_page_has_changed(study_root):
    root, environment = study_root
    first = study_made(environment)
    assert "study tiny: reports/tiny/index.html" in first
    assert sorted(made(root)) == ["teacher/electra/seed-0", "teacher/electra/seed-1", "transfer/electra/seed-0"]
    pages = [root / "reports" / "tiny" / name for name in ("index.html", "01_data.html", "02_teachers.html")]
    before = [page.read_bytes() for page in pages]

    assert "notebook 0" not in study_made(environment)

    # An old page that is put back with its old times, a notebook that is older than its page, a marker of the future.
    old = time.time() - 10_000
    pages[1].write_text("an old page")
    notebook = root / "notebooks" / "02_teachers.ipynb"
    notebook.write_text(notebook.read_text().replace("02_teachers", "02_changed"))
    for path in (pages[1], notebook):
        os.utime(path, (old, old))
    for marker in (root / "work" / "graph" / "tiny").rglob("*.*"):
        os.utime(marker, (time.time() + 10_000,) * 2)
    third = study_made(environment)
    assert "notebook 01_data" in third
    assert "notebook 02_teachers" in third
    assert pages[1].read_bytes() == before[1]
    assert b"02_changed" in pages[2].read_bytes()
    assert len(made(root)) == 3


def test_a_killed_study_keeps_what_is_finished_and_two_at_once_wait(study_root):
    root, environment = study_root
    slow = environment | {"STUB_SECONDS": "3"}
    command = [sys.executable, "-m", "as2lib", "study", "tiny", "--cores", "1"]
    running = subprocess.Popen(command, env=slow, start_new_session=True, stdout=subprocess.DEVNULL)
    while not made(root):
        time.sleep(0.1)
    waiting = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "study tiny is being made by another process; waiting for it" not in (line := waiting.stderr.readline()):
        assert line, "it did not wait"
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    _, errors = waiting.communicate()
    assert waiting.returncode == 0, errors
    assert sorted(made(root)) == sorted(set(made(root)))  # what was finished is not made again


def test_a_notebook_s_job_trains_nothing_and_one_that_fails_fails_the_study_and_says_why(study_root):
    root, environment = study_root
    another = 'from as2lib import Study\nStudy.load("tiny", {"fit.adapt.steps": 5}).run("teacher/electra/seed-0")'
    write_notebook(root, "01_data", another)  # a run that the graph doesn't make, and that no notebook's job trains
    failed = as2(environment, "study", "tiny", "--cores", "2")
    assert failed.returncode == 1
    assert "FileNotFoundError: not made yet: " in failed.stderr
    assert "failed: 01_data" in failed.stderr
    assert (root / "reports" / "tiny" / "02_teachers.html").exists()
    assert len(made(root)) == 3


def test_pages_are_made_with_the_library_but_for_what_makes_runs():
    files = graph.library()
    assert {"study/results.py", "papers/cerberus/published/table2.csv", "models/mhs.py"} <= set(files)
    assert not [name for name in files if name.startswith(("fit/", "losses/")) or name in ("cli.py", "study/make.py")]


def test_a_notebook_s_marker_changes_with_what_decides_its_page(root, monkeypatch):
    study = Study.load("tiny")
    path = write_notebook(root, "01_data", "from as2lib.study import results")

    def marker(study=study, label="word overlap"):
        system = stub_systems(study)[0]
        object.__setattr__(system, "label", label)
        return graph.notebook_marker(study, Notebook("01_data", "?", "", (system,), files=("reports/*.json",)))

    markers = [marker(), marker(label="shared words"), marker(Study.load("tiny", {"threads": 2}))]
    path.write_text(path.read_text().replace("01_data", "01_DATA"))
    markers.append(marker())
    (root / "reports").mkdir()
    (root / "reports" / "bench.json").write_text("{}")
    markers.append(marker())
    monkeypatch.setattr(graph, "library", lambda: {"study/results.py": "changed"})
    markers.append(marker())
    (root / "dev.tsv").write_text((root / "dev.tsv").read_text().replace("river", "lake"))
    markers.append(marker(Study.load("tiny")))
    assert len(set(markers)) == len(markers)
    assert marker(Study.load("tiny")) == markers[-1]
