"""`as2 rank`: one question, or those of a file, some thousand pairs at a time."""

import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from as2lib.commands.output import progress, require_place, terminal, text_file
from as2lib.data.columns import question_of
from as2lib.data.sets import note

if TYPE_CHECKING:  # a second of imports, which one question does without
    import pandas
    from datasets import Dataset

    from as2lib.ranker import Ranked, Ranker

CHUNK = {"cpu": 1024, "gpu": 16_384}  # pairs that are ranked together at least: whole questions
COLUMNS = ("question_id", "rank", "candidate_id", "position", "score", "log_odds", "answer")
LAYOUTS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".run": "trec", ".trec": "trec"}


class Question(NamedTuple):
    """A question with its candidates and their ids, each None where it has none."""

    id: str
    text: str
    candidates: list[str]
    ids: list[str | None]


def rank_question(
    ranker: "Ranker", question: str, candidates: list[str], top: int | None, batch_size: int | None
) -> None:
    """Print the candidates of one question, best first."""
    say_what_scores_are(ranker)
    for place, ranked in enumerate(ranker.rank(question, candidates, top, batch_size=batch_size), start=1):
        print(f"{place:>3}  {ranked.score:.4f}  {terminal(ranked.candidate)}")


def rank_file(
    source: str,
    load: "Callable[[], Ranker]",
    out: str | None = None,
    layout: str | None = None,
    top: int | None = None,
    tag: str = "as2lib",
    batch_size: int | None = None,
) -> None:
    """Rank every question of a file to CSV, TSV, JSON lines, a TREC run, or standard output.

    source: pairs, or a question a line of JSON with its list of candidates; "-": such lines from standard input, each
        answered as it comes.
    load: gives the ranker, once the pairs are known to be good.  layout: default: by the end of `out`, else csv.
    batch_size: as `Ranker.rank` takes it.
    """
    from as2lib.data.pairs import load_unlabelled

    require_place(out, None if layout else tuple(LAYOUTS), source)
    layout = layout or LAYOUTS[Path(out).suffix.lower() if out else ".csv"]
    streamed = source == "-"
    pairs = None if streamed else load_unlabelled(Path(source))
    ranker = load()
    say_what_scores_are(ranker)
    parts = ([question] for question in questions_of_lines(sys.stdin)) if streamed else chunks(pairs, ranker)
    count = pairs_done = 0
    with text_file(out) as file, progress("ranking", None if streamed else len(pairs)) as done:
        for chunk in parts:
            lists, ids = [question.candidates for question in chunk], [question.ids for question in chunk]
            texts = [question.text for question in chunk]
            rankings = ranker.rank(texts, lists, top, ids=ids, batch_size=batch_size)
            write(chunk, rankings, file, layout, header=count == 0, tag=tag)
            if streamed:
                file.flush()
            size = sum(map(len, lists))
            count, pairs_done = count + len(chunk), pairs_done + size
            done(size)
    print(f"ranked {pairs_done:,} pairs of {count:,} questions in {ranker.precision}", file=sys.stderr)


def say_what_scores_are(ranker: "Ranker") -> None:
    if not ranker.is_probability:
        note("scores order the candidates of a question; they are no probabilities")


# ---------------------------------------------------------------- questions


def questions_of_lines(lines: Iterable[str]) -> Iterator[Question]:
    """`{"question_id": …, "question": …, "candidates": […]}`, a line each; where none has an id, it is the row."""
    from as2lib.data.tables import json_rows

    name = "standard input"
    for row, (where, content) in enumerate(json_rows(name, (line.lstrip("\ufeff") for line in lines)), start=1):
        identity, text, candidates = question_of(content, where, name)
        texts, ids = ([candidate.get(key) for candidate in candidates] for key in ("answer", "candidate_id"))
        yield Question(str(row if identity is None else identity), text, texts, ids)


