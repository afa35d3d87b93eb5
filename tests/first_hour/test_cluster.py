"""A study on a cluster that is two scripts: one submits a job to a node with other hardware, one cancels it."""

import re
import signal
import subprocess
import sys
import time

import pytest
import yaml

from tests.study.test_graph import STUBS, as2, study_root  # noqa: F401

pytest.importorskip("snakemake_executor_plugin_cluster_generic")

# Whose processor multiplies bf16 natively: that of the node, not that of the machine the study is started on.
HARDWARE = """
from pathlib import Path
from as2lib import precision

class CPUInfo:
    exists = staticmethod(lambda: True)
    read_text = staticmethod(lambda: "flags : avx512_bf16" if "NODE" in os.environ else "flags : fpu")

precision.CPUINFO, precision.DRIVER = CPUInfo, Path("none")
"""
# The trivial rankers run, and the fit that teachers start from; the teachers' job waits, and so does a notebook's.
SUBMIT = r"""#!/bin/bash
job="bash $1" list=jobs
if grep -q 'fit/teachers\|notebook_' $1; then job="sleep 600" list=waiting; fi
NODE=1 setsid $job < /dev/null > {folder}/job.log 2>&1 &
echo $! >> {folder}/$list
echo $!
"""
CANCEL = """#!/bin/bash
for job in "$@"; do echo $job >> {folder}/cancelled; kill -- -$job; done
"""


def lines(path):
    return path.read_text().split() if path.exists() else []


@pytest.fixture
def cluster(study_root, tmp_path):  # noqa: F811
    """The options of a study whose jobs run on the node, its environment, and the folder of the cluster's files."""
    root, environment = study_root
    path, folder = root / "params" / "tiny.yaml", tmp_path / "cluster"
    path.write_text(
        yaml.safe_dump(yaml.safe_load(path.read_text()) | {"precision": "auto", "seeds": [0]}, sort_keys=False)
    )
    folder.mkdir()
    for name, content in {"submit": SUBMIT, "cancel": CANCEL}.items():
        (folder / name).write_text(content.format(folder=folder))
        (folder / name).chmod(0o755)
    (tmp_path / "site" / "sitecustomize.py").write_text(STUBS + HARDWARE)
    options = ["--executor", "cluster-generic", "--jobs", "2"]
    options += ["--cluster-generic-submit-cmd", str(folder / "submit")]
    options += ["--cluster-generic-cancel-cmd", str(folder / "cancel")]
    yield options, environment, folder
    for job in lines(folder / "jobs") + lines(folder / "waiting"):
        subprocess.run(["kill", "--", f"-{job}"], capture_output=True, check=False)


def test_nodes_name_runs_as_the_study_does_and_an_interrupt_cancels_their_jobs(cluster):
    options, environment, folder = cluster
    command = [sys.executable, "-m", "as2lib", "study", "tiny", *options]
    study = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 300
    try:
        while len(lines(folder / "waiting")) < 2:
            assert study.poll() is None, "the study ended"
            assert time.monotonic() < until, "waited in vain"
            time.sleep(0.2)
        planned = as2(environment, "plan", "tiny").stdout
        study.send_signal(signal.SIGINT)
        study.wait(300)  # a busy machine takes long to end, and that is no fault
    finally:
        study.kill()
    assert re.search(r"done +transfer/electra", planned), planned  # a fit's name has its precision in it
    assert sorted(lines(folder / "cancelled")) == sorted(lines(folder / "waiting"))
