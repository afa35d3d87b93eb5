"""The claims of the papers with their verdicts, as a reader sees them: the table, its caption, counts, the sentence."""

from typing import TYPE_CHECKING

import pandas

from as2lib.papers import claims, fidelity
from as2lib.papers.cerberus.systems import models
from as2lib.papers.cerberus.tables import note_on_families
from as2lib.runs.results import PAPERS_SETS, frame, mean_and_spread, set_of
from as2lib.runs.wording import listed, number, some

if TYPE_CHECKING:
    from as2lib.study import Study

SHOWN = ["claim", "verdict", "set", "metric", "published", *claims.TESTED, "reason", "test", "source"]
WAYS = {  # a verdict with how it was found → how a sentence says that
    "reproduced: better": "{} better by a test",
    "reproduced: equal": "{} equal within the margin",
    "reproduced: counted": "{} counted from architectures and formulas",
    "contradicted: measured": "{} by a test",
    "contradicted: counted": "{} counted",
}
KINDS = [*WAYS, *claims.VERDICTS[2:]]
TOO_SMALL = "inconclusive: published effect too small"  # a column of `counts`
PAPERS_PRECISION = 0.9  # of GOVERN's R@P
CAPTION = (
    "Points, a minus b, on this study's test sets, over all seeds of either (seeds: of a and of b); low, high: 95 % "
    "interval over questions and seeds (over questions alone, with one seed); p Holm: two-sided Wilcoxon, p equal: "
    "TOST within the study's margin, both corrected (Holm) over the claims of a paper that a notebook tests together; "
    "of R@P and prAUC a normal test from a bootstrap over questions. A page's own tables correct over their own rows: "
    "a pair can be a real difference there and inconclusive here, since p grows with the number of tests corrected "
    f"together. {claims.EFFECT} {claims.LEARNT} {claims.BUDGETS} A count is ours, of architectures at the papers' "
    "sizes or by the papers' formulas, and reproduced within its tolerance, 10 %, or 25 % where operations stand for "
    "time; whether the numbers that a paper prints agree with each other is the question of Table 00.6. Set: the "
    "paper's → the one that it is judged on here. A model of the cascade has this study's depth (paper: its layers)."
)
AGAINST = "the published numbers themselves are against the claim"
ONE_SEED = "one seed of either: no test here sees what another seed would change"


def caption(study: "Study") -> str:
    """How to read the table; where families are one encoder, what else sets their rows apart."""
    note = note_on_families(study)
    bases = [system for system in models(study) if system.prefix.startswith("base/")]
    wanted = {system.prefix: claims.runs_of(study, system.prefix) for system in bases}
    if not note or not all(runs and not study.store.missing(runs) for runs in wanted.values()):
        return CAPTION + note
    scores = {prefix: claims.scores_of(study, prefix) for prefix in wanted}
    means, said = mean_and_spread(frame(scores))["MAP"], []
    for system in bases:
        fit = study.backbones[system.prefix.partition("/")[2]].base.transfer_fit
        steps = fit.get("steps", study.fit.transfer.steps)
        said.append(f"{system.name} {number(means[system.prefix])} ({steps} steps of transfer)")
    return (
        f"{CAPTION}{note} So a pair of two families differs in what it was transferred on as well as in its method; "
        f"without a teacher MAP is: {listed(said)}."
    )


def judged(study: "Study") -> pandas.DataFrame:
    """The table of all claims: columns `SHOWN`, index `paper`.  Makes no run: claims without runs are not testable."""
    table, names = claims.examined(study, claims.listed()), claims.names_of(study)
    rows = list(table.itertuples())
    shown = {
        "verdict": [_kind(study, row) for _, row in table.iterrows()],
        "claim": [_text(study, names, row) for row in rows],
        "metric": [_measure(study, row.metric) for row in rows],
        "set": [_where(study, row) for row in rows],
        "reason": ["; ".join(filter(None, [row.reason, *_notes(study, row)])) for row in rows],
    }
    table["test"] = table["test"].where(table["test"] != "", "none named")
    return table.assign(**shown, paper=table["paper"].map(fidelity.NAMES)).set_index("paper")[SHOWN]


