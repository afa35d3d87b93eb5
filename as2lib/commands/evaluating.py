"""`as2 score`, `as2 evaluate` and `as2 compare`: the scores of pairs, and what they are worth under judgements."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from as2lib.commands.output import TABLES, require_place, write_table
from as2lib.commands.ranking import CHUNK, chunks, questions_of
from as2lib.data import load_pairs, load_unlabelled, sets
from as2lib.metrics import measures as by_name
from as2lib.metrics import ranking, trec
from as2lib.paths import whole_file

if TYPE_CHECKING:
    from datasets import Dataset

    from as2lib.ranker import Ranker
    from as2lib.study import Study

AGAINST, AS_TREC = "ties against the system", "as trec_eval has it"


# ---------------------------------------------------------------- pairs and their scores


def read_pairs(source: str, split: str | None = None) -> "Dataset":
    """Every pair of a file, a folder or a known set, with labels where it has some.

    split: of a folder or a known set; default: test, or the only one that a folder has.
    """
    from as2lib.data.columns import NoLabels

    path = sets.on_disk(source)
    if split is None and not (path and path.is_file()):
        split = "test"
    try:
        return load_pairs(source, split, questions="all")
    except NoLabels:
        return load_unlabelled(source, split)


def score_pairs(
    ranker: "Ranker", pairs: "Dataset", batch_size: int | None = None, progress: bool = False
) -> pd.DataFrame:
    """Columns question_id, candidate_id, position, label, score, log_odds: ids and labels where the pairs have them.

    Rows in the order of the pairs.  batch_size: as `Ranker.rank` takes it.
    """
    from tqdm import tqdm

    columns = [name for name in ("question_id", "candidate_id", "label") if name in pairs.column_names]
    arrow = pairs.with_format("arrow")[:]
    table = arrow.select(columns).to_pandas()
    table.insert(len(columns) - ("label" in columns), "position", table.groupby("question_id", sort=False).cumcount())
    scores: list[tuple[float, float]] = []
    with tqdm(
        total=len(pairs), unit=" pairs", unit_scale=True, desc="scoring", disable=None if progress else True
    ) as bar:
        # A ranker that counts words over a collection reads all of it at once.
        for chunk in chunks(questions_of([arrow]), CHUNK if ranker.encoder is not None else len(pairs)):
            lists = [question.candidates for question in chunk]
            for ranked in ranker.rank([question.text for question in chunk], lists, batch_size=batch_size):
                by_position = sorted(ranked, key=lambda candidate: candidate.position)
                scores += [(candidate.score, candidate.log_odds) for candidate in by_position]
            bar.update(sum(map(len, lists)))
    return table.assign(**pd.DataFrame(scores, columns=["score", "log_odds"], index=table.index))


def run_of(table: pd.DataFrame) -> pd.DataFrame:
    """A TREC run: candidates by their ids, or else as `question-position`; its score is the log odds."""
    columns = {"question_id": table["question_id"], "candidate_id": candidate_names(table)}
    return pd.DataFrame({**columns, "score": ranked_by(table)})


def ranked_by(table: pd.DataFrame) -> pd.Series:
    """What orders the candidates: the log odds; of a study's run the score, all that it keeps."""
    return table["log_odds"] if "log_odds" in table else table["score"]


def candidate_names(table: pd.DataFrame) -> pd.Series:
    """What a run file calls candidates: their ids where a question has each once, else its id with their position."""
    numbered = table["question_id"].astype(str) + "-" + table["position"].astype(str)
    if "candidate_id" not in table or table["candidate_id"].isna().any():
        return numbered
    repeated = table.duplicated(["question_id", "candidate_id"]).any()
    return numbered if repeated else table["candidate_id"]


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
    require_out(out, source)
    require_place(run_file, source)
    for name in measures:
        by_name.parse(name)
    pairs = read_pairs(source, split)
    ranker = load()
    table = score_pairs(ranker, pairs, batch_size, progress=True)
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
    require_out(out)
    require_place(run_file)
    if Path(name).expanduser().is_dir():
        raise ValueError(f"{name}: expected pairs to score with it, a file, a folder or a known set; got none")
    table = load_study().run(name).scores(split)
    write_scores(table, out, run_file, name.replace("/", "-"))
    print_metrics(split, table, questions, measures)