def chunks(pairs: "Dataset", ranker: "Ranker") -> Iterator[list[Question]]:
    """The questions of pairs, in lists of some thousand pairs; all at once for a ranker that counts words over them."""
    from as2lib.data.tables import questions_of

    table = pairs.with_format("arrow")[:]
    size = CHUNK["cpu" if ranker.device == "cpu" else "gpu"] if ranker.encoder is not None else len(pairs)
    for rows in questions_of(table).parts(size):
        part = table.slice(rows[0], len(rows))
        ids = part["candidate_id"].to_pylist() if "candidate_id" in part.column_names else [None] * len(part)
        columns = [part[name].to_pylist() for name in ("question_id", "question", "answer")]
        groups = groupby(zip(*columns, ids, strict=True), key=lambda row: row[:2])
        yield [Question(*key, *map(list, list(zip(*group, strict=True))[2:])) for key, group in groups]


# ---------------------------------------------------------------- what is written


def write(
    questions: Sequence[Question],
    rankings: "Sequence[list[Ranked]]",
    file: TextIO,
    layout: str,
    header: bool = True,
    tag: str = "as2lib",
) -> None:
    """The rankings of some questions: a row a candidate, or in JSON lines a question.

    layout: "csv", "tsv", "jsonl" or "trec".  header: whether the names of the columns come first.
    """
    import pandas

    if layout == "jsonl":
        for question, ranking in zip(questions, rankings, strict=True):
            row = {"question_id": question.id, "question": question.text, "ranking": [*map(fields, ranking)]}
            file.write(json.dumps(row, ensure_ascii=file.isatty()) + "\n")
        return
    rows = [
        {"question_id": question.id, "rank": place, **fields(ranked)}
        for question, ranking in zip(questions, rankings, strict=True)
        for place, ranked in enumerate(ranking, start=1)
    ]
    table = pandas.DataFrame(rows, columns=COLUMNS)
    if layout == "trec":
        write_run(table, file, tag)
        return
    if table["log_odds"].isna().all():
        table = table.drop(columns="log_odds")
    if file.isatty():
        for name in ("question_id", "candidate_id", "answer"):
            table[name] = table[name].map(terminal, na_action="ignore")
    table.to_csv(file, sep="," if layout == "csv" else "\t", index=False, header=header, lineterminator="\n")


def fields(ranked: "Ranked") -> dict[str, Any]:
    """A candidate as it is written: what it has."""
    values = {"candidate_id": ranked.id, "position": ranked.position, "score": ranked.score}
    values |= {"log_odds": ranked.log_odds, "answer": ranked.candidate, **ranked.parts}
    return {name: value for name, value in values.items() if value is not None}


def write_run(table: "pandas.DataFrame", file: TextIO, tag: str = "as2lib") -> None:
    """A TREC run of scored candidates, each question's best first; equal scores keep their order.

    table: columns question_id, position, score, and where there are some candidate_id and log_odds.
    """
    import numpy
    import pandas

    score = ranked_by(table)
    run = table.assign(q0="Q0", name=candidate_names(table), number=score, tag=field(tag))
    run = run.iloc[numpy.lexsort((-score, pandas.factorize(table["question_id"])[0]))]
    run["rank"] = run.groupby("question_id", sort=False).cumcount() + 1
    run["question_id"] = run["question_id"].map(field)
    columns = ["question_id", "q0", "name", "rank", "number", "tag"]
    run[columns].to_csv(file, sep=" ", header=False, index=False, quoting=csv.QUOTE_NONE, lineterminator="\n")


def write_judgements(table: "pandas.DataFrame", file: TextIO) -> None:
    """TREC judgements of labelled candidates, which have the names that `write_run` gives them."""
    import pandas

    judgements = pandas.DataFrame({"question_id": table["question_id"].map(field), "zero": 0})
    judgements = judgements.assign(name=candidate_names(table), label=table["label"])
    judgements.to_csv(file, sep=" ", header=False, index=False, quoting=csv.QUOTE_NONE, lineterminator="\n")


def ranked_by(table: "pandas.DataFrame") -> "pandas.Series":
    """What orders candidates: the log odds, since probabilities tie at 1; the score, where there are none."""
    if "log_odds" in table and table["log_odds"].notna().all():
        return table["log_odds"].astype(float)
    return table["score"].astype(float)


def candidate_names(table: "pandas.DataFrame") -> "pandas.Series":
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
