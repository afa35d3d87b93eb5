"""What a source means, and that its identity depends on its content alone."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from as2lib import intact
from as2lib.data import sample
from as2lib.data.pairs import fingerprint, load_pairs, load_unlabelled
from as2lib.data.sources import FINGERPRINTS, SPLITS, NoSplit, canonical, file_sha256, identity, resolve

TSV = "question_id\tquestion\tanswer\tlabel\nq1\twho?\tme\t1\n"

# answered questions, their candidates, the correct ones, in the order of FINGERPRINTS
PUBLISHED = [(873, 8672, 1040), (126, 1130, 140), (243, 2351, 293), (83, 4625, 348), (65, 1117, 205), (68, 1442, 248)]
PUBLISHED += [(785, 9377, 893), (1590, 19435, 1798)]
SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    root = tmp_path / "root"
    (root / "params").mkdir(parents=True)
    monkeypatch.setenv("AS2_ROOT", str(root))
    return root


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    for split in SPLITS:
        (folder / f"{split}.tsv").write_text(TSV.replace("q1", split))
    return folder


def test_an_identity_is_version_seed_corpus_and_split_or_a_hub_sets_name_config_revision_and_split():
    expected = {"kind": "sample", "name": "sample", "version": sample.VERSION, "seed": 9, "split": "dev"}
    assert identity("sample@9", "dev") == expected
    assert identity("sample", "dev")["seed"] == sample.DEFAULT_SEED
    assert identity("sample", "dev") != identity("sample-transfer", "dev") != identity("sample-transfer", "test")
    named = {"name": "community-datasets/selqa", "config": "answer_selection_experiments"}
    assert identity("selqa", "train") == {"kind": "hub", **named, "revision": "main", "split": "train"}


def test_known_pairs_have_one_identity_on_the_hub_in_a_folder_and_without_the_data(folder, root):
    without = identity("wikiqa", "dev")
    assert without == {"kind": "known", "name": "wikiqa", "split": "dev", "pairs": FINGERPRINTS["wikiqa", "dev"]}
    (root / "params" / "local.yaml").write_text(f"local:\n  wikiqa: {folder}\n")
    assert identity("wikiqa", "dev") == identity("microsoft/wiki_qa", "validation") == without
    assert identity("wikiqa@abc123", "dev") != without


def test_questions_with_many_candidates_are_a_set_of_their_own_from_the_same_texts(folder, root):
    many = identity("wikiqa", "dev>=15")
    assert many == identity("wikiqa", "dev") | {"candidates": 15} == identity("wikiqa", "validation>=15")
    assert resolve(folder, "dev>=15").files == resolve(folder, "dev").files
    assert identity(folder, "dev>=2") == identity(folder, "dev") | {"candidates": 2} != identity(folder, "dev>=3")
    assert identity("wikiqa", "dev=unanswered") == identity("wikiqa", "dev") | {"unanswered": True}
    assert canonical("wikiqa:dev>=15") == canonical("wikiqa:validation=unanswered")  # they share texts


def test_other_pairs_under_a_known_name_are_refused_by_name(folder, root):
    (root / "params" / "local.yaml").write_text(f"local:\n  wikiqa: {folder}\n")
    for load in (load_pairs, load_unlabelled):
        with pytest.raises(
            ValueError, match=r"wikiqa:dev: expected the pairs of fingerprint 18607f1160ac, got \d+ other"
        ):
            load("wikiqa", "dev")


@pytest.mark.skipif(not SHARED.exists(), reason="the real sets are not here")
@pytest.mark.parametrize(("known", "published"), list(zip(FINGERPRINTS, PUBLISHED, strict=True)))
def test_the_real_sets_have_the_known_fingerprints_and_the_published_sizes(root, known, published):
    name, split = known
    (root / "params" / "local.yaml").write_text(f"local:\n  {name}: {SHARED / name}\n")
    pairs = load_pairs(name, split, "all")
    assert fingerprint(pairs) == FINGERPRINTS[known]
    assert fingerprint(load_unlabelled(name, split)) == fingerprint(pairs.remove_columns("label"))
    answered = load_pairs(name, split)
    assert (len(set(answered["question_id"])), len(answered), sum(answered["label"])) == published


def test_revision_is_pinned_after_an_at_sign():
    assert resolve("wikiqa@abc123", "test").revision == "abc123"
    assert resolve("microsoft/wiki_qa@abc123", "test").revision == "abc123"
    other = resolve("someone/pairs@v2", "dev")
    assert (other.name, other.revision, other.split) == ("someone/pairs", "v2", "validation")


@pytest.mark.parametrize(
    ("name", "splits"), [("trecqa", ("train", "dev_clean", "test_clean")), ("asnq", ("train", "dev", "test"))]
)
def test_the_hub_is_asked_for_its_own_splits(name, splits):
    assert tuple(resolve(name, split).split for split in SPLITS) == splits


def test_file_identity_is_the_hash_of_its_bytes_wherever_it_lies(folder, tmp_path):
    copy = tmp_path / "elsewhere.tsv"
    copy.write_bytes((folder / "dev.tsv").read_bytes())
    assert identity(folder, "dev") == identity(str(copy))
    assert str(tmp_path) not in json.dumps(identity(folder, "dev"))
    before = identity(copy)
    copy.write_bytes(copy.read_bytes().replace(b"me", b"them"))
    assert identity(copy) != before


def test_hash_is_remembered_by_path_size_and_time(folder, root):
    path = folder / "dev.tsv"
    digest = file_sha256(path)
    memo = root / "work" / "sha256.jsonl"
    memo.write_text(memo.read_text().replace(digest, "remembered"))
    intact._read.clear()
    assert file_sha256(path) == "remembered"
    assert intact.as_written(path, digest)  # before a file is called damaged it is read
    path.write_text(TSV + "q2\twhy?\tso\t0\n")
    assert file_sha256(path) not in (digest, "remembered")


@pytest.mark.parametrize("content", ["", "{", '{"x": 3}', "\0", '["a", "sha256", [1'])
def test_a_damaged_memo_is_no_memo(folder, root, content):
    path = folder / "dev.tsv"
    (root / "work").mkdir()
    (root / "work" / "sha256.jsonl").write_text(content)
    digest = file_sha256(path)
    assert json.loads((root / "work" / "sha256.jsonl").read_text().splitlines()[-1])[-1] == digest
    assert [entry.name for entry in (root / "work").iterdir()] == ["sha256.jsonl"]


def test_two_processes_may_hash_at_once(tmp_path, root):
    paths = [tmp_path / f"{number}.tsv" for number in range(30)]
    for path in paths:
        path.write_text(path.name)
    code = "import sys; from as2lib.data.sources import file_sha256\nfor p in sys.argv[1:]: print(file_sha256(p))"
    command = [sys.executable, "-c", code, *map(str, paths)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in both] == ["".join(f"{file_sha256(path)}\n" for path in paths)] * 2


@pytest.mark.parametrize(
    "names",
    [
        ["train.csv", "validation.csv"],
        ["WikiQA-train.tsv", "WikiQA-dev.tsv"],
        ["data/train-00000-of-00001.parquet", "data/validation-00000-of-00001.parquet"],
        ["train.jsonl", "dev.parquet"],
    ],
)
def test_folder_layouts(tmp_path, names):
    folder = tmp_path / "set"
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "README.md").touch()
    for split, name in zip(("train", "dev"), names, strict=True):
        assert resolve(folder, split).files == (folder / name,)


def test_shards_are_read_in_order(tmp_path):
    paths = tuple(tmp_path / f"train-0000{number}-of-00002.parquet" for number in (0, 1))
    for path in reversed(paths):
        path.touch()
    assert resolve(tmp_path, "train").files == paths


def test_two_files_of_one_split_are_refused(folder):
    (folder / "dev.csv").touch()
    with pytest.raises(ValueError, match=r"expected 1 file of the split dev, got dev\.csv, dev\.tsv"):
        resolve(folder, "dev")


@pytest.mark.usefixtures("any_content")
@pytest.mark.parametrize("key", ["trecqa", "lucadiliello/trecqa"])
def test_local_yaml_maps_a_hub_set_to_a_folder(folder, root, key):
    (root / "params" / "local.yaml").write_text(f"local:\n  {key}: {folder}\n")
    assert resolve("trecqa", "dev").files == (folder / "dev.tsv",)
    assert identity("trecqa", "dev") == identity(folder, "dev")
    (folder / "dev_clean.tsv").write_text(TSV)
    assert resolve("lucadiliello/trecqa", "dev").files == (folder / "dev_clean.tsv",)


def test_local_yaml_maps_an_unknown_hub_set_and_a_config_folder(folder, root):
    (folder / "answer_selection_experiments").mkdir()
    shard = folder / "answer_selection_experiments" / "test-00000-of-00001.parquet"
    shard.touch()
    (folder / "test.tsv").unlink()
    mapping = f"local:\n  community-datasets/selqa: {folder}\n  someone/pairs: {folder}\n"
    (root / "params" / "local.yaml").write_text(mapping)
    assert resolve("selqa", "test").files == (shard,)
    assert resolve("someone/pairs", "train").files == (folder / "train.tsv",)


@pytest.mark.parametrize("name", ["ias2", "gpd"])
def test_private_set_is_known_and_says_how_to_bring_it(folder, root, name):
    with pytest.raises(FileNotFoundError, match=rf'{name} is not public.*"{name}: that/folder" under "local:"'):
        resolve(name, "dev")
    (root / "params" / "local.yaml").write_text(f"local:\n  {name}: {folder}\n")
    assert resolve(name, "dev").files == (folder / "dev.tsv",)


def test_path_may_be_relative_to_the_root(root):
    (root / "my.tsv").write_text(TSV)
    assert resolve("my.tsv").files[0].samefile(root / "my.tsv")


def test_known_names_come_before_folders_of_the_same_name(folder, monkeypatch):
    (folder / "sample").mkdir()
    monkeypatch.chdir(folder)
    assert resolve("sample", "train").kind == "sample"


@pytest.mark.parametrize(
    ("source", "split", "error", "message"),
    [
        ("wikqa", "dev", ValueError, 'unknown source "wikqa": expected one of sample, sample-transfer, sample-wide, '),
        ("wikiqa", "eval", NoSplit, 'wikiqa has no split "eval": expected one of train, dev, test'),
        ("wikiqa", "dev>=many", NoSplit, 'wikiqa has no split "dev>=many": expected one of train, dev, test'),
        ("sample", None, NoSplit, "sample needs a split: expected one of train, dev, test"),
        ("sample-unlabelled", "test", NoSplit, "expected one of train"),
        ("sample@x", "dev", ValueError, "sample@x: expected a whole number"),
        ("{folder}/dev.tsv", "dev", NoSplit, 'dev.tsv is one file and has no splits, got split "dev"'),
        ("{folder}", None, NoSplit, "mine needs a split: expected one of train, dev, test"),
        ("{folder}/empty", "dev", ValueError, "expected train, dev or test files (tsv, csv, jsonl, parquet)"),
        ("{folder}/notes.txt", None, ValueError, "expected a file that ends in tsv, csv, jsonl, parquet, got .txt"),
        ("{folder}/none.tsv", None, FileNotFoundError, "none.tsv: no such file or folder"),
        ("someone/pairs", "dev", FileNotFoundError, "a hub set is written org/name@revision"),
    ],
)
def test_wrong_source_is_refused_in_one_line(folder, source, split, error, message):
    (folder / "empty").mkdir()
    (folder / "notes.txt").touch()
    with pytest.raises(error, match=rf"^[^\n]*{re.escape(message)}[^\n]*$"):
        identity(source.format(folder=folder), split)


def test_path_object_is_never_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="sample: no such file"):
        resolve(Path("sample"), "dev")
