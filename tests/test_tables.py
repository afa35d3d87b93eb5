from pathlib import Path
from types import SimpleNamespace

import numpy
import pandas
import pytest
from transformers import TrainingArguments

from as2lib import Study
from as2lib.metrics.ranking import summary
from as2lib.papers.cerberus import budget, claims, configurations, second_tables, systems, tables
from as2lib.papers.kinds import tables as kinds
from as2lib.runs import results
from as2lib.runs.results import System


def test_a_result_is_the_mean_over_seeds_in_percent_beside_the_published_one(trained):
    rows = [System("mhs/3h1", "MHS"), System("teacher/electra", "teacher")]
    found = results.table(trained.study, rows, beside=results.published("cerberus_table2"))
    scores = trained.study.run("mhs/3h1/seed-0").scores("test")
    expected = summary(scores["question_id"], scores["label"], scores["score"])
    assert found.loc["MHS", "MAP"] == pytest.approx(100 * expected["MAP"])
    assert found.loc["MHS", "questions"] == expected["questions"] == 15
    assert found.loc["MHS", "published MAP"] == 92.4
    assert found.loc["teacher", "published P@1"] == 86.7
    assert numpy.isnan(found.loc["MHS", "MAP ±"])  # one seed has no spread


def test_a_row_that_the_paper_lacks_is_missing_not_zero():
    found = results.published_row(results.published("cerberus_table2"), "ensemble/teachers", "WikiQA")
    assert all(numpy.isnan(value) for value in found.values())


def test_a_system_equals_itself(trained):
    names = {"mhs/3h1": "MHS", "teacher/electra": "teacher"}
    tests = tables.tested(trained.study, [("mhs/3h1", "mhs/3h1"), ("mhs/3h1", "teacher/electra")])
    same = results.labelled(tests, names).loc["MHS − MHS"]
    assert (same["difference"], same["won"], same["lost"], same["tied"]) == (0, 0, 0, 15)
    assert same["p Holm"] == 1
    assert "equal within the margin" in results.reading(trained.study, "MHS − MHS", same)


def test_a_reading_says_different_equal_both_or_undecided(trained):
    def reading(p, q, low=-1.0):
        row = pandas.Series({"difference": 3.0, "low": low, "high": 5.0, "p Holm": p, "p equal": q})
        return results.reading(trained.study, "a − b", row)

    assert reading(0.001, 0.9, low=1.0).endswith("a real difference (Wilcoxon, p = 0.0010).")
    assert "equal within the margin (TOST, p < 0.001)" in reading(0.5, 0.0001)
    assert "real difference" in reading(0.001, 0.001)
    assert "within the margin" in reading(0.001, 0.001)
    assert "undecided" in reading(0.5, 0.5)


def test_a_verdict_that_its_interval_seems_to_contradict_says_why(trained):
    def verdict(p, q, low, high):
        row = pandas.Series({"difference": -11.0, "low": low, "high": high, "p Holm": p, "p equal": q})
        return results.verdict(trained.study, row)

    assert "undecided" not in verdict(0.02, 0.9, -15.8, -6.0)
    assert "corrected for all comparisons, has p = 0.020, and only p < 0.01 counts" in verdict(0.02, 0.9, -15.8, -6.0)
    assert verdict(0.76, 0.9, -15.8, -6.0).startswith(
        "undecided (the interval, of this comparison alone, leaves zero out"
    )
    assert "leaves zero out" not in verdict(0.02, 0.9, -15.8, 6.0)
    assert verdict(0.001, 0.9, -15.8, 6.0).endswith("but the means may be equal: their interval has zero in it")
    both = verdict(0.001, 0.002, -0.9, 0.2).removeprefix("a real difference in ranks (Wilcoxon, p = 0.0010), but ")
    assert both == "the means are equal within the margin (TOST, p = 0.0020)"
    assert "though the interval leaves zero out" in verdict(0.02, 0.001, -1.5, -0.2)


