"""CERBERUS's tables as data frames, and the captions and sentences of notebooks 00, 02 and 03; runs nothing."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy
import pandas

from as2lib.metrics import ranking
from as2lib.papers.cerberus.plan import steps
from as2lib.papers.cerberus.sets import RANKERS, published_rankers
from as2lib.papers.cerberus.systems import STUDENT, direct, mhs_label, models, students, systems
from as2lib.runs import results
from as2lib.runs.finished import Finished
from as2lib.runs.params import FAMILIES
from as2lib.runs.results import METRICS, System
from as2lib.runs.wording import apart, begin, changes, listed, number, some, span, spread_text

if TYPE_CHECKING:
    from as2lib.study import Study

HYDRA = " Hydra's teachers share one transfer step."
OVERVIEW = (  # the overview's words for a reader who has seen no other notebook
    System("lexical/overlap_then_rank", "WO+RR (trivial baseline)"),
    System("base/electra", "base model, no teacher", "base size"),
    System("kd/electra", "base model, one teacher", "base size"),
    System("mhs/3h1", "MHS, one teacher a head", "MHS"),
    System("ensemble/distilled", "ensemble of 3 distilled of one family", "ensemble"),
    System("teacher/electra", "large model", "large"),
)


def on_wikiqa() -> pandas.DataFrame:
    """The published rows of CERBERUS and Cosinet, by `run`: WikiQA, and CERBERUS's IAS2 and ASNQ."""
    return pandas.concat([results.published("cerberus_table2"), published_rankers()])


def caption_on_wikiqa(study: "Study", found: pandas.DataFrame) -> str:
    beside = f"{results.published_set(study)}, CERBERUS Table 2, the row in the same place; WO+RR: {RANKERS}"
    caption = results.caption(int(found["questions"].iloc[0]), study.seeds, beside)
    hydra = HYDRA if "hydra/3h1" in set(found["run"]) else ""
    return f"{caption} IAS2, which is private: the same rows.{hydra} {notes(study)}"


def note_on_families(study: "Study") -> str:
    """Says where one encoder stands behind the names of several families; empty where each has its own."""
    named = {study.backbones[family].large.name for family in FAMILIES}
    if len(named) > 1 or None in named:
        return ""
    return f" All {len(FAMILIES)} families are one encoder here, {named.pop()}: they differ by transfer set and seed."


def notes(study: "Study") -> str:
    """What every caption of results of this paper's fits says last."""
    return f"{results.CLIPPED}{note_on_families(study)}"


def numbers(table: pandas.DataFrame, *columns: str, of: str = "") -> dict[str, Any]:
    """The cells of a table of results as metrics are named, `<run> <column>`, or `<run> <of> <column>`."""
    named = {column: f"{of} {column}".strip() for column in columns}
    return {f"{row['run']} {named[column]}": row[column] for _, row in table.iterrows() for column in columns}


def tested(study: "Study", pairs: Sequence[tuple[str, str]]) -> pandas.DataFrame:
    """`results.compare` of pairs of run prefixes on the test set."""
    return results.compare(study, results.scored(study, {prefix for pair in pairs for prefix in pair}), pairs)


def better(study: "Study", tests: pandas.DataFrame) -> pandas.DataFrame:
    """The comparisons whose first system is better, by a corrected Wilcoxon test."""
    return tests[(tests["difference"] > 0) & (tests["p Holm"] < study.significance.alpha)]


# 00 · the overview


def overview_caption(study: "Study") -> str:
    return (
        f"Target test set, policy “answered”; {results.TIE_RULE}. Percent; ±: standard deviation over seeds; a dash: "
        f"not run, or not in the paper. Published: {results.published_set(study)}, CERBERUS Table 2 and {RANKERS}."
    )


def main_results(study: "Study", found: dict[str, Any], longer: dict[str, Any]) -> pandas.DataFrame:
    """Accuracy beside size, from the metrics that notebook 03 recorded; missing where it was not run.

    longer: those of notebook 13; empty where nothing was trained longer.
    """
    paper, rows = on_wikiqa(), {}
    for system in OVERVIEW:
        ours = {value: found.get(f"{system.prefix} {value}") for value in ("parameters", "P@1", "MAP", "MAP ±")}
        for sign in ("", " ±") if longer else ():
            ours[f"MAP, trained longer{sign}"] = longer.get(f"{system.prefix} longer MAP{sign}")
        rows[system.label] = ours | results.published_row(paper, system.prefix, results.published_set(study))
    return pandas.DataFrame(rows).T.rename_axis("system").astype(float).astype({"parameters": "Int64"})


