"""`as2 rank` and `as2 score`: candidates with their scores, best first or as they stand, and what they are worth."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from as2lib.commands import trec
from as2lib.commands.output import TABLES, progress, require_place, terminal, write_table
from as2lib.data import load_pairs, load_unlabelled, sets
from as2lib.data.columns import NoLabels
from as2lib.data.tables import questions_of
from as2lib.metrics import ranking

if TYPE_CHECKING:
    from datasets import Dataset

    from as2lib.ranker import Ranker
    from as2lib.study import Study

PAIRS_AT_ONCE = 16_384  # whose texts are held together: whole questions
AGAINST = "ties against the system"


def rank_file(
    source: str,
    load: "Callable[[], Ranker]",
    out: str | None,
    top: int | None,
    tag: str,
    batch_size: int | None = None,
) -> None:
    """Rank every question of a file of pairs, or of questions with lists of candidates, to a table or a TREC run.

    load: gives the ranker, once the pairs are known to be good.  out: default: standard output, as CSV.
    """
    require_place(out, (*TABLES, *trec.RUNS), source)
    pairs = load_unlabelled(Path(source))
    ranker = load()
    table = score_pairs(ranker, pairs, batch_size).assign(answer=pairs["answer"][:])
    print(f"ranked {len(table):,} pairs in {ranker.precision}", file=sys.stderr)
    table = trec.best_first(table).groupby("question_id", sort=False).head(top or len(table))
    if out and Path(out).suffix.lower() in trec.RUNS:
        trec.write_run(table, out, tag)
        return
    names = ("question_id", "rank", "candidate_id", "position", "score", "log_odds", "answer")
    table = table[[name for name in names if name in table]]
    if out:
        write_table(table, out)
        return
    if sys.stdout.isatty():
        table = table.map(lambda value: terminal(value) if isinstance(value, str) else value)
    table.to_csv(sys.stdout, index=False, lineterminator="\n")


def score(
    source: str,
    load: "Callable[[], Ranker]",
    split: str | None,
    out: str | None,
    run_file: str | None,
    questions: str,
    measures: Sequence[str],
    tag: str,
    batch_size: int | None = None,
) -> None:
    """Score pairs, write the files that are named, print metrics where there are labels, else the scores themselves.

    load: gives the ranker, once pairs, measures and places of files are known to be good.
    """
    check(out, run_file, measures, source)
    pairs = read_pairs(source, split)
    ranker = load()
    table = score_pairs(ranker, pairs, batch_size)
    print(f"scored {len(table):,} pairs in {ranker.precision}", file=sys.stderr)
    write_scores(table, out, run_file, tag)
    if "label" in table:
        print_metrics(Path(source).name, table, questions, measures)
    elif not (out or run_file):
        table.to_csv(sys.stdout, sep="\t", index=False)


def score_of_run(
    load_study: "Callable[[], Study]",
    name: str,
    split: str,
    out: str | None,
    run_file: str | None,
    questions: str,
    measures: Sequence[str],
) -> None:
    """What `score` prints and writes, of a study's run over its own split, as it was scored when it was made."""
    check(out, run_file, measures)
    if Path(name).expanduser().is_dir():
        raise ValueError(f"{name}: expected pairs to score with it, a file, a folder or a known set; got none")
    table = load_study().run(name).scores(split)
    write_scores(table, out, run_file, name)
    print_metrics(split, table, questions, measures)


# ---------------------------------------------------------------- pairs and their scores


def read_pairs(source: str, split: str | None = None) -> "Dataset":
    """Every pair of a file, a folder or a known set, with labels where it has some.

    split: of a folder or a known set; default: test.
    """
    path = sets.on_disk(source)
    if split is None and not (path and path.is_file()):
        split = "test"
    try:
        return load_pairs(source, split, questions="all")
    except NoLabels:
        return load_unlabelled(source, split)


def score_pairs(ranker: "Ranker", pairs: "Dataset", batch_size: int | None = None) -> pd.DataFrame:
    """Columns question_id, candidate_id, label, position, score, log_odds: those that the pairs and the ranker have.

    Rows in the order of the pairs.  batch_size: as `Ranker.rank` takes it.
    """
    texts = pairs.with_format("arrow")[:]
    names = [name for name in ("question_id", "candidate_id", "label") if name in texts.column_names]
    table = texts.select(names).to_pandas()
    table["position"] = table.groupby("question_id", sort=False).cumcount()
    scores: list[tuple[float, float | None]] = []
    size = PAIRS_AT_ONCE if ranker.encoder is not None else len(pairs)  # BM25 counts over all
    with progress("scoring", len(pairs)) as bar:
        for rows in questions_of(texts).parts(size):
            groups = texts.slice(rows[0], len(rows)).to_pandas().groupby("question_id", sort=False)
            lists = groups["answer"].agg(list).tolist()
            for ranked in ranker.rank(groups["question"].first().tolist(), lists, batch_size=batch_size):
                by_position = sorted(ranked, key=lambda candidate: candidate.position)
                scores += [(candidate.score, candidate.log_odds) for candidate in by_position]
            bar.update(len(rows))
    table["score"], table["log_odds"] = zip(*scores, strict=True)
    return table.dropna(axis="columns", how="all")


def check(out: str | None, run_file: str | None, measures: Sequence[str], *inputs: str) -> None:
    """Raises where a file can't be written, or a measure is not known."""
    require_place(out, TABLES, *inputs)
    require_place(run_file, (), *inputs)
    if run_file:
        require_place(trec.judgements_beside(run_file), (), run_file, *inputs)
    for name in measures:
        ranking.measure_named(name)


def write_scores(table: pd.DataFrame, out: str | None, run_file: str | None, tag: str) -> None:
    if run_file:
        trec.write_run(trec.best_first(table), run_file, tag)
        if "label" in table:
            trec.write_judgements(table, trec.judgements_beside(run_file))
    if out:
        write_table(table, out)


def print_metrics(
    name: str, table: pd.DataFrame, questions: str, measures: Sequence[str] = ranking.MEASURES, ties: str = AGAINST
) -> None:
    """One line: the mean of each measure over the questions that a policy keeps."""
    means = ranking.summary(table["question_id"], table["label"], trec.ranked_by(table), questions, measures)
    count = means.pop("questions")
    line = "   ".join(f"{measure} {100 * mean:.2f}" for measure, mean in means.items())
    print(f"{name}   {line}   ({count} questions, policy {questions}, {ties})", flush=True)
