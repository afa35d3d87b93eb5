"""Runs and judgements as TREC's tools write them: read, checked, and joined for `metrics`; ranks nothing."""

from collections.abc import Iterator
from pathlib import Path

import pandas

from as2lib.data.formats import require_utf8, shorten
from as2lib.escape import field

RUN = ("question_id", "Q0", "candidate", "rank", "score", "tag")


def read_run(path: Path) -> pandas.DataFrame:
    """The rows of a run, columns question_id, candidate, score: ranks are ignored, as trec_eval does.

    Raises ValueError that names the line for another number of fields, a score that is no finite number, or a candidate
    that comes twice.
    """
    rows = []
    for where, fields in _lines(path):
        if len(fields) != len(RUN):
            raise ValueError(f"{where}: expected {len(RUN)} fields ({' '.join(RUN)}), got {len(fields)}")
        try:
            score = float(fields[4])
        except ValueError:
            score = float("nan")
        if not abs(score) < float("inf"):
            raise ValueError(f"{where}: score must be a finite number, got {shorten(fields[4])}")
        rows.append((fields[0], fields[2], score))
    return _once(pandas.DataFrame(rows, columns=["question_id", "candidate", "score"]), path)


def read_judgements(path: Path) -> pandas.DataFrame:
    """Judgements, columns question_id, candidate, label: 1 where the grade is above 0.

    A TREC file (question, 0, candidate, grade), three columns with or without a header as BEIR has them, or a file of
    labelled pairs, whose candidates are called as `as2 rank` and `as2 score` do (`question-position`).
    Raises ValueError that names the line, as `read_run`; and what `load_pairs` raises.
    """
    if path.suffix.lower() in (".jsonl", ".parquet") or _has_texts(path):
        return _pairs(path)
    rows = []
    for number, (where, fields) in enumerate(_lines(path)):
        if len(fields) not in (3, 4):
            raise ValueError(f"{where}: expected 4 fields (question 0 candidate grade), got {len(fields)}")
        try:
            rows.append((fields[0], fields[-2], int(float(fields[-1]) > 0)))
        except ValueError:
            if number or len(fields) == 4:
                raise ValueError(f"{where}: grade must be a number, got {shorten(fields[-1])}") from None
    return _once(pandas.DataFrame(rows, columns=["question_id", "candidate", "label"]), path)


def judged(run: pandas.DataFrame, judgements: pandas.DataFrame) -> tuple[pandas.DataFrame, list[str]]:
    """Every judged question's candidates with label and score, and what had to be assumed, in sentences.

    A candidate without a judgement is incorrect; one that the run left out stands below all others.
    Raises ValueError where the run and the judgements have no question in common.
    """
    asked = run["question_id"].isin(judgements["question_id"])
    if not asked.any():
        came = f"{shorten(run['question_id'].iloc[0])} and {shorten(judgements['question_id'].iloc[0])}"
        raise ValueError(f"expected questions that both files have, got none: they begin with {came}")
    table = judgements.merge(run[asked], "outer", ["question_id", "candidate"], sort=False)
    unjudged, left_out = int(table["label"].isna().sum()), int(table["score"].isna().sum())
    absent = judgements["question_id"].nunique() - run.loc[asked, "question_id"].nunique()
    lowest = run.loc[asked, "score"].min() - 1
    table = table.fillna({"label": 0, "score": lowest}).astype({"label": int})
    counts = {
        "questions of the run have no judgement: left out": run.loc[~asked, "question_id"].nunique(),
        "judged questions are not in the run: the worst order counts": absent,
        "candidates have no judgement: incorrect": unjudged,
        "judged candidates are not in the run: below all others": left_out,
    }
    return table.sort_values("question_id", kind="stable"), [f"{n:,} {said}" for said, n in counts.items() if n]


def _lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    with path.open(encoding="utf-8-sig", errors="surrogateescape") as stream:
        number = 0
        for number, line in enumerate(stream, 1):
            where = f"{path.name}, line {number}"
            require_utf8(where, line)
            if line.strip():
                yield where, line.split()
        if not number:
            raise ValueError(f"{path.name}: expected at least one line, got an empty file")


def _has_texts(path: Path) -> bool:
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        return {"question", "answer"} <= set(stream.readline().lower().replace(",", " ").replace('"', " ").split())


def _pairs(path: Path) -> pandas.DataFrame:
    from as2lib.data.pairs import load_pairs

    pairs = load_pairs(path, questions="all").select_columns(["question_id", "label"]).to_pandas()
    position = pairs.groupby("question_id", sort=False).cumcount()
    pairs["question_id"] = pairs["question_id"].map(field)
    return pairs.assign(candidate=pairs["question_id"] + "-" + position.astype(str))


def _once(table: pandas.DataFrame, path: Path) -> pandas.DataFrame:
    if table.empty:
        raise ValueError(f"{path.name}: expected at least one row, got none")
    again = table[table.duplicated(["question_id", "candidate"])]
    if len(again):
        one = again.iloc[0]
        raise ValueError(f"{path.name}: expected each candidate once, got {one.candidate} of {one.question_id} again")
    return table
