import pandas
import pytest

from as2lib import Study
from as2lib.papers import across, beyond
from as2lib.papers.cerberus import rows
from tests.models.test_lexical import WIKIQA


def test_every_headline_comparison_of_a_study_is_on_the_page_over_targets(invented):
    three = Study.load("tiny", {"seeds": [0, 1, 2]})
    named = rows.headline(three)
    assert len(named) == 8
    assert {row.run for row in across.present(three)}.issuperset(name for pair in named for name in pair)
    _, notebook = beyond.notebooks(Study.load("wikiqa"))  # made again where another study or its runs change
    assert notebook.files == ("params/selqa.yaml", "reports/selqa/runs/index.json")


def test_questions_whose_answer_train_has_too_are_known_where_targets_are_pooled(root):
    tables = {split: pandas.read_csv(root / f"{split}.tsv", sep="\t") for split in ("train", "test")}
    tables["test"]["answer"] += " of the test"
    first = tables["test"]["question_id"].iloc[0]
    learnt = tables["train"].query("label == 1")["answer"].iloc[0]
    tables["test"].loc[tables["test"]["question_id"].eq(first) & tables["test"]["label"].eq(1), "answer"] = learnt
    tables["test"].to_csv(root / "test.tsv", sep="\t", index=False)
    assert across.shared_answers(Study.load("tiny")) == {first}
    assert across.shared_answers(Study.load("selqa")) == frozenset()  # a set that leaves them out


@pytest.mark.skipif(not WIKIQA.exists(), reason="WikiQA is not here")
def test_what_is_stated_of_wikiqa_is_what_its_texts_have(monkeypatch):
    stated = across.shared_answers(Study.load("wikiqa"))
    monkeypatch.setattr(across, "SHARED_ANSWERS", {})
    folder = {split: f"{WIKIQA.parent}:{split}" for split in ("train", "dev", "test")}
    assert across.shared_answers(Study.load("wikiqa", {"data.target": folder})) == stated
