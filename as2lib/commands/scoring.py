"""`as2 score` and `as2 compare`: the scores of pairs, what they are worth, and whether two runs differ."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ir_measures
import pandas as pd

from as2lib.commands.output import TABLES, progress, require_place, text_file, write_table
from as2lib.commands.ranking import chunks, ranked_by, say_what_scores_are, write_judgements, write_run
from as2lib.data import load_pairs, load_unlabelled, sets
from as2lib.data.columns import NoLabels
from as2lib.metrics import measures as by_name
from as2lib.metrics import ranking, significance

if TYPE_CHECKING:
    from datasets import Dataset

    from as2lib.ranker import Ranker
    from as2lib.study import Study

AGAINST = "ties against the system"


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


def score_pairs(ranker: "Ranker", pairs: "Dataset", batch_size: int | None = None, quiet: bool = True) -> pd.DataFrame:
    """Columns question_id, candidate_id, label, position, score, log_odds: those that the pairs and the ranker have.

    Rows in the order of the pairs.  batch_size: as `Ranker.rank` takes it.  quiet: whether no progress is said.
    """
    columns = [name for name in ("question_id", "candidate_id", "label") if name in pairs.column_names]
    table = pairs.with_format("arrow")[:].select(columns).to_pandas()
    table["position"] = table.groupby("question_id", sort=False).cumcount()
    scores: list[tuple[float, float | None]] = []
    with progress("scoring", len(pairs)) as done:
        for chunk in chunks(pairs, ranker):
            lists = [question.candidates for question in chunk]
            for ranked in ranker.rank([question.text for question in chunk], lists, batch_size=batch_size):
                by_position = sorted(ranked, key=lambda candidate: candidate.position)
                scores += [(candidate.score, candidate.log_odds) for candidate in by_position]
            done(0 if quiet else sum(map(len, lists)))
    table["score"], table["log_odds"] = zip(*scores, strict=True)
    return table.dropna(axis="columns", how="all")


def score(
    source: str,
    load: "Callable[[], Ranker]",
    split: str | None = None,
    out: str | None = None,
    run_file: str | None = None,
    questions: str = "answered",
    measures: Sequence[str] = ranking.MEASURES,
    tag: str = "as2lib",
    batch_size: int | None = None,
) -> None:
    """Score pairs, write the files that are named, print metrics where there are labels, else the scores themselves.

    load: gives the ranker, once pairs, measures and places of files are known to be good.
    """
    check(out, run_file, measures, source)
    pairs = read_pairs(source, split)
    ranker = load()
    say_what_scores_are(ranker)
    table = score_pairs(ranker, pairs, batch_size, quiet=False)
    print(f"scored {len(pairs):,} pairs in {ranker.precision}", file=sys.stderr)
    write_scores(table, out, run_file, tag)
    if "label" in table:
        print_metrics(Path(source).name, table, questions, measures)
    elif not (out or run_file):
        table.to_csv(sys.stdout, sep="\t", index=False)


def score_of_run(
    load_study: Callable[[], "Study"],
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
    write_scores(table, out, run_file, name.replace("/", "-"))
    print_metrics(split, table, questions, measures)


def check(out: str | None, run_file: str | None, measures: Sequence[str], *inputs: str) -> None:
    """Raises where a file can't be written, or a measure is not known."""
    require_place(out, TABLES, *inputs)
    require_place(run_file, None, *inputs)
    if run_file:
        require_place(judgements_beside(run_file), None, run_file, *inputs)
    for name in measures:
        by_name.parse(name)


def judgements_beside(run_file: str) -> Path:
    """Where the judgements of a run go: `my.qrels` beside `my.run`."""
    return Path(run_file).with_suffix(".qrels")


def write_scores(table: pd.DataFrame, out: str | None, run_file: str | None, tag: str) -> None:
    if run_file:
        with text_file(run_file) as file:
            write_run(table, file, tag)
        print(f"wrote {run_file}", file=sys.stderr)
        if "label" in table:
            with text_file(judgements_beside(run_file)) as file:
                write_judgements(table, file)
            print(f"wrote {judgements_beside(run_file)}", file=sys.stderr)
    if out:
        write_table(table, out)


def print_metrics(
    name: str, table: pd.DataFrame, questions: str, measures: Sequence[str] = ranking.MEASURES, ties: str = AGAINST
) -> None:
    """One line: the mean of each measure over the questions that a policy keeps."""
    means = ranking.summary(table["question_id"], table["label"], ranked_by(table), questions, measures)
    count = means.pop("questions")
    line = "   ".join(f"{measure} {100 * mean:.2f}" for measure, mean in means.items())
    print(f"{name}   {line}   ({count} questions, policy {questions}, {ties})", flush=True)


