"""GOVERN's tables and sentences: what systems answer when they may stay silent, and how teachers vote."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pandas
from scipy.stats import binomtest

from as2lib.data.pairs import at_hand, filter_questions
from as2lib.metrics import ranking, threshold
from as2lib.papers.cerberus.tables import tested
from as2lib.papers.govern.systems import ALIKE, BASELINE, NO_LABELS, TABLE_2, TABLE_4, systems, trained_longer
from as2lib.runs import results
from as2lib.runs.finished import Finished
from as2lib.runs.texts import missing, pairs_of
from as2lib.runs.wording import apart, changes, listed, number, signed, some

if TYPE_CHECKING:
    from as2lib.study import Study

LEARNERS = {"unlabelled": "govern/mean", "train": "govern/ca-mkd"}  # set → a system that learns all of its pairs
ARCHITECTURE = {  # column of a published table → what it is called
    "parameters_M": "parameters (M)", "layers": "layers", "hidden": "hidden units", "heads": "attention heads"
}  # fmt: skip
AUC, MEAN = "qp prAUC (all)", r"\((all|answered)\)$"  # a measure's name, and how the names of all of them end


def data(study: "Study") -> pandas.DataFrame:
    """Questions and pairs of each set beside GOVERN's Table 1; without texts, the pairs that runs learnt from."""
    sets, counts = {"unlabelled": at_hand(tuple(study.govern.unlabelled), None)}, {}
    sets |= {split: pairs_of(study, parts) for split, parts in study.data.target.model_dump().items()}
    for name, pairs in sets.items():
        if pairs:
            pairs = filter_questions(pairs, "answered") if name == "train" else pairs
            counts[name] = {"questions": len(set(pairs["question_id"])), "pairs": len(pairs)}
        elif name in LEARNERS:
            counts[name] = {"pairs": study.runs(LEARNERS[name])[0].facts.get("pairs")}
    counts = pandas.DataFrame.from_dict(counts, orient="index", columns=["questions", "pairs"]).reindex([*sets])
    paper = results.published("govern_table1").set_index("dataset")[[*counts]].add_prefix("published ")
    return counts.join(paper).astype("Int64").rename_axis("set")


def sentence_texts(study: "Study") -> str:
    """Which texts of the pool and of the training set are not here; empty where all are."""
    return f"{missing(study.govern.unlabelled, None)} {missing(study.data.target.train)}".strip()


def sentence_data(sizes: pandas.DataFrame) -> str:
    pairs = sizes[["pairs", "published pairs"]]
    ours, theirs = pairs.loc["unlabelled"] / pairs.loc["train"]
    return f"The pool has {ours:.1f} times the pairs of the labelled training set; the paper's has {theirs:.0f} times."


def measures(run: Finished, precisions: Sequence[float]) -> dict[str, float]:
    """One run's threshold metrics over all test questions, and P@1 and MAP over the answered ones, in percent."""
    (question, label, score), found = _columns(run), {}
    for precision in precisions:
        at = f"R@P={100 * precision:g} (all)"
        found[f"q {at}"] = threshold.question_recall_at_precision(question, label, score, precision)
        found[f"qp {at}"] = threshold.pair_recall_at_precision(label, score, precision)
    ranks = ranking.summary(question, label, score)
    found[AUC] = threshold.pair_pr_auc(label, score)
    found |= {f"{name} (answered)": ranks[name] for name in ("P@1", "MAP")}
    return {name: 100 * value for name, value in found.items()}


def table(study: "Study", prefixes: Iterable[str], paper: str) -> pandas.DataFrame:
    """One row a system: mean and sample standard deviation over its seeds, in percent, beside a published table.

    Columns: run, kind, seeds, parameters, each of `measures` with " ±", "unreached" (seeds with a recall of 0 at the
    first precision, since no threshold reaches it) and `published …` for every metric that the published table has.
    """
    known, facts, measured = systems(study), [], []
    for prefix in prefixes:
        runs, system = study.runs(prefix), known[prefix]
        facts.append((system.label, prefix, system.kind, len(runs), runs[0].facts["parameters"]))
        measured += [{"run": prefix, **measures(run, study.govern.precisions)} for run in runs]
    measured, theirs = pandas.DataFrame(measured).set_index("run"), results.published(paper).set_index("run")
    unreached = (measured.iloc[:, :2] == 0).any(axis=1).groupby("run").sum().rename("unreached")
    shown = {name: name for name in theirs if f"{name} (all)" in measured} | ARCHITECTURE
    theirs = theirs.filter(shown).rename(columns=shown).add_prefix("published ")
    facts = pandas.DataFrame(facts, columns=["system", "run", "kind", "seeds", "parameters"])
    for more in (results.over_seeds(measured, "run"), unreached, theirs):
        facts = facts.join(more, on="run")
    return facts.set_index("system")


