from collections import namedtuple

import numpy
import pandas
import pytest
from scipy import stats

from as2lib import Study
from as2lib.metrics import significance, threshold
from as2lib.papers import claims, fidelity, verdicts
from as2lib.papers.cerberus import longer, sets
from as2lib.papers.govern import systems as govern
from as2lib.paths import find_root
from as2lib.runs.results import published

Row = namedtuple("Row", ["published", "digits", "computed", "by"])
NEVER = {"online GOVERN", "online mean"}  # people judged them


@pytest.mark.parametrize(
    ("claim", "difference", "p", "equal", "verdict"),
    [
        ("better", 3, 0.001, 0.9, "reproduced"),  # above zero
        ("better", 0.1, 0.001, 0.001, "reproduced"),
        ("better", -3, 0.001, 0.9, "contradicted"),  # below zero
        ("better", 0, 0.5, 0.001, "within the margin"),  # at zero
        ("better", 3, 0.02, 0.9, "inconclusive"),
        ("equal", 0, 0.5, 0.001, "reproduced"),
        ("equal", 3, 0.001, 0.9, "contradicted"),
        ("equal", -3, 0.5, 0.9, "inconclusive"),
        ("equal or better", 3, 0.001, 0.9, "reproduced"),
        ("equal or better", 0, 0.5, 0.001, "reproduced"),
        ("equal or better", -3, 0.001, 0.9, "contradicted"),
        ("equal or better", -3, 0.5, 0.9, "inconclusive"),
    ],
)
def test_a_verdict_follows_from_difference_and_tests(claim, difference, p, equal, verdict):
    assert claims.verdict(claim, difference, p, equal, 0.01) == verdict


@pytest.mark.parametrize(("ours", "verdict"), [(38, "reproduced"), (42, "reproduced"), (43, "contradicted")])
def test_what_is_counted_is_reproduced_within_its_tolerance(ours, verdict):
    row = {"reason": "", "claim": "counted", "difference": ours, "published": 40.0, "tolerance": 5}
    assert claims._verdict(pandas.Series(row), 0.01) == verdict
    assert claims._verdict(pandas.Series(row | {"reason": "not run"}), 0.01) == "not testable here"


def test_the_smallest_effect_is_found_as_often_as_its_power_says():
    generator, n = numpy.random.default_rng(0), 243
    noise = generator.normal(0, 0.3, (2000, n))
    effect = significance.smallest_shown(0.3 / n**0.5, alpha=0.01, power=0.8)
    found = stats.wilcoxon(noise + effect, axis=1).pvalue < 0.01
    assert found.mean() == pytest.approx(0.79, abs=0.03)
    a, b = noise[0], numpy.zeros(n)
    assert significance.smallest_effect(a, b) == pytest.approx((2.575829 + 0.841621) * a.std(ddof=1) / n**0.5)


@pytest.mark.parametrize("measure", ["q R@P", "qp R@P", "qp prAUC"])
def test_resampled_measures_are_the_plain_ones_of_the_drawn_questions(measure):
    generator = numpy.random.default_rng(1)
    sizes = generator.integers(1, 6, 40)
    question = numpy.repeat(numpy.arange(40), sizes).astype(str)
    label = generator.integers(0, 2, len(question))
    score = numpy.round(generator.random(len(question)) + 0.4 * label, 1)  # with ties
    plain = {
        "q R@P": lambda q, y, s: threshold.question_recall_at_precision(q, y, s, 0.7),
        "qp R@P": lambda q, y, s: threshold.pair_recall_at_precision(y, s, 0.7),
        "qp prAUC": lambda q, y, s: threshold.pair_pr_auc(y, s),
    }[measure]
    counts = numpy.vstack([numpy.ones(40, int), generator.multinomial(40, numpy.full(40, 1 / 40), size=3)])
    found = threshold.resampled(question, label, score, counts, measure, 0.7)
    for drawn, value in zip(counts, found, strict=True):
        parts = [(numpy.flatnonzero(question == str(q)), copy) for q in range(40) for copy in range(drawn[q])]
        rows = numpy.concatenate([part for part, _ in parts])
        ids = numpy.concatenate([[f"{question[part[0]]}-{copy}"] * len(part) for part, copy in parts])
        assert value == pytest.approx(plain(ids, label[rows], score[rows]))


