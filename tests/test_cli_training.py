import re
import shutil
import signal
from pathlib import Path

import pandas
import pytest
import torch

import as2lib
from as2lib import models
from as2lib.cli import main
from as2lib.fit import loop
from as2lib.ranker import Ranker
from tests.first_hour.hub_like import public_model
from tests.study.conftest import WORDS, write_pairs

QUESTION, CANDIDATES = "where is the red ?", [f"the {word} is here" for word in WORDS]


@pytest.fixture(autouse=True)
def mine(folder):
    """train, dev and test files in `mine/`, an encoder, and a reranker of one label."""
    Path("mine").mkdir()
    for split, questions in {"train": 30, "dev": 12, "test": 14}.items():
        write_pairs(folder / "mine" / f"{split}.tsv", questions, where=f"{split} : where")
    public_model(folder / "encoder", labels=None)
    public_model(folder / "reranker", labels=1)


def train(*options: str, out: str = "out") -> int:
    return main(["train", "mine", "--model", "encoder", "--epochs", "1", *options, "--out", out])


def test_the_dev_map_is_one_number_wherever_it_stands_and_the_length_fits_the_data(folder, capsys):
    with Path("mine/train.tsv").open("a") as file:
        file.write("q\ttrain : where is nothing ?\tthe red is here\t0\n")
    assert train() == 0
    output = capsys.readouterr().out
    assert "learnt from: 121 pairs" in output
    assert "16 tokens a pair, which cuts 0.0%" in output
    printed = re.search(r"dev: this model +[\d.]+ +([\d.]+)", output)[1]
    in_card = re.search(r"(?s)^(?!.*seconds).*dev_MAP \| ([\d.]+)", Path("out/README.md").read_text())[1]  # no clock
    assert main(["score", "out", "mine/dev.tsv"]) == 0
    scored = re.search(r"dev.tsv +[\d.]+ +([\d.]+)", capsys.readouterr().out)[1]
    assert printed == in_card == scored
    assert main(["score", "out", "mine"]) == 0  # of a folder its test set
    scored = re.search(r"mine +[\d.]+ +([\d.]+)", capsys.readouterr().out)[1]
    assert scored == re.search(r"test: this model +[\d.]+ +([\d.]+)", output)[1] != printed


@pytest.mark.parametrize(
    ("options", "probable"),
    [
        ("--loss margin_mse --teacher reranker", False),
        ("--teacher reranker --teacher reranker", True),
        ("--loss ranknet --model nothing", False),
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


def test_train_in_python_is_the_command(folder, monkeypatch):
    monkeypatch.setattr(models, "DEFAULT_ENCODER", "encoder")
    teachers = ["reranker", "reranker"]
    fit = as2lib.train("mine/train.tsv", teachers=teachers, dev="mine/dev.tsv", epochs=1)
    assert train("--teacher", "reranker", "--teacher", "reranker") == 0
    ours, theirs = fit.model.state_dict(), Ranker.load("out").model.state_dict()
    assert all(torch.equal(ours[name], value) for name, value in theirs.items())
    assert fit.encoder.max_length == 16


LOSS = """
import os

def loss(output, targets):
    if os.path.exists("interrupt") and os.path.exists("out.partial/checkpoint"):
        raise KeyboardInterrupt
    if os.path.exists("in the way"):
        os.makedirs("out/in the way", exist_ok=True)
    return output.logits.float().square().mean()
"""


@pytest.fixture
def own_loss(folder, monkeypatch, request):
    """Options for a loss of a user's own, which does what files in the working folder say."""
    monkeypatch.syspath_prepend(folder)
    name = "".join(letter if letter.isalnum() else "_" for letter in request.node.name)
    (folder / f"{name}.py").write_text(LOSS)
    return ["--loss", f"{name}:loss", "--teacher", "reranker"]


def test_an_interrupted_training_goes_on_only_with_what_it_was_asked(own_loss, capsys, monkeypatch):
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    Path("interrupt").touch()
    assert train(*own_loss) == 128 + signal.SIGINT
    Path("interrupt").unlink()
    assert train(*own_loss, "--learning-rate", "1e-5") == 2
    assert train(*own_loss) == 0
    assert "goes on from step" in capsys.readouterr().err


def test_a_fit_whose_folder_can_not_be_written_keeps_its_checkpoint(own_loss, capsys, monkeypatch):
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    Path("in the way").touch()
    assert train(*own_loss) == 2
    Path("in the way").unlink()
    shutil.rmtree("out")
    assert train(*own_loss) == 0
    assert "goes on from step" in capsys.readouterr().err
    assert not Path("out.partial").exists()


def test_a_teacher_may_be_a_table_of_scores_and_stands_beside_its_student(folder, capsys):
    parts = [pandas.read_csv(f"mine/{split}.tsv", sep="\t") for split in ("train", "dev", "test")]
    table = pandas.concat(parts, ignore_index=True)
    table["probability"] = 0.1 + 0.8 * table.pop("label")
    table.to_json("llm.jsonl", orient="records", lines=True)
    assert train("--teacher-scores", "llm.jsonl", out="a/b/first") == 0
    output = capsys.readouterr()
    assert "loss kd" in output.out
    assert re.search(r"test: teacher llm.jsonl +100.00 +100.00", output.out)
    assert train("--teacher-scores", "llm.jsonl", "--teacher", "reranker", out="second") == 0
