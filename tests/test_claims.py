import pandas
import pytest

from as2lib.papers.cerberus import claims
from as2lib.papers.cerberus.systems import SECOND
from as2lib.papers.kinds.plan import BEHIND
from as2lib.runs.results import compare, published, scored


def test_every_claim_is_about_two_rows_of_the_papers_tables():
    rows = pandas.concat([published(f"cerberus_table{number}")["run"] for number in (2, 3, 4)])
    found = published("cerberus_claims").query("claim != 'counted'")
    assert {name.removesuffix(BEHIND).removeprefix(SECOND) for name in {*found["a"], *found["b"]}} <= set(rows)
    assert set(found["claim"]) == {"better", "equal", "equal or better"}
    assert not found.duplicated(["a", "b", "claim"]).any()
    caption = found.query("family == 7").query("a == 'mhs/3h1' and test == 'Wilcoxon'")[
        "b"
    ]  # all models of a comparable size
    assert sorted(caption) == sorted(
        [f"{r}/{f}" for r in ("base", "kd") for f in ("albert", "roberta", "electra")] + ["hydra/3h1"]
    )


def test_claims_know_which_systems_are_planned_and_the_published_difference(trained):
    found = claims.claims(trained.study).set_index(["a", "b", "claim"])
    assert found.loc[("mhs/3h1", "teacher/electra", "equal"), "planned"]
    assert found.loc[("mhs/3h1", "teacher/electra", "equal"), ["published", "on"]].tolist() == [1.4, "WikiQA"]
    sizes = found.loc[("mhs/3h6", "mhs/3h1", "equal")]
    assert sizes[["published", "on"]].tolist() == [-0.2, "IAS2"]
    assert not found.loc[("mhs/3h6", "mhs/3h1", "equal"), "planned"]  # the tiny study's heads have one layer


@pytest.fixture
def listed(trained):
    """The claims whose systems the tiny study has trained."""
    table = claims.claims(trained.study)
    return table.assign(planned=table["b"].isin(["teacher/electra", "teacher/albert"]) & table["planned"])


def test_claimed_pairs_are_tested_once_and_corrected_without_the_trivial_one(trained, listed):
    found = claims.paired(trained.study, listed)
    pairs = [("mhs/3h1", "teacher/albert"), ("mhs/3h1", "teacher/electra")]
    assert list(zip(found["a"], found["b"], strict=True)) == [*pairs, claims.TRIVIAL]
    alone = compare(trained.study, scored(trained.study, claims.TRIVIAL), [claims.TRIVIAL], draw_seeds=True)
    pandas.testing.assert_frame_equal(found.tail(1).set_index(["a", "b"]), alone)
    assert found["p Holm"].iloc[0] >= found["p"].iloc[0]
    assert found["p Holm"].iloc[2] == found["p"].iloc[2]


def test_judged_claims_are_the_planned_ones_with_their_verdict_and_the_trivial_pair(trained, listed):
    tests = claims.paired(trained.study, listed)
    better, equal = (claims.judged(trained.study, listed, tests, equal=kind) for kind in (False, True))
    assert better.index.tolist() == ["MHS − albert large", "MHS − WO+RR (trivial)"]
    assert equal.index.tolist() == ["MHS − albert large", "MHS − electra large", "MHS − WO+RR (trivial)"]
    assert set(equal["verdict"].iloc[:2]) <= set(claims.VERDICTS)
    assert claims.counts(equal).sum() == 2  # of the trivial pair nothing is claimed
    assert len(claims.not_run(trained.study, listed)) == len(listed) - 3


def test_counts_of_what_did_not_occur_are_left_out_of_a_sentence():
    table = pandas.DataFrame({"verdict": ["upheld", "not shown", "upheld"], "test": ["Wilcoxon", "Wilcoxon", "none"]})
    assert claims.sentences_differences(table) == [
        "Claims that one system is better, 3: 2 upheld, 1 not shown.",
        "Upheld, of those for which the paper names a Wilcoxon test: 1 of the 2.",
    ]
