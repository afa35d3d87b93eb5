"""Runs and judgements as TREC's tools have them: read, written and evaluated by `ir_measures`; knows no model.

A run is a table of question_id, candidate_id, score; judgements are one of question_id, candidate_id, grade. Values are
those of trec_eval: a candidate that the run leaves out is not credited, one without a judgement is incorrect, gains in
nDCG are the grades, and equal scores are ordered by the candidates' names. `against_ties` orders them against the
system instead, as everywhere else in `metrics`.
"""

import gzip
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import ir_measures
import numpy as np
import pandas as pd

from as2lib.metrics import ranking
from as2lib.metrics.measures import calculate
from as2lib.metrics.significance import Comparison, compare

RUN = ("question_id", "candidate_id", "score")
JUDGEMENTS = ("question_id", "candidate_id", "grade")


class RunComparison(NamedTuple):
    """What `compare_runs` returns."""

    by_question: pd.DataFrame  # columns (run1 | run2 | difference, measure)
    tests: dict[str, Comparison]  # by measure; a positive difference speaks for run1


class Coverage(NamedTuple):
    """How far a run and judgements speak of the same questions and candidates: counts."""

    questions: int  # in both
    unjudged_questions: int  # of the run, which do not count
    missing_questions: int  # judged, not in the run, which count with the lowest value
    unjudged_candidates: int  # of the run's judged questions, which are incorrect
    missing_candidates: int  # judged correct, left out by the run


def read_run(path: str | Path) -> pd.DataFrame:
    """A run file (question Q0 candidate rank score tag; also .gz); ranks are ignored, as trec_eval does.

    Returns columns question_id, candidate_id, score, a row a line.
    Raises ValueError that names the line for another number of fields, a score that is no number, or a candidate that
    comes twice; and for an empty file.
    """
    fields = "6 fields (question Q0 candidate rank score tag), the score a number"
    rows = _parse(path, ir_measures.read_trec_run, fields)
    return _check(pd.DataFrame(((row.query_id, row.doc_id, row.score) for row in rows), columns=RUN), RUN, str(path))


def read_judgements(path: str | Path) -> pd.DataFrame:
    """A judgements file (question 0 candidate grade; also .gz), or the three columns of BEIR, under a header or not.

    Returns columns question_id, candidate_id, grade (an integer; above 0 is correct), a row a line.
    Raises ValueError that names the line, as `read_run`.
    """
    rows = _parse(path, _read_qrels, "4 fields (question 0 candidate grade), the grade a whole number")
    table = pd.DataFrame(((row.query_id, row.doc_id, row.relevance) for row in rows), columns=JUDGEMENTS)
    return _check(table, JUDGEMENTS, str(path))


def write_run(run: pd.DataFrame, path: str | Path, tag: str = "as2lib") -> None:
    """A run file of the table's rows, question by question as first seen, the highest score first.

    Blanks in ids and in the tag become `%20` (`field`).  Equal scores keep their order.
    """
    _, question = ranking.encode_ids(run["question_id"])
    ordered = run.iloc[np.lexsort((-run["score"].to_numpy(float), question))]
    ranks = ordered.groupby("question_id", sort=False).cumcount() + 1
    columns = ordered["question_id"].map(field), ordered["candidate_id"].map(field), ranks, ordered["score"].map(float)
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for question_id, candidate_id, rank, score in zip(*columns, strict=True):
            file.write(f"{question_id} Q0 {candidate_id} {rank} {score!r} {field(tag)}\n")


def field(name: object) -> str:
    """A name as it stands in a TREC file, whose fields are parted by blanks: each blank is `%20`."""
    return re.sub(r"\s", "%20", str(name))


def evaluate(
    run: pd.DataFrame,
    judgements: pd.DataFrame,
    measures: Sequence[str] = ranking.MEASURES,
    questions: str = "all",
) -> pd.DataFrame:
    """Each measure of each judged question, as trec_eval computes it.

    run, judgements: tables as `read_run` and `read_judgements` return them, of any source.
    measures: names that ir_measures knows.  questions: the policy, of the judged candidates; "all" as trec_eval.
    Returns index question_id as the judgements have them, a column a measure.  Judged questions that the run lacks
    count with 0, as under trec_eval's -c: how many these are, and what else does not match, says `coverage`.
    Raises ValueError for missing columns, a candidate that comes twice, a score that is no number, an unknown measure,
    or where the two have no question in common.
    """
    run, judgements = _check(run, RUN, "run"), _check(judgements, JUDGEMENTS, "judgements")
    require_common(run, judgements)
    correct = (judgements["grade"] > 0).groupby(judgements["question_id"], sort=False)
    sizes = correct.size()
    kept = sizes.index[ranking.kept(sizes.to_numpy(), correct.sum().to_numpy(), questions)]
    return calculate(*(table[table["question_id"].isin(kept)] for table in (judgements, run)), measures)


