"""What notebook 07 shows of CERBERUS's claims: the verdicts of `papers.claims`, with the tests that the paper names."""

from typing import TYPE_CHECKING

import pandas

from as2lib.papers import claims as judging
from as2lib.papers.cerberus.systems import BASELINE
from as2lib.papers.cerberus.tables import notes
from as2lib.papers.claims import VERDICTS
from as2lib.runs.results import TIE_RULE, note_on_intervals
from as2lib.runs.wording import number, some

if TYPE_CHECKING:
    from as2lib.study import Study

TRIVIAL = ("mhs/3h1", BASELINE.prefix)  # a pair that nobody would call equal, as a scale for the tests
FAMILY = 7  # the claims that are tested together, in the file of the paper's claims
TESTS = ["seeds", "difference", "low", "high", "p", "p Holm", "p equal", "smallest effect"]
BEHIND = ["test", "published", "set", "reason"]
DIFFERENCES = ["verdict", *TESTS, "effect", "won", "lost", *BEHIND]
EQUALITIES = ["verdict", "claim", *TESTS, "ρ", "p ρ Holm", *BEHIND]
FIRST_PLACES = ["difference", "low", "high", "p", "p Holm", "effect", "p equal", "won", "lost", "tied"]
NOT_RUN = ["claim", "reason", "test", "source", "published", "set"]


def examined(study: "Study", metric: str = "MAP") -> pandas.DataFrame:
    """`papers.claims.examined` of this notebook's claims, index `comparison`, such as "MHS − ELECTRA base".

    Last the trivial pair, tested alone, of which nothing is claimed.
    """
    table = judging.listed().query("paper == 'cerberus' and family == @FAMILY").assign(metric=metric)
    scale = table.head(1).assign(a=TRIVIAL[0], b=TRIVIAL[1], family=-1, test="", published=float("nan"), set="")
    table = table.replace({"test": {"": "none named"}})
    table = judging.examined(study, pandas.concat([table, scale], ignore_index=True))
    table.loc[len(table) - 1, ["claim", "verdict", "reason"]] = ""
    names = judging.names_of(study)
    names[TRIVIAL[1]] += " (trivial)"
    index = [f"{names.get(a, a)} − {names.get(b, b)}" for a, b in zip(table["a"], table["b"], strict=True)]
    return table.set_axis(index).rename_axis("comparison")


def judged(table: pandas.DataFrame, equal: bool) -> pandas.DataFrame:
    """The claims of a difference, or of equality, whose systems have run; last the trivial pair.

    table: from `examined`.  Columns: those of `results.compare`, the verdict with its reason, and what the paper says.
    """
    kind = table["claim"].isin(["equal", "equal or better"] if equal else ["better"])
    found = pandas.concat([table[kind & (table["verdict"] != VERDICTS[-1])], table.tail(1)])
    return found.reindex(columns=EQUALITIES if equal else DIFFERENCES)


def pairs(table: pandas.DataFrame) -> pandas.DataFrame:
    """Each pair that was tested once, the trivial one last.  table: from `examined`."""
    return table[table["difference"].notna()].drop_duplicates(["a", "b"])


def not_run(table: pandas.DataFrame) -> pandas.DataFrame:
    """The claims about systems that the study does not run.  table: from `examined`."""
    return table.loc[table["verdict"] == VERDICTS[-1], NOT_RUN]


def caption(study: "Study", tests: pandas.DataFrame, metric: str = "MAP") -> str:
    """tests: from `pairs`, also below."""
    policy = f"{tests.iloc[0][['won', 'lost', 'tied']].sum():.0f} questions (policy “answered”; {TIE_RULE})"
    interval = "low, high: 95 % bootstrap interval over questions and seeds"
    return (
        f"Points of {metric}, test set, {policy}, over all seeds of either (seeds: of a and of b); {interval}. p Holm, "
        f"p ρ Holm and p equal are corrected over all pairs here but the trivial one. "
        f"{note_on_intervals(study)} {notes(study)}"
    )


def counts(table: pandas.DataFrame) -> pandas.Series:
    """How many claims got each verdict that a test can give.  table: from `judged`."""
    return table["verdict"].value_counts().reindex(VERDICTS[:-1], fill_value=0)


def tally(table: pandas.DataFrame) -> str:
    """The same as part of a sentence; what did not occur is left out."""
    return ", ".join(f"{count} {name}" for name, count in counts(table).items() if count) or "none was tested"


def answer(better: pandas.DataFrame, equal: pandas.DataFrame) -> str:
    """better, equal: from `judged`."""
    return (
        f"Of the paper's {counts(better).sum()} claims that one system is better: {tally(better)}; of its "
        f"{counts(equal).sum()} claims that two are equal, or one equal or better: {tally(equal)}."
    )


def sentences_differences(table: pandas.DataFrame) -> list[str]:
    wilcoxon = table.loc[table["test"] == "Wilcoxon", "verdict"]
    said = [f"Claims that one system is better, {counts(table).sum()}: {tally(table)}."]
    if len(wilcoxon):
        found = some((wilcoxon == VERDICTS[0]).sum(), len(wilcoxon))
        said.append(f"Reproduced, of those for which the paper names a Wilcoxon test: {found}.")
    return said


def correlated(study: "Study", tests: pandas.DataFrame) -> pandas.DataFrame:
    """The pairs that Spearman's test, read as the paper reads it, calls equal; `apart`: Wilcoxon's test disagrees."""
    alpha = study.significance.alpha
    found = tests[tests["p ρ Holm"] < alpha]
    return found.assign(apart=(found["p Holm"] < alpha) & ~(found["p equal"] < alpha))


def sentences_equalities(study: "Study", table: pandas.DataFrame, tests: pandas.DataFrame) -> list[str]:
    alike, trivial = correlated(study, tests), tests.index[-1]
    called = f"Read as the paper reads it, Spearman's test would call {some(len(alike), len(tests), 'pairs')} equal"
    if len(alike):
        also = "also" if trivial in alike.index else "but not"
        widest, apart = number(alike["difference"].abs().max()), some(alike["apart"].sum(), len(alike), "pairs")
        called += f", {also} MHS and the trivial ranker. Those lie up to {widest} points of MAP apart, and Wilcoxon's "
        called += f"test finds a real difference in {apart}"
    counted = f"Claims that two systems are equal, or one equal or better, {counts(table).sum()}"
    return [f"{counted}: {tally(table)}.", f"{called}."]


def different(study: "Study", tests: pandas.DataFrame) -> int:
    """How many of the claimed pairs differ."""
    return int((tests["p Holm"].iloc[:-1] < study.significance.alpha).sum())


def sentence_first_places(study: "Study", tests: pandas.DataFrame, first: pandas.DataFrame) -> str:
    same, count = (tests["difference"] * first["difference"] >= 0).iloc[:-1].sum(), len(tests) - 1
    return (
        f"Pairs that differ in AP: {some(different(study, tests), count)}; in P@1: "
        f"{some(different(study, first), count)}; the two measures point the same way in {some(same, count)}."
    )
