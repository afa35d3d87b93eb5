"""From scores to a tidy frame, to a table, to comparisons; writes nothing, draws nothing, composes no sentence.

SCORES, the frame that every table starts from: one row a system, seed and question, with the columns `system` (its run
name), `seed` (-1 of a ranker that none changes), `question_id`, and `AP`, `P@1`, `RR`, `nDCG@10` in [0, 1].
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy
import pandas
from scipy.special import chdtri

from as2lib.metrics import ranking, significance
from as2lib.study.run import UNSEEDED, Row
from as2lib.study.study import Study

MEASURES = {"P@1": "P@1", "MAP": "AP", "MRR": "RR", "nDCG@10": "nDCG@10"}  # a mean → what it is the mean of
METRICS = ["P@1", "MAP", "MRR"]  # those of most tables
SCORE_COLUMNS = ["system", "seed", "question_id", "AP", "P@1", "RR", "nDCG@10"]
DRAWS = 100_000  # of questions and seeds, in every comparison
ALPHA = 0.05  # below which a corrected p value leaves a difference out
COMPARED = [  # the columns of a comparison without pairs
    *["difference", "low", "high", "p", "questions low", "questions high", "seeds"],
    *["smallest seen", "seen at best", "seen at worst", "Wilcoxon p", "wins", "losses", "ties", "zero inside"],
    *["published", "published p", "published inside", "verdict", "seeds needed"],
]


def load(
    study: Study,
    systems: Iterable[Row],
    split: str = "test",
    questions: str = "answered",
    measures: Sequence[str] = (),
    weights: str = "best",
) -> pandas.DataFrame:
    """SCORES of the runs of some systems, in their order; runs that are missing are made first.

    questions: the policy, as in `metrics.ranking`.  measures: further columns, of `ranking.per_question` ("R@5").
    weights: those of a fit that are "best" on dev, or its "last"; a ranker that is not trained counts as it is.
    `attrs["parameters"]` has those of each system's models.
    """
    study.add(systems := list(systems))
    systems = [study.systems.get(system.run, system) for system in systems]  # with the seeds that the study gives it
    tables, parameters = {}, {}
    for system in systems:
        for run in system.runs(study):
            stored = study.run(run.name)
            table = stored.scores(split)
            if weights == "last" and "last" in table:
                table = table.assign(score=table["last"])
            elif weights == "last" and stored.published and run.seeded:
                raise ValueError(f"{run.name}: what its last weights score is not published; `as2 fit` makes it")
            tables.setdefault(system.run, {})[run.number] = table
            parameters.setdefault(system.run, stored.facts.get("parameters"))
    scores = frame(tables, questions, measures)
    scores.attrs["parameters"] = parameters
    return scores


def frame(
    tables: Mapping[str, Mapping[int, pandas.DataFrame] | Sequence[pandas.DataFrame]],
    questions: str = "answered",
    measures: Sequence[str] = (),
) -> pandas.DataFrame:
    """SCORES of scored pairs, also such as no run holds: system → seed → its table, or a list of tables, whose seeds
    are numbered from 0.  questions, measures: as `load` takes them.
    """
    columns, frames = [*dict.fromkeys([*SCORE_COLUMNS, *measures])], []
    for system, seeds in tables.items():
        for seed, table in seeds.items() if isinstance(seeds, Mapping) else enumerate(seeds):
            pairs = (table[name] for name in ("question_id", "label", "score"))
            values = ranking.per_question(*pairs, questions, columns[3:]).reset_index()
            frames.append(values.assign(system=system, seed=seed))
    return pandas.concat(frames, ignore_index=True)[columns] if frames else pandas.DataFrame(columns=columns)


def answered(table: pandas.DataFrame) -> pandas.DataFrame:
    """The scored pairs of the questions that have a correct candidate."""
    return table[table.groupby("question_id")["label"].transform("max") == 1]


def table(
    scores: pandas.DataFrame,
    systems: Iterable[Row],
    published: pandas.DataFrame | None = None,
    measures: Sequence[str] = METRICS,
) -> pandas.DataFrame:
    """One row a system, index `run`: P@1, MAP, MRR in percent, mean over seeds, each with " ±" (sample standard
    deviation), `seeds`, `parameters`, and "published P@1", … where there are any.

    scores: SCORES.  A system without scores has a row of NaN.  published: indexed by run, columns P@1, MAP, MRR.
    measures: in place of the three; any that the scores were loaded with.
    """
    runs = pandas.Index([system.run for system in systems], name="run")
    measures = [ranking.MEANS.get(measure, measure) for measure in measures]
    result = mean_and_spread(scores, measures).reindex(runs)
    result["seeds"] = scores.groupby("system")["seed"].nunique().reindex(runs, fill_value=0)
    parameters = scores.attrs.get("parameters", {})
    result["parameters"] = pandas.array([parameters.get(run) for run in runs], dtype="Int64")
    if published is not None:
        paper = _first_of_each_run(published).reindex(runs)
        for metric in measures:
            if metric in paper and paper[metric].notna().any():
                result[f"published {metric}"] = paper[metric].astype(float)
    return result


def mean_and_spread(scores: pandas.DataFrame, measures: Iterable[str] = MEASURES) -> pandas.DataFrame:
    """One row a system: each metric in percent, mean over its seeds, and " ±", the sample standard deviation."""
    others = [column for column in scores.select_dtypes("number") if column not in SCORE_COLUMNS]
    groups = scores.groupby(["system", "seed"], sort=False)[[*MEASURES.values(), *others]]
    # fsum: the mean does not depend on the order of the questions, to the last bit
    means = groups.agg(lambda values: 100 * math.fsum(values) / len(values)).set_axis([*MEASURES, *others], axis=1)
    return with_spread(means.droplevel("seed")[[*measures]])


def with_spread(values: pandas.DataFrame) -> pandas.DataFrame:
    """The mean of each column over the rows of one index, first seen first, and beside it " ±", their deviation."""
    groups = values.groupby(level=0, sort=False)
    means, spreads = groups.mean(), groups.std(ddof=1).add_suffix(" ±")
    return means.join(spreads)[[name for column in values for name in (column, f"{column} ±")]]


def differences(scores: pandas.DataFrame, a: str, b: str, measure: str = "MAP") -> pandas.DataFrame:
    """a − b of each question, in [0, 1]: index question_id, a column a seed that both have.

    Seed i of a student had seed i of its teachers, so seeds are paired.  A ranker without training stands beside every
    seed of the other; systems without a common seed are compared by their means over seeds, in one column.
    """
    of_a, of_b = (_by_question(scores, system, measure) for system in (a, b))
    if set(of_a) == {UNSEEDED}:
        of_a = pandas.DataFrame({seed: of_a.iloc[:, 0] for seed in of_b})
    elif set(of_b) == {UNSEEDED}:
        of_b = pandas.DataFrame({seed: of_b.iloc[:, 0] for seed in of_a})
    elif not set(of_a) & set(of_b):
        of_a, of_b = (table.mean(axis=1).to_frame() for table in (of_a, of_b))
    both = [seed for seed in of_a if seed in of_b]
    gaps = of_a[both] - of_b[both]
    if (incomplete := gaps.isna().any(axis=1)).any():
        raise ValueError(f"{a} and {b}: expected the same questions in every seed, {incomplete.idxmax()!r} is not")
    return gaps


def compare(
    scores: pandas.DataFrame | Mapping[str, pandas.DataFrame],
    pairs: Sequence[tuple[str, str]],
    published: pandas.DataFrame | None = None,
    measure: str = "MAP",
    together: Collection[tuple[str, str]] = (),
    margin: float | None = None,
) -> pandas.DataFrame:
    """One row a pair of run names (a, b), difference a − b in points, over questions and the seeds that both have:

    `difference`, `low`, `high`, `p` (95 % interval and two-sided p value over questions and seeds, from one set of
    draws: `significance.over_questions_and_seeds`; NaN where there are not two seeds), `questions low`, `questions
    high` (95 % interval over questions alone), `seeds`, `smallest seen` (with 80 % power by this design, what a seed
    adds being pooled over the pairs; `seen at best` and `seen at worst`, by the 95 % range of that), and of each
    question's mean over seeds `Wilcoxon p`, `wins`, `losses`, `ties`; `zero inside`.  With `published` the paper's
    difference `published`, `published inside`, `published p` (of that difference in the place of zero), `verdict`
    (`significance.verdict`, by `low` and `high`) and `seeds needed`, to see the published difference.  Without an
    interval these are None, and the verdict empty.

    together: the pairs whose p values are corrected together (Holm): they get `p Holm`, of zero, `published p Holm`, of
    the published difference, a verdict by these (inside where they are not below 0.05), and `Holm sees`, the smallest
    difference that Holm's first step sees.  margin: also `equivalent within MARGIN`, by the interval, and `equality
    seen`, the percentage of such studies that call equal systems equal; "out of reach" where the interval over
    questions alone is wider than that.

    scores: SCORES; or target → SCORES of several that are pooled, stratified: the questions and seeds of each are drawn
    by themselves, and each counts by its questions; of each as many seeds, the first ones that both systems have.
    Seeds are paired as `differences` has it, with its errors.
    """
    of_targets = scores if isinstance(scores, Mapping) else {"": scores}
    gaps = []
    for a, b in pairs:  # sorted: the same draws, whichever target comes first
        of_pair = [differences(of_targets[name], a, b, measure) for name in sorted(of_targets)]
        fewest = min(gap.shape[1] for gap in of_pair)
        gaps.append([gap.iloc[:, :fewest] for gap in of_pair])
    # Two rankers without training would differ as much with another seed.
    arrays = [[gap.to_numpy().repeat(1 + ({*gap} == {UNSEEDED}), axis=1) for gap in targets] for targets in gaps]
    of_paper = [math.nan if published is None else published_difference(published, *pair, measure) for pair in pairs]
    estimates = significance.over_questions_and_seeds(arrays, DRAWS, published=[of / 100 for of in of_paper])
    rows, variances, tests = [], significance.seed_variances(arrays), len({*together} & {*pairs})
    at_best, at_worst = ([factor * of for of in variances] for factor in _range(pairs, gaps))
    for pair, targets, array, estimate, paper in zip(pairs, gaps, arrays, estimates, of_paper, strict=True):
        means = numpy.concatenate([target.mean(axis=1) for target in targets]).round(significance.DECIMALS)
        low, high = 100 * estimate.low, 100 * estimate.high
        known = not math.isnan(low)
        row = {"difference": 100 * estimate.difference, "low": low, "high": high, "p": estimate.p}
        row |= {"questions low": 100 * estimate.questions_low, "questions high": 100 * estimate.questions_high}
        row["seeds"] = targets[0].shape[1]
        for name, of in (("smallest seen", variances), ("seen at best", at_best), ("seen at worst", at_worst)):
            row[name] = 100 * significance.smallest_difference(array, of_seeds=of)
        row["Wilcoxon p"] = significance.signed_rank(means)[1]
        row |= {"wins": int((means > 0).sum()), "losses": int((means < 0).sum()), "ties": int((means == 0).sum())}
        row["zero inside"] = zero = bool(low <= 0 <= high) if known else None
        if published is not None:
            judged = known and not math.isnan(paper)
            row |= {"published": paper, "published p": estimate.p_published}
            row["published inside"] = inside = bool(low <= paper <= high) if judged else None
            row["verdict"] = significance.verdict(row["difference"], paper, zero, inside) if judged else ""
            row["seeds needed"] = significance.seeds_needed(array, paper / 100, variances)
        if pair in together:
            row["Holm sees"] = 100 * significance.smallest_difference(array, of_seeds=variances, tests=tests)
        if margin is not None and known:
            word = significance.equality(low, high, margin)
            wide = row["questions high"] - row["questions low"] >= 2 * margin  # and the interval is never narrower
            row[f"equivalent within {margin}"] = "out of reach" if word == "undecided" and wide else word
            row["equality seen"] = 100 * significance.chance_of_equality(array, margin / 100, variances)
        rows.append(row)
    index = pandas.MultiIndex.from_tuples(list(pairs), names=["a", "b"])
    table = pandas.DataFrame(rows, index, columns=None if rows else COMPARED)
    table = table.astype({name: "Int64" for name in table if name == "seeds needed"})
    return _corrected(table, together) if tests else table


def _corrected(tests: pandas.DataFrame, together: Collection[tuple[str, str]]) -> pandas.DataFrame:
    """With the p values of some pairs corrected together, and their verdicts by these."""
    named = tests.index.isin([*together])
    for name in ("p", "published p"):
        if name in tests:
            tests[f"{name} Holm"] = significance.holm(tests[name].where(named))
    for pair, test in tests[named].iterrows():
        if test.get("verdict"):
            inside = test["p Holm"] >= ALPHA, test["published p Holm"] >= ALPHA
            tests.loc[[pair], "verdict"] = significance.verdict(test["difference"], test["published"], *inside)
    return tests


def _range(pairs: Sequence[tuple[str, str]], gaps: Sequence[Sequence[pandas.DataFrame]]) -> list[float]:
    """Between which multiples of a pooled variance the true one lies, 95 %: chi squared, with the degrees of freedom
    of as many seeds and of comparisons that share systems.  Source: Box 1954 (a sum of dependent squares).
    """
    systems = dict.fromkeys(system for pair in pairs for system in pair)
    signs = numpy.array([[(name == a) - (name == b) for name in systems] for a, b in pairs])
    shared = signs @ signs.T
    seeds = [target.shape[1] for targets in gaps for target in targets if target.shape[1] > 1]
    freedom = (numpy.mean(seeds) - 1) * numpy.trace(shared) ** 2 / (shared**2).sum() if seeds else 0
    return [freedom / chdtri(freedom, tail) if freedom else math.nan for tail in (0.025, 0.975)]


def _by_question(scores: pandas.DataFrame, system: str, measure: str) -> pandas.DataFrame:
    """A system's values, index question_id, first seen first, a column a seed."""
    rows = scores.set_index("system").loc[[system]]
    table = rows.pivot_table(MEASURES.get(measure, measure), "question_id", "seed", sort=False)
    return table.reindex(rows["question_id"].unique())


def published_difference(published: pandas.DataFrame, a: str, b: str, measure: str = "MAP") -> float:
    """A paper's a − b in points; NaN where it has not both."""
    rows = _first_of_each_run(published)
    if measure not in rows or not {a, b} <= set(rows.index):
        return math.nan
    return float(rows.loc[a, measure]) - float(rows.loc[b, measure])


def _first_of_each_run(published: pandas.DataFrame) -> pandas.DataFrame:
    """A paper's table without the rows that stand for a run a second time, or for none of ours."""
    return published[~published.index.duplicated() & published.index.notna()]
