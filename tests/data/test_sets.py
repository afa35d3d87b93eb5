from pathlib import Path

import pytest

from as2lib.data import sets
from as2lib.data.sets import NoSplit, identity, known, resolve

TSV = "question_id\tquestion\tanswer\tlabel\nq1\tWho?\tAnn\t1\n"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    for split in ("train", "dev", "test"):
        (folder / f"{split}.tsv").write_text(TSV)
    return folder


def test_a_known_sets_identity_needs_no_data_and_stays_where_it_is_mapped(folder, write_local):
    expected = {"kind": "known", "name": "wikiqa", "split": "dev", "pairs": sets.FINGERPRINTS["wikiqa", "dev"]}
    assert identity("wikiqa", "dev") == expected
    write_local(wikiqa=folder)
    assert identity("wikiqa", "dev>=15") == {**expected, "candidates": 15}
    assert known("wikiqa@abc", "dev") is None
    folder.rename(folder.parent / "wikiqa")  # a path to a folder of that name is the folder
    assert resolve("./wikiqa", "dev").files == resolve(Path("wikiqa"), "dev").files == (Path("wikiqa/dev.tsv"),)
    assert identity("wikiqa", "dev") == expected


def test_official_wikiqa_files_and_hub_snapshots_are_found_in_a_folder(tmp_path):
    (tmp_path / "WikiQA-dev.tsv").write_text(TSV)
    (tmp_path / "data").mkdir()
    shards = [tmp_path / "data" / f"train-0000{i}-of-00002.parquet" for i in range(2)]
    for shard in shards:
        shard.touch()
    assert resolve(tmp_path, "dev").files == (tmp_path / "WikiQA-dev.tsv",)
    assert resolve(tmp_path, "train").files == tuple(shards)
    (tmp_path / "WikiQA-dev.tsv").rename(tmp_path / "val.tsv")
    assert resolve(tmp_path, "dev").files == (tmp_path / "val.tsv",)
    shards[1].rename(tmp_path / "val.csv")  # half of one set, and two of another
    for split in ("train", "dev"):
        with pytest.raises(ValueError):
            sets._split_files(tmp_path, split, sets.HubSet(""))


@pytest.mark.parametrize(
    ("source", "split", "error"),
    [
        ("wikqa", "dev", FileNotFoundError),
        ("wikiqa", "eval", NoSplit),
        ("{folder}/dev.tsv", "dev", NoSplit),
        ("{folder}", None, NoSplit),
        ("{folder}/none.tsv", None, FileNotFoundError),
        ("ias2", "dev", FileNotFoundError),
    ],
)
def test_a_wrong_source_is_refused_in_one_line(folder, source, split, error):
    with pytest.raises(error, match=r"^[^\n]*$"):
        identity(source.format(folder=folder), split)
