import pandas
import pytest
from datasets import Dataset

from as2lib.data import leaks, load_pairs, load_splits, pairs, sets
from as2lib.data.pairs import fingerprint, leave_out, load_parts, split_own
from as2lib.data.sets import identity
from as2lib.paths import PACKAGE
from tests.data.conftest import COLUMNS, ROWS, dicts, rows_of, write
from tools import make_sample

REFERENCE = PACKAGE.parents[1] / "shared" / "data"  # real sets, on machines that have them


def questions(number, candidates=3, prefix="q"):
    """Question i; its last candidate is correct, but for every tenth question."""
    return [
        (f"{prefix}{i}", f"What is thing {i}?", f"thing {i} is number {j}", int(j == candidates - 1 and i % 10 != 9))
        for i in range(number)
        for j in range(candidates)
    ]


@pytest.mark.parametrize(
    ("policy", "kept"),
    [({}, ["q1", "q2"]), ({"questions": "mixed"}, ["q1"]), ({"questions": "all"}, ["q1", "q2", "q3"])],
)
def test_a_policy_keeps_whole_questions_in_order(policy, kept):
    assert rows_of(load_pairs(dicts(ROWS), **policy)) == [row for row in ROWS if row[0] in kept]


def test_a_split_may_ask_for_questions_with_many_candidates_or_without_a_correct_one(tmp_path):
    rows = [(f"q{n}", f"who {n}?", f"a{i}", int(i == 0 and n > 1)) for n in (1, 2, 3) for i in range(n)]
    write(tmp_path / "dev.tsv", rows)
    assert load_pairs(tmp_path, "dev>=2")["question_id"][:] == ["q2"] * 2 + ["q3"] * 3
    assert load_pairs(tmp_path, "dev>=3", None)["question_id"][:] == ["q3"] * 3
    assert load_pairs(tmp_path, "dev=unanswered", None)["answer"][:] == ["a0"]
    assert load_pairs(tmp_path, "dev=answered", None)["question_id"][:] == ["q2"] * 2 + ["q3"] * 3
    assert load_pairs(tmp_path, "dev=first67%", "all")["question_id"][:] == ["q1"] + ["q2"] * 2
    assert load_pairs(tmp_path, "dev=last33%")["question_id"][:] == ["q3"] * 3
    assert load_pairs(tmp_path, "dev=first67%>=2", "all")["question_id"][:] == ["q2"] * 2
    for split in ("dev>=3>=4", "dev=first20%=last20%"):
        with pytest.raises(sets.NoSplit):
            load_pairs(tmp_path, split)


def test_parts_are_one_after_the_other_follow_their_files_and_equal_questions_without_ids_are_one(tmp_path):
    def of_parts():
        return list(dict.fromkeys(load_parts(parts)["question_id"]))

    for split, prefix in (("train", "a"), ("dev", "b")):
        write(tmp_path / f"{split}.tsv", questions(2, prefix=prefix))
    parts = (f"{tmp_path}:train", f"{tmp_path}:dev")
    assert of_parts() == ["a0", "a1", "b0", "b1"]
    assert load_parts(parts) is load_parts(parts)
    assert load_parts(parts, None).column_names == list(COLUMNS[:3])
    write(tmp_path / "dev.tsv", questions(1, prefix="b"))
    assert of_parts() == ["a0", "a1", "b0"]
    write(tmp_path / "dev.tsv", [("a0", "Another?", "b", 1)])
    with pytest.raises(ValueError, match="expected one question an id"):
        load_parts(parts)
    for split, answers in (("train", "ab"), ("dev", "c")):
        write(tmp_path / f"{split}.tsv", [("Who?", answer, 1) for answer in answers], ("question", "answer", "label"))
    pairs = load_parts(parts)
    assert (len(set(pairs["question_id"])), pairs["answer"][:]) == (1, ["a", "b", "c"])


