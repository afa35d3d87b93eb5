"""Every kind of sentence below, at and above zero, and where a number is absent, reads as a person would say it."""

import re
from types import SimpleNamespace

import pandas
import pytest

from as2lib.papers import fidelity, overview, verdicts
from as2lib.papers.cascade import ratios
from as2lib.papers.cascade import tables as cascade
from as2lib.papers.cascade.systems import TRIVIAL_LABEL, Scheme
from as2lib.papers.cerberus import claims, configurations, costs, resemblance, sets, tables
from as2lib.papers.cerberus.longer import BEFORE
from as2lib.papers.cerberus.systems import TRIVIAL
from as2lib.papers.cosinet import tables as cosinet
from as2lib.papers.cosinet.systems import MODELS, PLAIN, SHUFFLED, UPPER
from as2lib.papers.frontier import sentences as frontier
from as2lib.papers.frontier.systems import COMBINED, VOTE
from as2lib.papers.frontier.tables import BUDGETS
from as2lib.papers.govern import tables as govern
from as2lib.papers.govern.premise import sentences_premise
from as2lib.runs import results, wording
from as2lib.runs.params import Training

ABSENT = float("nan")
VALUES = [-3.0, -0.004, 0.0, 0.004, 1.0, 3.0, ABSENT]
NOBODY_SAYS = {
    "an ASCII minus": r"(?<![\w-])-\d",
    "minus zero, plus zero": r"[-−+]0(\.0+)?(?![\d.])",
    "a value that is missing": r"\b(nan|NaN|None(?! of)|NaT)\b|<NA>",
    "a sign after a verb": r"\b(adds|costs|is|loses|gains|saves) [-−+]\d",
    "a count of zero": r"(?<![\d.])0 of\b",
    "an effect of zero": r"\b(adds|costs|is|by|loses) 0(\.0+)? points",
    "two blanks, or one before a stop": r"  | [.,;](?!\d)",
    "an empty list": r": \.|\(\)|\[",
}
STUDY = SimpleNamespace(
    significance=SimpleNamespace(alpha=0.01, margin=0.02),
    plan={},
    mhs=SimpleNamespace(body=3),
    seeds=[0, 1],
    grid_seeds=[0],
    fit=SimpleNamespace(**{name: SimpleNamespace(steps=60) for name in ("transfer", "adapt", "direct")}),
    cascade=SimpleNamespace(
        note="How it was found.",
        mean=[1],
        exits=[1, 2],
        alphas=[0.3, 0.5],
        targets={"TREC-QA": None},
        fit=SimpleNamespace(
            transfer=Training(steps=4000, learning_rate=5e-5, batch_size=8),
            joint=Training(epochs=3, learning_rate=1e-4, batch_size=8, evaluate_every=50),
        ),
    ),
    govern=SimpleNamespace(
        precisions=[0.9],
        unlabelled_fit=Training(epochs=1, learning_rate=5e-5, batch_size=8),
        longer_fit=Training(epochs=3, learning_rate=5e-5, batch_size=8),
    ),
)


def frame(index, **columns):
    return pandas.DataFrame(columns, index=pandas.Index(index, name="system"))


def systems(value, prefixes, **more):
    """Rows of a table of results: the last differs from the others by the value."""
    maps = [60.0] * (len(prefixes) - 1) + [60.0 + value]
    named = {"run": prefixes, "MAP": maps, "MAP ±": abs(value), "P@1": maps, "parameters": 1e6, "seeds": 2}
    return frame(prefixes, **named, **more)


def compared(value, index, p=0.5):
    columns = {
        "difference": value,
        "low": value - 1,
        "high": value + 1,
        "p": p,
        "p Holm": p,
        "p equal": p,
        "p ρ Holm": p,
    }
    return pandas.DataFrame(columns, index=index).assign(won=1, lost=1, tied=1, effect=value)


def of_teachers(value):
    found = systems(value, ["WO+RR", "base", "large"])
    gain = compared(value, ["a", "b"]).assign(**{"MAP without": 60.0})
    yield tables.sentence_best(found)
    yield tables.answer_teachers(found, gain)
    yield tables.sentence_steps(STUDY, compared(value, ["a − b"], 0.001))
    yield from tables.sentences_transfer(STUDY, gain, gain["MAP without"], 60.0)