def write_scores(table: pd.DataFrame, out: str | None, run_file: str | None, tag: str) -> None:
    if run_file:
        with whole_file(Path(run_file).expanduser().resolve()) as temporary:
            trec.write_run(run_of(table), temporary, tag)
        print(f"wrote {run_file}", file=sys.stderr)
    if out:
        write_table(table, out)
        print(f"wrote {out}", file=sys.stderr)


def require_out(out: str | None, *inputs: str) -> None:
    require_place(out, *inputs)
    if out and Path(out).suffix.lower() not in TABLES:
        raise ValueError(f"--out {out}: expected a file that ends in {', '.join(TABLES)}")


def print_metrics(
    name: str, table: pd.DataFrame, questions: str, measures: Sequence[str] = ranking.MEASURES, ties: str = AGAINST
) -> None:
    """One line: the mean of each measure over the questions that a policy keeps."""
    values = ranking.per_question(table["question_id"], table["label"], ranked_by(table), questions, measures)
    if values.empty:
        raise ValueError(f'{name}: no question is left under the policy "{questions}"; --questions all keeps each one')
    print_values(name, values, f"policy {questions}, {ties}")


def print_values(name: str, values: pd.DataFrame, note: str) -> None:
    means = {ranking.MEANS.get(measure, measure): 100 * values[measure].mean() for measure in values}
    line = "   ".join(f"{measure} {mean:.2f}" for measure, mean in means.items())
    print(f"{name}   {line}   ({len(values)} questions, {note})", flush=True)


# ---------------------------------------------------------------- runs under judgements


def read_judgements(source: str, run: pd.DataFrame, split: str | None = None) -> pd.DataFrame:
    """Judgements from qrels (also BEIR's), or from any labelled pairs that `as2 score` reads.

    Candidates of pairs are called by their ids, or by `question-position`, whichever the run knows more of.
    """
    path = Path(source).expanduser()
    is_table = path.suffix[1:].lower() in sets.SUFFIXES
    if path.is_file() and (not is_table or has_judgements(path)):
        return trec.read_judgements(path)
    if not path.exists() and not sets.on_disk(source) and (is_table or not sets.is_known(source)):
        raise FileNotFoundError(
            f"{source}: no such file, nor a known set; expected judgements (qrels) or labelled pairs"
        )
    pairs = read_pairs(source, split)
    if "label" not in pairs.column_names:
        raise ValueError(f"{source}: expected judgements, got pairs without labels")
    columns = [name for name in ("question_id", "candidate_id", "label") if name in pairs.column_names]
    table = pairs.with_format("arrow")[:].select(columns).to_pandas()
    table["position"] = table.groupby("question_id", sort=False).cumcount()
    known = set(run["candidate_id"])

    def named(names: pd.Series) -> pd.DataFrame:
        ids = {"question_id": table["question_id"].map(trec.field), "candidate_id": names.map(trec.field)}
        return pd.DataFrame({**ids, "grade": table["label"]})

    numbered = named(candidate_names(table.drop(columns="candidate_id", errors="ignore")))
    by_id = named(candidate_names(table))
    matches = [judgements["candidate_id"].isin(known).sum() for judgements in (numbered, by_id)]
    return by_id if matches[1] >= matches[0] else numbered


def has_judgements(path: Path) -> bool:
    """Whether a file named as a table of pairs holds judgements: qrels between tabs, or BEIR's, with its header."""
    if path.suffix.lower() != ".tsv":
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        fields = lines.readline().rstrip("\r\n").split("\t")
    grade = fields[-1].removeprefix("-").isdigit()
    return "corpus-id" in fields or (len(fields) in (3, 4) and grade and not any(" " in field for field in fields))