@pytest.mark.parametrize(
    ("claim", "a", "b", "baseline", "verdict", "who"),
    [
        ("better", 0.0, 1.0, 0.6, "inconclusive", "the rival has not learnt"),
        ("better", 0.0, 0.5, 0.6, "reproduced", ""),
        ("better", 0.5, 0.0, 0.6, "contradicted", ""),
        ("better", 1.0, 0.0, 0.6, "inconclusive", "the system itself has not learnt"),
        ("equal", 1.0, 1.0, 0.6, "inconclusive", "the rival has not learnt"),
        ("equal", 0.0, 0.0, 0.6, "reproduced", ""),
    ],
)
def test_a_pair_with_a_model_no_better_than_the_trivial_baseline_shows_nothing(
    root, monkeypatch, claim, a, b, baseline, verdict, who
):
    """a, b, baseline: which share of the questions each ranks wrong."""
    study = Study.load("tiny")
    names = {"base/electra": a, "base/roberta": b, "lexical/overlap_then_rank": baseline}
    generator = numpy.random.default_rng(0)

    def scores(name, wrong):
        noise = generator.random(80) * 1e-3  # 40 questions of two candidates, the correct one first
        right = numpy.arange(40) >= wrong * 40
        score = numpy.stack([right, ~right], axis=1).ravel() + noise
        label = numpy.tile([1, 0], 40)
        return [pandas.DataFrame({"question_id": numpy.repeat(numpy.arange(40), 2).astype(str), "label": label})
                .assign(score=score)]  # fmt: skip

    monkeypatch.setattr(claims, "reason", lambda study, row: "")
    monkeypatch.setattr(claims, "scores_of", lambda study, name, split="test": scores(name, names[name]))
    table = claims.listed().head(1).assign(claim=claim, a="base/electra", b="base/roberta")
    found = claims.examined(study, table).iloc[0]
    assert found["verdict"] == verdict
    assert found["reason"].startswith(who)
    assert bool(who) == bool(found["reason"])


def test_what_learns_nothing_may_be_no_better_than_the_trivial_baseline(root, monkeypatch):
    monkeypatch.setattr(claims, "scores_of", lambda *_: pytest.fail("asked how good it is"))
    study = Study.load("tiny")
    assert claims.not_learnt(study, "lexical/word_overlap", "lexical/reciprocal_rank") == ""


@pytest.mark.parametrize(
    ("dev", "test", "learnt"), [(0, 0, True), (0, 1, True), (1, 0, True), (1, 1, False), (0.5, 0.5, False)]
)
def test_what_has_learnt_is_above_the_baseline_on_dev_or_on_the_test_set(root, monkeypatch, dev, test, learnt):
    """dev, test: which share of two questions a model ranks wrong; the baseline ranks one of the two wrong."""
    asked = []

    def scores(study, name, split="test"):
        wrong = 0.5 if name == "lexical/overlap_then_rank" else {"dev": dev, "test": test}[split]
        asked.append((name, split))
        table = pandas.DataFrame({"question_id": ["a", "a", "b", "b"], "label": [1, 0, 1, 0]})
        return [table.assign(score=[int(wrong < 1), int(wrong == 1), int(wrong == 0), int(wrong > 0)])]

    monkeypatch.setattr(claims, "scores_of", scores)
    found = claims.not_learnt(Study.load("tiny"), "lexical/word_overlap", "base/electra")
    assert (found == "") == learnt
    assert {split for _, split in asked} == {"dev", "test"}
    if not learnt:
        assert found.startswith("the rival has not learnt: MAP ")
        assert found.endswith("on the test set")


def test_an_early_exit_may_be_poor_but_of_a_sequence_every_model_must_have_learnt(monkeypatch):
    asked, table = [], pandas.DataFrame({"question_id": ["a", "a"], "label": [1, 0], "score": [1.0, 0.0]})
    monkeypatch.setattr(claims, "scores_of", lambda study, name, split: asked.append((name, split)) or [table])
    study, where = Study.load("wikiqa"), "WO+RR 100.0 on"
    found = claims.not_learnt(study, "MT-6/wide", "CT-6-0.3/wide")
    trivial = [("wide/overlap_then_rank", split) for split in ("dev", "test")]
    assert asked[:4] == [("CT-12/wide", "dev"), trivial[0], ("CT-12/wide", "test"), trivial[1]]
    same = f"the rival has not learnt: MAP 100.0, {where} dev; MAP 100.0, {where} the test set"
    assert found == same  # as good as it is not above it
    assert claims._learners(study, "SR-8-0.3/wide") == ["MT-4/wide", "MT-6/wide", "MT-8/wide"]


