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


@pytest.mark.parametrize(("gpus", "chosen"), [(1, None), (2, "0,1")])
def test_one_gpu_or_the_callers_choice_is_left_alone(driver, monkeypatch, gpus, chosen):
    if gpus == 1:
        next(gpu.DRIVER.iterdir()).rmdir()
    if chosen:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    gpu.take_one()
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == chosen
