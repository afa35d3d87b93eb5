"""The plan of the Cosinet paper, and its runs from the first step to the score."""

import numpy
import pytest

from as2lib import Study
from as2lib.ranker import Ranker
from as2lib.runs.fit import shuffled_rows, trainer
from as2lib.runs.fit.trainer import slanted_triangle
from as2lib.runs.make import make, make_all
from as2lib.runs.store import Store
from as2lib.score import score
from tests.test_fit import interrupted, same, weights

TRAINING = {"epochs": 2, "learning_rate": 2e-3, "batch_size": 2, "ratio": 32}
SECTION = {"vectors": {"source": "ppmi", "dimensions": 8}, "hidden": 6, "seeds": [0, 1], "ca_seeds": [0]}
SECTION |= {"pointwise": TRAINING | {"batch_size": 8}, "listwise": TRAINING}


@pytest.fixture
def study(root):
    return Study.load("tiny", {"cosinet": SECTION})


def test_the_rate_rises_over_the_cut_and_falls_to_its_smallest():
    rates = [slanted_triangle(step, 100, 0.1, 32) for step in range(101)]
    assert rates[0] == rates[100] == pytest.approx(1 / 32)
    assert rates[10] == max(rates) == 1
    assert rates[5] == pytest.approx((1 + 31 / 2) / 32)
    assert rates[55] == pytest.approx((1 + 31 / 2) / 32)


def test_a_run_is_trained_scored_and_ranks(study):
    store = Store(study)
    names = ["cosinet/point/seed-0", "cosinet/birnn/seed-0", "ca/bilstm/seed-0", "shuffled/cosinet/point/seed-0"]
    names += ["shuffled/cosinet/birnn/seed-0", "cosinet/birnn-unrelated/seed-0"]
    make_all(store, names, progress=False)
    point, birnn = store.study.run(names[0]), store.study.run(names[1])
    assert point.facts["steps"] == 2 * -(-point.facts["pairs"] // 8)
    assert birnn.facts["steps"] == 2 * -(-(birnn.facts["pairs"] // 4) // 2)
    assert len(birnn.scores("test")) == 72
    assert birnn.scores("test")["score"].between(0, 1).all()

    def moved(run):
        return numpy.abs(store.study.run(f"shuffled/{run.name}").scores()["score"] - run.scores()["score"]).max()

    assert moved(point) < 1e-5 < moved(birnn)
    assert not store.study.run(names[5]).scores()["score"].equals(birnn.scores()["score"])
    ranked = Ranker.load(birnn.model_folder).rank("where is the red ?", ["the red is here", "the unheard is here"])
    assert len(ranked) == 2


def test_the_same_run_made_twice_or_resumed_has_the_same_weights(study, monkeypatch):
    store, name = Store(study), "cosinet/birnn/seed-1"
    make_all(store, [name], progress=False)
    before = weights(store, name)
    (store.folder(name) / "done.json").unlink()
    monkeypatch.setattr(trainer, "CHECKPOINT_EVERY", 4)
    interrupted(store, name, monkeypatch, at=10)
    make(store, name)
    assert same(before, weights(store, name))


def test_shuffling_moves_candidates_within_their_question_alone():
    ids = ["a"] * 30 + ["b"] * 2 + ["c"]
    order = shuffled_rows(ids, 0)
    assert sorted(order) == list(range(33))
    assert [ids[i] for i in order] == ids
    assert order[:30].tolist() != list(range(30))
    assert order.tolist() == shuffled_rows(ids, 0).tolist()
    assert order.tolist() != shuffled_rows(ids, 1).tolist()


def test_the_whole_set_is_scored_in_its_own_rows_when_items_are_questions(study):
    store = Store(study)
    make_all(store, ["cosinet/list/seed-0"], progress=False)
    from as2lib import models
    from as2lib.data.encode import load_encoder
    from as2lib.data.pairs import load_parts

    folder = store.study.run("cosinet/list/seed-0").model_folder
    pairs = load_parts(tuple(store.planned("cosinet/list/seed-0").data["test"]), "all")
    model, encoder = models.load(folder), load_encoder(folder)
    small, large = (score(model, pairs, encoder, batch_tokens=size).score for size in (1, 10_000))
    numpy.testing.assert_allclose(small, large, atol=1e-6)
    numpy.testing.assert_allclose(small, store.study.run("cosinet/list/seed-0").scores()["score"], atol=1e-6)