def of_students(value):
    found = systems(value, ["base/electra", "ensemble/distilled", "mhs/3h1"])
    pairs = [("kd/electra", "base/electra"), ("mhs/3h1", "ensemble/distilled")]
    tests = compared(value, pandas.MultiIndex.from_tuples(pairs, names=["a", "b"]))
    yield tables.sentence_mhs(found)
    yield from tables.sentences_ensemble(STUDY, tests, found)
    yield tables.answer_ensemble(STUDY, tests, found)
    strategies = systems(value, ["base, one", "base, two"], **{"heads disagree %": abs(value)})
    yield from tables.sentences_strategies(strategies)
    yield tables.sentence_heads(systems(value, ["head 1", "combined"]))
    heads = systems(value, ["mhs/3h1", "mhs/3h2"])
    yield configurations.sentence_layers(heads)
    yield configurations.answer(STUDY, heads, compared(value, ["a"], 0.001))
    yield from configurations.sentences_heads(heads, systems(value, ["probability", "logit"]))


def of_tests(value):
    for p in (0.0001, 0.5, 1.0, ABSENT):
        for row in (compared(value, ["a"], p).iloc[0], compared(value, ["a"], 0.5).assign(low=1, high=2).iloc[0]):
            yield results.reading(STUDY, "a − b", row)
        tests = compared(value, ["a", "b", "trivial"], p)
        judged = tests.assign(verdict="reproduced", test="Wilcoxon")
        yield from claims.sentences_equalities(STUDY, judged, tests)
        yield from claims.sentences_differences(judged)
        yield claims.answer(judged, judged.head(0))
        yield claims.sentence_first_places(STUDY, tests, tests)


def of_heads(value):
    found = SimpleNamespace(wilcoxon_p=0.5, difference=value, low=value - 1, high=value + 1, n=9)
    own = pandas.DataFrame({"first": [max(0, int(value > 0))], "own": 0.8})
    yield from resemblance.sentences_own_teacher(STUDY, own, found)
    found.low, found.wilcoxon_p = 0.1, ABSENT
    yield from resemblance.sentences_own_teacher(STUDY, own, found)
    cases = pandas.DataFrame(
        1.0, resemblance.CASES.values(), ["questions", resemblance.LABEL, "base", "WO+RR", "published"]
    )
    cases[resemblance.LABEL] = abs(value)
    yield from resemblance.sentences_majority(cases, abs(value))
    sure = pandas.DataFrame({"surest": abs(value), "questions": 1}, resemblance.CASES.values())
    yield resemblance.sentence_confidence(sure, sure)
    yield costs.sentence_shapes(abs(value) if value == value else 0.0)


def of_sets(value):
    count = int(value > 0)
    test = pandas.Series({"questions": 9, "candidates a question": abs(value), "two or more correct": count})
    trivial = systems(value, ["random", "lexical/word_overlap", "lexical/overlap_then_rank"], **{"ties %": abs(value)})
    yield sets.sentence_target(test)
    yield from sets.sentences_trivial(trivial)
    yield from (sets.answer(test, trivial, seen) for seen in (None, (count, 9)))
    shared = {"of": "target test", "also in": ["target train", "x"], "sentences": count, "sentences %": abs(value)}
    yield from sets.sentences_leakage(pandas.DataFrame(shared), count, 9)


def of_the_cascade(value):
    rows = [TRIVIAL_LABEL, *(str(Scheme(method, n)) for method in ("MT", "CT") for n in (1, 2))]
    yield cascade.sentence_candidates(abs(value), 3.0)
    by_depth = systems(value, rows)
    yield from cascade.sentences_by_depth(STUDY, by_depth.assign(**{"TREC-QA MAP": by_depth["MAP"]}))
    ct = [str(Scheme("CT", 2, alpha)) for alpha in (0.3, 0.5, 0.0)]
    by_ratio = systems(value, [*ct, str(Scheme("MT", 1)), TRIVIAL_LABEL], **{"cost %": value, "floors %": value})
    yield from cascade.sentences_by_ratio(STUDY, by_ratio)
    yield from cascade.sentences_rivals(STUDY, by_ratio, compared(value, [f"{ct[0]} − {TRIVIAL_LABEL}"]))
    yield cascade.answer(STUDY, by_ratio, compared(value, [f"{ct[0]} − {rival}" for rival in (ct[2], Scheme("MT", 2))]))
    yield cascade.sentence_counted(0.3, pandas.Series({"formula %": value, "floors %": value, "FLOPs %": value}), 3)
    yield ratios.sentence_grid(pandas.DataFrame({"P@1": [60.0, 60 + value], "front": [True, False]}), 60.0, 40)
    picked = {
        "ratios": [ratios.PICKED, ratios.ALIKE],
        "budget %": -37.0,
        "values": ["0.3", "0.4"],
        "dev P@1": [60, 60 + value],
        "test P@1": [60 + value, 60],
    }
    yield ratios.sentence_chosen(pandas.DataFrame(picked), 40)
    never = [str(Scheme(m, 2, alpha)) for m in ("CT", "SR") for alpha in (0.3, 0.5)]
    yield cascade.sentence_pruned(STUDY, pandas.DataFrame({"never": 100 - abs(value)}, never))
    yield from (cascade.sentence_by_recipe(pandas.DataFrame({"mean": [60.0, 60 + value]}).head(n)) for n in (1, 2))


