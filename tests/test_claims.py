import pandas
import pytest

from as2lib.papers import claims as judging
from as2lib.papers.cerberus import claims
from as2lib.papers.cerberus.systems import SECOND
from as2lib.papers.kinds.plan import BEHIND
from as2lib.runs.results import compare, published, scored
from tests.invented import invent, whole


def test_every_claim_is_about_two_rows_of_the_papers_tables():
    rows = pandas.concat([published(f"cerberus_table{number}")["run"] for number in (2, 3, 4)])
    found = published("cerberus_claims").query("claim != 'counted'")
    named = {name.removesuffix(BEHIND).removeprefix(SECOND) for name in {*found["a"], *found["b"]}}
    assert named - set(rows) == {"kd/electra-from-ensemble"}  # of section 3.2, which no table has
    assert set(found["claim"]) == {"better", "equal", "equal or better"}
    assert not found.duplicated(["a", "b", "claim"]).any()
    caption = found.query("family == 7").query("a == 'mhs/3h1' and test == 'Wilcoxon'")[
        "b"
    ]  # all models of a comparable size
    assert sorted(caption) == sorted(
        [f"{r}/{f}" for r in ("base", "kd") for f in ("albert", "roberta", "electra")] + ["hydra/3h1"]
    )


def test_claims_without_runs_say_why_and_keep_what_the_paper_says(trained):
    absent = claims.not_run(claims.examined(trained.study)).set_index("source")
    sizes = absent.loc["section 5.4, Table 4: 3H6"]
    assert sizes[["published", "set", "reason"]].tolist() == [-0.2, "IAS2", "the study has no MHS 3H6 of 12 layers"]
    assert "base/albert is planned, not run" in set(absent["reason"])


def test_claimed_pairs_are_tested_once_and_corrected_without_the_trivial_one(trained):
    found = claims.pairs(claims.examined(trained.study))
    teachers = [("mhs/3h1", f"teacher/{family}") for family in ("albert", "roberta", "electra")]
    assert list(zip(found["a"], found["b"], strict=True)) == [*teachers, claims.TRIVIAL]
    alone = compare(trained.study, scored(trained.study, claims.TRIVIAL), [claims.TRIVIAL])  # of one seed: its interval
    same = {"check_names": False, "check_dtype": False}
    pandas.testing.assert_series_equal(found[alone.columns].iloc[-1], alone.iloc[0], **same)
    assert found["p Holm"].iloc[0] >= found["p"].iloc[0]
    assert found["p Holm"].iloc[-1] == found["p"].iloc[-1]


def test_judged_claims_are_those_that_ran_with_their_verdict_and_the_trivial_pair(trained):
    examined = claims.examined(trained.study)
    better, equal = (claims.judged(examined, equal=kind) for kind in (False, True))
    assert better.index.tolist() == ["MHS − albert large", "MHS − WO+RR (trivial)"]
    assert equal.index.tolist() == [
        *(f"MHS − {family} large" for family in ("albert", "roberta", "electra")), "MHS − WO+RR (trivial)",
    ]  # fmt: skip
    assert set(equal["verdict"].iloc[:-1]) <= set(judging.VERDICTS)
    assert claims.counts(equal).sum() == 3  # of the trivial pair nothing is claimed
    assert len(claims.not_run(examined)) == len(examined) - 5


def test_this_page_and_the_overview_give_a_claim_one_verdict_and_one_interval(root):
    study = whole(root)  # some of whose rows were trained longer
    invent(study)
    same = ["verdict", "difference", "low", "high", "p Holm", "p equal", "smallest effect"]
    every = judging.examined(study, judging.listed()).query("paper == 'cerberus' and family == 7")
    here = claims.examined(study).iloc[:-1]
    assert here["a"].str.startswith("longer/").any()
    pandas.testing.assert_frame_equal(here[same].reset_index(drop=True), every[same].reset_index(drop=True))


@pytest.mark.parametrize(("p", "said"), [(1e-9, ", also MHS and the trivial ranker."), (0.5, ", but not MHS and")])
def test_whether_spearmans_test_calls_the_trivial_pair_equal_is_said_apart_from_what_wilcoxons_does(trained, p, said):
    found = {"p ρ Holm": [1e-9, p], "p Holm": [1e-9, 0.5], "p equal": 1.0, "difference": 1.0}
    tests = pandas.DataFrame(found, index=["a", "b"])
    judged = pandas.DataFrame({"verdict": ["contradicted"]})
    sentence = claims.sentences_equalities(trained.study, judged, tests)[1]
    assert said in sentence
    assert f"a real difference in {'1 of the 2 pairs' if p < 0.1 else 'the only one'}." in sentence