def test_the_size_of_a_head_and_of_a_teacher_is_that_of_the_study(root):
    listed = claims.listed()
    study = Study.load("wikiqa")  # four layers, and teachers of three to six
    found = claims.in_this_study(study, listed)
    heads = listed["source"].str.startswith("section 5.4, Table 4") & (listed["paper"] == "cerberus")
    assert found[heads]["a"].tolist() == ["MHS 3H2 of 12 layers", "MHS 3H4 of 12 layers", "mhs/3h2"]
    teacher = listed["b"] == govern.OF_THE_SIZE
    assert set(found[teacher]["b"]) == {"govern/teacher-2"}
    none = study.model_copy(update={"govern": study.govern.model_copy(update={"teachers": study.govern.teachers[:1]})})
    assert set(claims.in_this_study(none, listed)[teacher]["b"]) == {govern.OF_THE_SIZE}
    assert claims.runs_of(none, govern.OF_THE_SIZE) == []


def test_what_was_counted_is_said_apart_from_what_was_measured_and_better_from_equal():
    kinds = ["reproduced: better", "reproduced: counted", "reproduced: equal", "contradicted: counted"]
    table = pandas.DataFrame({"verdict": [*kinds, "inconclusive", "inconclusive", "inconclusive"], "reason": ""})
    table = table.assign(published=-1.0, **{"smallest effect": [3, 3, 3, 3, 0.5, 1.5, 1.5]})
    table.loc[6, "reason"] = f"the rival {claims.NOT_LEARNT}"  # no number of questions would tell
    found = verdicts.counts(table.set_axis(["CERBERUS", "Cosinet", "Cosinet", *["GOVERN"] * 4]))
    assert found.loc["Cosinet", kinds].tolist() == [0, 1, 1, 0]
    assert found.loc["GOVERN", ["inconclusive", verdicts.TOO_SMALL]].tolist() == [3, 1]
    assert verdicts.sentence(found) == (
        "Of 7 claims of the papers: 3 reproduced (1 better by a test, 1 equal within the margin, 1 counted from "
        "architectures and formulas), 1 contradicted (1 counted), 3 inconclusive. For 1 of the 3 inconclusive ones, "
        "the published effect is smaller than what these questions can show."
    )


@pytest.mark.parametrize(
    ("verdict", "claim", "difference", "p", "kind"),
    [
        ("reproduced", "better", 1.0, 0.001, "reproduced: better"),
        ("reproduced", "equal or better", 1.0, 0.001, "reproduced: better"),
        ("reproduced", "equal or better", 1.0, 0.5, "reproduced: equal"),
        ("reproduced", "equal or better", -1.0, 0.001, "reproduced: equal"),  # a difference within the margin
        ("reproduced", "equal", 0.0, 0.5, "reproduced: equal"),
        ("reproduced", "counted", 64.0, float("nan"), "reproduced: counted"),
        ("contradicted", "equal", 3.0, 0.001, "contradicted: measured"),
        ("contradicted", "counted", 3.0, float("nan"), "contradicted: counted"),
        ("within the margin", "better", 0.0, 0.5, "within the margin"),
    ],
)
def test_a_verdict_says_how_it_was_found(root, verdict, claim, difference, p, kind):
    row = pandas.Series({"verdict": verdict, "claim": claim, "difference": difference, "p Holm": p})
    assert verdicts._kind(Study.load("tiny"), row) == kind


def test_a_reader_is_told_of_one_seed_and_of_a_published_number_against_its_claim():
    study = Study.load("wikiqa")
    Claim = namedtuple("Claim", ["claim", "published", "seeds", "verdict", "a", "b"])
    one = Claim("better", -0.1, "1 and 1", "within the margin", "kd/electra-sum", "kd/electra-robin")
    assert verdicts._notes(study, one) == [verdicts.AGAINST, verdicts.ONE_SEED]
    assert verdicts._notes(study, one._replace(claim="equal", seeds="1 and 3")) == []
    assert verdicts._notes(study, one._replace(published=0.1, verdict="inconclusive")) == []
    nobody_learns = {"a": "lexical/overlap_then_rank", "b": "lexical/word_overlap", "published": 1.0}
    assert verdicts._notes(study, one._replace(**nobody_learns)) == []