# 02 · the teachers


def sentence_best(found: pandas.DataFrame) -> str:
    best, trivial = found.iloc[1:].sort_values("MAP").iloc[-1], found["MAP"].iloc[0]
    place = "below" if best["MAP"] < trivial else "above" if best["MAP"] > trivial else "level with"
    return (
        f"The best single model is {best.name}, with MAP {spread_text(best['MAP'], best['MAP ±'])} and "
        f"P@1 {number(best['P@1'])}, {place} the trivial baseline, which has MAP {number(trivial)}."
    )


def answer_teachers(found: pandas.DataFrame, gain: pandas.DataFrame) -> str:
    """found: from `results.table`, the trivial baseline first.  gain: from `transfer_gain`."""
    best = found.iloc[1:].sort_values("MAP").iloc[-1]
    return (
        f"The best model, {best.name}, has MAP {spread_text(best['MAP'], best['MAP ±'])}, "
        f"{apart(best['MAP'] - found['MAP'].iloc[0], 'the trivial baseline')}; the transfer step "
        f"{changes(gain['difference'].mean())} on average."
    )


def sentence_steps(study: "Study", steps: pandas.DataFrame) -> str:
    clear = better(study, steps)
    below = steps[(steps["difference"] < 0) & (steps["p Holm"] < study.significance.alpha)]
    left = ", ".join(steps.index.difference([*clear.index, *below.index], sort=False))
    sure, of = f"Holm-corrected p < {study.significance.alpha:g}", "steps from trivial to base to large"
    said = [f"{some(len(clear), len(steps), of)} lead upwards ({sure})"] * bool(len(clear))
    if len(below):
        said.append(f"the first system is below the second in {', '.join(below.index)}" + f" ({sure})" * (not said))
    said = said or [f"no step from trivial to base to large is shown to lead up or down ({sure})"]
    return begin("; ".join([*said, *([f"undecided: {left}"] if left else [])])) + "."


def transfer_gain(study: "Study") -> pandas.DataFrame:
    """Transfer-then-adapt against adapting alone, a row a model: the MAP of both and their paired tests."""
    pairs = [(a.prefix, b.prefix) for a, b in zip(models(study), direct(study), strict=True)]
    gain = results.labelled(tested(study, pairs), {prefix: one.name for prefix, one in systems(study).items()})
    scores = results.scored(study, [prefix for pair in pairs for prefix in pair])
    maps = results.mean_and_spread(results.frame(scores))["MAP"].to_numpy().reshape(-1, 2)  # in the order of the pairs
    return pandas.DataFrame(maps, gain.index, ["MAP with", "MAP without"]).join(gain)


def alone(study: "Study", gain: pandas.DataFrame) -> pandas.Series:
    """The MAP of each fit without the transfer step: one fit may stand behind several families' names."""
    fits = pandas.Series([tuple(run.identity for run in study.runs(one.prefix)) for one in direct(study)])
    return gain["MAP without"][~fits.duplicated().to_numpy()]


def sentences_transfer(study: "Study", gain: pandas.DataFrame, without: pandas.Series, trivial: float) -> list[str]:
    """without: from `alone`.  trivial: the MAP of the trivial baseline."""
    points, helped, below = gain["difference"], len(better(study, gain)), int((without < trivial).sum())
    fits = f"fits behind these {len(gain)} rows" if len(without) < len(gain) else "models"
    return [
        f"On average the transfer step {changes(points.mean())} (by model {span(points.min(), points.max())}); it "
        f"makes a real difference for the better to {some(helped, len(gain), 'models')}.",
        f"Without it {some(below, len(without), fits)} stay{'s' * (below == 1)} below the trivial baseline; such a fit "
        f"has {steps(study, 'direct/')}, against {steps(study, 'transfer/')} of transfer and "
        f"{steps(study, 'teacher/', 'base/')} of adapt, with seed{'s' * (len(study.grid_seeds) > 1)} "
        f"{listed([*map(str, study.grid_seeds)])}.",
    ]


# 03 · distillation


def by_teacher(study: "Study") -> dict[str, System]:
    """The catalogue as notebook 03 calls it: a model by its teacher, or by being one."""
    found = {prefix: replace(system, short="") for prefix, system in systems(study).items()}
    for family in FAMILIES:
        name, teacher = study.backbones[family].name, found[f"teacher/{family}"]
        found[teacher.prefix] = replace(teacher, label=f"teacher {teacher.label}")
        found[f"base/{family}"] = replace(found[f"base/{family}"], label=f"no teacher, {name} base")
    return found | {"mhs/3h1": systems(study)["mhs/3h1"]}


