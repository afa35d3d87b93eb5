"""Statistics by hand under the three policies, and the papers' sets beside them."""

import numpy
import pandas
import pytest

from as2lib import Study
from as2lib.data import disk
from as2lib.data.pairs import from_rows, load_parts
from as2lib.papers.cerberus import published_sets, sets

ROWS = [  # q1: one of three correct; q2: two, nothing else; q3: none
    ("q1", "who is it ?", "a b", 0),
    ("q1", "who is it ?", "c", 1),
    ("q1", "who is it ?", " d   e  f ", 0),
    ("q2", "why ?", "c", 1),
    ("q2", "why ?", "g", 1),
    ("q3", "when is that ?", "h i j k", 0),
]


def pairs_of(rows):
    return from_rows([dict(zip(("question_id", "question", "answer", "label"), row, strict=True)) for row in rows])


@pytest.mark.parametrize(
    ("policy", "counts", "words"),
    [("answered", (2, 5, 3), (16 / 5, 8 / 5)), ("mixed", (1, 3, 1), (4, 2)), ("all", (3, 6, 3), (20 / 6, 12 / 6))],
)
def test_statistics_by_hand(policy, counts, words):
    found = sets.statistics(pairs_of(ROWS)).loc[policy]
    assert tuple(found[sets.COUNTS]) == counts
    assert (found["words a question"], found["words a candidate"]) == pytest.approx(words)
    assert found["candidates a question"] == counts[1] / counts[0]
    assert found["correct a question"] == counts[2] / counts[0]
    assert found["two or more correct"] == (0 if policy == "mixed" else 1)


def test_statistics_are_zero_where_nothing_is_kept_and_count_words_as_python_does_across_batches(monkeypatch):
    assert sets.statistics(pairs_of(ROWS[5:])).loc["answered"].eq(0).all()
    monkeypatch.setattr(sets, "_BATCH", 4)
    found = sets.statistics(pairs_of(ROWS)).loc["all"]
    assert found["words a candidate"] == numpy.mean([len(row[2].split()) for row in ROWS])


def test_leakage_counts_distinct_texts_letter_by_letter(monkeypatch):
    monkeypatch.setattr(sets, "_BATCH", 2)
    train = pairs_of([("1", "x ?", "one", 1), ("1", "x ?", "two", 0), ("2", "y ?", "two", 0)])
    test = pairs_of([("3", "y ?", "two", 1), ("4", "z ?", "Two", 1)])
    found = sets.leakage({"train": train, "test": test}).iloc[0]
    assert (found["of"], found["also in"]) == ("test", "train")
    assert (found["questions"], found["sentences"]) == (1, 1)
    assert (found["questions %"], found["sentences %"]) == (50, 50)
    assert sets.seen({"train": train, "test": test}, "test") == (1, 2)


