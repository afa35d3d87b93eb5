import os
import subprocess
import sys

import numpy
import pytest
import torch
from datasets import Dataset

from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.data.words import WordEncoder
from as2lib.models import lexical
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.compare_aggregate import CompareAggregate
from as2lib.models.cosinet import Cosinet
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.ranker import Ranker
from as2lib.score import probability, score
from tests.encoders import classifier

QUESTIONS = ["where is the red ?", "who sank the boat ?"]
LISTS = [["the red is here", "the blue is here", "a hill", "the boat is red"], ["ada sank it", "the boat sank"]]
WORDS = sorted({word for text in (*QUESTIONS, *LISTS[0], *LISTS[1]) for word in text.split()})


def model(kind):
    """A model of that kind, its encoder, and what its parts are called."""
    torch.manual_seed(1)
    if kind in ("cosinet", "compare_aggregate"):
        vectors = numpy.random.default_rng(0).standard_normal((len(WORDS), 8)).astype("float16")
        made = {"cosinet": Cosinet, "compare_aggregate": CompareAggregate}[kind](vectors, hidden=6, rank_rnn="rnn")
        return made, WordEncoder(WORDS), []
    encoder = PairEncoder(word_tokenizer([*QUESTIONS, *LISTS[0], *LISTS[1]], 24), 24)
    if kind == "mhs":
        made = MHSForSequenceClassification.from_backbone(classifier(), 3, 2, perturb=0.5)
        return made, encoder, ["head_0", "head_1"]
    if kind == "cascade":
        return CascadeTransformer.from_backbone(classifier("roberta"), [2, 4]), encoder, ["exit_2", "exit_4"]
    return classifier(kind), encoder, []


@pytest.mark.parametrize("kind", ["electra", "albert", "mhs", "cascade", "cosinet", "compare_aggregate"])
def test_every_kind_of_model_ranks_many_questions_a_call_as_score_does_by_folder_too(kind, tmp_path):
    made, encoder, parts = model(kind)
    made.save_pretrained(tmp_path)
    encoder.save(tmp_path)
    columns = [(str(i), QUESTIONS[i], text) for i, texts in enumerate(LISTS) for text in texts]
    pairs = Dataset.from_dict(dict(zip(("question_id", "question", "answer"), zip(*columns, strict=True), strict=True)))
    scored = score(made, pairs, encoder)
    for ranker in (Ranker(made, encoder), Ranker.load(tmp_path)):
        first, second = ranker.rank(QUESTIONS, LISTS)
        assert sorted(one.position for one in first) == [0, 1, 2, 3]
        found = {one.candidate: one for one in (*first, *second)}
        for i, (_, _, text) in enumerate(columns):
            assert found[text].score == pytest.approx(scored.score[i], abs=1e-6)
            several = scored.head_logits if kind == "mhs" else scored.exit_logits
            expected = {} if several is None else dict(zip(parts, probability(several[i]), strict=True))
            assert found[text].parts == pytest.approx(expected, abs=1e-6)
        (best,) = ranker.rank(QUESTIONS[0], LISTS[0], top=1)
        assert best.position == first[0].position


def test_a_cascade_drops_candidates_at_its_exits_and_says_which_one_read_each_last():
    made, encoder, _ = model("cascade")
    batch = encoder.collate(encoder.items([QUESTIONS[0]] * 4, LISTS[0], [0] * 4))
    whole, expected = Ranker(made, encoder), made.eval().rank(batch, 0.5)
    alone = {one.position: one for one in whole.rank(QUESTIONS[0], LISTS[0])}
    ranked = Ranker(made, encoder, alpha=0.5).rank(QUESTIONS, LISTS)[0]
    assert [one.position for one in ranked] == expected.order.tolist()
    last = [next(iter(one.parts)) for one in ranked]
    assert last == ["exit_4"] * 2 + ["exit_2"] * 2 == sorted(last, reverse=True)
    for one in ranked:
        assert one.parts == {name: pytest.approx(alone[one.position].parts[name], abs=1e-6) for name in one.parts}
        assert [one.score] == list(one.parts.values())
    with pytest.raises(ValueError, match="expected a cascade"):
        Ranker(*model("electra")[:2], alpha=0.5)