def distilled(study: "Study") -> list[System]:
    """Rows of the main table: the trivial baseline, the teachers, the model without one, and every student."""
    mean, *taught = [system.prefix for system in students(study)]
    called = by_teacher(study)
    return [called[p] for p in ("lexical/overlap_then_rank", mean, f"teacher/{STUDENT}", f"base/{STUDENT}", *taught)]


def sentence_mhs(found: pandas.DataFrame) -> str:
    rows = found.set_index("run")
    mhs, alone = rows.loc["mhs/3h1"], rows.loc[f"base/{STUDENT}"]
    return (
        f"MHS has MAP {spread_text(mhs['MAP'], mhs['MAP ±'])} with "
        f"{mhs['parameters'] / alone['parameters']:.2f} times the parameters of the base model, which has "
        f"{spread_text(alone['MAP'], alone['MAP ±'])} without a teacher."
    )


def sentences_weights(study: "Study") -> list[str]:
    """The weights that dev gave the members of each ensemble in Table 2, by seed."""
    said = []
    for system in students(study):
        weights = [run.facts.get("weights") for run in study.runs(system.prefix)]
        if all(weights):
            by_seed = listed([" / ".join(number(one, 2) for one in of_seed) for of_seed in weights])
            said.append(
                f"Dev weighs the members of the {system.short} by {by_seed} (seeds {listed([*map(str, study.seeds)])})."
            )
    return said


def sentences_ensemble(study: "Study", tests: pandas.DataFrame, found: pandas.DataFrame) -> list[str]:
    """Whether MHS equals the ensemble, and whether a teacher helps.  tests: index (a, b), from `tested`."""
    equal = tests.loc[("mhs/3h1", "ensemble/distilled"), "p equal"] < study.significance.alpha
    size = found.set_index("run")["parameters"]
    single = tests[tests.index.get_level_values("a").str.startswith("kd/")]
    helped = len(better(study, single))
    return [
        f"One model with three heads {'equals' if equal else 'was not shown to equal'} the ensemble of three distilled "
        f"students within {100 * study.significance.margin:g} points, with "
        f"{size['mhs/3h1'] / size['ensemble/distilled']:.2f} times its parameters.",
        f"A teacher makes a real difference for the better to {some(helped, len(single), 'single students')}.",
    ]


def answer_ensemble(study: "Study", tests: pandas.DataFrame, found: pandas.DataFrame) -> str:
    """tests, found: as in `sentences_ensemble`."""
    row, size = tests.loc[("mhs/3h1", "ensemble/distilled")], found.set_index("run")["parameters"]
    return (
        f"One model with three heads is {apart(row['difference'], 'the ensemble of three distilled students')}, with "
        f"{size['mhs/3h1'] / size['ensemble/distilled']:.2f} times its parameters: {results.verdict(study, row)}."
    )


def strategies(study: "Study") -> pandas.DataFrame:
    """Table 3, eight uses of several teachers, called "model, strategy"; and how far the heads are apart at the end."""
    called, base, mhs = systems(study), f"{study.backbones[STUDENT].name} base", mhs_label(study)
    rows = [
        System("base/electra", f"{base}, no teacher"),
        System("kd/electra", f"{base}, one teacher"),
        *(called[f"kd/electra-{strategy}"] for strategy in ("sum", "robin")),
        *(called[f"mhs/3h1-{strategy}"] for strategy in ("no-teacher", "one-teacher")),
        System("hydra/3h1", f"{mhs}, Hydra: base teachers that differ by seed"),
        System("mhs/3h1", f"{mhs}, one teacher a head"),
    ]
    found = results.table(study, rows, beside=results.published("cerberus_table3"), dataset="IAS2")
    with_heads = found["run"].str.startswith(("mhs/", "hydra/"))
    found["heads disagree %"] = found["run"][with_heads].map(lambda prefix: disagreement(study.runs(prefix)))
    return found


def caption_strategies(study: "Study", questions: int) -> str:
    return (
        f"{results.caption(questions, study.seeds, 'IAS2, CERBERUS Table 3')} Ablations: seeds {study.grid_seeds}. The "
        f"sum of the losses counts the hard loss once a teacher, {len(FAMILIES)} times.{HYDRA} {notes(study)}"
    )


