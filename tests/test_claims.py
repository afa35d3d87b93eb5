import numpy
import pandas
import pytest

from as2lib.papers.cerberus import claims
from as2lib.papers.cerberus.plan import claimed
from as2lib.runs import results as tables


def row(difference, p, equal):
    return pandas.Series({"difference": difference, "p Holm": p, "p equal": equal})


@pytest.mark.parametrize(
    ("claim", "tests", "verdict"),
    [
        ("better", row(3, 0.001, 0.9), "upheld"),
        ("better", row(0.1, 0.001, 0.001), "upheld"),
        ("better", row(-3, 0.001, 0.9), "contradicted"),
        ("better", row(0.1, 0.5, 0.001), "within margin"),
        ("better", row(3, 0.02, 0.9), "not shown"),
        ("equal", row(0.1, 0.5, 0.001), "upheld"),
        ("equal", row(0.1, 0.001, 0.001), "upheld"),
        ("equal", row(3, 0.001, 0.9), "contradicted"),
        ("equal", row(3, 0.5, 0.9), "not shown"),
        ("equal or better", row(3, 0.001, 0.9), "upheld"),
        ("equal or better", row(-0.1, 0.5, 0.001), "upheld"),
        ("equal or better", row(-3, 0.001, 0.9), "contradicted"),
        ("equal or better", row(-3, 0.5, 0.9), "not shown"),
    ],
)
def test_a_verdict_follows_from_the_tests(claim, tests, verdict):
    assert claims.verdict(claim, tests, 0.01) == verdict
    assert verdict in claims.VERDICTS


def test_every_claim_is_about_two_rows_of_the_papers_tables():
    rows = pandas.concat([tables.published(f"cerberus_table{number}")["run"] for number in (2, 3, 4)])
    found = tables.published("cerberus_claims")
    assert set(found["a"]) | set(found["b"]) <= set(rows)
    assert set(found["claim"]) == {"better", "equal", "equal or better"}
    assert not found.duplicated(["a", "b", "claim"]).any()
    caption = found.query("a == 'mhs/3h1' and test == 'Wilcoxon'")["b"]  # all models of a comparable size
    assert sorted(caption) == sorted(
        [f"{r}/{f}" for r in ("base", "kd") for f in ("albert", "roberta", "electra")] + ["hydra/3h1"]
    )


def test_claims_know_which_systems_are_planned_and_the_published_difference(trained):
    found = claims.claims(trained.study).set_index(["a", "b", "claim"])
    assert found.loc[("mhs/3h1", "teacher/electra", "equal"), "planned"]
    assert found.loc[("mhs/3h1", "teacher/electra", "equal"), ["published", "on"]].tolist() == [1.4, "WikiQA"]
    sizes = found.loc[("mhs/3h6", "mhs/3h1", "equal")]
    assert sizes[["published", "on"]].tolist() == [-0.2, "IAS2"]
    planned = {prefix for (a, b, _), row in found.iterrows() if row["planned"] for prefix in (a, b)}
    assert planned == claimed(trained.study)


def test_compared_gives_what_comparisons_gives_and_corrects_over_distinct_pairs(trained):
    pairs = [("mhs/3h1", "teacher/electra"), ("mhs/3h1", "lexical/word_overlap")]
    found = claims.compared(trained.study, [*pairs, pairs[0]])
    assert found.index.tolist() == pairs
    labels = {prefix: prefix for pair in pairs for prefix in pair}
    other = tables.comparisons(trained.study, pairs, labels)
    same = ["difference", "p", "p Holm", "effect", "p equal", "won", "lost", "tied"]
    numpy.testing.assert_allclose(found[same].to_numpy(float), other[same].to_numpy(float))
    assert (found["low"] <= found["high"]).all()


def test_judged_claims_are_the_planned_ones_with_their_verdict(trained):
    listed = claims.claims(trained.study)
    listed["planned"] = listed["b"].isin(["teacher/electra", "teacher/albert"]) & listed["planned"]
    pairs = list(zip(*(listed[listed["planned"]][side] for side in ("a", "b")), strict=True))
    found = claims.judged(trained.study, listed, claims.compared(trained.study, pairs))
    assert found.index.tolist() == ["MHS − albert large", "MHS − albert large", "MHS − electra large"]
    assert set(found["verdict"]) <= set(claims.VERDICTS)


def test_a_tally_leaves_out_what_did_not_occur():
    counts = pandas.Series([2, 0, 1], index=["upheld", "contradicted", "not shown"])
    assert claims.tally(counts) == "2 upheld, 1 not shown"
