import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy
import pandas
import pyarrow
import pytest
import torch
from datasets import Dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.data.words import WordEncoder
from as2lib.models import lexical
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.compare_aggregate import CompareAggregate
from as2lib.models.cosinet import Cosinet
from as2lib.models.cross_encoder import one_label
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.ranker import Ranker
from as2lib.score import probability, score
from tests.encoders import classifier

QUESTIONS = ["where is the red ?", "who sank the boat ?"]
LISTS = [["the red is here", "the blue is here", "a hill", "the boat is red"], ["ada sank it", "the boat sank"]]
TEXTS = [*QUESTIONS, *LISTS[0], *LISTS[1]]
WORDS = sorted({word for text in TEXTS for word in text.split()})
KINDS = ["electra", "albert", "mhs", "cascade", "cosinet", "compare_aggregate"]


@pytest.fixture(autouse=True)
def own_root(tmp_path, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))


def model(kind, **changes):
    """And what encodes its pairs."""
    torch.manual_seed(1)
    if kind in ("cosinet", "compare_aggregate"):
        vectors = numpy.random.default_rng(0).standard_normal((len(WORDS), 8)).astype("float16")
        build = {"cosinet": Cosinet, "compare_aggregate": CompareAggregate}[kind]
        return build(vectors, hidden=6, rank_rnn="rnn"), WordEncoder(WORDS)
    encoder = PairEncoder(word_tokenizer(TEXTS, 24), 24)
    if kind == "mhs":
        return MHSForSequenceClassification.from_backbone(classifier(**changes), 3, 2, perturb=0.5), encoder
    if kind == "cascade":
        return CascadeTransformer.from_backbone(classifier("roberta", **changes), [2, 4]), encoder
    return classifier(kind, **changes), encoder


def saved(kind, folder, **changes):
    folder.mkdir(exist_ok=True)
    built, encoder = model(kind, **changes)
    built.save_pretrained(folder)
    encoder.save(folder)
    return folder


def with_one_label(folder):
    """As public rerankers are: one label, saved by transformers."""
    built, encoder = model("electra")
    one_label(built).save_pretrained(folder)
    encoder.save(folder)
    return folder


# ---------------------------------------------------------------- scores


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_ranks_many_questions_a_call_as_score_does(kind, tmp_path):
    folder = saved(kind, tmp_path)
    ids, asked = [0] * 4 + [1] * 2, [QUESTIONS[0]] * 4 + [QUESTIONS[1]] * 2
    texts = LISTS[0] + LISTS[1]
    built, encoder = model(kind)
    scores = score(built, Dataset.from_dict({"question_id": ids, "question": asked, "answer": texts}), encoder)
    parts = scores.head_logits if kind == "mhs" else scores.exit_logits
    names = {"mhs": ["head_0", "head_1"], "cascade": ["exit_2", "exit_4"]}.get(kind, [])
    for ranker in (Ranker(*model(kind)), Ranker.load(folder)):
        first, second = ranker.rank(QUESTIONS, LISTS)
        assert sorted(ranked.position for ranked in first) == [0, 1, 2, 3]
        by_text = {ranked.candidate: ranked for ranked in (*first, *second)}
        for row, text in enumerate(texts):
            assert by_text[text].score == pytest.approx(scores.score[row], abs=1e-6)
            expected = dict(zip(names, probability(parts[row]), strict=True)) if names else {}
            assert by_text[text].parts == pytest.approx(expected, abs=1e-6)
        assert ranker.rank(QUESTIONS[0], LISTS[0], top=1) == [first[0]]
        pairs = list(zip(asked, texts, strict=True))
        numpy.testing.assert_allclose(ranker.predict(pairs), scores.score, atol=1e-6)


def test_scores_are_those_of_transformers(tmp_path):
    folder = saved("electra", tmp_path)
    plain = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    words = AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        logits = plain(**words([QUESTIONS[0]] * 4, LISTS[0], padding=True, return_tensors="pt")).logits.double()
    expected = logits.softmax(-1)[:, 1].tolist()
    ranked = Ranker.load(folder).rank(QUESTIONS[0], LISTS[0])
    assert [one.score for one in ranked] == pytest.approx(sorted(expected, reverse=True), abs=1e-6)


def certain(kind):
    """A model whose every probability rounds to 1."""
    built, encoder = model(kind)
    for name, parameter in built.named_parameters():
        if name.endswith("weight") and len(parameter) == 2:
            parameter.data *= 100
        if name.endswith("bias") and len(parameter) == 2:
            parameter.data = torch.tensor([0.0, 4000.0])
    return built, encoder


