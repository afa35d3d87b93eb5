"""Whether a student's heads resemble their teachers, and how it stands to their majority: tables and sentences."""

from typing import TYPE_CHECKING, NamedTuple

import numpy
import pandas

from as2lib.metrics.agreement import Agreement, Majority, agreement, majority, rank_correlation
from as2lib.metrics.significance import Comparison, compare
from as2lib.papers.cerberus.systems import systems
from as2lib.runs import results
from as2lib.runs.params import FAMILIES

if TYPE_CHECKING:
    from as2lib.study import Study

# k heads · t = k teachers, in the order of FAMILIES: head i learnt from teacher i
STUDENT, LABEL, K = "mhs/3h1", "MHS", len(FAMILIES)
MEASURES = {
    "shared": "correct top candidates shared (Figure 3)",
    "kappa": "top candidates: Cohen's kappa",
    "kappa_correct": "top candidates correct: Cohen's kappa",
    "correlation": "whole lists: rank correlation",
}
CASES = {
    "all right": "all teachers and the student right",
    "follows": "follows a right majority",
    "overrides": "overrides a wrong majority",
    "rest": "the student wrong",
}


class Seed(NamedTuple):
    """What was scored with one seed: the answered test questions' pairs in each table, a column a ranker."""

    number: int
    heads: pandas.DataFrame  # those of the student, then the controls
    teachers: pandas.DataFrame
    rankers: pandas.DataFrame  # the student as a whole, then the controls
    label: pandas.Series
    question_id: pandas.Index


def controls(study: "Study") -> dict[str, str]:
    """Label → run prefix of rankers that no teacher taught: what they share with teachers is no resemblance."""
    known = systems(study)
    base, trivial = known["base/electra"], known["lexical/overlap_then_rank"]
    return {f"{base.name}, no teacher": base.prefix, trivial.label: trivial.prefix}


def scored(study: "Study", controls: dict[str, str]) -> list[Seed]:
    """The test scores of each seed of the student.

    controls: as in `controls`; one without seeds is the same each time.
    """
    names = [study.backbones[family].name for family in FAMILIES]
    teachers = {f"{name} large": f"teacher/{family}" for name, family in zip(names, FAMILIES, strict=True)}
    others = {label: study.runs(prefix) for label, prefix in (teachers | controls).items()}
    found = []
    for i, (number, run) in enumerate(zip(study.seeds, study.runs(STUDENT), strict=True)):
        table = _by_pair(run)
        table = table[table.groupby("question_id")["label"].transform("max") == 1]
        scores = {label: _by_pair(runs[i % len(runs)])["score"] for label, runs in others.items()}
        beside = pandas.DataFrame(scores, index=table.index)
        heads = pandas.DataFrame({f"head taught by {name}": table[f"head_{j}"] for j, name in enumerate(names)})
        heads, whole = (part.join(beside[[*controls]]) for part in (heads, table["score"].to_frame(LABEL)))
        question_id = table.index.get_level_values("question_id")
        found.append(Seed(number, heads, beside[[*teachers]], whole, table["label"], question_id))
    return found


def policy(seeds: list[Seed]) -> str:
    """What every table counts, for its caption."""
    return results.caption(seeds[0].question_id.nunique()).removesuffix(" Percent.")


# --- Figure 3, and a head with its own teacher


def agreements(seeds: list[Seed]) -> dict[str, pandas.DataFrame]:
    """Each measure of `metrics.agreement`, mean over seeds: a row a head or control, a column a teacher."""
    found = [agreement(seed.heads, seed.teachers, seed.label, seed.question_id) for seed in seeds]
    means = [numpy.mean(values, axis=0) for values in zip(*found, strict=True)]
    axes = seeds[0].heads.columns.rename("head"), seeds[0].teachers.columns
    return {measure: pandas.DataFrame(mean, *axes) for measure, mean in zip(Agreement._fields, means, strict=True)}


