import pandas
import pytest

from as2lib import Study
from as2lib.papers import claims
from as2lib.papers.claims import Interval
from as2lib.study import results


@pytest.mark.parametrize(
    ("claim", "low", "high", "published", "verdict"),
    [
        ("better", 1.0, 3.0, 2.0, claims.REPRODUCED),
        ("better", 1.0, 3.0, 5.0, claims.SMALLER),
        ("better", 4.0, 6.0, 2.0, claims.LARGER),
        ("better", -1.0, 3.0, 2.0, claims.UNDECIDED),
        ("better", -1.0, 1.0, 2.0, claims.NOT_SEEN),
        ("better", -3.0, -1.0, 2.0, claims.CONTRADICTED),
        ("better", 1.0, 3.0, float("nan"), claims.SAME_DIRECTION),  # the paper prints no difference
        ("better", 1.0, 3.0, -0.1, claims.SAME_DIRECTION),  # the paper's own numbers are against its claim
        ("equal", -1.0, 1.0, 0.2, claims.REPRODUCED),  # within the margin of one point
        ("equal", 0.1, 0.9, 0.2, claims.REPRODUCED),  # a difference that is real, and small
        ("equal", 0.1, 1.3, 0.2, claims.UNDECIDED),
        ("equal", -3.0, 0.5, 0.2, claims.UNDECIDED),
        ("equal", 1.1, 3.0, 0.2, claims.CONTRADICTED),
        ("equal", -3.0, -1.1, 0.2, claims.CONTRADICTED),
        ("equal or better", 1.0, 3.0, 2.0, claims.REPRODUCED),  # where a gain is printed, as of any gain
        ("equal or better", -0.5, 0.5, 2.0, claims.NOT_SEEN),
        ("equal or better", -0.9, -0.1, 0.2, claims.CONTRADICTED),
        ("equal or better", -0.9, 3.0, float("nan"), claims.REPRODUCED),
        ("equal or better", -0.9, 3.0, -0.1, claims.REPRODUCED),
        ("equal or better", -1.1, 3.0, float("nan"), claims.UNDECIDED),
        ("equal or better", -3.0, -1.1, float("nan"), claims.CONTRADICTED),
    ],
)
def test_every_verdict(claim, low, high, published, verdict):
    assert claims.verdict(claim, Interval((low + high) / 2, low, high), published) == verdict


def test_a_study_that_has_run_nothing_judges_nothing(root):
    study = Study.load("tiny")
    study.store.find = lambda name, model=False: None
    table = claims.table(study)
    assert set(table["verdict"]) == {claims.NOT_TESTABLE}
    assert (table["reason"] != "").all()
    assert claims.counts(table).loc["all", claims.NOT_TESTABLE] == len(table)


def test_claims_are_judged_by_the_runs_and_by_no_other_set_than_the_studys(invented):
    by_pair = claims.table(invented).set_index(["a", "b"])
    by_set = by_pair.loc[[("mhs/3h1", "base/electra")]].set_index("set")
    assert by_set.loc["WikiQA", "verdict"] != claims.NOT_TESTABLE
    judged = (by_pair["verdict"] != claims.NOT_TESTABLE).tolist()
    assert judged == sorted(judged, reverse=True)
    assert by_set.loc["WikiQA", "low"] <= by_set.loc["WikiQA", "difference"] <= by_set.loc["WikiQA", "high"]
    assert by_set.loc["WikiQA", "seeds"] == len(invented.systems["mhs/3h1"].seeds)
    assert pandas.isna(by_set.loc["ASNQ", "seeds"])
    assert by_set.loc["ASNQ", "verdict"] == claims.NOT_TESTABLE
    assert "ASNQ" in by_set.loc["ASNQ", "reason"]
    private = by_pair.loc[[("mhs/3h1", "student/sum")]]  # of IAS2, which no study has
    assert (private["seeds"].iloc[0], private["verdict"].iloc[0]) == (1, claims.NOT_TESTABLE)
    assert private["reason"].iloc[0] == claims.ONE_SEED


def test_a_claim_is_testable_where_our_teachers_stand_for_the_papers(invented):
    none = {"teachers.roberta.stands_for": None, "teachers.albert.stands_for": None}
    reasons = claims.table(Study.load("tiny", none), ["CERBERUS"]).set_index("claim")["reason"]
    paper = claims.listed().query("paper == 'CERBERUS' and set != 'ASNQ'")
    others = paper[
        (paper[["a", "b"]].apply(lambda runs: runs.str.contains("albert|roberta|/bases|taught-bases"))).any(axis=1)
    ]
    assert (reasons == claims.NO_TEACHER).sum() == len(others) > 0
    assert claims.NO_TEACHER not in set(claims.table(invented, ["CERBERUS"])["reason"])


def test_a_recall_at_a_precision_keeps_its_numbers_and_is_not_judged(monkeypatch):
    listed = claims.listed()
    recall = listed[(listed["a"] == "govern/govern") & (listed["b"] == "govern/mean") & (listed["metric"] == "q R@P")]
    monkeypatch.setattr(claims, "listed", lambda: recall)
    [row] = claims.table(Study.load("wikiqa")).itertuples()
    assert row.metric == "q R@P=50"
    assert row.low <= row.difference <= row.high
    assert (row.verdict, row.reason) == (claims.NOT_TESTABLE, claims.FEW)


def test_an_interval_of_the_first_seeds_is_that_of_a_system_which_has_no_others(monkeypatch):
    scores = claims.Scores(Study.load("wikiqa"))
    pair = ("govern/govern-ca", "govern/govern", "qp prAUC")
    first = scores.interval(*pair, seeds=1)
    every = scores.tables("govern/govern")
    assert len(every) == 3
    monkeypatch.setitem(scores._tables, "govern/govern", every[:1])
    assert scores.interval(*pair) == first
    monkeypatch.setitem(scores._tables, "govern/govern", every)
    assert scores.interval(*pair) != first


def test_an_interval_is_that_of_results(invented):
    rows = [invented.systems[name] for name in ("mhs/3h1", "student/electra")]
    test = results.compare(results.load(invented, rows), [("mhs/3h1", "student/electra")], measure="P@1").iloc[0]
    interval = claims.Scores(invented).interval("mhs/3h1", "student/electra", "P@1")
    assert interval._asdict() == pytest.approx(test[["difference", "low", "high"]].to_dict())
