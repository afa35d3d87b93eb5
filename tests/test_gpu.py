"""Facts about `as2lib.runs.gpu`, on a machine whose driver lists as many GPUs as a test says."""

import os

import pytest
from filelock import FileLock

from as2lib.runs import gpu


@pytest.fixture
def driver(tmp_path, monkeypatch):
    for name in ("0000:01:00.0", "0000:02:00.0"):
        (tmp_path / "gpus" / name).mkdir(parents=True)
    monkeypatch.setattr(gpu, "DRIVER", tmp_path / "gpus")
    monkeypatch.setattr(gpu, "_held", [])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # restored afterwards
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    return tmp_path


def test_a_process_takes_the_first_gpu_that_no_other_has(driver):
    with FileLock(driver / "as2lib-gpu-0.lock"):
        gpu.take_one()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"


def test_a_process_takes_one_of_those_its_caller_names(driver, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2, 5")
    assert gpu.gpus() == ["2", "5"]
    with FileLock(driver / "as2lib-gpu-2.lock"):
        gpu.take_one()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "5"


@pytest.mark.parametrize(("gpus", "variables"), [(1, {}), (2, {"CUDA_VISIBLE_DEVICES": "1"}), (2, {"LOCAL_RANK": "1"})])
def test_one_gpu_a_schedulers_choice_and_a_process_of_several_are_left_alone(driver, monkeypatch, gpus, variables):
    if gpus == 1:
        next(gpu.DRIVER.iterdir()).rmdir()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    gpu.take_one()
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == variables.get("CUDA_VISIBLE_DEVICES")
    assert gpu._held == []