def figure_3(found: dict[str, pandas.DataFrame]) -> pandas.DataFrame:
    """Percent of its correct choices that a head or control shares with each teacher, and with whom it shares most.

    found: from `agreements`.  published: whom the paper names for a head.
    """
    named = results.published("cerberus_figure3").set_index("head")["agrees most with"]
    models = results.published("cerberus_table2").set_index("run")["student"]
    shared = 100 * found["shared"]
    theirs = [models[f"teacher/{named[family]}"] for family in FAMILIES] + [None] * (len(shared) - K)
    return shared.assign(**{"agrees most with": shared.idxmax(axis=1), "published": theirs})


def mean_shares(table: pandas.DataFrame) -> tuple[float, float]:
    """Percent of their correct choices that the heads, and that the first control, share with a teacher."""
    shares = table.iloc[: K + 1, :K]
    return shares.iloc[:K].to_numpy().mean(), shares.iloc[K].mean()


def sentences_figure_3(table: pandas.DataFrame) -> list[str]:
    most, (taught, alone) = table["agrees most with"].iloc[:K], mean_shares(table)
    strongest, in_paper = most.mode()[0], " and ".join(table["published"].iloc[:K].unique())
    return [
        f"By the paper's measure {(most == strongest).sum()} of {K} heads agree most with {strongest}; the paper found "
        f"{in_paper} for all of them.",
        f"The base model without a teacher shares {alone:.1f} % of its correct choices with the teachers on average, "
        f"the heads {taught:.1f} %.",
    ]


def panels(found: dict[str, pandas.DataFrame]) -> dict[str, pandas.DataFrame]:
    """The agreements under titles that fit a figure's panels."""
    return {name.replace(": ", ":\n").replace(" (", "\n("): found[measure] for measure, name in MEASURES.items()}


def own_teacher(found: dict[str, pandas.DataFrame]) -> pandas.DataFrame:
    """A row a measure: what a head has with its own teacher, with what the other heads have with that same teacher.

    first: of the teachers, those whose own head is the one that agrees with them most.  found: from `agreements`.
    """
    rows = []
    for measure, label in MEASURES.items():
        square = found[measure].to_numpy()[:K]  # (k, t)
        own = numpy.diag(square)
        others = (square.sum(axis=0) - own) / (K - 1)
        row = {"own": own.mean(), "other heads": others.mean(), "difference": (own - others).mean()}
        first = int((square.argmax(axis=0) == numpy.arange(K)).sum())
        rows.append({"measure": label, **row, "first": first, "teachers": K})
    return pandas.DataFrame(rows).set_index("measure")


def own_teacher_test(study: "Study", seeds: list[Seed]) -> Comparison:
    """Paired over answered questions: a head's rank correlation with its own teacher against the other heads' with it.

    Each question's value is the mean over teachers and seeds; one where a score is constant for some pair is left out.
    """
    own, others = [], []
    for seed in seeds:
        for j, teacher in enumerate(seed.teachers):
            for i, head in enumerate(seed.heads.columns[:K]):
                found = rank_correlation(seed.heads[head], seed.teachers[teacher], seed.question_id)
                (own if i == j else others).append(found)
    means = [pandas.concat(part, axis=1).mean(axis=1, skipna=False) for part in (own, others)]
    means = pandas.concat(means, axis=1).dropna()
    return compare(means[0], means[1], **study.significance.model_dump(exclude={"alpha"}))


def sentences_own_teacher(study: "Study", own: pandas.DataFrame, test: Comparison) -> list[str]:
    verdict = "no difference was shown"
    if test.wilcoxon_p < study.significance.alpha:
        verdict = f"heads resemble their own teachers {'more' if test.difference > 0 else 'less'} than other heads do"
    return [
        f"In whole lists a head's rank correlation with its own teacher is {test.difference:+.4f} from what the other "
        f"heads have with it (95 % interval {test.low:+.4f} to {test.high:+.4f} over {test.n} questions; Wilcoxon, p "
        f"{results.p_text(test.wilcoxon_p)}): {verdict}.",
        f"{own.loc[MEASURES['correlation'], 'first']} of {K} teachers correlate most with their own head.",
    ]


# --- the majority of the teachers


