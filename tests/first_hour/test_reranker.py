"""Any public reranker ranks, teaches and is started from; and a model trained here opens in sentence-transformers."""

import numpy
import pytest
import torch
from sentence_transformers import CrossEncoder
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from as2lib.ranker import Ranker
from tests.first_hour.hub_like import WORDS, as2, public_model, write_pairs

QUESTION = "where is the red ?"
CANDIDATES = [f"the {word} is here" for word in WORDS]


@pytest.fixture
def reranker(tmp_path):
    """A folder like that of `cross-encoder/ms-marco-MiniLM-L6-v2`: one label."""
    return public_model(tmp_path / "reranker", labels=1)


@pytest.fixture
def encoder(tmp_path):
    return public_model(tmp_path / "encoder", labels=None)


@pytest.fixture
def pairs(tmp_path):
    return write_pairs(tmp_path / "my.tsv")


def logits(folder):
    """Of the candidates, by transformers."""
    words = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    batch = words([QUESTION] * len(CANDIDATES), CANDIDATES, padding=True, return_tensors="pt")
    with torch.inference_mode():
        return model(**batch).logits.double().numpy()


def order(ranked):
    return [found["corpus_id"] for found in ranked]


def test_a_reranker_with_one_label_is_ranked_by_its_logit_and_scored_by_its_sigmoid(reranker):
    ranked = Ranker.load(reranker).rank(QUESTION, CANDIDATES)
    (margins,) = logits(reranker).T
    assert [one.position for one in ranked] == numpy.argsort(-margins, kind="stable").tolist()
    expected = 1 / (1 + numpy.exp(-margins))
    assert [one.score for one in ranked] == pytest.approx([expected[one.position] for one in ranked], abs=1e-6)
    assert order(CrossEncoder(str(reranker), device="cpu").rank(QUESTION, CANDIDATES)) == [
        one.position for one in ranked
    ]


def test_a_model_with_three_labels_is_refused_in_one_line(tmp_path):
    public_model(tmp_path / "entailment", labels=3)
    with pytest.raises(ValueError, match=r"labels, got .*3"):
        Ranker.load(tmp_path / "entailment")


def test_training_starts_from_a_reranker_and_says_that_its_classifier_is_new(reranker, pairs, tmp_path):
    training = as2("train", pairs, "--model", reranker, "--epochs", 1, "--out", tmp_path / "mine", folder=tmp_path)
    assert "new classifier" in training.stderr
    assert Ranker.load(tmp_path / "mine").rank(QUESTION, CANDIDATES)[0].score > 0


def test_a_trained_model_exported_with_one_label_ranks_the_same_in_sentence_transformers(encoder, pairs, tmp_path):
    options = ["--model", encoder, "--epochs", 3, "--learning-rate", "1e-3"]
    as2("train", pairs, *options, "--out", tmp_path / "mine", folder=tmp_path)
    as2("export", tmp_path / "mine", tmp_path / "one", "--to", "sentence-transformers", folder=tmp_path)
    ours = Ranker.load(tmp_path / "mine").rank(QUESTION, CANDIDATES)
    theirs = CrossEncoder(str(tmp_path / "one"), device="cpu").rank(QUESTION, CANDIDATES)
    assert order(theirs) == [one.position for one in ours]
    assert [found["score"] for found in theirs] == pytest.approx([one.score for one in ours], abs=1e-6)
