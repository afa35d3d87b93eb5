import pandas
import pytest

from as2lib import Study
from as2lib.metrics.threshold import pair_pr_auc
from as2lib.papers import claims
from as2lib.papers.claims import Interval
from as2lib.papers.govern import analyses as govern
from as2lib.study import results


@pytest.mark.parametrize(
    ("claim", "low", "high", "published", "verdict"),
    [
        ("better", 1.0, 3.0, 2.0, "reproduced"),
        ("better", -1.0, 3.0, 2.0, "undecided"),
        ("better", -1.0, 1.0, 2.0, "not seen"),
        ("better", 1.0, 3.0, float("nan"), claims.SAME_DIRECTION),  # the paper prints no difference
        ("better", 1.0, 3.0, -0.1, claims.SAME_DIRECTION),  # the paper's own numbers are against its claim
        ("equal", -3.9, -0.9, 1.4, "contradicted"),  # as the same difference is on every page
        ("equal", 0.1, 0.9, 0.2, "reproduced"),
        ("equal", -10.5, -2.7, -0.2, "contradicted"),  # a larger difference in the paper's direction is no equality
        ("equal", 0.1, 0.9, 1.4, "contradicted"),  # nor is a smaller one
        ("equal", 0.1, 0.9, float("nan"), "contradicted"),
        ("equal", -1.0, 1.0, 2.0, "not seen"),
        ("equal", -3.0, 0.5, -0.2, "undecided"),
        ("equal or better", -0.5, 0.5, 2.0, "not seen"),
        ("equal or better", -0.9, 3.0, float("nan"), "undecided"),
        ("equal or better", -3.0, -1.1, float("nan"), "contradicted"),
    ],
)
def test_every_verdict(claim, low, high, published, verdict):
    assert claims.verdict(claim, Interval((low + high) / 2, low, high, 3), published) == verdict


def test_a_study_that_has_run_nothing_judges_nothing(root):
    study = Study.load("tiny")
    study.store.find = lambda name, model=False: None
    table = claims.table(study)
    assert set(table["verdict"]) == {claims.NOT_TESTABLE}
    assert claims.counts(table).loc["all", claims.NOT_TESTABLE] == len(table)


def test_claims_are_judged_by_the_runs_and_published_differences_are_of_the_studys_set(invented, monkeypatch):
    table = claims.table(invented, ["CERBERUS"])
    mhs = table.set_index(["a", "b"]).loc[("mhs/3h1", "base/electra")]
    assert (mhs["set"], round(mhs["published"], 1), mhs["seeds"]) == ("WikiQA", 1.7, 2)
    assert mhs["low"] <= mhs["difference"] <= mhs["high"]
    assert claims.NO_TEACHER not in set(table["reason"])
    monkeypatch.setattr(claims, "published_set", lambda study: "ASNQ")
    ensemble = claims.table(invented, ["CERBERUS"]).set_index(["a", "b"])
    ensemble = ensemble.loc[("ensemble/taught-bases", "student/electra")]
    assert (ensemble["set"], round(ensemble["published"], 1)) == ("ASNQ", -1.1)


def test_a_claim_that_rests_on_one_seed_has_numbers_and_no_verdict(invented):
    one = Study.load("tiny", {"rows": {"mhs/3h1": [0]}})
    mhs = claims.table(one, ["CERBERUS"]).set_index(["a", "b"]).loc[("mhs/3h1", "hydra/3h1")]
    assert (mhs["verdict"], mhs["reason"], mhs["seeds"]) == (claims.NOT_TESTABLE, claims.ONE_SEED, 1)
    assert pandas.notna(mhs["difference"])


def test_a_claim_is_testable_where_our_teachers_stand_for_the_papers(invented):
    none = {"teachers.roberta.stands_for": None, "teachers.albert.stands_for": None}
    reasons = claims.table(Study.load("tiny", none), ["CERBERUS"])["reason"]
    paper = claims.listed(invented).query("paper == 'CERBERUS' and set != 'ASNQ'")[["a", "b"]]
    others = paper.apply(lambda runs: runs.str.contains("albert|roberta|/bases|taught-bases")).any(axis=1)
    assert (reasons == claims.NO_TEACHER).sum() == others.sum() > 0


def test_a_difference_is_that_of_every_other_page(invented):
    rows = [invented.systems[name] for name in ("mhs/3h1", "student/electra")]
    test = results.compare(results.load(invented, rows), [("mhs/3h1", "student/electra")], measure="P@1").iloc[0]
    pair = ("mhs/3h1", "student/electra", "P@1")
    interval = claims.Scores(invented).intervals([pair])[pair]
    assert interval._asdict() == pytest.approx(test[["difference", "low", "high", "seeds"]].to_dict())


def test_a_measure_over_all_pairs_is_judged_over_questions_and_seeds_and_a_recall_is_not(invented, sections):
    study = Study.load("tiny", sections)
    table = claims.table(study, ["GOVERN"]).set_index(["a", "b", "metric"])
    recall = table.loc[("govern/govern", "govern/mean", f"q R@P={100 * study.govern.precisions[-1]:.0f}")]
    assert (recall["verdict"], recall["reason"]) == (claims.NOT_TESTABLE, claims.FEW)
    area = table.loc[("govern/govern-of-5", "govern/govern-of-3", "qp prAUC")]
    assert area["low"] < area["difference"] < area["high"]
    assert area["seeds"] == len(study.seeds)


def test_a_measure_over_all_pairs_has_of_one_seed_the_interval_over_questions_alone(invented, sections):
    one = Study.load("tiny", {**sections, "seeds": [0]})
    test = govern.compare(one, [("govern/govern", "govern/mean")]).loc[("govern/govern", "govern/mean")]
    areas = [pair_pr_auc(*govern.columns(one.runs(name)[0])[1:]) for name in ("govern/govern", "govern/mean")]
    assert test["difference"] == pytest.approx(100 * (areas[0] - areas[1]))
    assert pandas.isna(test["low"])
    assert test["questions low"] < test["difference"] < test["questions high"]
