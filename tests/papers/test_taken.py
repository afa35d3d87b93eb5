"""Rows taken as they are: scored by what others made, without a fit; what is not here is said, and stops nothing."""

import json

import pandas
import pytest

from as2lib import Study
from as2lib.data.pairs import load_parts
from as2lib.metrics.ranking import summary
from as2lib.papers.frontier import of_one_stage
from tests.first_hour.hub_like import public_model


def test_what_is_here_is_a_row_and_what_is_not_says_so(root):
    rankers = {"BM25": "bm25", "gone": "cosine:none/here", "far": "org/none"}
    study = Study.load("tiny", {"rankers": rankers, "seeds": [0]})
    seeds = {row.label: row.seeds for name, row in study.systems.items() if name.startswith("ranker/")}
    assert seeds == {"BM25": (0,), "gone (not at hand)": (), "far (not at hand)": ()}
    assert len(study.run("ranker/bm25").scores("dev"))
    with pytest.raises(ValueError, match=r"^rankers\.ours: expected the folder .* got its name$"):
        Study.load("tiny", {"rankers": {"ours": "teacher/electra/seed-0"}}).systems  # noqa: B018


def test_a_label_that_is_published_does_not_bring_another_file_here(root):
    def row(source):
        return Study.load("tiny", {"rankers": {"theirs": source}}).systems["ranker/theirs"]

    published = root / "reports" / "tiny" / "scores"
    published.mkdir(parents=True)
    index = {"sources": {"lost.jsonl": {"sha256": "0"}}, "runs": {"0": {"run": "ranker/theirs"}}}
    (published / "index.json").write_text(json.dumps(index))
    assert [row(source).seeds for source in ("lost.jsonl", "other.jsonl")] == [(0,), ()]


def test_models_are_scored_and_costed(root):
    public_model(root / "encoder", labels=None)
    public_model(root / "reranker", labels=2)
    study = Study.load("tiny", {"rankers": {"cosine": "cosine:encoder", "reranker": "reranker"}, "seeds": [0]})
    for name in ("ranker/cosine", "ranker/reranker"):
        assert study.run(name).scores("test")["score"].between(0, 1).all()
    work = {name: each.work[0] for name, each in of_one_stage(study, ["ranker/cosine", "ranker/reranker"]).items()}
    assert work["ranker/cosine"].question > 0
    assert work["ranker/reranker"].question == 0 < work["ranker/reranker"].candidate


LLM = {"label": "LLM", "scores": "llm.jsonl"}


def scores_file(root, change=lambda table: table):
    """What an LLM says of every pair of the target, as P(correct): nearly the label."""
    target = Study.load("tiny").data.target
    pairs = pandas.concat([load_parts(tuple(parts), "all").to_pandas() for parts in target.model_dump().values()])
    table = pairs.assign(probability=0.1 + 0.8 * pairs["label"])[["question", "answer", "probability"]]
    change(table).to_json(root / "llm.jsonl", orient="records", lines=True)


def test_students_learn_from_a_teacher_whose_scores_are_a_file(root):
    scores_file(root)
    study = Study.load("tiny", {"teachers.llm": LLM, "seeds": [0], "fit.direct": None})
    assert summary(*study.run("teacher/llm").scores()[["question_id", "label", "score"]].to_numpy().T)["MAP"] == 1
    assert "parameters" not in study.run("ensemble/teachers/seed-0").facts
    heads = study.run("mhs/4h1/seed-0")
    assert heads.run.parents["teachers"][-1].name == "teacher/llm"
    assert "head_3" in heads.scores()
    student = study.store.identity("student/llm/seed-0")
    scores_file(root, lambda table: table.assign(probability=1 - table["probability"]))
    other = Study.load("tiny", {"teachers.llm": LLM, "seeds": [0], "fit.direct": None})
    assert other.store.identity("student/llm/seed-0") != student
    assert other.store.identity("student/electra/seed-0") == study.store.identity("student/electra/seed-0")


def test_scores_that_are_no_log_odds_are_refused_and_the_first_teacher_has_an_encoder(root):
    scores_file(root, lambda table: table.assign(log_odds=table.groupby(["question", "answer"]).ngroup()))  # none
    with pytest.raises(ValueError, match=r"llm\.jsonl: expected P\(correct\), or log odds up to 36, got"):
        Study.load("tiny", {"teachers.llm": LLM, "seeds": [0]}).run("teacher/llm")
    with pytest.raises(ValueError, match=r"teachers\.electra: expected an encoder"):
        Study.load("tiny", {"teachers.electra": {"config": None, "scores": "llm.jsonl"}})
