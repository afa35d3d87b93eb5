from types import SimpleNamespace

import pandas
import pytest

from as2lib import Study
from as2lib.papers import claims
from as2lib.study import results

NAN = float("nan")


@pytest.mark.parametrize(
    ("claim", "low", "high", "published", "verdict"),
    [
        ("better", 1.0, 3.0, 2.0, "reproduced"),
        ("better", 1.0, 3.0, NAN, claims.SAME_DIRECTION),  # the paper prints no difference
        ("better", 1.0, 3.0, -0.1, claims.SAME_DIRECTION),  # the paper's own numbers are against its claim
        ("equal", 0.9, 1.9, 1.4, "contradicted"),  # a difference is none the less one where the paper has it too
        ("equal or better", -0.5, 5.0, NAN, "supported"),
        ("little worse at most", -0.7, -0.1, -0.3, "supported"),
    ],
)
def test_every_verdict(claim, low, high, published, verdict):
    assert claims.verdict({"claim": claim, "published": published, "margin": 0.8}, low, high) == verdict


def test_every_claim_of_equality_has_a_margin_and_where_it_comes_from(root):
    listed = claims.listed(Study.load("tiny"))
    by_margin = listed[~listed["claim"].isin(["better", claims.COUNTED]) & (listed["not here"] == "")]
    assert by_margin["margin"].gt(0).all()
    assert by_margin["margin from"].ne("").all()


@pytest.mark.parametrize(("right", "verdict"), [(True, "reproduced"), (False, "contradicted")])
def test_a_claim_that_is_counted_is_judged_by_every_seed(invented, monkeypatch, right, verdict):
    counted = pandas.DataFrame({"teachers": [3, 3, 1], "student": [True, right, False]})
    seeds = [SimpleNamespace(majority=lambda: counted[:1]), SimpleNamespace(majority=lambda: counted)]
    monkeypatch.setattr(claims.analyses, "by_seed", lambda study: seeds)
    assert claims.counted(invented, "right where all teachers are") == verdict


def test_a_study_that_has_run_nothing_judges_nothing(root):
    study = Study.load("tiny")
    study.store.find = lambda name, model=False: None
    assert set(claims.table(study)["verdict"]) == {claims.NOT_TESTABLE}


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
    assert set(claims.table(one, ["CERBERUS"]).query("metric == 'questions'")["reason"]) == {claims.ONE_SEED}


def test_a_claim_is_testable_where_our_teachers_stand_for_the_papers(invented):
    none = {"teachers.roberta.stands_for": None, "teachers.albert.stands_for": None}
    reasons = claims.table(Study.load("tiny", none), ["CERBERUS"])["reason"]
    paper = claims.listed(invented).query("paper == 'CERBERUS' and set != 'ASNQ'")[["a", "b"]]
    paper = paper[~paper.apply(lambda runs: runs.str.startswith(claims.EACH_STUDENT)).any(axis=1)]
    others = paper.apply(lambda runs: runs.str.contains("albert|roberta|/bases|taught-bases")).any(axis=1)
    assert (reasons == claims.NO_TEACHER).sum() == others.sum() > 0


def test_a_difference_is_that_of_every_other_page(invented):
    study = Study.load("tiny", {"seeds": [0, 1, 2], "rows": {"student/electra": [1, 2]}})  # paired by their numbers
    rows = [study.systems[name] for name in ("mhs/3h1", "student/electra")]
    test = results.compare(results.load(study, rows), [("mhs/3h1", "student/electra")], measure="P@1").iloc[0]
    pair = (claims.Side("mhs/3h1", ""), claims.Side("student/electra", ""), "P@1")
    assert claims.intervals(study, [pair])[pair] == pytest.approx(test[claims.INTERVAL].to_dict())


def test_measures_over_all_pairs_and_recalls_are_judged_over_questions_and_seeds(invented, sections):
    study = Study.load("tiny", sections)
    table = claims.table(study, ["GOVERN"]).set_index(["a", "b", "metric"])
    recall = table.loc[("govern/govern", "govern/mean", f"q R@P={100 * study.govern.precisions[-1]:.0f}")]
    assert recall["low"] <= recall["difference"] <= recall["high"]
    assert recall["smallest seen"] > 10
    assert (recall["verdict"], recall["reason"]) == (claims.NOT_TESTABLE, claims.TOO_COARSE)
    area = table.loc[("govern/govern-of-5", "govern/govern-of-3", "qp prAUC")]
    assert area["low"] < area["difference"] < area["high"]
    assert (area["verdict"] == claims.NOT_TESTABLE) == (area["smallest seen"] > 10)
    assert area["seeds"] == len(study.seeds)
