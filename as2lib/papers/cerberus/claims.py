"""What the CERBERUS paper claims of pairs of systems, and what the tests say of a study's runs, as data frames."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.metrics.significance import compare, holm, interval_over_seeds
from as2lib.runs.params import FAMILIES
from as2lib.runs.results import per_question, published

if TYPE_CHECKING:
    from as2lib.study import Study

Pair = tuple[str, str]
TRIVIAL = ("mhs/3h1", "lexical/overlap_then_rank")  # a pair that nobody would call equal, as a scale for the tests
VERDICTS = ("upheld", "contradicted", "within margin", "not shown")
SIZES = {"teacher": "large", "base": "base", "kd": "base"}
LABELS = {
    "lexical/overlap_then_rank": "WO+RR",
    "mhs/3h1": "MHS",
    "mhs/3h1-one-teacher": "MHS, one teacher",
    "mhs/3h1-no-teacher": "MHS, no teacher",
    "mhs/3h2": "MHS 3H2",
    "mhs/3h4": "MHS 3H4",
    "mhs/3h6": "MHS 3H6",
    "kd/electra-sum": "KD_Sum",
    "kd/electra-robin": "KD_RR",
    "hydra/3h1": "Hydra",
    "ensemble/base": "ensemble of 3 base",
    "ensemble/kd": "ensemble of 3 distilled",
}


def claims(study: "Study") -> pandas.DataFrame:
    """The paper's claims, one a row: a, b (run prefixes), claim, test (empty: it names none), source, `planned`, and
    the published difference in MAP, on WikiQA where both systems have it there, else on IAS2 (`on`).
    """
    table = published("cerberus_claims").fillna({"test": "none"})
    prefixes = {name.rsplit("/seed-", 1)[0] for name in study.plan}
    table["planned"] = table["a"].isin(prefixes) & table["b"].isin(prefixes)
    differences = [_published_difference(a, b) for a, b in zip(table["a"], table["b"], strict=True)]
    table["published"], table["on"] = zip(*differences, strict=True)
    return table


def compared(study: "Study", pairs: Sequence[Pair], metric: str = "AP") -> pandas.DataFrame:
    """Every test of every pair, on the test set's answered questions; index (a, b), each pair once.

    Tests see each question's mean over seeds; the interval draws questions and seeds.  In points: difference (a minus
    b), low, high.  p: Wilcoxon, two-sided, Pratt; effect: rank-biserial; ρ and p ρ: Spearman; p equal: TOST within the
    study's margin; p Holm, p ρ Holm and p equal are corrected over these pairs; won, lost, tied questions.
    """
    settings = study.significance.model_dump(exclude={"alpha"})
    pairs = list(dict.fromkeys(pairs))
    values = {prefix: per_question(study.runs(prefix), metric) for pair in pairs for prefix in pair}
    rows = []
    for a, b in pairs:
        found = compare(values[a].mean(axis=1), values[b].mean(axis=1), **settings)
        low, high = interval_over_seeds(values[a], values[b], study.significance.resamples)
        row = {"difference": 100 * found.difference, "low": 100 * low, "high": 100 * high}
        row |= {"p": found.wilcoxon_p, "p Holm": numpy.nan, "effect": found.effect, "ρ": found.spearman}
        row |= {"p ρ": found.spearman_p, "p ρ Holm": numpy.nan, "p equal": found.equivalence_p}
        rows.append({"a": a, "b": b, **row, "won": found.wins, "lost": found.losses, "tied": found.ties})
    table = pandas.DataFrame(rows).set_index(["a", "b"])
    for raw, corrected in (("p", "p Holm"), ("p ρ", "p ρ Holm"), ("p equal", "p equal")):
        table[corrected] = holm(table[raw].to_numpy())
    return table


def verdict(claim: str, row: pandas.Series, alpha: float) -> str:
    """What the tests of a row say of a claim: "better", "equal", or "equal or better".

    "upheld", "contradicted" (a real difference the other way, or any where equality is claimed), "within margin"
    (equal, where better is claimed), or "not shown".  Different is a small p Holm, equal a small p equal.
    """
    different, equal = bool(row["p Holm"] < alpha), bool(row["p equal"] < alpha)
    better = different and row["difference"] > 0
    if {"better": better, "equal": equal, "equal or better": equal or better}[claim]:
        return "upheld"
    if equal:
        return "within margin"
    return "contradicted" if different else "not shown"


def tally(counts: pandas.Series) -> str:
    """Counts by verdict as part of a sentence; what did not occur is left out."""
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number)


def judged(study: "Study", listed: pandas.DataFrame, tests: pandas.DataFrame) -> pandas.DataFrame:
    """Claims that are planned, each with its pair's tests (from `compared`) and its verdict; index `comparison`."""
    listed = listed[listed["planned"]]
    table = listed.join(tests, on=["a", "b"])
    table["verdict"] = [verdict(row["claim"], row, study.significance.alpha) for _, row in table.iterrows()]
    names = [pair_label(study, a, b) for a, b in zip(table["a"], table["b"], strict=True)]
    return table.set_axis(names).rename_axis("comparison")


def pair_label(study: "Study", a: str, b: str) -> str:
    """Such as "MHS − ELECTRA base"."""
    return f"{label(study, a)} − {label(study, b)}"


def label(study: "Study", prefix: str) -> str:
    """What a table or a figure calls a system, by its runs' prefix."""
    role, _, family = prefix.partition("/")
    if role in SIZES and family in FAMILIES:
        return f"{study.backbones[family].name} {SIZES[role]}" + (", distilled" if role == "kd" else "")
    student = study.backbones[FAMILIES[0]].name
    return LABELS.get(prefix) or {"ensemble/distilled": f"ensemble of 3 {student} base"}.get(prefix, prefix)


def _published_difference(a: str, b: str) -> tuple[float, str]:
    """The published MAP of a minus b, and the data set: WikiQA where a table has both there, else IAS2."""
    for dataset in ("WikiQA", "IAS2"):
        for name in ("cerberus_table2", "cerberus_table3", "cerberus_table4"):
            table = published(name).set_index("run")
            column = f"{dataset} MAP"
            if column in table and {a, b} <= set(table.index):
                return round(table.loc[a, column] - table.loc[b, column], 1), dataset
    return numpy.nan, ""
