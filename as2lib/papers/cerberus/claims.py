"""What the CERBERUS paper claims of pairs of systems, and what a study's runs say of it: tables and sentences."""

from typing import TYPE_CHECKING

import pandas

from as2lib.papers import claims as judging
from as2lib.papers.cerberus.systems import systems
from as2lib.runs.results import TIE_RULE, compare, note_on_intervals, published, scored
from as2lib.runs.run import prefix_of
from as2lib.runs.wording import number, some

if TYPE_CHECKING:
    from as2lib.study import Study

TRIVIAL = ("mhs/3h1", "lexical/overlap_then_rank")  # a pair that nobody would call equal, as a scale for the tests
# The verdicts of `papers.claims`, in the words of notebook 07's tables.
WORDS = dict(zip(judging.VERDICTS, ("upheld", "contradicted", "within margin", "not shown"), strict=False))
VERDICTS = tuple(WORDS.values())
FAMILY = 7  # the claims that are tested together in notebook 07, in the file of the paper's claims
DIFFERENCES = ["verdict", "test", "published", "difference", "low", "high", "p", "p Holm", "effect", "won", "lost"]
EQUALITIES = ["verdict", "claim", "published", "difference", "low", "high", "ρ", "p ρ Holm", "p Holm", "p equal"]
FIRST_PLACES = ["difference", "low", "high", "p", "p Holm", "effect", "p equal", "won", "lost", "tied"]


def claims(study: "Study") -> pandas.DataFrame:
    """The claims that notebook 07 tests, one a row: a, b (run prefixes), claim, test (none: it names none), source,
    `planned`, and the published difference in MAP, on WikiQA where both systems have it there, else on IAS2 (`on`).
    """
    table = published("cerberus_claims").fillna({"test": "none"}).rename(columns={"set": "on"})
    table = table[table["family"] == FAMILY].reset_index(drop=True)
    prefixes = {prefix_of(name) for name in study.plan}
    table["planned"] = table["a"].isin(prefixes) & table["b"].isin(prefixes)
    return table[["a", "b", "claim", "test", "source", "planned", "published", "on"]]


def paired(study: "Study", listed: pandas.DataFrame, metric: str = "MAP") -> pandas.DataFrame:
    """`results.compare` of the planned claims' pairs, corrected over them; the last row is the trivial pair, alone."""
    planned = listed[listed["planned"]]
    parts = list(zip(planned["a"], planned["b"], strict=True)), [TRIVIAL]
    scores = scored(study, {prefix for part in parts for pair in part for prefix in pair})
    return pandas.concat([compare(study, scores, part, metric, draw_seeds=True) for part in parts]).reset_index()


def named(study: "Study", pairs: pandas.DataFrame) -> pandas.DataFrame:
    """A table of pairs, with each pair's name as its index, such as "MHS − ELECTRA base"."""
    names = {prefix: system.name for prefix, system in systems(study).items()}
    names[TRIVIAL[1]] += " (trivial)"
    index = [f"{names[a]} − {names[b]}" for a, b in zip(pairs["a"], pairs["b"], strict=True)]
    return pairs.set_axis(index).rename_axis("comparison")


def judged(study: "Study", listed: pandas.DataFrame, tests: pandas.DataFrame, equal: bool) -> pandas.DataFrame:
    """The planned claims of a difference, or of equality, and their verdicts; last the trivial pair."""
    table = listed[listed["planned"] & ((listed["claim"] != "better") == equal)].merge(tests, on=["a", "b"])
    columns = (table[name] for name in ("claim", "difference", "p Holm", "p equal"))
    rows, alpha = zip(*columns, strict=True), study.significance.alpha
    table["verdict"] = [WORDS[judging.verdict(*row, alpha)] for row in rows]
    return named(study, pandas.concat([table, tests.tail(1)]))[EQUALITIES if equal else DIFFERENCES]


def not_run(study: "Study", listed: pandas.DataFrame) -> pandas.DataFrame:
    """The claims about systems that the study does not run."""
    absent = named(study, listed[~listed["planned"]])
    return absent[["claim", "test", "source", "published", "on"]].assign(state="not run")


def caption(study: "Study", tests: pandas.DataFrame, metric: str = "MAP") -> str:
    policy = f"{tests.loc[0, ['won', 'lost', 'tied']].sum()} questions (policy “answered”; {TIE_RULE})"
    interval = "low, high: 95 % bootstrap interval over questions and seeds"
    return f"Points of {metric}, test set, {policy}; {interval}. {note_on_intervals(study)}"


def counts(table: pandas.DataFrame) -> pandas.Series:
    """How many claims got each verdict.  table: from `judged`."""
    return table["verdict"].value_counts().reindex(VERDICTS, fill_value=0)


def tally(table: pandas.DataFrame) -> str:
    """The same as part of a sentence; what did not occur is left out."""
    return ", ".join(f"{count} {name}" for name, count in counts(table).items() if count) or "none was tested"


def answer(better: pandas.DataFrame, equal: pandas.DataFrame) -> str:
    """better, equal: from `judged`."""
    return (
        f"Of the paper's {better['verdict'].count()} claims that one system is better: {tally(better)}; of its "
        f"{equal['verdict'].count()} claims that two are equal, or one equal or better: {tally(equal)}."
    )


def sentences_differences(table: pandas.DataFrame) -> list[str]:
    wilcoxon = table.loc[table["test"] == "Wilcoxon", "verdict"]
    said = [f"Claims that one system is better, {table['verdict'].count()}: {tally(table)}."]
    if len(wilcoxon):
        upheld = some((wilcoxon == "upheld").sum(), len(wilcoxon))
        said.append(f"Upheld, of those for which the paper names a Wilcoxon test: {upheld}.")
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
        widest = number(alike["difference"].abs().max())
        called += f"; they lie up to {widest} points of MAP apart, and Wilcoxon's test tells "
        called += {0: "none", len(alike): "all"}.get(alike["apart"].sum(), str(alike["apart"].sum()))
        called += f" of them apart; MHS and the trivial ranker are {'' if trivial in alike.index else 'not '}among them"
    counted = f"Claims that two systems are equal, or one equal or better, {table['verdict'].count()}"
    return [f"{counted}: {tally(table)}.", f"{called}."]


def different(study: "Study", tests: pandas.DataFrame) -> int:
    """How many of the claimed pairs differ.  tests: from `paired`."""
    return int((tests["p Holm"].iloc[:-1] < study.significance.alpha).sum())


def sentence_first_places(study: "Study", tests: pandas.DataFrame, first: pandas.DataFrame) -> str:
    same, pairs = (tests["difference"] * first["difference"] >= 0).iloc[:-1].sum(), len(tests) - 1
    return (
        f"Pairs that differ in AP: {some(different(study, tests), pairs)}; in P@1: "
        f"{some(different(study, first), pairs)}; the two measures point the same way in {some(same, pairs)}."
    )