def students(study: "Study") -> pandas.DataFrame:
    """`table` of the systems of Table 2."""
    return table(study, [s.prefix for s in systems(study).values() if s.kind in TABLE_2], "govern_table2")


def at_first_precision(study: "Study", found: pandas.DataFrame) -> pandas.DataFrame:
    """What stands beside GOVERN's Table 2."""
    return found.filter(regex=rf"^run$|R@P={100 * study.govern.precisions[0]:g}( |$)|answered|unreached")


def at_other_precisions(study: "Study", found: pandas.DataFrame) -> pandas.DataFrame:
    """What systems cost, and what they do at the other thresholds, and at all of them."""
    return found.drop(columns=[*at_first_precision(study, found).columns[1:], "kind"])


def numbers_students(found: pandas.DataFrame) -> dict[str, float]:
    """The mean of every measure by system and measure, in words that the overview reads."""
    rows = found.set_index("run").filter(regex=MEAN).iterrows()
    return {f"{prefix} {name}": value for prefix, row in rows for name, value in row.items()}


def longest(study: "Study") -> list[str]:
    """The prefixes of the student of GOVERN and of that of the mean, each with its largest budget."""
    return [trained_longer(study).get(prefix, prefix) for prefix in ("govern/govern", "govern/mean")]


def sentences_students(study: "Study", found: pandas.DataFrame) -> list[str]:
    of, names = found.set_index("run").loc[longest(study)], _labels(found)
    gaps = "; ".join(f"{name} {signed(gap)}" for name, gap in of.filter(regex=MEAN).diff(-1).iloc[0].items())
    noise = of[f"{AUC} ±"].max()
    seeds = "" if pandas.isna(noise) else f" (one standard deviation over seeds: up to {number(noise)} of qp prAUC)"
    return [
        f"The {' minus the '.join(names[list(of.index)])}, in points: {gaps}{seeds}.",
        *sentences_longer(study, found),
        f"Systems that no threshold brings to a precision of {100 * study.govern.precisions[0]:g} % in one seed or "
        f"more: {some((found['unreached'] > 0).sum(), len(found))}.",
    ]


def sentences_longer(study: "Study", found: pandas.DataFrame) -> list[str]:
    """What longer fits on the pool change in the students that have them."""
    of, names, said = found.set_index("run")[[AUC, "MAP (answered)"]], _labels(found), []
    for short, longer in trained_longer(study).items():
        gains = listed([f"{signed(gain)} of {name}" for name, gain in (of.loc[longer] - of.loc[short]).items()])
        length = f"{study.govern.longer_fit.length} on the pool in place of {study.govern.unlabelled_fit.length}"
        said.append(f"What {length} bring the {names[short]}, in points: {gains}.")
    return said


def sentence_dev(study: "Study") -> str:
    """How the students without labels stand to the trivial ranker on dev, which speaks before any test set does."""
    called = {one.prefix: one.name for one in systems(study).values() if one.kind in ("trivial", NO_LABELS)}
    trivial, *students = _on_dev(study, called).reindex([*called])
    above = sum(found > trivial for found in students)
    found = listed([f"{name} {number(one)}" for name, one in zip([*called.values()][1:], students, strict=True)])
    above = some(above, len(students), "students")
    return f"MAP on dev: {found}; {above} above the trivial baseline, {number(trivial)}."