def test_heads_are_ranked_on_their_own(trained):
    heads = tables.heads(trained.study.runs("mhs/3h1"), ["a", "b", "c"])
    scores = trained.study.run("mhs/3h1/seed-0").scores("test")
    expected = summary(scores["question_id"], scores["label"], scores["head_1"])
    assert heads.loc["b", "MAP"] == pytest.approx(100 * expected["MAP"])
    assert heads.index.tolist() == ["a", "b", "c", "combined"]


class Heads:
    """A run of two heads over two questions: on the first they choose differently, on the second alike."""

    def scores(self, split="test"):
        heads = {"head_0": [0.9, 0.1, 0.8, 0.3], "head_1": [0.4, 0.6, 0.7, 0.2]}
        return pandas.DataFrame({"question_id": list("aabb"), "label": [1, 0, 1, 0], **heads})


def test_two_heads_disagree_where_their_top_candidates_differ():
    assert tables.disagreement([Heads(), Heads()]) == 50


def test_a_sure_head_weighs_more_in_a_mean_of_logits():
    sure = Heads()
    sure.scores = lambda split="test": pandas.DataFrame(
        {"question_id": ["a", "a"], "label": [1, 0], "head_0": [0.999, 0.5], "head_1": [0.1, 0.7]}
    )
    found = configurations.combined_heads([sure])["P@1"]
    assert found.to_dict() == {"probability": 0, "logit": 100}  # means of 0.55 and 0.6; of 2.4 and 0.4 in logits


def test_a_sentence_of_confidence_counts_the_teachers_that_are_less_sure(trained):
    def said(*shares):
        return tables.sentences_confidence(trained.study, pandas.DataFrame({"near 0 or 1": shares}))[1]

    assert "0.95: more than for 1 of the 2 teachers (62 %, 40 %)" in said(52, 62, 40)
    assert "less than for any of the 2 teachers" in said(30, 62, 40)
    assert "more than for every teacher" in said(70, 62, 40)


def test_sentences_on_strategies_compare_those_of_one_model():
    strategies = pandas.DataFrame(
        {"MAP": [60.0, 61.0, 70.0, 66.0], "MAP ±": [0.5, None, 1.5, None], "heads disagree %": [None, None, 2.0, 4.0]},
        index=["ELECTRA base, in turn", "ELECTRA base, one teacher", "MHS, Hydra: base", "MHS, no teacher"],
    )
    base, heads, spread, apart = tables.sentences_strategies(strategies)
    assert base == "ELECTRA base: the best strategy is “one teacher, one seed” (MAP 61.0), the worst “in turn” (60.0)."
    assert heads.endswith("“Hydra: base” (MAP 70.0), the worst “no teacher, one seed” (66.0).")
    assert spread.startswith("Points of MAP between the best and the worst strategy of a model: 4.0; between seeds of")
    assert "in 2.0 % (Hydra: base), 4.0 % (no teacher) of the questions" in apart


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("trecqa:test", "TREC-QA"),
        ("microsoft/wiki_qa@abc:test", "WikiQA"),
        ("ias2:test", "IAS2"),
        ("sample:test", "WikiQA"),
    ],
)
def test_published_numbers_are_those_of_the_targets_set_and_wikiqas_where_no_paper_has_it(root, source, named):
    assert results.published_set(Study.load("tiny", {"data.target.test": source})) == named


def test_one_encoder_behind_three_names_is_said_and_three_encoders_are_not(monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(Path(__file__).parents[1]))
    said = tables.note_on_families(Study.load("wikiqa"))
    assert "All 3 families are one encoder here, sentence-transformers/all-MiniLM-L6-v2" in said
    assert tables.note_on_families(Study.load("paper")) == tables.note_on_families(Study.load("sample")) == ""


def test_the_ensemble_of_one_family_has_one_name_on_every_page():
    named = systems.systems(Study.load("sample"))["ensemble/distilled"]
    assert [one.label for one in tables.OVERVIEW if one.prefix == named.prefix] == [named.name]
    assert named.name == f"ensemble of {named.label}"


