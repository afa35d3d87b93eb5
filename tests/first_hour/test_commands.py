import pytest

from as2lib.cli import main
from as2lib.data.pairs import load_pairs
from as2lib.ranker import Ranker
from tests.first_hour.hub_like import WORDS, as2, public_model, write_pairs

QUESTION = "where is the red ?"
CANDIDATES = [f"the {word} is here" for word in WORDS]
OTHERS = "query sentence is_correct"  # names that people use, without an id


@pytest.fixture
def model(tmp_path):
    return public_model(tmp_path / "model", labels=2)


@pytest.mark.parametrize("suffix", ["tsv", "parquet"])
def test_what_as2_train_reads_is_scored_ranked_and_compared_too(model, tmp_path, suffix):
    plain = write_pairs(tmp_path / "plain.tsv")
    path = write_pairs(tmp_path / "theirs.tsv", header=OTHERS, labels=("false", "true"))
    if suffix != "tsv":
        import pandas

        table = pandas.read_csv(path, sep="\t")
        assert table["is_correct"].dtype == bool
        path = tmp_path / f"theirs.{suffix}"
        table.to_parquet(path) if suffix == "parquet" else table.to_json(path, orient="records", lines=True)
    as2("train", path, "--model", model, "--epochs", 1, "--out", tmp_path / "mine", folder=tmp_path)
    metrics = as2("score", model, path, "--trec", tmp_path / "theirs.run", folder=tmp_path).stdout.split()
    expected = as2("score", model, plain, folder=tmp_path).stdout.split()
    assert metrics[-12:] == expected[-12:]
    runs = [tmp_path / "theirs.run"] * 2
    assert "MAP" in as2("compare", *runs, tmp_path / "theirs.qrels", folder=tmp_path).stdout
    assert as2("rank", model, path, folder=tmp_path).stdout.count("\n") == 121
    assert load_pairs(path)["label"] == load_pairs(plain)["label"]
    assert load_pairs(path)["answer"] == load_pairs(plain)["answer"]


@pytest.mark.parametrize(("loss", "probable"), [("ce", True), ("listwise_kl", False), ("ranknet", False)])
def test_a_model_that_learns_from_lists_says_that_its_score_is_no_probability(model, tmp_path, loss, probable):
    options = ["--model", str(model), "--loss", loss, "--epochs", "1", "--out", str(tmp_path / loss)]
    assert main(["train", str(write_pairs(tmp_path / "my.tsv")), *options]) == 0
    assert Ranker.load(tmp_path / loss).is_probability is probable