def print_coverage(run: pd.DataFrame, judgements: pd.DataFrame) -> None:
    """What the two do not have in common, a line for each count that is not 0.

    Raises ValueError where they have no question, or no candidate, in common: one of them calls these otherwise.
    """
    trec.require_common(run, judgements)
    if run.merge(judgements, on=["question_id", "candidate_id"]).empty:
        question, candidate = run.loc[run["question_id"].isin(judgements["question_id"]), list(trec.RUN[:2])].iloc[0]
        judged = judgements.loc[judgements["question_id"] == question, "candidate_id"].iloc[0]
        problem = f"got none: of question {question}, one has {candidate} and the other {judged}"
        raise ValueError(f"expected candidates that run and judgements share, {problem}")
    coverage = trec.coverage(run, judgements)
    lines = {
        "questions of the run have no judgement: not counted": coverage.unjudged_questions,
        "judged questions are not in the run: counted as 0": coverage.missing_questions,
        "candidates have no judgement: incorrect": coverage.unjudged_candidates,
        "correct candidates are not in the run: not found": coverage.missing_candidates,
    }
    for line, count in lines.items():
        if count:
            print(f"as2: {count} {line}", file=sys.stderr)


def evaluate(
    run_file: str,
    judged: str,
    split: str | None = None,
    questions: str | None = None,
    measures: Sequence[str] = ranking.MEASURES,
) -> None:
    """Print what trec_eval computes of a run, and a line of its own where our tie rule gives other values.

    questions: the policy, of the judged candidates; None: every judged question, and once more the answered ones where
        these are fewer.
    """
    run = trec.read_run(run_file)
    judgements = read_judgements(judged, run, split)
    print_coverage(run, judgements)
    name = Path(run_file).name
    before = None
    for policy in [questions] if questions else ["all", "answered"]:
        values = trec.evaluate(run, judgements, measures, policy)
        if values.empty and questions:
            raise ValueError(
                f'{judged}: no question is left under the policy "{policy}"; --questions all keeps each one'
            )
        if len(values) in (0, before):
            break
        before = len(values)
        print_values(name, values, f"policy {policy}, {AS_TREC}")
        against = trec.evaluate(trec.against_ties(run, judgements), judgements, measures, policy)
        if not against.round(12).equals(values.round(12)):
            print_values(name, against, f"policy {policy}, {AGAINST}")


def compare(
    run1: str,
    run2: str,
    judged: str,
    split: str | None = None,
    questions: str = "all",
    measures: Sequence[str] = ranking.MEASURES,
    out: str | None = None,
) -> None:
    """Two runs on the same judgements: each measure's difference with its interval and tests; a table by question.

    out: a csv file (or TSV, JSONL, Parquet) of every question's values in both runs and their difference.
    """
    require_out(out, run1, run2, judged)
    runs = [trec.read_run(path) for path in (run1, run2)]
    judgements = read_judgements(judged, runs[0], split)
    for run in runs:
        print_coverage(run, judgements)
    result = trec.compare_runs(*runs, judgements, measures, questions)
    for name, test in result.tests.items():
        label = ranking.MEANS.get(name, name)
        print(
            f"{label:<9} {100 * test.mean_a:.2f} − {100 * test.mean_b:.2f} = {100 * test.difference:+.2f}   "
            f"95 % interval {100 * test.low:+.2f} to {100 * test.high:+.2f}   p {test.p:.2g} (permutation), "
            f"{test.wilcoxon_p:.2g} (Wilcoxon)   {test.wins} better, {test.losses} worse, {test.ties} equal"
        )
    first = next(iter(result.tests.values()))
    print(f"{first.n} questions, policy {questions}, {AS_TREC}; a difference above 0 speaks for {Path(run1).name}")
    if out:
        table = result.by_question.copy()
        table.columns = [f"{part} {measure}" for part, measure in table.columns]
        write_table(table.reset_index(), out)
        print(f"wrote {out}", file=sys.stderr)