def test_probabilities_that_round_to_one_keep_the_order_of_their_log_odds():
    built, encoder = certain("electra")
    plain = Ranker(built, encoder)
    pairs = [(QUESTIONS[0], text) for text in LISTS[0]]
    logits = built(**encoder.collate(encoder.items(*zip(*pairs, strict=True), [0] * 4))).logits
    expected = (logits[:, 0] - logits[:, 1]).argsort(stable=True).tolist()
    assert [one.position for one in plain.rank(QUESTIONS[0], LISTS[0])] == expected
    for ranker in (plain, Ranker(*certain("cascade"), alpha=0.3)):
        ranked = ranker.rank(QUESTIONS[0], LISTS[0])
        assert {one.score for one in ranked} == {1.0}
        assert all(first.log_odds > second.log_odds > 1000 for first, second in pairwise(ranked))


@pytest.mark.parametrize("alpha", [None, 0.3, 0.5])
def test_scores_fall_with_rank_whatever_a_cascade_drops(alpha):
    ranker = Ranker(*model("cascade"), alpha=alpha)
    for ranked in ranker.rank(QUESTIONS, LISTS):
        assert all(first.score >= second.score for first, second in pairwise(ranked))
        assert all(0 <= one.score <= 1 for one in ranked)
    scores = ranker.predict([(QUESTIONS[0], text) for text in LISTS[0]])
    assert [scores[one.position] for one in ranker.rank(QUESTIONS[0], LISTS[0])] == sorted(scores, reverse=True)


def test_a_cascade_drops_candidates_at_its_exits_and_says_which_one_read_each_last():
    built, encoder = model("cascade")
    batch = encoder.collate(encoder.items([QUESTIONS[0]] * 4, LISTS[0], [0] * 4))
    expected = built.eval().rank(batch, 0.5)
    alone = {one.position: one for one in Ranker(built, encoder).rank(QUESTIONS[0], LISTS[0])}
    ranked = Ranker(built, encoder, alpha=0.5).rank(QUESTIONS, LISTS)[0]
    assert [one.position for one in ranked] == expected.order.tolist()
    assert [next(iter(one.parts)) for one in ranked] == ["exit_4"] * 2 + ["exit_2"] * 2
    for one in ranked:
        assert one.log_odds == pytest.approx(numpy.log(one.score / (1 - one.score)), abs=1e-6)
        assert one.parts == {name: pytest.approx(alone[one.position].parts[name], abs=1e-6) for name in one.parts}


@pytest.mark.parametrize("name", ["lexical/word_overlap", "bm25"])
def test_a_lexical_ranker_needs_no_model(name):
    ranked = Ranker.load(name).rank(QUESTIONS[0], LISTS[0])
    pairs = Dataset.from_dict({"question_id": ["0"] * 4, "question": [QUESTIONS[0]] * 4, "answer": LISTS[0]})
    scores = getattr(lexical, name.removeprefix("lexical/"))(pairs)
    assert [one.score for one in ranked] == sorted(scores, reverse=True)
    assert all(one.score == scores[one.position] for one in ranked)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("kind", ["electra", "cascade", "cosinet"])
def test_batches_of_any_size_give_the_same_scores(kind, size, monkeypatch):
    from as2lib import ranker as module

    monkeypatch.setattr(module, "TOKENS_HELD", 2)  # and parts of any size
    ranker = Ranker(*model(kind), alpha=0.5 if kind == "cascade" else None)
    whole, parts = ranker.rank(QUESTIONS, LISTS), ranker.rank(QUESTIONS, LISTS, batch_size=size)
    for one, other in zip([*whole[0], *whole[1]], [*parts[0], *parts[1]], strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-6)


# ---------------------------------------------------------------- what is given


@pytest.fixture
def ranker():
    return Ranker(*model("electra"))


@pytest.mark.parametrize(
    "candidates",
    [
        tuple(LISTS[0]),
        pandas.Series(LISTS[0], index=[7, 3, 9, 1]),
        numpy.array(LISTS[0]),
        pyarrow.chunked_array([LISTS[0][:1], LISTS[0][1:]]),
        pyarrow.array(LISTS[0]),
        iter(LISTS[0]),
    ],
)
def test_any_iterable_of_texts_is_ranked(ranker, candidates):
    expected = ranker.rank(QUESTIONS[0], LISTS[0])
    ranked = ranker.rank(QUESTIONS[0], candidates)
    assert [(one.position, one.score) for one in ranked] == [(one.position, one.score) for one in expected]


def test_ids_and_rows_come_back_with_the_ranking(ranker):
    rows = [{"text": text, "id": f"d{place}", "url": place} for place, text in enumerate(LISTS[0])]
    expected = ranker.rank(QUESTIONS[0], LISTS[0])
    for given in (rows, pandas.DataFrame(rows)):
        ranked = ranker.rank(QUESTIONS[0], given)
        assert [one.position for one in ranked] == [one.position for one in expected]
        assert all(one.id == f"d{one.position}" and one.row["url"] == one.position for one in ranked)
        assert [one.candidate for one in ranked] == [one.candidate for one in expected]