def of_cosinet(value):
    labels = [TRIVIAL[-1].label, *(model.label for model in MODELS)]
    found = systems(value, ["lexical/overlap_then_rank", *(model.prefix for model in MODELS)]).set_axis(labels)
    for others in ([UPPER, PLAIN], [UPPER, PLAIN, BEFORE + PLAIN]):
        best = pandas.concat([found, systems(value, others)])
        pairs = [(MODELS[0].label, labels[0]), (MODELS[0].label, UPPER)]
        tests = compared(value, pandas.MultiIndex.from_tuples(pairs, names=["a", "b"]))
        yield cosinet.sentence_best(STUDY, best.assign(**{"MAP ±": ABSENT, "seeds": 1}), tests, PLAIN)
    order = pandas.DataFrame({"lost": value, "MAP, random order": 60.0}, SHUFFLED)
    yield cosinet.sentence_order(order)
    for cost in (ABSENT, 12.0):
        stages = systems(value, [1, 5]).assign(**{"cost %": cost, "candidates left %": 40.0, "dev MAP": [1.0, value]})
        yield cosinet.sentence_two_stages(stages, 60 + value, 60.0)


def of_votes(value):
    of = (govern.AUC, "q R@P=90 (all)", "MAP (answered)")
    measures = {f"{name}{sign}": abs(value) for name in of for sign in ("", " ±")}
    students = [f"govern/{name}" for name in ("mean", "govern", "mean-longer", "govern-longer")]
    found = systems(value, students, **measures, unreached=int(value > 0))
    found.loc[["govern/govern", "govern/govern-longer"], govern.AUC] = 50 + value, 60 + value
    yield from govern.sentences_students(STUDY, found)
    counts = pandas.DataFrame({"good": 1, "same": 9, "bad": 1, "gain": value, "p sign": 0.5}, ["seed 0", "seed 1"])
    yield govern.sentence_gsb(pandas.concat([counts, counts.head(1).set_axis(["published, random queries"])]))
    single = systems(value, [f"govern/{one}" for one in ("one-better", "govern-of-5", "one-worse")])
    single = single.assign(seeds=1, **{govern.AUC: value, "dev MAP": abs(value)})
    change = pandas.DataFrame({"better": [value, 0.3], "worse": [-value, -0.1]})
    yield from govern.sentences_replacing(single, change)
    points = pandas.DataFrame({"GOVERN": [60, 60 + value], "mean": [60 + value, 60]}, [1, 5])
    yield govern.sentence_points(points)
    yield govern.answer(STUDY, compared(value, ["a − b"]))
    numbers = ("correlation", "vote", "mean", "condorcet", "teacher", "vote alone", "mean alone", "lead")
    yield from sentences_premise(pandas.DataFrame([dict.fromkeys(numbers, value)] * 3))


def of_the_front(value, monkeypatch):
    monkeypatch.setattr(frontier, "base_cost", lambda study, rows: 2.0)
    names = ["a", str(Scheme("MT", 2)), str(Scheme("CT", 2, 0.0))]
    monkeypatch.setattr(frontier, "twin", lambda study, prefix: prefix)
    monkeypatch.setattr(frontier, "label", lambda study, prefix: names[1])
    rows = systems(value, names).assign(**{frontier.COST: [0.0, 2.0, 2.0], frontier.SHARE: 50 + value, "front": True})
    yield from frontier.sentences_front(
        STUDY, rows.assign(kind=COMBINED[0] if value > 0 else "other", **{"dev MAP": ABSENT})
    )
    columns = {
        "MAP": 60.0,
        frontier.AS_CHEAP: 60 - value,
        "cost %": 50.0,
        "difference": value,
        "low": value - 1,
        "high": value + 1,
    }
    if value == value:  # two systems can always be compared
        yield from frontier.sentences_combined(STUDY, frame(["x", "y"], kind=[COMBINED[0], VOTE], **columns))
    chosen = {"system": "a", "MAP": 60 + value, "cost ×": 1.0, "lost": abs(value)}
    budgets = pandas.DataFrame([chosen] * 3, ["0", "1", f"{BUDGETS[-1]:g}"])
    if value == value:  # every budget has a system
        yield from frontier.sentences_budgets(rows.assign(kind="a", **{"dev MAP": ABSENT}), budgets)
    yield frontier.answer(rows.assign(kind="a"), budgets, "")


