"""TREC runs and judgements: how ours are written, and `as2 compare`, which reads those of any tool by ir_measures."""

import csv
import re
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Any

import numpy
import pandas as pd

from as2lib.commands.output import TABLE_SUFFIXES, print_rows, require_place, write_table
from as2lib.data.sets import note
from as2lib.metrics import ranking, significance

RUN_SUFFIXES = (".run", ".trec")  # how the names of runs end
RUN_FORMAT = {"sep": " ", "header": False, "quoting": csv.QUOTE_NONE}


# ---------------------------------------------------------------- what is written


def best_first(table: pd.DataFrame) -> pd.DataFrame:
    """Scored candidates, each question's best first, with their `rank`; equal scores keep their order."""
    question = pd.factorize(table["question_id"])[0]
    ranked = table.iloc[numpy.lexsort((-ranked_by(table), question))]
    return ranked.assign(rank=ranked.groupby("question_id", sort=False).cumcount() + 1)


def ranked_by(table: pd.DataFrame) -> pd.Series:
    """What orders candidates: the log odds, since probabilities tie at 1; the score, where there are none."""
    return table["log_odds" if "log_odds" in table else "score"].astype(float)


def write_run(table: pd.DataFrame, path: str | Path, tag: str) -> None:
    columns = {"question": table["question_id"].map(field), "q0": "Q0", "candidate": candidate_names(table)}
    columns |= {"rank": table["rank"], "score": ranked_by(table), "tag": field(tag.replace("/", "-"))}
    write_table(pd.DataFrame(columns), path, **RUN_FORMAT)


def write_judgements(table: pd.DataFrame, path: str | Path) -> None:
    columns = {"question": table["question_id"].map(field), "zero": 0, "candidate": candidate_names(table)}
    write_table(pd.DataFrame(columns | {"label": table["label"]}), path, **RUN_FORMAT)


def candidate_names(table: pd.DataFrame) -> pd.Series:
    """What TREC files call candidates: their ids where a question has each once, else its id with their position."""
    numbered = table["question_id"].astype(str) + "-" + table["position"].astype(str)
    if "candidate_id" not in table:
        return numbered.map(field)
    unnamed = table["candidate_id"].isna() | table.duplicated(["question_id", "candidate_id"], keep=False)
    named = ~unnamed.groupby(table["question_id"]).transform("any")
    return table["candidate_id"].where(named, numbered).map(field)


def field(name: object) -> str:
    """A name as it stands in a TREC file, whose fields are parted by blanks: each blank is `%20`."""
    return re.sub(r"\s", "%20", str(name))


# ---------------------------------------------------------------- runs, compared


def compare(
    runs: Sequence[str],
    judgements: str,
    questions: str,
    measures: Sequence[str],
    out: str | None = None,
    baseline: str | None = None,
    as_json: bool = False,
) -> None:
    """Print a row for each run: the mean of each measure; of the first one the difference from the baseline's.

    runs: files; a pattern such as "a-*.run" stands for the seeds of one system, of which each question's mean counts.
    baseline: one of them; default: the first.  The p values are Holm's over the other runs.
    Judged questions that a run lacks count as 0, as do correct candidates that it leaves out; a candidate without a
    judgement is incorrect.  out: a table of every question's values in each run.
    """
    if len(runs) < 2:
        raise ValueError(f"expected two runs or more, and judgements; got {', '.join((*runs, judgements))}")
    baseline = baseline or runs[0]
    if baseline not in runs:
        raise ValueError(f"--baseline {baseline}: expected one of {', '.join(runs)}, got another")
    require_place(out, TABLE_SUFFIXES, *runs, judgements)
    ranking.require_measures(measures)
    judged = trec_table(judgements, "qrels", "question 0 candidate grade")
    correct = (judged["relevance"] > 0).groupby(judged["query_id"], sort=False)
    names = correct.size().index[ranking.kept(correct.size().to_numpy(), correct.sum().to_numpy(), questions)]
    if len(names) < 2:
        got = f"got {len(names)} under policy {questions}"
        raise ValueError(f"{judgements}: expected two judged questions or more to compare by, {got}")
    tables = [values_of_system(run, judged, names, measures) for run in runs]
    others = [place for place, run in enumerate(runs) if run != baseline]
    first, base = measures[0], tables[runs.index(baseline)]
    tests = {place: significance.compare(tables[place][first], base[first]) for place in others}
    p_values = dict(zip(tests, significance.holm([test.p for test in tests.values()]), strict=True))
    rows: list[dict[str, Any]] = []
    for place, (run, table) in enumerate(zip(runs, tables, strict=True)):
        row: dict[str, Any] = {"run": Path(run).name}
        row |= {ranking.MEANS.get(name, name): ranking.scale(name) * table[name].mean() for name in measures}
        if place in tests:
            test = tests[place]
            difference, low, high = (ranking.scale(first) * x for x in (test.difference, test.low, test.high))
            row |= {"difference": difference, "95 % low": low, "high": high, "p": p_values[place]}
            row["verdict"] = "not told from chance" if row["p"] >= 0.05 else "better" if difference > 0 else "worse"
        rows.append(row)
    measure = ranking.MEANS.get(first, first)
    line = f"difference: {measure} minus that of {Path(baseline).name}; p: permutation test, Holm's over {len(tests)}\n"
    print_rows(rows, f"{line}{len(names)} questions, policy {questions}, ties against the system", as_json)
    if out:
        parts = [table.add_prefix(f"{Path(run).name} ") for run, table in zip(runs, tables, strict=True)]
        write_table(pd.concat(parts, axis=1).reset_index(), out)


