"""The tables and sentences of notebook 09, on scores drawn at random for the tiny study."""

from types import SimpleNamespace

import numpy
import pandas
import pytest
from datasets import Dataset, concatenate_datasets

from as2lib import Study
from as2lib.papers.cosinet import tables
from as2lib.papers.cosinet.systems import FIRST, systems, two
from as2lib.runs.costs import Lengths
from tests.invented import FIT
from tests.test_cosinet_runs import SECTION


@pytest.fixture
def study(root):
    return Study.load("tiny", {"cosinet": SECTION, "significance.resamples": 99})


@pytest.fixture
def read(study, monkeypatch):
    """The names of the runs that were read so far; each has scores of its own, and none is trained."""
    pairs, names = tables.target(study).to_pandas(), []

    def run(name):
        score = numpy.random.default_rng([*name.encode()]).random(len(pairs))
        scores = pairs.assign(position=pairs.groupby("question_id").cumcount(), score=score)
        return SimpleNamespace(scores=lambda split: scores, facts={"parameters": 7, "seconds": 1.0, "dev_MAP": 0.5})

    def runs(self, prefix):
        names.extend(found := self.store.below(prefix))
        return [run(name) for name in found]

    monkeypatch.setattr(Study, "runs", runs)
    return names


def frame(scores):
    ids = ["a"] * 3 + ["b"] * 2
    return pandas.DataFrame({"question_id": ids, "position": [0, 1, 2, 0, 1], "score": scores})


def test_survivors_stand_in_the_seconds_order_above_the_dropped_in_the_firsts():
    first, second = frame([0.2, 0.9, 0.5, 0.1, 0.1]), frame([0.99, 0.3, 0.4, 0.2, 0.8])
    assert tables.rerank(first, second, 2).tolist() == [0.2, 1.3, 1.4, 1.2, 1.8]
    assert tables.rerank(first, second, 1).tolist() == [0.2, 1.3, 0.5, 1.2, 0.1]  # a tie: the earlier stays
    assert tables.rerank(first, second, 9).tolist() == (1 + second["score"]).tolist()
    with pytest.raises(ValueError, match="same pairs"):
        tables.rerank(first, second.iloc[::-1], 2)


def test_cosinets_cost_is_the_one_worked_by_hand(study):
    words, others, candidates = 5, 4, 4  # "where is the red ?", "the red is here"
    a_word = 5 * (8 + 1) * 6
    cosinet = (
        a_word * (others + words / candidates) + 8 * words * others + 2 * 3 * (2 * 6 + 3)
    )  # cosines, then the BiRNN
    tokens = words + others + 3
    layer = tokens * 16 * (4 * 16 + 2 * 32) + 2 * tokens**2 * 16
    assert tables.relative_cost(study) == pytest.approx(cosinet / ((1 + 3) * layer))


def test_the_cost_of_a_known_set_needs_no_texts(study, monkeypatch):
    bare = tables.target(study).select_columns(["question_id", "label"])
    monkeypatch.setattr(tables, "target", lambda study: bare)
    assert numpy.isnan(tables.relative_cost(study))
    monkeypatch.setattr(tables.costs, "stated", lambda study: Lengths(5.0, 4.0))
    assert 0 < tables.relative_cost(study) < 1


def test_two_stages_are_the_first_alone_where_one_is_kept_and_the_second_where_all_are(study, read):
    found, cost = tables.two_stages(study), tables.relative_cost(study)
    assert found.index.tolist() == [1, 2, 3, 4]
    assert found["MAP"].iloc[[0, -1]].tolist() == pytest.approx(tables.mean_maps(study, two(study)))
    assert found["candidates left %"].tolist() == [25, 50, 75, 100]
    assert found["cost %"].tolist() == pytest.approx([100 * cost + left for left in (25, 50, 75, 100)])


def test_the_second_of_two_stages_is_trained_longer_where_the_study_has_it_so(root):
    longer = {"rows": ["mhs/3h1"], "transfer": FIT, "adapt": FIT}
    known = Study.load("tiny", {"cosinet": SECTION, "longer": longer})
    assert two(known) == [FIRST, "longer/mhs/3h1"]
    assert "longer/mhs/3h1" in systems(known)
    assert two(Study.load("tiny", {"cosinet": SECTION})) == [FIRST, "mhs/3h1"]


