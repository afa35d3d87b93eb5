import shutil

import pandas
import pytest
import yaml

from as2lib import Study
from as2lib.papers import across, beyond, pair_sets
from as2lib.papers.cerberus import rows
from as2lib.study.store import Store
from tests.papers.conftest import ROOT, run_notebook

WIKIQA = ROOT.parent / "shared" / "data" / "wikiqa" / "WikiQA-test.tsv"


def test_every_headline_comparison_of_a_study_is_on_the_page_over_targets(invented, root):
    three = Study.load("tiny", {"seeds": [0, 1, 2]})
    named = rows.headline(three)
    assert len(named) == 8
    assert rows.corrected(three) == named
    four = Study.load("tiny", {"seeds": [0, 1, 2], "corrected": "primary"})
    assert rows.headline(four)[:4] == rows.corrected(four) == rows.primary(four)
    assert set(rows.headline(four)) == set(named)
    other_study(root, "another.tsv")
    page = run_notebook("13_across", {"across": ["other"]})
    assert page["pairs"] == rows.headline(page["study"])
    _, notebook = beyond.notebooks(Study.load("wikiqa_base"))  # made again where another study or its runs change
    assert notebook.files == ("params/selqa.yaml", "reports/selqa/scores/index.json")


def other_study(root, test):
    """A study like the tiny one of another target; "" is the same one."""
    content = yaml.safe_load((root / "params" / "tiny.yaml").read_text())["study"]
    if test:
        shutil.copy(content["data"]["target"]["test"], root / test)
        content["data"]["target"]["test"] = str(root / test)
    (root / "params" / "other.yaml").write_text(yaml.safe_dump({"study": content | {"name": "other"}}))


@pytest.mark.parametrize(("kept", "common"), [(("teacher", "mhs"), [("mhs/3h1", "teacher/electra")]), ("lexical", [])])
def test_a_study_whose_runs_are_not_all_there_leaves_what_every_target_has(invented, root, monkeypatch, kept, common):
    other_study(root, "another.tsv")
    find = Store.find

    def kept_of_other(store, name, model=False):
        return find(store, name) if store.study.name == "tiny" or name.startswith(kept) else None

    monkeypatch.setattr(Store, "find", kept_of_other)
    page = run_notebook("13_across", {"across": ["other"]})
    assert {"tiny MAP", "other MAP"} <= {*page["table2"]}
    assert [*page["pooled"].index] == common


def test_studies_of_one_target_are_not_pooled(invented, root):
    other_study(root, "")
    with pytest.raises(ValueError, match=r"^tiny: across: .* got other, whose is tiny's$"):
        across.studies(Study.load("tiny", {"across": ["other"]}))


def test_questions_whose_answer_train_has_too_are_known_where_targets_are_pooled(root):
    tables = {split: pandas.read_csv(root / f"{split}.tsv", sep="\t") for split in ("train", "test")}
    tables["test"]["answer"] += " of the test"
    first = tables["test"]["question_id"].iloc[0]
    learnt = tables["train"].query("label == 1")["answer"].iloc[0]
    tables["test"].loc[tables["test"]["question_id"].eq(first) & tables["test"]["label"].eq(1), "answer"] = learnt
    tables["test"].to_csv(root / "test.tsv", sep="\t", index=False)
    assert across.shared_answers(Study.load("tiny")) == {first}
    asked = tables["test"]["question_id"].iloc[4]  # also by the transfer set, in another spelling
    transfer = tables["train"].tail(1).assign(question=f"Which  {asked} ?")
    transfer.to_csv(root / "transfer-train.tsv", sep="\t", index=False)
    tables["test"].loc[tables["test"]["question_id"] == asked, "question"] = f"which {asked}"
    tables["test"].to_csv(root / "test.tsv", sep="\t", index=False)
    assert across.shared_answers(Study.load("tiny")) == {first}
    assert across.shared_answers(Study.load("tiny", {"data.allow_shared_questions": False})) == {first, asked}
    assert across.shared_answers(Study.load("selqa")) == frozenset()  # a set that leaves them out


@pytest.mark.skipif(not WIKIQA.exists(), reason="WikiQA is not here")
def test_what_is_stated_of_wikiqa_is_what_its_texts_have():
    stated = across.shared_answers(Study.load("wikiqa"))
    train, test = ([f"{WIKIQA.parent}:{split}"] for split in ("train", "test"))
    assert pair_sets.learnt(train, test) == stated - {"Q1662"}