@pytest.mark.parametrize("name", ["sample", "wikiqa"])
def test_every_claim_is_about_planned_runs_or_says_why_not(name):
    study = Study.load(find_root() / "params" / f"{name}.yaml")
    for row in claims.in_this_study(study, claims.listed()).itertuples():
        assert row.claim in {*claims.SIGNS, "counted"}
        if row.claim == "counted":
            assert row.a in fidelity.COMPUTED
            assert row.tolerance > 0
            continue
        for system in (row.a, row.b):
            assert claims.runs_of(study, system) or claims.reason(study, row), system
    table = claims.listed()
    assert not table.duplicated(["paper", "a", "b", "claim", "metric", "says", "source"]).any()


def test_every_system_of_a_claim_is_planned_by_some_study():
    studies = [Study.load(find_root() / "params" / f"{name}.yaml") for name in ("sample", "wikiqa", "paper")]
    table = claims.listed().query("claim != 'counted'")
    tables = [(study, claims.in_this_study(study, table)) for study in studies]
    for name in ("a", "b"):
        for place, system in table[name].items():
            here = [(study, found[name][place]) for study, found in tables]
            here += [(study, longer.BEFORE + system) for study in studies]
            assert system in NEVER or any(claims.runs_of(*one) for one in here), system


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        ("mhs/3h1", "base/electra", ("longer/mhs/3h1", "longer/base/electra")),
        ("mhs/3h1", "mhs/3h2", ("mhs/3h1", "mhs/3h2")),  # whose fit is short
        ("mhs/3h1", "hydra/3h1", ("longer/mhs/3h1", "longer/hydra/3h1")),
        ("direct/electra-base", "cosinet/birnn", ("longer/direct/electra-base", "cosinet/birnn")),  # has its own budget
        ("cosinet/birnn", "direct/electra-base", ("cosinet/birnn", "longer/direct/electra-base")),
        ("cosinet/birnn", "ca/birnn", ("cosinet/birnn", "ca/birnn")),
        ("mhs/3h1", "lexical/overlap_then_rank", ("longer/mhs/3h1", "lexical/overlap_then_rank")),  # learns nothing
        ("govern/govern", "govern/mean", ("govern/govern-longer", "govern/mean-longer")),
        ("govern/govern", "govern/lr", ("govern/govern", "govern/lr")),  # whose fit is short
        ("govern/govern", "govern/teacher-4", ("govern/govern-longer", "govern/teacher-4")),  # teaches
        ("govern/govern-ca", "govern/govern", ("govern/govern-ca", "govern/govern")),  # starts from the short one
        ("MHS 3H4 of 12 layers", "mhs/3h1", ("MHS 3H4 of 12 layers", "mhs/3h1")),  # which the study has not
    ],
)
def test_a_claim_is_judged_at_the_larger_budget_unless_the_other_system_was_cut_short(a, b, found):
    rows = pandas.DataFrame({"a": [a], "b": [b]})
    table = claims.at_the_larger_budget(Study.load(find_root() / "params" / "wikiqa.yaml"), rows)
    assert (table["a"][0], table["b"][0]) == found


def test_the_cascades_layers_take_the_places_of_the_papers():
    study = Study.load("sample")
    assert claims.runs_of(study, "MT-12/target")[0] == "monolith/4/target/seed-0"
    assert claims.runs_of(study, "CT-6-0.3/wide") == ["cascade/wide/seed-0"]
    assert claims.runs_of(study, "SR-12-0.3/wide") == [f"monolith/{n}/wide/seed-0" for n in (1, 2, 3, 4)]
    assert claims.runs_of(study, "MT-4/wide") == []  # the sample's encoder has four exits, the paper's five


@pytest.mark.parametrize(
    ("by", "of", "value"),
    [
        ("left", "128 0.3 3", 45),  # 128, 90, 63, 45, 32
        ("average batch", "128 0.3", 81.0),
        ("throughput %", "128 0.3 84", 52.38),
        ("cascade cost %", "MT 10", -16.67),
        ("cascade cost %", "CT 0.5", -51.04),  # (4 + 1 + 0.5 + 0.25 + 0.125) / 12 - 1
        ("cascade cost %", "SR 0.5", -8.33),  # (4 + 3 + 2 + 1.25 + 0.75) / 12 - 1
        ("gsb", "27 364 9", 4.5),
        ("arithmetic", "100 * (1 - 124 / 335)", 62.985),
        ("parameters M", "cosinet/point", 0.904201),
        ("encoder M", "12 768", 124.05),
    ],
)
def test_numbers_worked_by_hand(by, of, value):
    assert fidelity.computed(None, by, of) == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize("row", ["mhs/3h1", "base/electra", "ensemble/base"])
