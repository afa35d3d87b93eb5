"""One fit on several processes: what the first one leaves is what one process would, but for the order of sums."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy
import pytest
import torch
from safetensors.torch import load_file

from as2lib import Study
from as2lib.runs.fit.batches import GroupedBatches, Shares
from as2lib.runs.fit.trainer import ranking_trainer
from as2lib.runs.make import make_all
from as2lib.runs.store import Store

TOGETHER = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone"]
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def test_the_processes_take_each_row_of_a_batch_once_and_all_of_one_too_small_to_share():
    batches = GroupedBatches(numpy.arange(1, 18), 4, 5, seed=0)  # of 17 rows: the last of an epoch has one
    first, second = (list(Shares(batches, rank, 2)) for rank in range(2))
    assert len(Shares(batches, 0, 2)) == 5
    for rows, a, b in zip(batches, first, second, strict=True):
        assert sorted(a + b) == sorted(rows if len(rows) > 1 else rows * 2)
        assert a
        assert b


def test_two_processes_fit_what_one_fits(root):
    """Without dropout they differ by the order of sums alone; of 5 rows a batch, one is left over at an epoch's end."""
    backbone = Study.load("tiny").backbones["electra"].base.config
    changes = {"backbones.electra.base.config": {**backbone, **NO_DROPOUT}, "fit.adapt.batch_size": 5}
    store, name = Store(Study.load("tiny", changes)), "base/electra/seed-0"
    make_all(store, [name], progress=False)
    one = store.study.run(name)
    log, weights = one.log(), load_file(one.model_folder / "model.safetensors")
    (one.folder / "done.json").unlink()

    settings = [part for key, value in changes.items() for part in ("--set", f"{key}={json.dumps(value)}")]
    command = [*TOGETHER, "-m", "as2lib", "fit", "tiny", name, "--quiet", *settings]
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    two = store.study.run(name)
    assert (one.facts.get("processes"), two.facts["processes"]) == (None, 2)
    assert [entry["step"] for entry in two.log()] == [entry["step"] for entry in log]
    for together, alone in zip(two.log(), log, strict=True):
        assert together.get("total", 0) == pytest.approx(alone.get("total", 0), rel=1e-3)
    for key, tensor in load_file(two.model_folder / "model.safetensors").items():
        torch.testing.assert_close(tensor, weights[key], rtol=0, atol=2e-4)


def test_a_model_of_lists_is_refused_on_several_processes(root, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    job = SimpleNamespace(run=Store(Study.load("tiny")).planned("mhs/3h1/seed-0"))
    with pytest.raises(ValueError, match="expected a model of pairs to fit on 2 processes"):
        ranking_trainer(job, None, SimpleNamespace(unit="question"), None, [], root, False)
