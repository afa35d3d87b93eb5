"""Whether a student's heads resemble their teachers, and how it stands to their majority: tables and sentences."""

from typing import TYPE_CHECKING, NamedTuple

import numpy
import pandas

from as2lib.metrics.agreement import Agreement, Majority, agreement, majority, rank_correlation
from as2lib.metrics.significance import Comparison, compare
from as2lib.papers.cerberus import tables
from as2lib.papers.cerberus.systems import systems
from as2lib.runs import results
from as2lib.runs.params import FAMILIES
from as2lib.runs.wording import number, p_text, some, span

if TYPE_CHECKING:
    from as2lib.study import Study

# k heads · t = k teachers, in the order of FAMILIES: head i learnt from teacher i
STUDENT, LABEL, K = "mhs/3h1", "MHS", len(FAMILIES)
MEASURES = {
    "shared": "correct top candidates shared\n(Figure 3)",
    "kappa": "top candidates:\nCohen's kappa",
    "kappa_correct": "top candidates correct:\nCohen's kappa",
    "correlation": "whole lists:\nrank correlation",
}
ALIKE = 5  # percent of the questions in which two heads choose differently, below which they are called alike
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

    def majority(self, ranker: str = LABEL) -> Majority:
        """How a ranker's choices stand to those of the teachers."""
        return majority(self.rankers[ranker], self.teachers, self.label, self.question_id)


def controls(study: "Study") -> dict[str, str]:
    """Label → run prefix of rankers that no teacher taught: what they share with teachers is no resemblance."""
    base, trivial = (systems(study)[prefix] for prefix in ("base/electra", "lexical/overlap_then_rank"))
    return {f"{base.name}, no teacher": base.prefix, trivial.label: trivial.prefix}


def scored(study: "Study", controls: dict[str, str]) -> list[Seed]:
    """The test scores of each seed of the student; a control without seeds is the same each time."""
    pair, names = ["question_id", "position"], [study.backbones[family].name for family in FAMILIES]
    heads = [f"head taught by {name}" for name in names]
    teachers = {f"{name} large": f"teacher/{family}" for name, family in zip(names, FAMILIES, strict=True)}
    others = {label: study.runs(prefix) for label, prefix in (teachers | controls).items()}
    found = []
    for i, (seed, run) in enumerate(zip(study.seeds, study.runs(STUDENT), strict=True)):
        student = run.scores("test").set_index(pair)
        columns = {"label": student["label"], LABEL: student["score"]}
        columns |= {head: student[f"head_{j}"] for j, head in enumerate(heads)}
        columns |= {name: runs[i % len(runs)].scores("test").set_index(pair)["score"] for name, runs in others.items()}
        table = pandas.DataFrame(columns)
        table = table[table.groupby("question_id")["label"].transform("max") == 1]
        parts = (table[names] for names in ([*heads, *controls], [*teachers], [LABEL, *controls]))
        found.append(Seed(seed, *parts, table["label"], table.index.get_level_values("question_id")))
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
    (most, theirs), (taught, alone) = (table[name].iloc[:K] for name in table.columns[K:]), mean_shares(table)
    strongest = most.mode()[0]
    return [
        f"By the paper's measure {some((most == strongest).sum(), K, 'heads')} agree most with {strongest}; it found "
        f"{' and '.join(theirs.unique())} for all of them.",
        f"The base model without a teacher shares {number(alone)} % of its correct choices with the teachers on "
        f"average, the heads {number(taught)} %.",
    ]