def majorities(seeds: list[Seed]) -> pandas.DataFrame:
    """A row a case of the majority analysis: how many questions fall in it, mean over seeds.

    Columns: questions (the student's), the student and each control in percent, published (percent), published
    questions (of 243 on WikiQA; the rest is what remains).
    """
    cases = [{name: _majority(seed, name).by_question["case"] for name in seed.rankers} for seed in seeds]
    counts = [pandas.DataFrame(one).apply(pandas.Series.value_counts).reindex([*CASES]).fillna(0) for one in cases]
    means = sum(counts) / len(counts)
    paper = results.published("cerberus_majority").set_index("case")
    theirs, total = paper["questions"].reindex([*CASES]).astype(float), paper["of"].iloc[0]
    theirs["rest"] = total - paper["questions"].sum()
    table = (100 * means / seeds[0].question_id.nunique()).assign(published=100 * theirs / total)
    table.insert(0, "questions", means[LABEL])
    return table.assign(**{"published questions": theirs}).rename(index=CASES).rename_axis("case")


def cells(seeds: list[Seed]) -> pandas.DataFrame:
    """Questions, mean over seeds, by how many teachers are right (rows, all first) and whether the student is."""
    return sum(_majority(seed).cells for seed in seeds) / len(seeds)


def kept_right(counts: pandas.DataFrame) -> float:
    """Percent of the questions where all teachers are right on which the student is right too.  counts: `cells`."""
    return 100 * counts.loc[K, "right"] / counts.loc[K].sum()


def sentences_majority(cases: pandas.DataFrame, counts: pandas.DataFrame) -> list[str]:
    ours, theirs = cases[LABEL].to_numpy(), cases["published"].to_numpy()
    untaught, trivial = cases.loc[CASES["overrides"]].iloc[2:4]
    return [
        f"All teachers and MHS are right in {ours[0]:.1f} % of the questions (published {theirs[0]:.1f}), MHS follows "
        f"a right majority in {ours[1]:.1f} % ({theirs[1]:.1f}) and overrides a wrong one in {ours[2]:.1f} % "
        f"({theirs[2]:.1f}).",
        f"Where all teachers are right, MHS is right in {kept_right(counts):.1f} % (the paper: always); the base model "
        f"without a teacher overrides in {untaught:.1f} % of all questions, WO+RR in {trivial:.1f} %.",
    ]


def confidences(seeds: list[Seed]) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """P(correct), in percent, that teachers give their own top candidates: (mean by case, every overridden question).

    By case: questions (of all seeds), each teacher's mean, and that of the surest.  Overridden questions, those with
    the surest teacher first: seed, question, how many teachers are right, each teacher's, and the surest's.
    """
    every = pandas.concat([_majority(seed).by_question.assign(seed=seed.number) for seed in seeds])
    names = [*seeds[0].teachers]
    every[names] = 100 * every[[f"confidence {j}" for j in range(K)]].to_numpy()
    every["surest"] = every[names].max(axis=1)
    by_case = every.groupby("case")[[*names, "surest"]].mean().reindex([*CASES])
    by_case.insert(0, "questions", every["case"].value_counts().reindex([*CASES], fill_value=0))
    overridden = every[every["case"] == "overrides"].rename_axis("question").reset_index().set_index("seed")
    overridden = overridden.rename(columns={"teachers": "teachers right"})
    overridden = overridden[["question", "teachers right", *names, "surest"]]
    return by_case.rename(index=CASES), overridden.sort_values("surest", ascending=False, kind="stable")


def sentence_confidence(by_case: pandas.DataFrame, overridden: pandas.DataFrame) -> str:
    if overridden.empty:
        return "No question was overridden."
    others = by_case.drop(CASES["overrides"])
    usual = (others["surest"] * others["questions"]).sum() / others["questions"].sum()
    return (
        f"On the {len(overridden)} overridden questions of all seeds the surest teacher gives its choice "
        f"{by_case.loc[CASES['overrides'], 'surest']:.1f} % on average; in the other cases {usual:.1f} %."
    )


def _majority(seed: Seed, ranker: str = LABEL) -> Majority:
    return majority(seed.rankers[ranker], seed.teachers, seed.label, seed.question_id)


def _by_pair(run) -> pandas.DataFrame:
    return run.scores("test").set_index(["question_id", "position"])