def gsb(study: "Study", base: str, new: str) -> pandas.DataFrame:
    """Good : Same : Bad of one system against another over all questions, a row a seed; gain in percent.

    Below it GOVERN's Table 3; tail queries, which no public set marks, stay empty.
    """
    rows = {}
    for seed, *runs in zip(study.govern.repeats(study), study.runs(base), study.runs(new), strict=True):
        found = threshold.gsb(*(ranking.per_question(*_columns(run), "all")["P@1"] for run in runs))
        rows[f"seed {seed}"] = {**found._asdict(), "gain": 100 * found.gain, "p sign": found.p}
    rows["tail queries: not known"] = {}
    for row in results.published("govern_table3").to_dict("records"):
        sign = binomtest(row["good"], row["good"] + row["bad"]).pvalue
        rows[f"published, {row['queries']} queries"] = {**row, "p sign": sign}
    table = pandas.DataFrame([*rows.values()], [*rows])[["good", "same", "bad", "gain", "p sign"]]
    return table.astype(dict.fromkeys(("good", "same", "bad"), "Int64")).rename_axis("questions")


def sentence_gsb(table: pandas.DataFrame) -> str:
    ours, paper = table.filter(like="seed ", axis="index"), table.loc["published, random queries"]
    return (
        f"Good : Same : Bad over the seeds is {' : '.join(map(str, ours[['good', 'same', 'bad']].sum()))}, a mean "
        f"gain of {signed(ours['gain'].mean())} % (published, random queries: {signed(paper['gain'])} %); a sign test "
        f"at 0.05 sees a difference in {some((ours['p sign'] < 0.05).sum(), len(ours), 'seeds')}."
    )


def single_teacher(study: "Study") -> pandas.DataFrame:
    """GOVERN's Table 4: one teacher of five replaced, and the three teachers by themselves; beside it MAP on dev."""
    rows = [BASELINE, f"govern/govern-of-{TABLE_4}", "govern/one-better", "govern/one-worse", f"govern/fold-{TABLE_4}"]
    better = f"govern/teacher-{len(study.govern.teachers)}"
    found = table(study, [*rows, better, "govern/worse-teacher"], "govern_table4")
    found.index = found.index.where(found["run"] != better, "the better teacher")
    found["dev MAP"] = found["run"].map(_on_dev(study, found["run"]))
    return found.filter(regex="^run$|seeds|^parameters|qp prAUC|^dev")


def replacing(single: pandas.DataFrame) -> pandas.DataFrame:
    """What a better and a worse teacher change, in points of qp prAUC: rows ours, published."""
    of = single.set_index("run")[[AUC, "published qp prAUC"]].set_axis(["ours", "published"], axis=1)
    five = of.loc[f"govern/govern-of-{TABLE_4}"]
    return pandas.DataFrame({f"one {kind}": of.loc[f"govern/one-{kind}"] - five for kind in ("better", "worse")})


def sentences_replacing(single: pandas.DataFrame, change: pandas.DataFrame) -> list[str]:
    """single: from `single_teacher`.  change: from `replacing`."""
    (better, worse), theirs = change.to_numpy()
    of = single.set_index("run").loc[["govern/one-better", f"govern/govern-of-{TABLE_4}", "govern/one-worse"]]
    order = "alike" if of["dev MAP"].rank().equals(of[AUC].rank()) else "otherwise"
    dev = "better {}, five alike {}, worse {}".format(*map(number, of["dev MAP"]))
    once = "; of one seed each, they may differ by seed alone: a test draws questions" * bool((of["seeds"] == 1).all())
    return [
        f"A much better teacher in place of one {changes(better, 'qp prAUC')}, a much worse one "
        f"{changes(worse, 'qp prAUC')} (published: {' and '.join(signed(one, 2) for one in theirs)}).",
        *[f"MAP on dev orders the three {order}: {dev}{once}."] * bool(of["dev MAP"].notna().all()),
    ]


def curve(study: "Study") -> pandas.DataFrame:
    """GOVERN's Figure 2, a row a seed: system, teachers, qp prAUC; up to `ALIKE` teachers one student serves both."""
    found = [
        (system, teachers, 100 * threshold.pair_pr_auc(*_columns(run)[1:]))
        for system, name in (("GOVERN", "govern"), ("mean", "mean"))
        for teachers in study.govern.ablation.teachers
        for run in study.runs(f"govern/{'mean' if teachers <= ALIKE else name}-of-{teachers}")
    ]
    return pandas.DataFrame(found, columns=["system", "teachers", "qp prAUC"])


def points(curve: pandas.DataFrame) -> pandas.DataFrame:
    """The points of `curve`: a row a number of teachers, the mean over seeds of each system, and " ±"."""
    found = curve.pivot_table("qp prAUC", "teachers", "system", aggfunc=["mean", "std"], dropna=False)
    return found.set_axis(["GOVERN", "mean", "GOVERN ±", "mean ±"], axis=1)


