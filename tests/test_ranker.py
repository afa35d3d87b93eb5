import multiprocessing
from dataclasses import asdict
from itertools import pairwise

import numpy
import pandas
import pyarrow
import pytest
import torch
from datasets import Dataset
from transformers import AutoModelForSequenceClassification

from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.data.words import WordEncoder
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.compare_aggregate import CompareAggregate
from as2lib.models.cosinet import Cosinet
from as2lib.models.cross_encoder import for_ranking
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.ranker import Ranker
from as2lib.score import probability, score
from tests.encoders import classifier

QUESTIONS = ["where is the red ?", "who sank the boat ?"]
LISTS = [["the red is here", "the blue is here", "a hill", "the boat is red"], ["ada sank it", "the boat sank"]]
TEXTS = [*QUESTIONS, *LISTS[0], *LISTS[1]]
WORDS = sorted({word for text in TEXTS for word in text.split()})
pytestmark = pytest.mark.usefixtures("own_root")
KINDS = ["electra", "albert", "mhs", "cascade", "cosinet", "compare_aggregate"]


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
        return CascadeTransformer.from_backbone(classifier("roberta", **changes), [2, 4], pooling="first"), encoder
    if kind == "one label":
        built = classifier()
        built.config.num_labels = 1
        return for_ranking(type(built)(built.config)), encoder
    return classifier(kind, **changes), encoder


def pairs_of(place=0):
    return [(QUESTIONS[place], text) for text in LISTS[place]]


def dataset(pairs, ids):
    questions, answers = zip(*pairs, strict=True)
    return Dataset.from_dict({"question_id": ids, "question": questions, "answer": answers})


def saved(kind, folder, **changes):
    folder.mkdir(exist_ok=True)
    built, encoder = model(kind, **changes)
    built.save_pretrained(folder)
    encoder.save(folder)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_ranks_many_questions_a_call_as_score_does(kind, tmp_path):
    folder, pairs = saved(kind, tmp_path), pairs_of(0) + pairs_of(1)
    built, encoder = model(kind)
    scores = score(built.train(), dataset(pairs, [0] * 4 + [1] * 2), encoder)  # without dropout
    parts = scores.head_logits if kind == "mhs" else scores.exit_logits
    names = {"mhs": ["head_0", "head_1"], "cascade": ["exit_2", "exit_4"]}.get(kind, [])
    by_transformers = Ranker(AutoModelForSequenceClassification.from_pretrained(folder), encoder)
    for ranker in (Ranker(*model(kind)), Ranker.load(folder), by_transformers):
        first, second = ranker.rank(QUESTIONS, LISTS, batch_size=3)
        assert sorted(ranked.position for ranked in first) == [0, 1, 2, 3]
        by_text = {ranked.candidate: ranked for ranked in (*first, *second)}
        for row, (_, text) in enumerate(pairs):
            assert by_text[text].score == pytest.approx(scores.score[row], abs=1e-6)
            expected = dict(zip(names, probability(parts[row]), strict=True)) if names else {}
            assert by_text[text].parts == pytest.approx(expected, abs=1e-6)
        assert [one.position for one in ranker.rank(QUESTIONS[0], LISTS[0], top=1)] == [first[0].position]
        numpy.testing.assert_allclose(ranker.predict(pairs), scores.score, atol=1e-6)


def test_a_cascade_drops_candidates_at_its_exits_and_says_which_one_read_each_last():
    built, encoder = model("cascade")
    expected = built.eval().rank(encoder.collate(encoder.items([QUESTIONS[0]] * 4, LISTS[0], [0] * 4)), 0.5)
    alone = {one.position: one for one in Ranker(built, encoder).rank(QUESTIONS[0], LISTS[0])}
    ranked = Ranker(built, encoder, drop=0.5).rank(QUESTIONS, LISTS)[0]
    assert [one.position for one in ranked] == expected.order.tolist()
    assert [next(iter(one.parts)) for one in ranked] == ["exit_4"] * 2 + ["exit_2"] * 2
    assert all(first.score >= second.score for first, second in pairwise(ranked))
    for one in ranked:
        assert one.log_odds == pytest.approx(numpy.log(one.score / (1 - one.score)), abs=1e-6)
        assert one.parts == {name: pytest.approx(alone[one.position].parts[name], abs=1e-6) for name in one.parts}


@pytest.fixture
def ranker():
    return Ranker(*model("electra"))


def test_any_iterable_of_texts_or_rows_is_ranked_and_ids_and_rows_come_back(ranker):
    expected = ranker.rank(QUESTIONS[0], LISTS[0])
    series = pandas.Series(LISTS[0], index=[7, 3, 9, 1])
    chunks = pyarrow.chunked_array([LISTS[0][:1], LISTS[0][1:]])
    for texts in (tuple(LISTS[0]), series, numpy.array(LISTS[0]), chunks, iter(LISTS[0])):
        assert ranker.rank(QUESTIONS[0], texts) == expected
    rows = [{"text": text, "id": f"d{place}", "url": place} for place, text in enumerate(LISTS[0])]
    for given in (rows, pandas.DataFrame(rows)):
        ranked = ranker.rank(QUESTIONS[0], given)
        assert [one.candidate for one in ranked] == [one.candidate for one in expected]
        assert all(one.id == f"d{one.position}" and one.row["url"] == one.position for one in ranked)
    assert [asdict(one)["candidate"] for one in ranked] == pandas.DataFrame(ranked)["candidate"].tolist()