def sentences_strategies(found: pandas.DataFrame) -> list[str]:
    """Each model's best and worst strategy, and how that compares with the spread.  found: from `strategies`."""
    said, widest, parts = [], 0.0, found.index.str.split(", ", n=1)
    marked = parts.str[1] + numpy.where(found["MAP ±"].isna(), ", one seed", "")
    for model, rows in found.set_index(marked).groupby(parts.str[0], sort=False)["MAP"]:
        best, worst = number(rows.max()), number(rows.min())
        said.append(
            f"{model}: the best strategy is “{rows.idxmax()}” (MAP {best}), the worst “{rows.idxmin()}” ({worst})."
            if best != worst
            else f"{model}: every strategy has MAP {best}."
        )
        widest = max(widest, rows.max() - rows.min())
    choices, noise = found.set_index(parts.str[1])["heads disagree %"].dropna(), found["MAP ±"].max()
    seeds = "" if pandas.isna(noise) else f"; between seeds of one system up to {number(noise)} (standard deviation)"
    said.append(f"Points of MAP between the best and the worst strategy of a model: {number(widest)}{seeds}.")
    if len(choices):
        shares = ", ".join(f"{number(share)} % ({strategy})" for strategy, share in choices.items())
        said.append(f"Two heads choose another top candidate in {shares} of the questions.")
    return said


def confidence(study: "Study") -> pandas.DataFrame:
    """How sure each teacher is: percent of its dev and test scores below 0.05, above 0.95, and either, over seeds."""
    called, rows = systems(study), {}
    for prefix in ("ensemble/teachers", *(f"teacher/{family}" for family in FAMILIES)):
        scores = [pandas.concat([run.scores("dev"), run.scores("test")])["score"] for run in study.runs(prefix)]
        low, high = numpy.mean([[100 * (one < 0.05).mean(), 100 * (one > 0.95).mean()] for one in scores], axis=0)
        rows[called[prefix].label] = {"below 0.05": low, "above 0.95": high, "near 0 or 1": low + high}
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("teacher")


def sentences_confidence(study: "Study", sure: pandas.DataFrame) -> list[str]:
    """The ensemble as a teacher, and how sure it is beside its members.  sure: from `confidence`."""
    scores = results.scored(study, ["kd/electra-from-ensemble", "kd/electra"])
    (by_all, _), (by_one, spread) = results.mean_and_spread(results.frame(scores))[["MAP", "MAP ±"]].to_numpy()
    mean, *single = sure["near 0 or 1"]
    less, several = sum(share < mean for share in single), len(single)
    none = "less" if min(single) > mean else "no more"
    than = {0: f"{none} than for any of the {several} teachers", several: "more than for every teacher"}
    return [
        f"KD from the ensemble reaches MAP {number(by_all)}, KD from one teacher {spread_text(by_one, spread)}.",
        f"{mean:.0f} % of the ensemble's probabilities lie below 0.05 or above 0.95: "
        + than.get(less, f"more than for {less} of the {several} teachers")
        + f" ({', '.join(f'{share:.0f} %' for share in single)}).",
    ]


def heads(runs: Sequence[Finished], labels: Sequence[str]) -> pandas.DataFrame:
    """P@1, MAP and MRR in percent of each head as a ranker of its own, and of their combined score; means over runs."""
    columns = {label: f"head_{i}" for i, label in enumerate(labels)} | {"combined": "score"}
    tables = [run.scores() for run in runs]
    scores = {label: [table.assign(score=table[column]) for table in tables] for label, column in columns.items()}
    return results.mean_and_spread(results.frame(scores))[METRICS].rename_axis("head")


def disagreement(runs: Sequence[Finished]) -> float:
    """Percent of answered questions where two heads have another top candidate; mean over pairs of heads and runs."""
    found = []
    for run in runs:
        table = run.scores()
        table = table[table.groupby("question_id")["label"].transform("max") == 1]
        tops = [ranking.top(table["question_id"], table["label"], table[name]) for name in table.filter(like="head_")]
        found += [(a.to_numpy() != b.to_numpy()).mean() for a, b in combinations(tops, 2)]
    return 100 * float(numpy.mean(found))


def sentence_heads(found: pandas.DataFrame) -> str:
    gain = found.loc["combined", "MAP"] - found.drop("combined")["MAP"].mean()
    return f"Against the mean head, combining the heads {changes(gain, digits=2)}."