def own_teacher(found: dict[str, pandas.DataFrame]) -> pandas.DataFrame:
    """A row a measure: what a head has with its own teacher, with what the other heads have with that same teacher.

    first: of the teachers, those whose own head is the one that agrees with them most.  found: from `agreements`.
    """
    rows = {}
    for measure, label in MEASURES.items():
        square = found[measure].to_numpy()[:K]  # (k, t)
        own = numpy.diag(square)
        others = (square.sum(axis=0) - own) / (K - 1)
        row = {"own": own.mean(), "other heads": others.mean(), "difference": (own - others).mean()}
        row["first"] = int((square.argmax(axis=0) == numpy.arange(K)).sum())
        rows[label.replace("\n", " ")] = row
    return pandas.DataFrame.from_dict(rows, orient="index").assign(teachers=K).rename_axis("measure")


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
    """Whether heads rank more like their own teachers than other heads do."""
    alpha, verdict = study.significance.alpha, "no difference was shown"
    if test.wilcoxon_p < alpha:
        verdict = f"heads resemble their own teachers {'more' if test.difference > 0 else 'less'} than other heads do"
    elif test.low > 0 or test.high < 0:
        verdict += f", though the interval leaves zero out: only p < {alpha:g} counts"
    size, mean = number(abs(test.difference), 4), number(own["own"].iloc[-1], 3)
    than = f"{size} {'higher' if test.difference > 0 else 'lower'} than" if size.strip("0.") else "the same as"
    return [
        f"In whole lists a head's rank correlation with its own teacher is {mean}, {than} what the other heads have "
        f"with it (difference, 95 % interval {span(test.low, test.high, 4)} over {test.n} questions; Wilcoxon, "
        f"{p_text(test.wilcoxon_p)}): {verdict}.",
        f"Teachers whose own head correlates most with them: {some(own['first'].iloc[-1], K)}.",
    ]


def answer(study: "Study", own: pandas.DataFrame, test: Comparison) -> str:
    """Whether heads resemble their own teachers, and what it comes to.  own: from `own_teacher`."""
    runs, said = study.runs(STUDENT), sentences_own_teacher(study, own, test)
    share, heads = tables.disagreement(runs), tables.heads(runs, [*map(str, range(K))])
    return (
        f"{' '.join(said)} {'Yet heads are nearly alike' if share < ALIKE else 'What it comes to'}: two of them choose "
        f"another top candidate in {number(share)} % of the questions (03_distillation). {tables.sentence_heads(heads)}"
    )


# --- the majority of the teachers


def majorities(seeds: list[Seed]) -> pandas.DataFrame:
    """How many questions fall in each case, mean over seeds: the student's number, and percent of it and the controls.

    published: percent of WikiQA's 243 test questions; the rest is what remains of them.
    """
    cases = [{name: seed.majority(name).by_question["case"] for name in seed.rankers} for seed in seeds]
    every = pandas.concat(map(pandas.DataFrame, cases))
    means = every.apply(pandas.Series.value_counts).reindex([*CASES]).fillna(0) / len(seeds)
    paper = results.published("cerberus_majority").set_index("case")
    theirs, total = paper["questions"].reindex([*CASES]).astype(float), paper["of"].iloc[0]
    theirs["rest"] = total - paper["questions"].sum()
    table = (100 * means / seeds[0].question_id.nunique()).assign(published=100 * theirs / total)
    table.insert(0, "questions", means[LABEL])
    return table.assign(**{"published questions": theirs}).rename(index=CASES).rename_axis("case")


def cells(seeds: list[Seed]) -> pandas.DataFrame:
    """Questions, mean over seeds, by how many teachers are right (rows, all first) and whether the student is."""
    return sum(seed.majority().cells for seed in seeds) / len(seeds)


def sentences_majority(cases: pandas.DataFrame, kept: float) -> list[str]:
    """cases: from `majorities`.  kept: percent of the questions with all teachers right on which the student is."""
    ours, theirs = cases[LABEL].to_numpy(), cases["published"].to_numpy()
    untaught, trivial = cases.loc[CASES["overrides"]].iloc[2:4]
    return [
        f"All teachers and MHS are right in {number(ours[0])} % of the questions (published {number(theirs[0])}), MHS "
        f"follows a right majority in {number(ours[1])} % ({number(theirs[1])}) and overrides a wrong one in "
        f"{number(ours[2])} % ({number(theirs[2])}).",
        f"Where all teachers are right, MHS is right in {number(kept)} % (the paper: always); the base model "
        f"without a teacher overrides in {number(untaught)} % of all questions, WO+RR in {number(trivial)} %.",
    ]


def confidences(seeds: list[Seed]) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """P(correct), in percent, that teachers give their own top candidates: (mean by case, every overridden question).

    By case: questions (of all seeds), each teacher's mean, and that of the surest.  Overridden questions, those with
    the surest teacher first: seed, question, how many teachers are right, each teacher's, and the surest's.
    """
    every = pandas.concat([seed.majority().by_question.assign(seed=seed.number) for seed in seeds])
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
        f"{number(by_case.loc[CASES['overrides'], 'surest'])} % on average; in the other cases {number(usual)} %."
    )
