import re

import pandas
import pytest

from as2lib import Study
from as2lib.papers import claims
from as2lib.papers.building import FAMILIES
from as2lib.papers.claims import Interval
from tests.papers.conftest import encoder


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
        ("better", -1.0, 3.0, float("nan"), claims.UNDECIDED),
        ("equal", -1.0, 1.0, 0.2, claims.UNDECIDED),  # an interval shows no equality
        ("equal", 1.0, 3.0, 0.2, claims.CONTRADICTED),
        ("equal", -3.0, -1.0, 0.2, claims.CONTRADICTED),
        ("equal or better", 1.0, 3.0, 0.2, claims.REPRODUCED),
        ("equal or better", -1.0, 3.0, 0.2, claims.UNDECIDED),
        ("equal or better", -3.0, -1.0, 0.2, claims.CONTRADICTED),
    ],
)
def test_every_verdict(claim, low, high, published, verdict):
    assert claims.verdict(claim, Interval((low + high) / 2, low, high), published) == verdict
    assert verdict in claims.VERDICTS


def test_no_claim_is_a_count():
    assert set(claims.listed()["claim"]) == {*claims.SIGNS}
    assert set(claims.listed()["paper"]) == {*claims.PAPERS.values()}


def judged(study, **columns):
    table = claims.table(study)
    for name, value in columns.items():
        table = table[table[name] == value]
    return table


def test_a_study_that_has_run_nothing_judges_nothing(root):
    study = Study.load("tiny")
    study.store.find = lambda name, model=False: None
    table = claims.table(study)
    assert set(table["verdict"]) == {claims.NOT_TESTABLE}
    assert (table["reason"] != "").all()
    assert claims.counts(table).loc["all", claims.NOT_TESTABLE] == len(table)


def test_claims_are_judged_by_the_runs_and_by_no_other_set_than_the_studys(invented):
    table = judged(invented, a="mhs/3h1", b="base/electra")
    by_set = table.set_index("set")
    assert by_set.loc["WikiQA", "verdict"] != claims.NOT_TESTABLE
    assert by_set.loc["WikiQA", "low"] <= by_set.loc["WikiQA", "difference"] <= by_set.loc["WikiQA", "high"]
    assert by_set.loc["ASNQ", "verdict"] == claims.NOT_TESTABLE
    assert "ASNQ" in by_set.loc["ASNQ", "reason"]
    private = judged(invented, a="mhs/3h1", b="kd/electra-sum")  # of IAS2, which no study has
    assert private["verdict"].iloc[0] != claims.NOT_TESTABLE


def test_no_claim_about_families_is_testable_where_one_encoder_stands_behind_them(invented, monkeypatch):
    monkeypatch.setattr(claims, "one_encoder", lambda study: True)
    reasons = claims.table(invented, ["CERBERUS"]).set_index(["a", "b"])["reason"]
    for pair in (("mhs/3h1", "base/albert"), ("kd/roberta", "base/roberta"), ("mhs/3h1", "ensemble/kd")):
        assert set(reasons.loc[[pair]]) == {claims.ONE_ENCODER}
    assert "" in set(reasons.loc[[("mhs/3h1", "base/electra")]])
    assert "" in set(reasons.loc[[("mhs/3h1", "ensemble/distilled")]])


def test_one_encoder_is_a_name_that_all_large_models_share(root):
    assert not claims.one_encoder(Study.load("tiny"))  # each starts from a configuration of its own
    named = {
        f"backbones.{family}.large": {"name": "hub/one", "label": "", "config": None}
        for family in ("electra", "roberta")
    }
    same = {**named, "backbones.albert.large": {"name": "hub/one", "label": "", "config": None}}
    assert claims.one_encoder(Study.load("tiny", same))


def test_a_head_of_the_paper_stands_for_as_large_a_share_of_the_layers(root):
    scores = claims.Scores(Study.load("tiny"))  # four layers: a head of six of twelve has two of them
    assert scores.name("mhs/3h6") == "mhs/3h2"
    assert scores.label("mhs/3h6") == "MHS, heads of 2 layers"
    assert scores.missing(scores.name("mhs/3h2"))
    assert scores.name("teacher/electra") == "teacher/electra"


def test_the_ensemble_of_three_families_is_the_ensemble_of_three_where_their_base_models_are_one(root):
    assert claims.Scores(Study.load("tiny")).name("ensemble/kd") == "ensemble/kd"
    shared = {f"backbones.{family}.base": encoder("electra", 16) for family in FAMILIES}
    assert claims.Scores(Study.load("tiny", shared)).name("ensemble/kd") == "ensemble/distilled"
    assert claims.Scores(Study.load("tiny", shared)).label("ensemble/kd") == "ensemble of three families' students"


def test_a_recall_at_a_precision_keeps_its_numbers_and_is_not_judged(monkeypatch):
    listed = claims.listed()
    recall = listed[(listed["a"] == "govern/govern") & (listed["b"] == "govern/mean") & (listed["metric"] == "q R@P")]
    monkeypatch.setattr(claims, "listed", lambda: recall)
    [row] = claims.table(Study.load("wikiqa")).itertuples()
    assert row.metric == "q R@P=50"
    assert row.low <= row.difference <= row.high
    assert (row.verdict, row.reason) == (claims.NOT_TESTABLE, claims.FEW)


@pytest.mark.parametrize("name", ["wikiqa", "selqa"])
def test_no_system_of_a_claim_is_called_by_the_name_of_its_runs(name):
    study = Study.load(name)
    scores, listed = claims.Scores(study), claims.listed()
    here = listed[[getattr(study, claims.SECTIONS.get(paper, "seeds")) is not None for paper in listed["paper"]]]
    names = [run for run in {*here["a"], *here["b"]} if not run.startswith("online")]
    assert names
    assert not [label for label in map(scores.label, names) if re.search(r"\w/\w", label)]


def test_an_interval_is_that_of_results(invented):
    from as2lib.study import results

    rows = [invented.systems[name] for name in ("mhs/3h1", "kd/electra")]
    test = results.compare(results.load(invented, rows), [("mhs/3h1", "kd/electra")], measure="P@1").iloc[0]
    interval = claims.Scores(invented).interval("mhs/3h1", "kd/electra", "P@1")
    pandas.testing.assert_series_equal(
        pandas.Series(interval._asdict()), test[["difference", "low", "high"]].astype(float), check_names=False
    )