def test_folds_leave_out_each_question_once():
    table = load_pairs(dicts(questions(10)), questions="all")
    left_out = [set(table["question_id"]) - set(leave_out(table, fold, 3)["question_id"]) for fold in range(3)]
    assert sorted(name for names in left_out for name in names) == sorted({*table["question_id"]})
    assert left_out[0] == {"q0", "q3", "q6", "q9"}


def test_a_fingerprint_follows_content_and_order_and_not_storage():
    table = load_pairs(dicts(ROWS), questions="all")
    with_ids = load_pairs([{**row, "candidate_id": n} for n, row in enumerate(dicts(ROWS))], questions="all")
    stored = Dataset.from_list(table.to_list(), features=table.features)
    assert fingerprint(table) == fingerprint(stored) == fingerprint(with_ids)
    assert fingerprint(table.select([1, 0, 2, 3])) != fingerprint(table)


def test_own_data_whose_correct_candidates_come_first_is_warned_of_once(capfd):
    rows = sorted(questions(40), key=lambda row: (int(row[0][1:]), -row[3]))
    for source in (rows, rows, questions(40), rows[:30]):
        load_pairs(dicts(source))
    [line] = capfd.readouterr().err.splitlines()
    assert "the order of the candidates alone has MAP 100.0" in line


def test_own_pairs_are_split_by_the_text_of_a_question_the_same_way_each_time(capfd):
    rows = [*questions(60), ("again", "  what is THING 0? ", "that", 1)]
    splits = split_own(load_pairs(dicts(rows), questions="all"))
    assert list(splits) == ["train", "dev", "test"]
    texts = [{pairs.plain(text) for text in part["question"]} for part in splits.values()]
    assert len(set.union(*texts)) == sum(map(len, texts)) == 60
    assert [len(text) for text in texts] == [42, 6, 12]  # a tenth and a fifth, of mixed ones and of others
    assert "splits: made by question, at random with seed 0: train 4" in capfd.readouterr().err
    again = split_own(load_pairs(dicts(rows), questions="all"))
    assert [fingerprint(again[name]) for name in again] == [fingerprint(splits[name]) for name in splits]
    assert fingerprint(split_own(load_pairs(dicts(rows)), 1)["dev"]) != fingerprint(splits["dev"])


def test_a_file_becomes_three_splits_and_a_folder_gets_those_that_it_lacks(tmp_path):
    assert list(load_splits(write(tmp_path / "my.tsv", questions(40)))) == ["train", "dev", "test"]
    folder = tmp_path / "mine"
    folder.mkdir()
    write(folder / "test.tsv", questions(5, prefix="t"))
    with pytest.raises(ValueError):
        load_splits(folder)
    write(folder / "train.tsv", questions(40))
    splits = load_splits(folder)
    assert rows_of(splits["test"]) == questions(5, prefix="t")
    assert len(splits["dev"]) == 12
    assert len(splits["train"]) == 108


@pytest.mark.parametrize("name", ["my.parquet", "my.jsonl"])
def test_some_formats_keep_any_text_as_it_is(tmp_path, name):
    rows = [("q1", 'a\tb "c"\r\n', '"""\u2028\x00\U0001f600 NA', 1)]
    assert rows_of(load_pairs(write(tmp_path / name, rows))) == rows


def test_leaks_are_found_under_other_case_blanks_and_forms_of_characters():
    train = load_pairs(dicts([("a", "Who  WROTE it?", "\ufb01ve Stra\u00dfen", 1), ("b", "When?", "now", 1)]))
    test = load_pairs(dicts([("c", "who wrote it?", "FIVE strassen ", 1), ("d", "When?", "later", 1)]))
    assert leaks(train, test) == ["Who  WROTE it?", "When?"]
    assert leaks(train, load_pairs(dicts([("c", "Where?", "now", 1)]))) == []


