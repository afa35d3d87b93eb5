"""A loss, a model and a data set of one's own are passed by their import paths, and are part of a run's identity."""

import numpy
import pytest
import torch

from as2lib import Study, imported
from as2lib.data import load_pairs
from as2lib.data.sources import identity
from as2lib.runs.make import make_all

MINE = """
import torch
from transformers import AutoModelForSequenceClassification, ElectraForSequenceClassification

def mse(output, targets, scale=1.0):
    probable = torch.sigmoid(output.logits[:, 1] - output.logits[:, 0])
    return scale * (probable - targets["labels"].float()).square().mean()

class Louder(ElectraForSequenceClassification):
    def forward(self, *args, **inputs):
        output = super().forward(*args, **inputs)
        output.logits = 3 * output.logits
        return output

def louder(model):
    made = Louder(model.config)
    made.load_state_dict(model.state_dict())
    return made

def questions(split):
    return [
        {"question_id": f"{split}-{i // 2}", "question": f"{split} {i // 2} ?", "answer": f"a{i}", "label": i % 2}
        for i in range(8)
    ]
"""


@pytest.fixture
def mine(root):
    folder = root / "mypackage"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('a plan imports nothing')\n")
    (folder / "parts.py").write_text(MINE)
    return folder


def study(**own):
    return Study.load("tiny", {"seeds": [0], "own": own})


def test_a_loss_and_a_model_of_ones_own_make_runs_whose_identity_is_their_source(mine):
    own = {
        "mse": {"loss": "mypackage.parts:mse", "settings": {"scale": 2.0}},
        "loud": {"model": "mypackage.parts:louder"},
    }
    names = ["own/mse/seed-0", "own/loud/seed-0"]
    before = [study(**own).store.identity(name) for name in names]
    others = study(**own).store.identity("base/electra/seed-0")
    assert others == Study.load("tiny", {"seeds": [0]}).store.identity("base/electra/seed-0")
    (mine / "other.py").write_text("x = 1\n")
    assert [study(**own).store.identity(name) for name in names] == before
    (mine / "parts.py").write_text(MINE + "\n# another line\n")
    assert not set(before) & {study(**own).store.identity(name) for name in names}

    (mine / "__init__.py").write_text("")
    loaded = study(**own)
    make_all(loaded.store, names, progress=False)
    mse, loud = (loaded.run(name) for name in names)
    assert {"step", "total"} <= set(mse.log()[0])
    assert numpy.isfinite(loud.scores("test")["score"]).all()
    pairs = load_pairs(loaded.data.target.test[0], questions="all").to_pandas()[:4]
    ranked = {one.position: one for one in loaded.ranker(names[0]).rank(pairs["question"][0], pairs["answer"].tolist())}
    assert ranked[2].score == pytest.approx(mse.scores("test")["score"][2], abs=1e-6)


def test_a_data_set_of_ones_own_is_a_function_of_the_split(mine):
    first = identity("mypackage.parts:questions", "dev")
    assert first != identity("mypackage.parts:questions", "test")
    (mine / "__init__.py").write_text("")
    data = {"data.target": {split: f"mypackage.parts:questions:{split}" for split in ("train", "dev", "test")}}
    loaded = Study.load("tiny", {"seeds": [0], **data})
    assert loaded.run("lexical/word_overlap").scores("test")["question_id"].tolist()[:2] == ["test-0", "test-0"]
    assert len(load_pairs("mypackage.parts:questions", "train")) == 8
    (mine / "parts.py").write_text(MINE.replace("range(8)", "range(6)"))
    assert identity("mypackage.parts:questions", "dev") != first


@pytest.mark.parametrize("path", ["mypackage.nothing:mse", "no_such_package:mse", "torch._C:mse"])
def test_a_module_that_is_not_there_is_named_before_anything_is_trained(mine, path):
    with pytest.raises(ValueError, match=f"{path}: expected a module of Python source"):
        study(x={"loss": path}).store.identity("own/x/seed-0")


def test_a_name_that_is_not_there_is_named(mine):
    (mine / "__init__.py").write_text("")
    with pytest.raises(ValueError, match=r"expected rmse in the module mypackage\.parts"):
        imported.load("mypackage.parts:rmse")
    assert imported.load("mypackage.parts:mse")(
        type("Output", (), {"logits": torch.zeros(2, 2)}), {"labels": torch.ones(2)}
    ) == pytest.approx(0.25)