def test_operations_are_those_that_the_counter_counts(row):
    from as2lib.papers.cerberus.costs import count

    assert fidelity.operations(row) == pytest.approx(count(row, fidelity.TOKENS)["flops"], rel=0.01)


def test_every_number_has_a_known_way_to_be_computed_and_a_source():
    for paper in fidelity.NAMES:
        table = published(f"{paper}_fidelity")
        assert set(table["by"]) <= {*fidelity.COMPUTED, *fidelity.OF_PAIRS, fidelity.ARITHMETIC}
        assert table[["quantity", "published", "of", "source"]].notna().all().all()
        assert not table.duplicated(["quantity", "source"]).any()


def test_a_number_agrees_within_half_a_printed_digit_and_a_size_within_a_percent():
    def state(published, digits, computed, by="arithmetic"):
        return fidelity._state(Row(published, digits, computed, by))

    assert [state(2.7, 1, value) for value in (2.74, 2.76, numpy.nan)] == ["agrees", "differs", "not here"]
    assert [state(335, 0, 338.0, by) for by in ("parameters M", "set")] == ["agrees", "differs"]


def test_numbers_of_pairs_come_from_published_scores_where_the_texts_are_not_here(monkeypatch):
    monkeypatch.setattr(fidelity, "mapped", lambda source, split: None)
    study = Study.load("wikiqa")
    for of, value in {"questions": 633, "pairs": 6165, "answered %": 38.389}.items():
        assert fidelity.computed(study, "set", f"wikiqa test all | {of}") == pytest.approx(value, abs=1e-3)
    for of, value in {"random P@1": 20.355, "word_overlap MAP": 51.075, "reciprocal_rank MRR": 64.266}.items():
        assert fidelity.computed(study, "ranker", f"wikiqa test {of}") == pytest.approx(value, abs=1e-3)
    assert fidelity.computed(study, "set", "trecqa train all | pairs") == 4718
    for of in ("wikiqa test all | words a question", "asnq test all | pairs", "asnq train all | pairs"):
        assert numpy.isnan(fidelity.computed(study, "set", of))


@pytest.mark.parametrize("where", fidelity.TRAINING)
def test_the_kept_counts_of_a_training_set_are_those_of_its_texts(where):
    source, split, policy = where.split()
    if (pairs := fidelity.mapped(source, split)) is None:
        pytest.skip(f"{source} is not mapped in params/local.yaml")
    assert tuple(sets.statistics(pairs).loc[policy, sets.COUNTS]) == fidelity.TRAINING[where]


def test_no_two_splits_of_the_sets_that_are_said_to_be_apart_share_a_question():
    splits = {source: ("train", "dev", "test")[source == "selqa" :] for source in fidelity.APART}  # that a study reads
    found = {(one, split): fidelity.mapped(one, split) for one, names in splits.items() for split in names}
    if not all(found.values()):
        pytest.skip("the sets are not mapped in params/local.yaml")
    assert sets.leakage(found)["questions"].sum() == 0


def test_what_is_known_of_texts_that_are_not_here_stands_in_their_place():
    columns = ["split", "in this study", "questions kept", *sets.COUNTS, *sets.RATES]
    rows = [["train", "not here", "answered", *[None] * 5], ["dev", "not here", "answered", *[None] * 5]]
    table = pandas.DataFrame(rows, ["WikiQA", "WikiQA"], columns)
    found = fidelity.with_training(table)
    assert found[sets.COUNTS].iloc[0].tolist() == list(fidelity.TRAINING["wikiqa train answered"])
    assert found["candidates a question"].iloc[0] == pytest.approx(8672 / 873)
    assert found.iloc[1].isna().sum() == 5
    assert fidelity.with_training(table.replace("not here", "no"))["questions"].isna().all()
    test = {"question_id": ["a", "a", "b"]}
    assert fidelity.seen(Study.load("wikiqa"), test) == (0, 2)
    assert fidelity.seen(Study.load("sample"), test) is None  # whose questions nobody counted