def against_ties(run: pd.DataFrame, judgements: pd.DataFrame) -> pd.DataFrame:
    """The run with scores that are all different in a question, and what is worse first where they were equal.

    `evaluate` of it differs from `evaluate` of the run by the tie rule alone.  Arguments and errors as there.
    """
    run, judgements = _check(run, RUN, "run"), _check(judgements, JUDGEMENTS, "judgements")
    graded = run.merge(judgements, "left", ["question_id", "candidate_id"], sort=False)
    _, question = ranking.encode_ids(graded["question_id"])
    order = ranking.against_the_system(question, graded["grade"].fillna(0).to_numpy(), graded["score"].to_numpy())
    ordered = run.iloc[order]
    return ordered.assign(score=-ordered.groupby("question_id", sort=False).cumcount().astype(float))


def compare_runs(
    run1: pd.DataFrame,
    run2: pd.DataFrame,
    judgements: pd.DataFrame,
    measures: Sequence[str] = ranking.MEASURES,
    questions: str = "all",
    **settings: float,
) -> RunComparison:
    """Two runs on the same judgements: every question's values, and for each measure `significance.compare`.

    Arguments and errors as in `evaluate`; settings: of `significance.compare`.
    """
    values1, values2 = (evaluate(run, judgements, measures, questions) for run in (run1, run2))
    parts = {"run1": values1, "run2": values2, "difference": values1 - values2}
    tests = {name: compare(values1[name], values2[name], **settings) for name in measures}
    return RunComparison(pd.concat(parts, axis=1), tests)


def coverage(run: pd.DataFrame, judgements: pd.DataFrame) -> Coverage:
    """What a run and judgements have in common, and what not; a line of a report for each count that is not 0."""
    run_questions, judged = set(run["question_id"]), set(judgements["question_id"])
    rows = run[run["question_id"].isin(judged)].merge(judgements, "left", ["question_id", "candidate_id"])
    correct = judgements[(judgements["grade"] > 0) & judgements["question_id"].isin(run_questions)]
    return Coverage(
        questions=len(run_questions & judged),
        unjudged_questions=len(run_questions - judged),
        missing_questions=len(judged - run_questions),
        unjudged_candidates=int(rows["grade"].isna().sum()),
        missing_candidates=len(correct) - int((rows["grade"] > 0).sum()),
    )


def require_common(run: pd.DataFrame, judgements: pd.DataFrame) -> None:
    """Raises ValueError where no question of the run is judged."""
    if not run["question_id"].isin(judgements["question_id"]).any():
        first = f"{run['question_id'].iloc[0]} and {judgements['question_id'].iloc[0]}"
        raise ValueError(f"expected questions that run and judgements share, got none: they begin with {first}")


def _check(table: pd.DataFrame, columns: Sequence[str], name: str) -> pd.DataFrame:
    """The columns of a run or of judgements, ids as texts and the last one as numbers; ValueError where it is none."""
    missing = [column for column in columns if column not in table]
    if missing:
        raise ValueError(f"{name}: expected columns {', '.join(columns)}; {missing[0]} is missing")
    if table.empty:
        raise ValueError(f"{name}: expected at least one row, got none")
    table = table[list(columns)].reset_index(drop=True)
    kind = "a whole number" if columns == JUDGEMENTS else "a number"
    values = pd.to_numeric(table[columns[2]], errors="coerce")
    wrong = table.isna().assign(**{columns[2]: (values.mod(1) != 0) if columns == JUDGEMENTS else values.isna()})
    for column, expected in zip(columns, ("an id", "an id", kind), strict=True):
        if wrong[column].any():
            row = int(wrong[column].argmax())
            raise ValueError(f"{name}: {column}: expected {expected}, row {row + 1} has {table[column].iloc[row]}")
    ids = table[["question_id", "candidate_id"]].astype(str)
    repeated = ids[ids.duplicated()]
    if len(repeated):
        question, candidate = repeated.iloc[0]
        raise ValueError(f"{name}: expected each candidate once, got {candidate} of question {question} again")
    return ids.assign(**{columns[2]: values.astype(int if columns == JUDGEMENTS else float)})


def _parse(path: str | Path, parse: Callable[[str], Iterator], fields: str) -> Iterator:
    """The rows of a file, parsed line by line, so that an error can name its line."""
    reader = gzip.open if str(path).endswith(".gz") else open
    with reader(path, "rt", encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield from parse(line.rstrip("\r\n") + "\n")
            except ValueError:
                if number == 1 and parse is _read_qrels and len(line.split()) == 3:
                    continue  # BEIR's header
                raise ValueError(f"{path}, line {number}: expected {fields}; got {line.strip()[:60]!r}") from None


def _read_qrels(line: str) -> Iterator[ir_measures.Qrel]:
    fields = line.split()
    if len(fields) == 3:
        line = f"{fields[0]} 0 {fields[1]} {fields[2]}\n"
    return ir_measures.read_trec_qrels(line)
