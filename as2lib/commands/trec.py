"""TREC runs and judgements: how ours are written, and `as2 compare`, which reads those of any tool by ir_measures."""

import csv
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy
import pandas as pd

from as2lib.commands.output import TABLE_SUFFIXES, require_place, write_table
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


# ---------------------------------------------------------------- runs, in pairs


def compare(
    runs: Sequence[str],
    judgements: str,
    questions: str,
    measures: Sequence[str],
    out: str | None = None,
    baseline: str | None = None,
) -> None:
    """Print a row for each measure and two runs: the means, their difference with its interval, and Holm's p.

    Of several runs every pair is compared, or each with the baseline.
    Judged questions that a run lacks count as 0, as do correct candidates that it leaves out; a candidate without a
    judgement is incorrect.  out: a table of every question's values in each run.
    """
    if len(runs) < 2:
        raise ValueError(f"expected two runs or more, and judgements; got {', '.join((*runs, judgements))}")
    if baseline is not None and baseline not in runs:
        raise ValueError(f"--baseline {baseline}: expected one of {', '.join(runs)}, got another")
    require_place(out, TABLE_SUFFIXES, *runs, judgements)
    ranking.require_measures(measures)
    judged = trec_table(judgements, "qrels", "question 0 candidate grade")
    correct = (judged["relevance"] > 0).groupby(judged["query_id"], sort=False)
    names = correct.size().index[ranking.kept(correct.size().to_numpy(), correct.sum().to_numpy(), questions)]
    if len(names) < 2:
        got = f"got {len(names)} under policy {questions}"
        raise ValueError(f"{judgements}: expected two judged questions or more to compare by, {got}")
    tables = [values_of_run(run, judged, names, measures) for run in runs]
    places = range(len(runs))
    pairs = [(i, runs.index(baseline)) for i in places if runs[i] != baseline] if baseline else combinations(places, 2)
    pairs, rows = list(pairs), []
    for name in measures:
        tests = [significance.compare(tables[i][name], tables[j][name]) for i, j in pairs]
        for (i, j), test, p in zip(pairs, tests, significance.holm([test.p for test in tests]), strict=True):
            numbers = [test.mean_a, test.mean_b, test.difference, test.low, test.high]
            a, b, difference, low, high = (f"{ranking.scale(name) * number:.2f}" for number in numbers)
            row = {"measure": ranking.MEANS.get(name, name), "a": Path(runs[i]).name, "b": Path(runs[j]).name}
            row |= {"mean a": a, "mean b": b, "a − b": difference, "95 % low": low, "high": high, "p": f"{p:.2g}"}
            rows.append(row | {"better": test.wins, "worse": test.losses, "equal": test.ties})
    print(pd.DataFrame(rows).to_string(index=False))
    print(f"p: permutation test, Holm's over {len(pairs)} pairs of runs; ties against the system")
    print(f"{len(names)} questions, policy {questions}; a difference above 0 speaks for a")
    if out:
        parts = [table.add_prefix(f"run{place} ") for place, table in enumerate(tables, start=1)]
        write_table(pd.concat(parts, axis=1).reset_index(), out)


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