# ---------------------------------------------------------------- two runs


def compare(
    run1: str,
    run2: str,
    judgements: str,
    questions: str = "answered",
    measures: Sequence[str] = ranking.MEASURES,
    out: str | None = None,
) -> None:
    """Two runs on the same judgements, TREC files all three: each measure's difference with its interval and tests.

    questions: the policy, of the judged candidates.  Judged questions that a run lacks count as 0, as do correct
    candidates that it leaves out; a candidate without a judgement is incorrect.
    out: a table of every question's values in both runs and their difference.
    """
    require_place(out, TABLES, run1, run2, judgements)
    for name in measures:
        by_name.parse(name)
    judged = _read(judgements, ir_measures.read_trec_qrels, "question 0 candidate grade")
    correct = (judged["relevance"] > 0).groupby(judged["query_id"], sort=False)
    kept = ranking.kept(correct.size().to_numpy(), correct.sum().to_numpy(), questions)
    names = correct.size().index[kept]
    first, second = (_values(path, judged, names, measures) for path in (run1, run2))
    for name in measures:
        test = significance.compare(first[name], second[name])
        print(
            f"{ranking.MEANS.get(name, name):<9} {100 * test.mean_a:.2f} − {100 * test.mean_b:.2f} = "
            f"{100 * test.difference:+.2f}   95 % interval {100 * test.low:+.2f} to {100 * test.high:+.2f}   "
            f"p {test.p:.2g} (permutation), {test.wilcoxon_p:.2g} (Wilcoxon)   "
            f"{test.wins} better, {test.losses} worse, {test.ties} equal"
        )
    print(f"{len(names)} questions, policy {questions}, {AGAINST}; a difference above 0 speaks for {Path(run1).name}")
    if out:
        parts = [first.add_prefix("run1 "), second.add_prefix("run2 "), (first - second).add_prefix("difference ")]
        write_table(pd.concat(parts, axis=1).reset_index(), out)


def _values(path: str, judged: pd.DataFrame, names: pd.Index, measures: Sequence[str]) -> pd.DataFrame:
    """Each measure of each of the named questions in a run, its ties broken against it; says what does not match."""
    run = _read(path, ir_measures.read_trec_run, "question Q0 candidate rank score tag")
    pairs = run.merge(judged, "left", ["query_id", "doc_id"])
    if pairs["relevance"].isna().all():
        got, there = (" ".join(table.iloc[0][["query_id", "doc_id"]]) for table in (run, judged))
        raise ValueError(f"{path}: expected questions and candidates that are judged, such as {there}; got {got}")
    lacking = {
        "judged questions are not in it: counted as 0": len(set(names) - set(run["query_id"])),
        "candidates have no judgement: incorrect": int(pairs["relevance"].isna().sum()),
    }
    for line, count in lacking.items():
        if count:
            print(f"as2: {path}: {count} {line}", file=sys.stderr)
    pairs = pairs.fillna({"relevance": 0}).sort_values(["score", "relevance"], ascending=[False, True])
    pairs["score"] = -pairs.groupby("query_id").cumcount().astype(float)
    columns = {"query_id": "question_id", "doc_id": "candidate_id", "relevance": "grade"}
    tables = (judged[["query_id", "doc_id", "relevance"]], pairs[["query_id", "doc_id", "score"]])
    kept = (table[table["query_id"].isin(names)].rename(columns=columns) for table in tables)
    return by_name.calculate(*kept, measures)


def _read(path: str, read: Callable[..., Any], fields: str) -> pd.DataFrame:
    """A TREC file as ir_measures reads it.  Raises ValueError where it has other fields, or none."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file; expected a TREC file ({fields})")
    try:
        rows = pd.DataFrame(read(path))
    except (ValueError, IndexError, TypeError) as error:
        raise ValueError(f"{path}: expected a TREC file ({fields}), got {sets.shorten(str(error))}") from None
    if rows.empty or rows.isna().any(axis=None):
        raise ValueError(f"{path}: expected a TREC file ({fields}), got {'none' if rows.empty else 'nan'}")
    if rows.duplicated(["query_id", "doc_id"]).any():
        raise ValueError(f"{path}: expected each candidate of a question once, got one twice")
    return rows