@pytest.fixture
def mapped(root, any_content):
    """The tiny study with a WikiQA and a TREC-QA in params/local.yaml; the latter lacks its dev set."""
    lines = ["\t".join(("question_id", "question", "answer", "label")), *("\t".join(map(str, row)) for row in ROWS)]
    for name, splits in (("wikiqa", ("train", "dev", "test")), ("trecqa", ("train", "test"))):
        (root / name).mkdir()
        for split in splits:
            (root / name / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    (root / "params" / "local.yaml").write_text("local: {wikiqa: wikiqa, trecqa: trecqa}\n")
    return root


def test_what_is_mapped_does_not_matter_where_the_study_does_not_name_it(mapped):
    before = published_sets.papers_sets(Study.load("tiny"))
    (mapped / "params" / "local.yaml").unlink()
    pandas.testing.assert_frame_equal(published_sets.papers_sets(Study.load("tiny")), before)
    assert set(before["in this study"]) == {"no"}
    assert before["questions"].isna().all()
    assert {"ASNQ", "IAS2", "GPD", "TREC-QA", "WikiQA"} <= set(before.index)


def test_named_sets_stand_beside_the_published_counts_of_their_policy(mapped):
    table = published_sets.papers_sets(Study.load("tiny", {"data.describe": ["wikiqa", "trecqa", "ias2", "selqa"]}))
    test = table.loc["WikiQA"].query("split == 'test'").set_index("questions kept")
    assert test["questions"].to_dict() == {"all": 3, "mixed": 1, "answered": 2}
    assert test["published questions"].dropna().to_dict() == {"all": 633, "answered": 243}
    assert test["published by"].dropna().to_dict() == {"all": "Cosinet", "answered": "CERBERUS"}
    assert test["Cascade correct a question"].dropna().to_dict() == {"answered": 1.2}
    status = table.set_index("split", append=True)["in this study"].groupby(level=[0, 1]).first()
    assert status[("WikiQA", "test")] == "yes"
    assert status[("TREC-QA", "train (TRAIN)")] == "yes"
    assert status[("TREC-QA", "dev")] == "no such split"
    assert status[("IAS2", "test")] == "not here"
    assert status[("ASNQ", "train")] == "no"
    assert table.loc["IAS2", "published pairs"].sum() == 283_855  # as its appendix has
    assert table.loc["TREC-QA"].query("split == 'test'")["published questions"].dropna().to_list() == [68]
    assert table.loc["TREC-QA", "published correct"].isna().all()  # published as a mean


def test_a_set_named_as_a_target_is_part_of_the_study(mapped):
    study = Study.load("tiny", {"data.target.train": "microsoft/wiki_qa@abc:train"})
    assert published_sets.described(study) == ["wikiqa"]


@pytest.mark.parametrize(("questions", "name"), [(1229, "TRAIN-ALL"), (94, "TRAIN"), (600, "neither")])
def test_the_training_set_of_trecqa_is_named_by_its_size(questions, name):
    assert (
        published_sets.trec_training_set(pairs_of([(str(i), "q ?", "a", 1) for i in range(questions)])).split()[0]
        == name
    )


def test_readings_follow_the_numbers(mapped, monkeypatch):
    table = published_sets.papers_sets(Study.load("tiny", {"data.describe": ["wikiqa", "trecqa"]}))
    said = " ".join(published_sets.readings(table, published_sets.totals(table)))
    assert "5 of the 12 splits" in said
    assert "none of these have the published number" in said
    assert "TREC-QA train (TRAIN) has 2 questions with an answer here, against 1,227 published" in said
    assert "leaves unanswered questions out" in said
    assert "3 under “all”, 1 under “mixed”, 2 under “answered”; Table 1 agrees with no policy" in said
    changed = published_sets.published("cerberus_table1").replace({"questions": {243: 633}})
    other = {"cerberus_table1": changed}
    published = published_sets.published
    monkeypatch.setattr(published_sets, "published", lambda name: other.get(name, published(name)))
    said = " ".join(published_sets.readings(table, published_sets.totals(table)))
    assert "keeps unanswered questions in" in said


def test_totals_add_up_the_splits_under_each_policy(mapped):
    whole = published_sets.totals(published_sets.papers_sets(Study.load("tiny", {"data.describe": ["wikiqa"]})))
    found = whole.loc["WikiQA"].set_index("counted")
    assert found.loc["CERBERUS Table 1, summed"].tolist() == [1242, 12153]
    assert found.loc["here: all"].tolist() == [9, 18]
    assert found.loc["here: answered in train, mixed in dev and test"].tolist() == [2 + 1 + 1, 5 + 3 + 3]
    assert len(whole.loc["IAS2"]) == 2


def test_sets_on_disk_have_the_same_statistics(mapped, monkeypatch):
    study = Study.load("tiny", {"data.describe": ["wikiqa"]})
    before = published_sets.papers_sets(study)
    monkeypatch.setattr(disk, "LARGE", 0)
    load_parts.cache_clear()
    pandas.testing.assert_frame_equal(published_sets.papers_sets(study), before)
    assert len(list((mapped / "work" / "pairs").iterdir())) == 1  # three files of one content
