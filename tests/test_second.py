import pandas
import pytest

from as2lib import Study
from as2lib.papers import claims
from as2lib.papers.cerberus import second, second_tables, systems
from tests.invented import FIT

ROWS = ["teacher/roberta", "base/electra", "mhs/3h1", "ensemble/distilled", "lexical/overlap_then_rank"]
NAMES = {"electra": "E", "roberta": "R", "albert": "A"}


def parts(root):
    train = {
        "electra": [str(root / "train.tsv")],
        "roberta": [str(root / "train.tsv")],
        "albert": [str(root / "pool.tsv")],
    }
    return {"train": train, "dev": [str(root / "dev.tsv")], "test": [str(root / "test.tsv")]}


def with_rows(root, *rows, shared=True, **more):
    given = {"rows": list(rows), "names": NAMES, "fit": FIT | {"steps": 9}, **parts(root), **more}
    return Study.load("tiny", {"second": given, "data.allow_shared_questions": shared})


def test_rows_come_with_what_they_are_made_from_for_one_seed_but_where_others_teach(root):
    names = {run.name for run in second.runs(with_rows(root, "kd/electra"))}
    assert names == {f"second/{prefix}/seed-0" for prefix in ("teacher/electra", "kd/electra")}
    assert second.runs(Study.load("tiny")) == []
    alone, hydra = ({r.name for r in second.runs(with_rows(root, row))} for row in ("base/electra", "hydra/3h1"))
    assert alone == {"second/base/electra/seed-0"}
    assert hydra == {"second/hydra/3h1/seed-0", *(f"second/base/electra/seed-{seed}" for seed in range(3))}


def test_a_run_is_that_of_a_study_with_this_transfer_set(root):
    same = parts(root) | {"train": {family: [str(root / "train.tsv")] for family in NAMES}}
    found = with_rows(root, *ROWS, **same)
    splits = {role: str(root / f"{role}.tsv") for role in ("train", "dev", "test")}
    other = Study.load("tiny", {"data.transfer": splits, "fit.transfer": FIT | {"steps": 9}})
    for prefix, row in systems.rows_on_second(other).items():
        if row in ROWS and row != "lexical/overlap_then_rank":
            assert found.store.identity(f"second/{row}/seed-0") == other.store.identity(f"{prefix}/seed-0")


def test_no_two_models_of_the_catalogue_share_a_name(root):
    same = {family: Study.load("tiny").backbones[family].name for family in NAMES}  # as on the target
    found = systems.systems(with_rows(root, *ROWS, names=same))
    names = [found[prefix].name for row in ROWS for prefix in (row, f"second/{row}")]
    assert len({*names}) == len(names)


def test_the_papers_rows_that_are_not_run_here_stand_in_their_places_without_numbers_of_ours(root):
    rows = {"run": ["second/base/electra", "second/mhs/3h1"], "row": [6, 14], "MAP": [60.0, 61.0]}
    found = pandas.DataFrame(rows, index=["base", "MHS"]).astype({"row": "Int64"})
    table = second_tables.beside_all(with_rows(root, "base/electra", "mhs/3h1"), found)
    assert table["row"].tolist() == list(range(1, 15))
    assert table["MAP"].dropna().to_dict() == {"base": 60.0, "MHS": 61.0}
    hydra = table.loc["Hydra, taught by 3 ELECTRA-BASE, not run here"]
    assert hydra[["published P@1", "published MAP", "published MRR"]].tolist() == [62.7, 73.0, 73.3]
    assert hydra["published parameters"] == "124 M"


def test_claims_of_the_second_target_are_about_the_runs_that_a_study_has_there(root):
    splits = {role: str(root / f"{role}.tsv") for role in ("train", "dev", "test")}
    listed = claims.listed()
    listed = listed[listed["a"] == "second/mhs/3h1"]
    assert len(listed) > 3
    there = claims.in_this_study(Study.load("tiny", {"data.transfer": splits}), listed)
    assert set(there["a"]) == {"transfer-mhs/3h1"}
    assert "transfer/electra-base" in set(there["b"])
    assert claims.in_this_study(with_rows(root, *ROWS), listed).equals(listed)


def test_unknown_rows_and_missing_families_are_refused_by_name(root):
    with pytest.raises(
        ValueError, match=r"second.rows: expected rows of CERBERUS's Table 2.*got kd/electra-from-albert"
    ):
        with_rows(root, "mhs/3h1", "kd/electra-from-albert").plan  # noqa: B018
    with pytest.raises(ValueError, match=r"second: names: expected each of electra, roberta, albert; missing: albert"):
        with_rows(root, "mhs/3h1", names={"electra": "E", "roberta": "R"})
    with pytest.raises(ValueError, match=r"second.train.electra: train and test are both"):
        with_rows(root, "mhs/3h1", test=[str(root / "train.tsv")], shared=False)