@pytest.mark.parametrize("name", ["lexical/word_overlap", "overlap_then_rank", "reciprocal_rank"])
def test_a_lexical_ranker_needs_no_model(name):
    ranked = Ranker.load(name).rank(QUESTIONS[0], LISTS[0])
    pairs = Dataset.from_dict({"question_id": ["0"] * 4, "question": [QUESTIONS[0]] * 4, "answer": LISTS[0]})
    scores = getattr(lexical, name.removeprefix("lexical/"))(pairs)
    assert [one.score for one in ranked] == sorted(scores, reverse=True)
    assert all(one.score == scores[one.position] for one in ranked)


def test_an_ensemble_is_the_mean_of_its_members_and_a_sequence_drops_between_its_stages():
    students, words = [Ranker(*model(kind)[:2]) for kind in ("mhs", "electra")], Ranker.load("word_overlap")
    for weights in (None, [3.0, 1.0]):
        ranked = Ranker.ensemble(students, weights).rank(QUESTIONS[0], LISTS[0])
        for one in ranked:
            members = [one.parts["member_0"], one.parts["member_1"]]
            assert one.score == pytest.approx(numpy.average(members, weights=weights))
    logistic = Ranker.ensemble(students, [2.0, -1.0], 0.5).rank(QUESTIONS[0], LISTS[0])[0]
    odds = 2 * logistic.parts["member_0"] - logistic.parts["member_1"] + 0.5
    assert logistic.score == pytest.approx(1 / (1 + numpy.exp(-odds)))

    ranked = Ranker.sequence([words, students[0]], 0.5).rank(QUESTIONS, LISTS)[0]
    assert [set(one.parts) for one in ranked] == [{"stage_0", "stage_1"}] * 2 + [{"stage_0"}] * 2
    assert ranked[0].score == ranked[0].parts["stage_1"] >= ranked[1].score
    assert min(one.parts["stage_0"] for one in ranked[:2]) >= max(one.parts["stage_0"] for one in ranked[2:])


def test_ranking_writes_nothing_and_imports_neither_datasets_nor_pandas(folder, tmp_path):
    code = (
        "import sys; from as2lib.ranker import Ranker;"
        f"Ranker.load({str(folder)!r}).rank('where is the red ?', ['the red is here', 'a hill']);"
        "print(sorted({'datasets', 'pandas', 'pyarrow', 'spacy', 'sklearn', 'as2lib.study'} & set(sys.modules)))"
    )
    (tmp_path / "params").mkdir()
    (tmp_path / "as2lib").mkdir()
    environment = {
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(tmp_path),
    }
    run = [sys.executable, "-P", "-c", code]
    found = subprocess.run(run, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
    assert found.stdout.strip() == "[]"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["as2lib", "params"]


@pytest.fixture
def folder(trained):
    return trained.study.run("mhs/3h1/seed-0").model_folder


def test_equal_candidates_keep_their_order(folder):
    ranked = Ranker.load(folder).rank("where is the red ?", ["the boat is here"] * 3)
    assert [one.position for one in ranked] == [0, 1, 2]


@pytest.mark.parametrize(
    ("question", "candidates", "top", "said"),
    [
        ("", ["a"], None, "none empty"),
        ("q ?", [], None, "none empty"),
        ("q ?", ["a", " "], None, "none empty"),
        ("q ?", ["a", None], None, "none empty"),
        ("q ?", "one text", None, "expected a list of candidates, got one text, 'one text'"),
        (["q ?", "r ?"], [["a"]], None, "for each of 2 questions, got 1"),
        ("q ?", ["a"], 0, "top: expected at least 1, got 0"),
    ],
)
def test_what_cannot_be_ranked_is_refused(question, candidates, top, said):
    with pytest.raises(ValueError, match=said):
        Ranker.load("word_overlap").rank(question, candidates, top)