def test_captions_tell_what_differs_from_the_paper_where_the_number_stands(monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(Path(__file__).parents[1]))
    study, rows = (
        Study.load("wikiqa"),
        pandas.DataFrame({"questions": [243, 243], "run": ["base/electra", "hydra/3h1"]}),
    )
    hydra = "Hydra's teachers share one transfer step"
    assert hydra in tables.caption_on_wikiqa(study, rows)
    assert hydra not in tables.caption_on_wikiqa(study, rows[:1])
    assert "clipped at a norm of 1.0" in tables.caption_on_wikiqa(study, rows[:1])
    strategies = tables.caption_strategies(study, 243)
    assert "counts the hard loss once a teacher, 3 times" in strategies
    assert hydra in strategies
    table = pandas.DataFrame({"questions": [243]})
    captions = (strategies, budget.caption(study), kinds.caption(study), configurations.caption(study, table))
    for caption in (*captions, claims.caption(study, pandas.DataFrame({"won": [1], "lost": [1], "tied": [1]}))):
        assert "clipped at a norm of 1.0" in caption
        assert "All 3 families are one encoder here" in caption
    assert "clipped at a norm of 1.0" in second_tables.caption(study, table)


def test_gradients_are_clipped_as_the_captions_say():
    assert "1.0" in results.CLIPPED
    assert TrainingArguments("unused").max_grad_norm == 1.0  # which fits leave as it is


def test_one_fit_under_several_names_counts_once():
    ids = {"direct/electra-base": "b", "direct/roberta-base": "b", "direct/albert-base": "c"}
    runs = lambda prefix: [SimpleNamespace(identity=ids.get(prefix, "large"))]  # noqa: E731
    study = SimpleNamespace(runs=runs, label=lambda family, size: f"{family} {size}", plan={}, grid_seeds=[0])
    study.significance = SimpleNamespace(alpha=0.01)
    maps = [67.0 if one.prefix in ids else 70.0 for one in tables.direct(study)]
    gain = pandas.DataFrame({"MAP without": maps, "difference": 1.0, "p Holm": 1.0})
    without = tables.alone(study, gain)
    assert sorted(without) == [67.0, 67.0, 70.0]
    said = tables.sentences_transfer(study, gain, without, 68.0)[1]
    assert said.startswith("Without it 2 of the 3 fits behind these 6 rows stay below the trivial baseline")
    plan = {f"transfer/{family}": {"steps": steps} for family, steps in (("a", 145), ("b", 450), ("c", 522))}
    study.plan = {name: SimpleNamespace(spec={"training": one}) for name, one in plan.items()}
    assert "145 to 522 steps of transfer" in tables.sentences_transfer(study, gain, without, 68.0)[1]


def test_fits_that_were_cut_short_or_best_at_their_end_are_counted():
    steps = {"a": (9, 9, {"steps": 9}), "b": (6, 3, {"steps": 9}), "c": (8, 5, {"epochs": 2})}
    steps |= {"d": (13, 12, {"steps": 13}), "e": (13, 9, {"steps": 13})}  # the last regular evaluation: at step 12
    runs = {
        name: [SimpleNamespace(facts={"steps": took, "best_step": best}, run=SimpleNamespace(spec={"training": given}))]
        for name, (took, best, given) in steps.items()
    }
    for _, _, given in steps.values():
        given["evaluate_every"] = 3
    runs["ensemble"] = [SimpleNamespace(facts={"dev_MAP": 0.5})]
    said = results.sentence_ends(SimpleNamespace(runs=runs.get), runs)
    assert said.startswith("4 of the 5 fits took every step")
    assert said.endswith(": 2 of the 5.")
    assert results.sentence_ends(SimpleNamespace(runs=runs.get), ["ensemble"]).startswith(
        "Fits kept their last weights"
    )