def _kind(study: "Study", row: pandas.Series) -> str:
    """Its verdict, and how it was found: one of `KINDS`."""
    if row["verdict"] not in claims.VERDICTS[:2]:
        return row["verdict"]
    differs = row["difference"] > 0 and row["p Holm"] < study.significance.alpha
    found = "measured" if row["verdict"] == claims.VERDICTS[1] else "better" if differs else "equal"
    return f"{row['verdict']}: {'counted' if row['claim'] == 'counted' else found}"


def _text(study: "Study", names: dict[str, str], row) -> str:
    if row.claim == "counted":
        return f"{row.says} (± {row.tolerance:g} %)"
    a, b = (called(study, names, name) for name in (row.a, row.b))
    return f"{a} {claims.SIGNS[row.claim]} {b}"


def called(study: "Study", names: dict[str, str], name: str) -> str:
    """names: from `claims.names_of`; the cascade's depths as notebook 08 calls them, with the paper's."""
    scheme, _ = claims.scheme_of(study, name)
    if scheme is None:
        return names.get(name, name)
    return str(scheme) + f" (paper: {claims.SCHEME.fullmatch(name)[2]})" * (scheme.method != "SR")


def _measure(study: "Study", metric: str) -> str:
    """A metric, with its precision where it has one, and the paper's where that is another."""
    if not metric.endswith("R@P"):
        return metric
    ours = study.govern.precisions[-1] if study.govern else PAPERS_PRECISION
    theirs = "" if ours == PAPERS_PRECISION else f" (published: {100 * PAPERS_PRECISION:g})"
    return f"{metric}={100 * ours:g}{theirs}"


def _where(study: "Study", row) -> str:
    """The paper's set, and the one that the claim is judged on where that is another."""
    if row.claim == "counted" or row.verdict == claims.VERDICTS[-1]:
        return row.set
    sources = map(set_of, study.plan[claims.runs_of(study, row.a)[0]].data["test"])
    ours = " + ".join(dict.fromkeys(PAPERS_SETS.get(name, name) for name in sources))
    return f"{row.set} → {ours}" if row.set != ours else ours


def _notes(study: "Study", row) -> list[str]:
    """What a reader of a verdict has to know beside it."""
    found = [AGAINST] if row.claim == "better" and row.published < 0 else []
    if row.seeds == "1 and 1" and row.verdict in claims.VERDICTS[:3]:
        kinds = {study.plan[run].kind for name in (row.a, row.b) for run in claims.runs_of(study, name)}
        found += [ONE_SEED] * (kinds != {"lexical"})
    return found


def counts(table: pandas.DataFrame) -> pandas.DataFrame:
    """How many claims of each paper got each verdict, a column a kind; of the inconclusive, how many had no chance.

    table: from `judged`.
    """
    tested = (table["verdict"] == "inconclusive") & ~table["reason"].str.contains(claims.NOT_LEARNT)
    small = tested & (table["smallest effect"] > table["published"].abs())
    found = pandas.crosstab(table.index, table["verdict"]).assign(**{TOO_SMALL: small.groupby(level=0).sum()})
    columns = [*KINDS[:-1], TOO_SMALL, KINDS[-1]]  # behind the inconclusive ones
    found = found.reindex(index=fidelity.NAMES.values(), columns=columns, fill_value=0)
    found.loc["all"] = found.sum()
    return found.rename_axis("paper")


def sentence(counts: pandas.DataFrame) -> str:
    """counts: from `counts`."""
    every, said = counts.loc["all"], []
    for verdict in claims.VERDICTS:
        kinds = {kind: every[kind] for kind in KINDS if kind.partition(":")[0] == verdict and every[kind]}
        how = [WAYS[kind].format(count) for kind, count in kinds.items() if kind in WAYS]
        if kinds:
            said.append(f"{sum(kinds.values())} {verdict}" + f" ({', '.join(how)})" * bool(how))
    last, small = "", every[TOO_SMALL]
    if small:
        of = some(small, every["inconclusive"], "inconclusive ones")
        last = f" For {of}, the published effect is smaller than what these questions can show."
    return f"Of {every[KINDS].sum()} claims of the papers: {', '.join(said)}.{last}"