def values_of_system(pattern: str, judged: pd.DataFrame, names: pd.Index, measures: Sequence[str]) -> pd.DataFrame:
    """The values of a run; of several that a pattern stands for, the mean of each question."""
    paths = sorted(glob(pattern)) or [pattern]  # the name itself is what is missing then
    tables = [values_of_run(path, judged, names, measures) for path in paths]
    return sum(tables[1:], tables[0]) / len(tables)


def values_of_run(path: str, judged: pd.DataFrame, names: pd.Index, measures: Sequence[str]) -> pd.DataFrame:
    """Each measure of each of the named questions in a run, its ties broken against it; says what does not match."""
    run = trec_table(path, "run", "question Q0 candidate rank score tag")
    pairs = run.merge(judged, "left", ["query_id", "doc_id"])
    if pairs["relevance"].isna().all():
        ranked, expected = (" ".join(table.iloc[0][["query_id", "doc_id"]]) for table in (run, judged))
        raise ValueError(f"{path}: expected questions and candidates that are judged, such as {expected}; got {ranked}")
    if lacking := len(set(names) - set(run["query_id"])):
        note(f"{path}: {lacking} judged questions are not in it: counted as 0")
    present = set(names) & set(run["query_id"])
    ranked = int(pairs.loc[pairs["query_id"].isin(present), "relevance"].notna().sum())
    if absent := int(judged["query_id"].isin(present).sum()) - ranked:
        note(f"{path}: {absent} judged candidates are not in it: the correct ones count as never found")
    if unjudged := int(pairs["relevance"].isna().sum()):
        note(f"{path}: {unjudged} candidates have no judgement: incorrect")
    pairs = pairs.fillna({"relevance": 0}).sort_values(["score", "relevance"], ascending=[False, True])
    pairs["score"] = -pairs.groupby("query_id").cumcount().astype(float)
    qrels, scored = judged[["query_id", "doc_id", "relevance"]], pairs[["query_id", "doc_id", "score"]]
    return ranking.calculate(*(table[table["query_id"].isin(names)] for table in (qrels, scored)), measures)


def trec_table(path: str, kind: str, fields: str) -> pd.DataFrame:
    """A TREC file as ir_measures reads it.  Raises ValueError at a row of other fields, or where it has none."""
    import ir_measures  # of the extra [study]

    read = []
    try:
        for row in getattr(ir_measures, f"read_trec_{kind}")(path):
            if row[2] != row[2]:
                raise ValueError("nan")
            read.append(row)
    except (ValueError, IndexError, TypeError) as error:
        got = f"{error!s:.60}"
        raise ValueError(f"{path}: row {len(read) + 1}: expected {fields} (TREC), got {got}") from None
    rows = pd.DataFrame(read)
    if rows.empty:
        raise ValueError(f"{path}: expected a TREC file ({fields}), got none")
    rows["query_id"] = rows["query_id"].str.removeprefix("\ufeff")  # a byte-order mark is no part of the first id
    if (twice := rows.duplicated(["query_id", "doc_id"])).any():
        row = rows.index[twice][0]
        raise ValueError(f"{path}: row {row + 1}: {' '.join(rows.loc[row, ['query_id', 'doc_id']])} stands there twice")
    return rows