def test_a_random_order_is_set_beside_its_own_corpus_alone(study, monkeypatch):
    row = {"P@1": 20.0, "MAP": 40.25, "questions": 15, "published P@1": 14.43, "published MAP": 25.15}
    rankers = pandas.DataFrame([row], index=["random order"])
    ours = "A random order is expected to have P@1 20.00 and MAP 40.25 over the 15 answered questions, exactly; "
    other = "the published numbers beside it are WikiQA's, another corpus."
    assert tables.sentence_random(study, rankers) == ours + other
    monkeypatch.setattr(tables, "corpus", lambda study: ("wikiqa", "WikiQA", 4))
    same = "the published 14.43 and 25.15 are 15.1 points of MAP away."
    assert tables.sentence_random(study, rankers) == ours + same


@pytest.mark.parametrize(("source", "beside"), [("nq-la", ("NQ-LA", 6)), ("mine", ("WikiQA", 4))])
def test_the_published_table_is_the_targets(source, beside):
    study = SimpleNamespace(data=SimpleNamespace(target=SimpleNamespace(test=[f"{source}:test"])))
    assert tables.corpus(study) == (source, *beside)


def test_published_numbers_stand_beside_those_of_every_corpus(study, read):
    assert tables.rankers(study).set_index("run").loc["random", "published SQuAD-sent MAP"] == 43.81
    assert tables.rankers(study)["published NQ-LA P@1"].tolist() == [3.24, 46.06, 23.06, 41.01]
    assert tables.sets(study).loc["NQ-LA, published", "words a candidate"] == 98.76
    assert tables.rankers(study)["published MRR"].tolist()[1:] == [64.26, 51.24, 69.43]


def test_the_rival_without_a_transfer_step_is_the_one_that_dev_prefers():
    table = pandas.DataFrame({"run": ["direct/electra-base", "longer/direct/electra-base"]}, index=["short", "long"])
    for dev, best in (([0.7, 0.6], "short"), ([0.6, 0.7], "long")):
        runs = {run: [SimpleNamespace(facts={"dev_MAP": one})] for run, one in zip(table["run"], dev, strict=True)}
        assert tables.plain(SimpleNamespace(runs=runs.get), table) == best


def test_the_best_small_model_stands_first_beside_its_rivals(study, read):
    table = tables.models(study)
    table["parameters"] = [1e6 if run.startswith("cosinet") else 5e6 for run in table["run"]]
    table["MAP"] = [80.0 if run == "ca/rnn" else 70.0 if run == "cosinet/birnn" else 50.0 for run in table["run"]]
    tests = tables.against(study, table)
    found = [table.loc[list(pair), "run"].tolist() for pair in tests.index]
    rivals = ["lexical/overlap_then_rank", "base/electra"]
    assert found == [[best, rival] for best in ("cosinet/birnn", "ca/rnn") for rival in rivals]
    said = tables.sentence_best(study, table, tests, tables.plain(study, table))
    assert said.startswith("Below two million parameters Cosinet list + BiRNN")
    assert said.endswith("has MAP 50.0 (one seed), itself no better than WO+RR.")


def test_how_many_are_kept_is_chosen_on_dev_where_it_can_be():
    table = pandas.DataFrame({"MAP": [70.0, 60.0], "dev MAP": [1.0, 2.0], "cost %": [20.0, 50.0]}, index=[2, 5])
    said = tables.sentence_two_stages(table, 65.0, 55.0)
    assert (
        "5 is best on dev for the two in a row: test MAP 60.0 at 50 % of the operations (in hindsight 2: 70.0)" in said
    )
    said = tables.sentence_two_stages(table.assign(**{"dev MAP": numpy.nan}), 65.0, 55.0)
    assert "2 is best on the test set itself for the two in a row: test MAP 70.0 at 20 %" in said


def test_only_answered_questions_are_paid_for(study, monkeypatch):
    pairs, cost = tables.target(study), tables.relative_cost(study)
    more = {"question_id": ["new"] * 99, "question": ["?"] * 99, "answer": ["word"] * 99, "label": [0] * 99}
    unanswered = concatenate_datasets([pairs, Dataset.from_dict(more, features=pairs.features)])
    monkeypatch.setattr(tables, "target", lambda study: unanswered)
    assert tables.relative_cost(study) == pytest.approx(cost)
