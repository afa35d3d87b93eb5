"""`as2 rank` and `as2 score`: candidates with their scores, best first or as they stand, and what they are worth."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from datasets import Dataset
from tqdm.auto import tqdm

from as2lib.commands import trec
from as2lib.commands.output import TABLE_SUFFIXES, print_rows, require_place, write_table
from as2lib.data import load_pairs, load_unlabelled, sets
from as2lib.data.columns import NoLabels
from as2lib.data.sets import note
from as2lib.data.tables import questions_of
from as2lib.metrics import ranking
from as2lib.paths import expanded
from as2lib.ranker import Ranker
from as2lib.study.store import StoredRun

PAIRS_AT_ONCE = 16_384  # whose texts are held together: whole questions


def rank(
    question: str,
    candidates: Sequence[str] | None,
    load: Callable[[], Ranker],
    out: str | None,
    top: int | None,
    tag: str,
    batch_size: int | None = None,
) -> None:
    """Rank every question of a file to a table or a TREC run, or to standard output as CSV; or print one's candidates.

    load: gives the ranker, once the pairs are known to be good.  candidates: default: the lines of standard input.
    """
    path = expanded(question)
    if os.path.exists(path) and not os.path.isdir(path):  # no question that is too long for a name
        if candidates:
            raise ValueError(f"{question}: expected candidates in the file, got some beside it: {candidates[0]!r:.60}")
        rank_file(question, load, out, top, tag, batch_size)
        return
    if out or question == "-":
        raise ValueError(f"{question!r:.60}: expected a file of questions, got none of that name")
    if not candidates and sys.stdin.isatty():
        note(f"no file is named {question!r:.60}: a question; its candidates, a line each:")
    if not candidates:  # a byte-order mark before the first line is none of its text
        lines = sys.stdin.read().removeprefix("\ufeff").split("\n")
        candidates = [line.strip() for line in lines if line.strip()]
    if not candidates:
        raise ValueError(f"{question!r:.60}: expected a file of that name, or candidates of a question; got neither")
    for place, ranked in enumerate(load().rank(question, candidates, top, batch_size=batch_size), start=1):
        print(f"{place:>3}  {ranked.score:.4f}  {ranked.candidate}")


def rank_file(
    source: str,
    load: Callable[[], Ranker],
    out: str | None,
    top: int | None,
    tag: str,
    batch_size: int | None = None,
) -> None:
    """Rank the candidates of each question of a file, and write them as a table or a TREC run, or print them."""
    require_place(out, (*TABLE_SUFFIXES, *trec.RUN_SUFFIXES), source)
    pairs = load_unlabelled(Path(source))
    ranker = load()
    table = score_pairs(ranker, pairs, batch_size).assign(answer=pairs["answer"][:])
    table = trec.best_first(table).groupby("question_id", sort=False).head(top or len(table))
    if out and Path(out).suffix.lower() in trec.RUN_SUFFIXES:
        trec.write_run(table, out, tag)
        return
    write_table(table.filter("question_id rank candidate_id position score log_odds answer".split()), out)


def score(
    model: str,
    source: str | None,
    load: Callable[[], Ranker],
    load_run: Callable[[], StoredRun],
    split: str | None,
    out: str | None,
    run_file: str | None,
    questions: str,
    measures: Sequence[str],
    batch_size: int | None = None,
    as_json: bool = False,
) -> None:
    """Score pairs, write the files that are named, print metrics where there are labels, else the scores themselves.

    source: default: what a study's run was scored on when it was made.
    """
    require_place(out, TABLE_SUFFIXES, source)
    require_place(run_file, (), source, out)
    judgements = expanded(run_file).with_suffix(".qrels") if run_file else None
    require_place(judgements, (), source, out, run_file)
    ranking.require_measures(measures)
    if source:
        pairs = pairs_of_source(source, split)
        ranker = load()
        table, title = score_pairs(ranker, pairs, batch_size), Path(source).name
    elif expanded(model).is_dir():
        raise ValueError(f"{model}: expected pairs to score with it, a file, a folder or a known set; got none")
    else:
        title = split or "test"
        table = load_run().scores(title)
    if run_file:
        trec.write_run(trec.best_first(table), run_file, model)
        if "label" in table:
            trec.write_judgements(table, judgements)
    if out:
        write_table(table, out)
    if "label" in table:
        print_rows([metrics_row(title, table, questions, measures)], counted_by(questions), as_json)
    elif not (out or run_file):
        write_table(table, None)


# ---------------------------------------------------------------- pairs and their scores


def pairs_of_source(source: str, split: str | None = None) -> Dataset:
    """Every pair of a file, or of a folder's or known set's split (default: test), with labels where it has some."""
    path = sets.on_disk(source)
    if split is None and not (path and path.is_file()):
        split = "test"
    try:
        return load_pairs(source, split, questions="all")
    except NoLabels:
        return load_unlabelled(source, split)


def score_pairs(ranker: Ranker, pairs: Dataset, batch_size: int | None = None) -> pd.DataFrame:
    """A row a pair: question_id, candidate_id, label, position, score, log_odds, of which those that there are."""
    texts = pairs.with_format("arrow")[:]
    names = [name for name in ("question_id", "candidate_id", "label") if name in texts.column_names]
    table = texts.select(names).to_pandas()
    table["position"] = table.groupby("question_id", sort=False).cumcount()
    scores: list[tuple[float, float | None]] = []
    size = PAIRS_AT_ONCE if ranker.encoder is not None else len(pairs)  # BM25 counts over all
    with tqdm(desc="scoring", total=len(pairs), unit=" pairs", unit_scale=True, disable=None) as bar:
        for rows in questions_of(texts).parts(size):
            groups = texts.slice(rows[0], len(rows)).to_pandas().groupby("question_id", sort=False)
            lists = groups["answer"].agg(list).tolist()
            for ranked in ranker.rank(groups["question"].first().tolist(), lists, batch_size=batch_size):
                by_position = sorted(ranked, key=lambda candidate: candidate.position)
                scores += [(candidate.score, candidate.log_odds) for candidate in by_position]
            bar.update(len(rows))
    table["score"], table["log_odds"] = zip(*scores, strict=True)
    return table.dropna(axis="columns", how="all")


def metrics_row(
    name: str, table: pd.DataFrame, questions: str = "answered", measures: Sequence[str] = ranking.MEASURES
) -> dict[str, Any]:
    """The mean of each measure over the questions that a policy keeps, in percent, and how many these are."""
    means = ranking.summary(table["question_id"], table["label"], trec.ranked_by(table), questions, measures)
    count = means.pop("questions")
    return {"run": name, **{name: ranking.scale(name) * mean for name, mean in means.items()}, "questions": count}


def counted_by(questions: str) -> str:
    return f"policy {questions}, ties against the system"
