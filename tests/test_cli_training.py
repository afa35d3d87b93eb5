import re
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from as2lib.cli import main
from as2lib.commands import training
from as2lib.fit.checkpoint import Progress
from as2lib.ranker import Ranker
from tests.first_hour.hub_like import WORDS, public_model, write_pairs

QUESTION, CANDIDATES = "where is the red ?", [f"the {word} is here" for word in WORDS]


@pytest.fixture(autouse=True)
def mine(folder):
    """train, dev and test files in `mine/`, an encoder, and a reranker of one label."""
    Path("mine").mkdir()
    for split, questions in {"train": 30, "dev": 12, "test": 14}.items():
        path = write_pairs(folder / "mine" / f"{split}.tsv", questions)
        path.write_text(path.read_text().replace("where is", f"{split} : where is"))
    public_model(folder / "encoder", labels=None)
    public_model(folder / "reranker", labels=1)


def train(*options: str, out: str = "out") -> int:
    return main(["train", "mine", "--model", "encoder", "--epochs", "1", *options, "--out", out])


def test_the_dev_map_is_one_number_wherever_it_stands_and_the_length_fits_the_data(folder, capsys):
    assert train() == 0
    output = capsys.readouterr().out
    assert "16 tokens a pair, which cuts 0.0%" in output
    printed = re.search(r"dev: this model.*?MAP ([\d.]+)", output)[1]
    in_card = re.search(r"dev MAP \| ([\d.]+)", Path("out/README.md").read_text())[1]
    assert main(["score", "out", "mine/dev.tsv"]) == 0
    scored = re.search(r"MAP ([\d.]+)", capsys.readouterr().out)[1]
    assert printed == in_card == scored


@pytest.mark.parametrize(
    ("options", "probable"),
    [
        ("--loss margin_mse --teacher reranker", False),
        ("--teacher reranker --teacher reranker", True),
        ("--loss ranknet --model nothing", False),
        ("--loss listwise_kl", False),
        ("--model reranker --max-length 8", True),
    ],
)
def test_what_is_trained_ranks_and_says_whether_its_score_is_a_probability(folder, capsys, options, probable):
    assert train(*options.split()) == 0
    ranker = Ranker.load("out")
    ranked = ranker.rank(QUESTION, CANDIDATES)
    assert len({candidate.score for candidate in ranked}) > 1
    assert ("head_0" in ranked[0].parts) == (options.count("--teacher") == 2)
    assert ranker.is_probability is probable
    if "--max-length" in options:
        assert "8 tokens a pair, which cuts 100.0%" in capsys.readouterr().out
        assert ranker.encoder.max_length == 8


SETTINGS = {"model": "encoder", "epochs": 2, "batch_size": 32, "seed": 0, "precision": "float32"}


def killed(monkeypatch, options):
    """A training that ends after a checkpoint, as one does that is killed."""
    from as2lib.fit import checkpoint, loop

    write = checkpoint.write

    def write_and_end(*arguments):
        write(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
        patch.setattr(checkpoint, "write", write_and_end)
        with pytest.raises(KeyboardInterrupt):
            training.train("mine", Path("out"), None, **SETTINGS, **options)


@pytest.mark.parametrize("change", ["nothing", "the loss", "the start", "a teacher"])
def test_a_killed_training_goes_on_only_with_what_it_was_asked(folder, monkeypatch, change):
    monkeypatch.syspath_prepend(folder)
    module = f"loss_{change.replace(' ', '_')}"
    text = "def loss(output, targets):\n    return output.logits.float().square().mean()\n"
    (folder / f"{module}.py").write_text(text)
    taught = change == "a teacher"
    options = {"teachers": ["reranker"]} if taught else {"loss": f"{module}:loss"}
    killed(monkeypatch, options)
    if change == "the loss":
        (folder / f"{module}.py").write_text(text.replace("mean()", "sum()"))
        sys.modules.pop(module)
    elif change != "nothing":
        place = folder / ("reranker" if taught else "encoder") / "model.safetensors"
        save_file({name: 0.5 * value for name, value in load_file(place).items()}, place, {"format": "pt"})
    steps = []
    add = Progress.add
    monkeypatch.setattr(Progress, "add", lambda state, losses: [steps.append(state.step), add(state, losses)][0])
    training.train("mine", Path("out"), None, **SETTINGS, **options)
    assert steps[0] == (1 if change == "nothing" else 0)


def test_the_weights_of_a_trained_model_that_does_not_open_stay_and_the_line_says_where(folder, capsys, monkeypatch):
    def load(*_, **__):
        raise RuntimeError("no such\nfamily")

    monkeypatch.setattr(Ranker, "load", load)
    assert train() == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "out: the trained weights are there" in error
    assert "no such family" in error
    assert Path("out/model.safetensors").exists()