def test_no_candidate_is_an_empty_ranking_and_an_empty_text_is_scored(ranker):
    for each in (ranker, Ranker(*model("cosinet")), Ranker.load("bm25"), Ranker(*model("cascade"), alpha=0.5)):
        assert each.rank(QUESTIONS[0], []) == []
        assert each.rank([], []) == []
        first, second, third = each.rank([QUESTIONS[0], "", QUESTIONS[1]], [[], LISTS[0], ["", "the boat"]])
        assert (len(first), len(second), len(third)) == (0, 4, 2)
    assert len(ranker.predict([])) == 0


@pytest.mark.parametrize(
    ("question", "candidates"),
    [
        ("q ?", "one text"),
        ("q ?", {"a", "b"}),
        ("q ?", ["a", float("nan")]),
        ("q ?", [{"body": "a"}]),
        (["q ?", "r ?"], [["a"]]),
        (None, ["a"]),
    ],
)
def test_what_cannot_be_ranked_is_refused(ranker, question, candidates):
    with pytest.raises(ValueError):
        ranker.rank(question, candidates)


@pytest.mark.parametrize("pairs", [["ab"], [("q", 3)], ("q", "c"), [{"q", "c"}], [{"question": "q", "answer": "c"}]])
def test_what_is_no_pair_is_refused(ranker, pairs):
    with pytest.raises(ValueError):
        ranker.predict(pairs)


def broken(kind, word="hill"):
    """A model that gives nan wherever it reads a word."""
    built, encoder = model(kind)
    numbers = encoder.number if hasattr(encoder, "number") else encoder.tokenizer.get_vocab()
    table = next(weights for weights in built.state_dict().values() if weights.dim() == 2)  # of words
    table[numbers[word]] = torch.nan
    return built, encoder


@pytest.mark.parametrize("kind", KINDS)
def test_a_score_that_is_no_number_is_refused_by_its_pair(kind):
    pairs = [(QUESTIONS[0], text) for text in LISTS[0]]
    table = Dataset.from_dict({"question_id": ["q"] * 4, "question": [QUESTIONS[0]] * 4, "answer": LISTS[0]})
    ranker = Ranker(*broken(kind))
    calls = [lambda: ranker.rank(QUESTIONS, LISTS), lambda: ranker.predict(pairs)]
    calls.append(lambda: score(ranker.model, table, ranker.encoder))
    reads_lists = kind in ("cosinet", "compare_aggregate")  # where one pair spoils its question's
    for call in calls:
        with pytest.raises(ValueError, match=r"pair \d, " if reads_lists else r"pair 3, .*'a hill'") as raised:
            call()
        assert "\n" not in str(raised.value)
    assert len(ranker.rank(QUESTIONS[1], LISTS[1])) == 2


def test_a_cascade_that_drops_refuses_a_score_that_is_no_number():
    with pytest.raises(ValueError):
        Ranker(*broken("cascade"), alpha=0.3).rank(QUESTIONS, LISTS)


@pytest.mark.parametrize("kind", ["cosinet", "compare_aggregate"])
def test_an_empty_text_is_scored_alone_too_and_changes_no_other_question(kind):
    each = Ranker(*model(kind))
    assert len(each.rank("", ["the boat", ""])) == 2
    alone = [one.score for one in each.rank(QUESTIONS[0], LISTS[0])]
    beside = each.rank(["", QUESTIONS[0]], [["the boat", ""], LISTS[0]])[1]
    assert [one.score for one in beside] == pytest.approx(alone, abs=1e-6)


# ---------------------------------------------------------------- loading


@pytest.mark.parametrize("name", ["nobody/no-such-model", "./no/such/folder", Path("nope")])
def test_a_model_that_is_nowhere_is_named_at_once(name, monkeypatch):
    monkeypatch.setattr("as2lib.hub.answers", lambda: False)
    start = time.perf_counter()
    with pytest.raises(FileNotFoundError, match="no folder of that name"):
        Ranker.load(name)
    assert time.perf_counter() - start < 5


def test_ranking_writes_nothing_and_imports_neither_datasets_nor_pandas(tmp_path):
    folder = saved("mhs", tmp_path / "model")
    code = (
        "import sys; from as2lib.ranker import Ranker;"
        f"Ranker.load({str(folder)!r}).rank('where is the red ?', ['the red is here', 'a hill']);"
        "print(sorted({'datasets', 'pandas', 'pyarrow', 'spacy', 'sklearn', 'as2lib.study'} & set(sys.modules)))"
    )
    (tmp_path / "empty").mkdir()
    command = [sys.executable, "-P", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path / "empty")
    assert result.stdout.strip() == "[]"
    assert not list((tmp_path / "empty").iterdir())