def of_the_whole(value, monkeypatch):
    monkeypatch.setattr(overview, "notebooks", lambda study: [SimpleNamespace(name="03_x", question="Q?")] * 2)
    counts = pandas.DataFrame(0, ["all"], [*verdicts.KINDS, verdicts.TOO_SMALL])
    counts["reproduced: equal"], counts["reproduced: counted"] = max(1, int(value > 0) * 5), int(value > 0)
    counts["inconclusive"], counts[verdicts.TOO_SMALL] = 2, int(value > 0)
    yield verdicts.sentence(counts)
    for measured in ({}, {"03": {"answer": "MHS is level with the ensemble."}}):
        for expected in (0, 3):
            yield from overview.verdict(STUDY, measured, counts, expected, expected * (value > 0))
    for states in (["agrees", "agrees"], ["differs", "not here"]):
        yield from fidelity.sentences(pandas.DataFrame({"state": states, "note": ["", "why"]}))


KINDS = [of_teachers, of_students, of_tests, of_heads, of_sets, of_the_cascade, of_cosinet, of_votes]


@pytest.mark.parametrize("value", VALUES)
def test_a_sentence_is_one_that_a_person_would_say(value, monkeypatch):
    said = [(kind.__name__, sentence) for kind in KINDS for sentence in kind(value)]
    said += [(kind.__name__, one) for kind in (of_the_front, of_the_whole) for one in kind(value, monkeypatch)]
    assert len(said) > 80
    for kind, sentence in said:
        for what, pattern in NOBODY_SAYS.items():
            found = re.search(pattern, sentence)
            assert not found, f"{kind} has {what}, “{found[0]}”: {sentence}"
        assert sentence[-1] in ".", sentence


def test_numbers_have_true_minus_signs_and_one_zero():
    assert [wording.number(value) for value in (-0.04, -0.05001, 0, 1234.5, ABSENT)] == [
        "0.0", "−0.1", "0.0", "1,234.5", "not known",
    ]  # fmt: skip
    assert [wording.signed(value) for value in (-0.4, -0.04, 0.04, 0.4)] == ["−0.4", "0.0", "0.0", "+0.4"]
    assert [wording.span(*ends) for ends in ((-1.23, 0.6), (0.01, -0.01))] == ["−1.2 to 0.6", "0.0"]


def test_a_change_and_a_distance_are_said_with_their_side():
    assert [wording.changes(value) for value in (-0.3, -0.01, 0.3)] == [
        "costs 0.3 points of MAP", "leaves MAP as it is", "adds 0.3 points of MAP",
    ]  # fmt: skip
    assert [wording.apart(value, "the mean") for value in (-0.3, 0.01, 0.3)] == [
        "0.3 points of MAP below the mean", "level with the mean in MAP", "0.3 points of MAP above the mean",
    ]  # fmt: skip
    assert [wording.percent_apart(value, "it") for value in (-37.2, 0.2, 54)] == [
        "37 % less than it", "as much as it", "54 % more than it",
    ]  # fmt: skip


def test_a_count_of_none_and_of_all_is_said_in_words():
    assert [wording.some(count, 3, "teachers") for count in (0, 1, 3)] == [
        "none of the 3 teachers", "1 of the 3 teachers", "all 3 teachers",
    ]  # fmt: skip


def test_a_p_value_has_two_digits_that_count_and_one_is_1_00():
    assert [wording.p_text(p) for p in (0.0, 0.0009999, 0.001, 0.0123, 0.05, 0.996, 1.0, ABSENT)] == [
        "p < 0.001", "p < 0.001", "p = 0.0010", "p = 0.012", "p = 0.050", "p = 1.00", "p = 1.00", "p not known",
    ]  # fmt: skip
