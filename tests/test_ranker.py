import pytest

from as2lib.ranker import Ranker


@pytest.fixture
def folder(trained):
    return trained.study.run("mhs/3h1/seed-0").model_folder


def test_candidates_come_best_first_and_all_of_them(folder):
    candidates = ["the red is here", "the blue is here", "the hill is here"]
    ranked = Ranker.load(folder).rank("where is the red ?", candidates)
    assert sorted(candidates) == sorted(one.candidate for one in ranked)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert all(candidates[one.position] == one.candidate for one in ranked)


def test_the_ranker_scores_as_the_study_did(folder, trained):
    from as2lib.data.pairs import load_parts

    pairs = load_parts(tuple(trained.planned("mhs/3h1/seed-0").data["test"]), "all").to_pandas()[:4]
    stored = trained.study.run("mhs/3h1/seed-0").scores("test")["score"][:4]
    ranked = Ranker.load(folder).rank(pairs["question"][0], pairs["answer"].tolist())
    for one in ranked:
        assert one.score == pytest.approx(stored[one.position], abs=1e-6)


def test_equal_candidates_keep_their_order(folder):
    ranked = Ranker.load(folder).rank("where is the red ?", ["the boat is here"] * 3)
    assert [one.position for one in ranked] == [0, 1, 2]


@pytest.mark.parametrize(("question", "candidates"), [("", ["a"]), ("q ?", []), ("q ?", ["a", " "])])
def test_empty_texts_are_refused(folder, question, candidates):
    with pytest.raises(ValueError, match="none empty"):
        Ranker.load(folder).rank(question, candidates)
