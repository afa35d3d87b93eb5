"""The tiny study, fitted and reported under two paths, in processes that may reach no network."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import write_study

ROOT = Path(__file__).parents[1]
# Read by every Python process of the study at its start: a socket reaches this machine alone.
REFUSE = """
import pathlib, socket, sys

def refused(self, address):
    if self.family != socket.AF_UNIX and str(address[0]) not in ("127.0.0.1", "::1", "localhost"):
        pathlib.Path({log!r}).open("a").write(f"{{sys.argv}} {{address}}\\n")
        raise ConnectionRefusedError(f"no network: {{address}}")

def guarded(connect):
    return lambda self, address: refused(self, address) or connect(self, address)

class Socket(socket.socket):
    connect = guarded(socket.socket.connect)
    connect_ex = guarded(socket.socket.connect_ex)

def looked_up(host, *others, **more):
    refused(Socket(), (host,)) if host not in (None, "", "localhost") else None
    return found(host, *others, **more)

found, socket.getaddrinfo, socket.socket = socket.getaddrinfo, looked_up, Socket
"""
RUN = """
from as2lib.__main__ import main
for given in (["fit", "tiny", "mhs/3h1/seed-0", "--quiet"], ["notebook", "tiny", "01_data"]):
    assert not main(given)  # the notebook makes the trivial rankers that it reads
"""


@pytest.fixture(scope="module")
def twice(trained_root, tmp_path_factory):
    """Two roots with the same study, of which these tests fitted one before, and what was refused to its processes."""
    folder = tmp_path_factory.mktemp("again")
    refusals = folder / "refusals.txt"
    (folder / "sitecustomize.py").write_text(REFUSE.format(log=str(refusals)))
    path = os.pathsep.join([str(folder), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    roots, running = [folder / "one" / "root", folder / "another place" / "the root"], []
    write_study(roots[0], seeds=[0])
    shutil.copytree(trained_root, roots[1])
    for root in roots:
        (root / "notebooks").symlink_to(ROOT / "notebooks")
        environment = {**os.environ, "AS2_ROOT": str(root), "PYTHONPATH": path}
        running.append(subprocess.Popen([sys.executable, "-c", RUN], cwd=root, env=environment))
    assert [one.wait() for one in running] == [0, 0]
    return roots, refusals


def files(root, *patterns):
    found = {path.relative_to(root): path for pattern in patterns for path in root.glob(pattern)}
    return {str(name): path.read_bytes() for name, path in sorted(found.items())}


def test_a_study_made_again_elsewhere_is_the_same_byte_for_byte(twice):
    kinds = ("tables/*", "figures/*", "metrics/*", "*.html")
    reports = [files(root / "reports" / "tiny", *kinds) for root in twice[0]]
    assert len(reports[0]) > 8
    assert reports[0] == reports[1]
    runs = [files(root / "work" / "runs", "*/scores/*.parquet", "*/model/*") for root in twice[0]]
    assert len(runs[0]) > 30
    assert [name for name in runs[0] if runs[0][name] != runs[1].get(name)] == []


def test_a_notebook_makes_the_runs_it_needs_and_its_page_shows_no_progress(twice):
    reports = twice[0][0] / "reports" / "tiny"
    assert json.loads((reports / "metrics" / "01.json").read_text())["target test questions"] == 15
    page = (reports / "01_data.html").read_text()
    assert "What we found" in page
    assert "run/s" not in page
    assert "Warning" not in page


def test_fits_and_notebooks_touch_no_network(twice):
    assert not twice[1].exists(), twice[1].read_text()


def test_the_refusal_would_be_seen(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(REFUSE.format(log=str(tmp_path / "log")))
    code = "import urllib.request; urllib.request.urlopen('http://192.0.2.1:9/')"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True).returncode == 1
    assert "192.0.2.1" in (tmp_path / "log").read_text()