def sentence_points(points: pandas.DataFrame) -> str:
    gain, steps = points.iloc[-1] - points.iloc[0], points["GOVERN"].diff()
    path = f", not steadily ({', '.join(map(number, points['GOVERN']))})" * bool(steps.min() < 0 < steps.max())
    return (
        f"Going from {points.index[0]} to {points.index[-1]} teachers {changes(gain['GOVERN'], 'qp prAUC')} for the "
        f"student of GOVERN{path}; {changes(gain['mean'], 'qp prAUC')} for that of the mean."
    )


def tests(study: "Study") -> pandas.DataFrame:
    """Paired tests of the student of GOVERN against the others, of longer fits, and of what labels change."""
    pairs = [tuple(longest(study)), *((longer, short) for short, longer in trained_longer(study).items())]
    pairs += [("govern/govern", other) for other in ("govern/mean", "govern/lr", "govern/mean-ensemble")]
    pairs += [("govern/govern-ca", other) for other in ("govern/govern", "govern/ca-mkd", "govern/ca-mkd-without-ce")]
    return results.labelled(tested(study, pairs), {prefix: system.name for prefix, system in systems(study).items()})


def answer(study: "Study", tests: pandas.DataFrame) -> str:
    """tests: from `tests`, GOVERN against the mean first, each with its largest budget."""
    row = tests.iloc[0]
    gap = apart(row["difference"], "the student of their mean")
    return f"A student of teachers that vote is {gap}: {results.verdict(study, row)}."


def heads(study: "Study") -> pandas.DataFrame:
    """Beyond the paper: a head for each teacher, beside the student of GOVERN."""
    rows = ["govern/govern", "govern/heads-teacher", "govern/heads-govern", BASELINE]
    found = table(study, rows, "govern_table2").filter(regex="^run$|seeds|^param|prAUC|answered")
    return found.rename(index={found.index[0]: "one head, GOVERN"})


def captions(study: "Study") -> dict[str, str]:
    """What stands above tables and figures where it is long or computed."""
    answerable, given = study.runs(BASELINE)[0].scores().groupby("question_id")["label"].max(), study.govern
    pool, prefixes = given.unlabelled_fit.said(), [s.prefix for s in systems(study).values() if s.kind == NO_LABELS]
    start = " Teachers and students start from a supervised transfer step, which the paper's students do not."
    return {
        "students": f"Test set: (all) over all {len(answerable)} questions, wrong answers to those without one count; "
        f"(answered) over the {answerable.sum()} with a correct candidate; {results.TIE_RULE}. Percent; ± standard "
        "deviation over the seeds of a student. Unreached: seeds in which no threshold keeps "
        f"{100 * given.precisions[0]:g} % correct; their recall is 0. Published: GOVERN Table 2. Without labels: "
        f"{pool}, unless the row says otherwise. {results.sentence_ends(study, prefixes)}"
        f"{start * (given.start == 'transfer')} CA-MKD adds a full cross entropy on the labels to what teachers say, "
        f"GOVERN-CA has none. {results.CLIPPED}",
        "curve": "Mean over seeds; bars: from the lowest to the highest seed. The paper's Figure 2 has no numbers.",
        "points": "qp prAUC of the students, percent; ± standard deviation over seeds; WO+RR: the trivial baseline."
        + (f" Fits: {given.ablation.fit.said()}; Table 10.2: {pool}." if given.ablation else ""),
        "tests": results.tests_caption(study),
        "heads": f"As Table 10.2; heads: seeds {', '.join(map(str, study.grid_seeds))}. The paper has no such model.",
    }


def _labels(found: pandas.DataFrame) -> pandas.Series:
    """What a `table` calls its systems, by prefix."""
    return found.reset_index().set_index("run")["system"]


def _on_dev(study: "Study", prefixes: Iterable[str]) -> pandas.Series:
    """MAP by prefix; those that were not scored on dev are left out."""
    runs = {prefix: study.runs(prefix) for prefix in prefixes}
    scores = {prefix: [run.scores("dev") for run in found if "dev" in run.run.data] for prefix, found in runs.items()}
    return results.mean_and_spread(results.frame(scores))["MAP"]


def _columns(run: Finished) -> tuple[pandas.Series, ...]:
    return tuple(run.scores()[name] for name in ("question_id", "label", "score"))