def test_equal_candidates_of_a_question_have_one_score_whatever_their_batches():
    texts = [" ".join(WORDS[:number]) for number in range(1, len(WORDS))]
    texts = [*texts, *texts[::-1], *LISTS[0]]
    each = Ranker(*model("mhs"))
    by_text = {text: set() for text in texts}
    for one in each.rank(QUESTIONS[0], texts, batch_size=7):
        by_text[one.candidate].add((one.score, one.log_odds, *one.parts.values()))
    table = dataset([(QUESTIONS[0], text) for text in texts], [0] * len(texts))
    for text, value in zip(texts, score(each.model, table, each.encoder, batch_size=4).score, strict=True):
        assert len(by_text[text]) == 1
        assert next(iter(by_text[text]))[0] == pytest.approx(value, abs=1e-6)
    equal = Ranker(*model("cascade"), drop=0.5).rank("q", ["the red", "the red"], batch_size=1)
    assert [one.position for one in equal] == [0, 1]
    assert len({one.log_odds for one in equal}) == 1


@pytest.mark.parametrize("drop", [None, 0.5])
def test_a_candidate_of_two_questions_has_the_score_of_each(drop):
    ranker = Ranker(*model("cascade"), drop=drop)
    alone = [ranker.rank(question, LISTS[0]) for question in QUESTIONS]
    for together, ranked in zip(ranker.rank(QUESTIONS, [LISTS[0]] * 2), alone, strict=True):
        assert [one.position for one in together] == [one.position for one in ranked]
        assert [one.score for one in together] == pytest.approx([one.score for one in ranked], abs=1e-6)
    pairs = [(question, text) for question in QUESTIONS for text in LISTS[0]]
    both, second = (score(ranker.model, dataset(rows, [0] * len(rows)), ranker.encoder) for rows in (pairs, pairs[4:]))
    assert both.score[4:] == pytest.approx(second.score, abs=1e-6)


def test_no_candidate_is_an_empty_ranking_an_empty_text_is_scored_and_what_is_none_refused(ranker):
    for each in (ranker, Ranker(*model("cosinet")), Ranker.load("bm25"), Ranker(*model("cascade"), drop=0.5)):
        assert each.rank(QUESTIONS[0], []) == []
        assert each.rank([], []) == []
        first, second, third = each.rank([QUESTIONS[0], "", QUESTIONS[1]], [[], LISTS[0], ["", "the boat"]])
        assert (len(first), len(second), len(third)) == (0, 4, 2)
    assert len(ranker.predict([])) == 0
    lists = ["one text", ["a", float("nan")], [{"body": "a"}], ["half a character \ud83d"]]
    for question, candidates in [*(("q ?", texts) for texts in lists), (["q ?", "r ?"], [["a"]]), (None, ["a"])]:
        with pytest.raises((ValueError, TypeError)):
            ranker.rank(question, candidates)


def broken(kind, word="hill"):
    """A model that gives nan wherever it reads a word."""
    built, encoder = model(kind)
    numbers = encoder.number if hasattr(encoder, "number") else encoder.tokenizer.get_vocab()
    table = next(weights for weights in built.state_dict().values() if weights.dim() == 2)  # of words
    table[numbers[word]] = torch.nan
    return built, encoder


@pytest.mark.parametrize("kind", KINDS)
def test_a_score_that_is_no_number_is_refused_by_its_pair(kind):
    table = dataset(pairs_of(), ["q"] * 4)
    ranker = Ranker(*broken(kind))
    calls = [lambda: ranker.rank(QUESTIONS, LISTS), lambda: ranker.predict(pairs_of())]
    calls.append(lambda: score(ranker.model, table, ranker.encoder))
    reads_lists = kind in ("cosinet", "compare_aggregate")  # where one pair spoils its question's
    for call in calls:
        with pytest.raises(ValueError, match=r"^[^\n]*pair \d, " if reads_lists else r"^[^\n]*pair 3, .*'a hill'"):
            call()
    assert len(ranker.rank(QUESTIONS[1], LISTS[1])) == 2
    if kind == "cascade":
        with pytest.raises(ValueError):
            Ranker(*broken(kind), drop=0.3).rank(QUESTIONS, LISTS)


RANKERS = {}


def best(name):
    return [one.position for one in RANKERS[name].rank(QUESTIONS[0], LISTS[0] * 64, top=1)]


def test_a_loaded_ranker_ranks_in_forked_processes_and_a_long_text_is_said_once(tmp_path, capsys):
    RANKERS["loaded"] = Ranker.load(saved("electra", tmp_path))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        positions = pool.map_async(best, ["loaded"] * 2).get(timeout=120)
    assert positions == [best("loaded")] * 2
    for _ in range(2):
        RANKERS["loaded"].rank(QUESTIONS[0], [*LISTS[0], "the red " * 40])
    assert capsys.readouterr().err.count("1 of 5 pairs are longer than 24 tokens") == 1
