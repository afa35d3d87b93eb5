"""The tables of commands: scored pairs, what they are worth, and files of them, TREC runs and judgements among them."""

import csv
import re
import sys
from pathlib import Path
from typing import Any

import numpy
import pandas as pd
from datasets import Dataset

from as2lib.metrics import ranking
from as2lib.metrics.questions import Questions
from as2lib.paths import whole_file
from as2lib.ranker import Ranker

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
RUN_SUFFIXES = (".run", ".trec")


def score_pairs(ranker: Ranker, pairs: Dataset, batch_size: int | None = None) -> pd.DataFrame:
    """A row a pair: question_id, candidate_id, label, position, score, log_odds, of which those that there are."""
    rows, questions = pairs.to_pandas(), Questions.together(pairs["question_id"][:])
    odds, _ = ranker.log_odds(pairs, batch_size, sys.stderr.isatty())
    table = rows.filter(["question_id", "candidate_id", "label"]).assign(position=questions.place)
    table["score"] = ranker.probability(odds)
    if ranker.model is not None:
        table["log_odds"] = odds
    return table.dropna(axis="columns", how="all")


def ranked_by(table: pd.DataFrame) -> pd.Series:
    """What orders candidates: the log odds, since probabilities tie at 1; the score, where there are none."""
    return table["log_odds" if "log_odds" in table else "score"].astype(float)


def best_first(table: pd.DataFrame) -> pd.DataFrame:
    """Scored candidates, each question's best first, with their `rank`; equal scores keep their order."""
    question = pd.factorize(table["question_id"])[0]
    ranked = table.iloc[numpy.lexsort((-ranked_by(table), question))]
    return ranked.assign(rank=ranked.groupby("question_id", sort=False).cumcount() + 1)


def metrics_row(name: str, table: pd.DataFrame, questions="answered", measures=ranking.MEASURES) -> dict[str, Any]:
    """The mean of each measure over the questions that a policy keeps, in percent, and how many these are."""
    means = ranking.summary(table["question_id"], table["label"], ranked_by(table), questions, measures)
    count = means.pop("questions")
    return {"run": name, **{name: ranking.scale(name) * mean for name, mean in means.items()}, "questions": count}


def print_rows(rows: list[dict[str, Any]], line: str, as_json: bool = False) -> None:
    """A table of named numbers, and a line that says how they were counted; or the rows alone, as JSON."""
    table = pd.DataFrame(rows)
    if as_json:
        print(table.to_json(orient="records", double_precision=4), flush=True)
        return
    if "p" in table:
        table["p"] = table["p"].map("{:.2g}".format, na_action="ignore")
    print(f"{table.to_string(index=False, float_format='{:.2f}'.format, na_rep='')}\n{line}", flush=True)


def require_place(path: str | Path | None, suffixes: tuple[str, ...] = (), *others: str | Path | None) -> None:
    """Raises, before any work is done, for a file of another end, or one of the others that a command names."""
    if path is None:
        return
    if suffixes and Path(path).suffix.lower() not in suffixes:
        raise ValueError(f"{path}: expected a file that ends in {', '.join(suffixes)}")
    place, names = Path(path).resolve(), [Path(other).resolve() for other in others if other is not None]
    if {place, *place.parents} & {*names} or (place.exists() and not place.is_file()):
        raise ValueError(f"{path}: expected a file, another than those that are read or written")
    place.parent.mkdir(parents=True, exist_ok=True)


def write_table(table: pd.DataFrame, path: str | Path | None, **options: Any) -> None:
    """A table as CSV, TSV, JSONL or Parquet, by the end of its name; None: as CSV on standard output.

    options: of `pandas.DataFrame.to_csv`.
    """
    # All texts have quotes: Python before 3.13 gives none to a text with a carriage return.
    options = {"index": False, "lineterminator": "\n", "quoting": csv.QUOTE_NONNUMERIC, **options}
    if path is None:
        table.to_csv(sys.stdout, **options)
        return
    suffix = Path(path).suffix.lower()
    with whole_file(Path(path).resolve()) as temporary:  # a link stays one: what it names is replaced
        if suffix == ".parquet":
            table.to_parquet(temporary, index=False)
        elif suffix == ".jsonl":
            table.to_json(temporary, orient="records", lines=True, force_ascii=False, double_precision=15)
        else:
            table.to_csv(temporary, **{"sep": "," if suffix == ".csv" else "\t", **options})
    print(f"wrote {path}", file=sys.stderr)


def write_trec(table: pd.DataFrame, path: str | Path, tag: str | None = None) -> None:
    """A TREC run of candidates, best first, which has a tag; or their judgements."""
    if "candidate_id" not in table:  # then a candidate is called by its question and its place
        table = table.assign(candidate_id=table["question_id"].astype(str) + "-" + table["position"].astype(str))
    second = 0 if tag is None else "Q0"  # a field that nobody reads
    rows = {"query_id": table["question_id"].map(field), "second": second, "doc_id": table["candidate_id"].map(field)}
    if tag is None:
        rows["label"] = table["label"]
    else:
        rows |= {"rank": table["rank"], "score": ranked_by(table), "tag": field(tag.replace("/", "-"))}
    write_table(pd.DataFrame(rows), path, sep=" ", header=False, quoting=csv.QUOTE_NONE)


def field(name: object) -> str:
    """A name as it stands in a TREC file, whose fields are parted by blanks: each blank is `%20`."""
    return re.sub(r"\s", "%20", str(name))