def test_questions_whose_answer_or_whole_list_is_known_are_left_out_and_the_identity_says_so(tmp_path):
    write(tmp_path / "train.tsv", [("a", "who?", "Ann", 1), ("a", "who?", "Bob", 0), ("b", "why?", "so", 1)])
    rows = [("c", "which of them?", "ann ", 1), ("c", "which of them?", "Eve", 0)]  # a correct sentence of train
    rows += [("d", "who was not?", "Bob", 1), ("d", "who was not?", "Ann", 0)]  # a whole list of train
    rows += [("e", "whose?", "Bob", 0), ("e", "whose?", "so", 0), ("e", "whose?", "Eve", 1)]  # sentences, no answer
    write(tmp_path / "test.tsv", rows)
    for test, train in ((f"{tmp_path}:test", f"{tmp_path}:train"), (f"{tmp_path}/test.tsv", f"{tmp_path}/train.tsv")):
        apart = sets.apart_from(test, [train])
        assert set(load_parts([apart])["question_id"]) == {"e"}
        assert sets.identity(*sets.split_part(apart)) != sets.identity(*sets.split_part(test))
    known = sets.identity(*sets.split_part(sets.apart_from("selqa:test", ["selqa:dev=first80%"])))
    assert known["apart"] == [sets.identity("selqa", "dev=first80%")]


def test_candidates_of_a_set_whose_order_means_nothing_come_in_one_order_however_they_are_written(
    tmp_path, write_local, monkeypatch
):
    monkeypatch.setattr(sets, "FINGERPRINTS", {})
    rows = questions(8, candidates=6)
    write_local(trecqa=tmp_path)
    write(tmp_path / "test.tsv", rows)
    table = load_pairs("trecqa", "test", "all")
    assert rows_of(table) != rows
    assert sorted(rows_of(table)) == sorted(rows)
    assert rows_of(load_pairs("trecqa", "test", None).add_column("label", table["label"][:])) == rows_of(table)
    turned = [rows[start : start + 6][::-1] for start in range(0, len(rows), 6)]
    write(tmp_path / "test.tsv", [row for page in turned for row in page])
    assert rows_of(load_pairs("trecqa", "test", "all")) == rows_of(table)


def test_ids_of_selqa_are_its_runs_of_equal_questions(tmp_path, write_local, monkeypatch):
    monkeypatch.setattr(sets, "FINGERPRINTS", {})
    rows = [(text, answer, 1) for text, answer in zip("aabbba", "uvwxyz", strict=True)]
    write(tmp_path / "test.tsv", rows, ("question", "candidate", "label"))
    write_local(selqa=tmp_path)
    assert load_pairs("selqa", "test")["question_id"][:] == [f"test-{n}" for n in (1, 1, 2, 2, 2, 3)]


def test_a_known_set_with_other_pairs_is_refused(tmp_path, write_local):
    write(tmp_path / "dev.tsv", ROWS)
    write_local(wikiqa=tmp_path)
    with pytest.raises(ValueError):
        load_pairs("wikiqa", "dev")


@pytest.mark.skipif(not REFERENCE.exists(), reason="no real sets on this machine")
@pytest.mark.parametrize(
    ("part", "counts"),
    [("wikiqa:test", (243, 2351, 293)), ("trecqa:test", (68, 1442, 248)), ("selqa:test", (1590, 19435, 1798))],
)
def test_real_sets_hold_what_was_published(part, counts, write_local):
    name = part.partition(":")[0]
    write_local(**{name: REFERENCE / name})
    table = load_parts([part])
    assert (len(set(table["question_id"])), len(table), sum(table["label"])) == counts
    assert identity(*part.split(":"))["pairs"] == fingerprint(load_parts([part], "all"))


def test_the_corpora_that_the_package_ships_are_those_that_the_tool_makes():
    pandas.testing.assert_frame_equal(pandas.read_parquet(pairs.SAMPLE_FILE), make_sample.corpora())
