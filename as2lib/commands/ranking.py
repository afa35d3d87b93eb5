"""`as2 rank`: the questions of a file ranked as they stream by, so that memory does not grow with the file."""

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from as2lib.commands.output import cell, require_place, terminal, text_file
from as2lib.data.sets import SUFFIXES, shorten

if TYPE_CHECKING:
    import pyarrow

    from as2lib.ranker import Ranked, Ranker

CHUNK = 4096  # pairs that are ranked together at least: whole questions
COLUMNS = ("question_id", "rank", "candidate_id", "position", "score", "log_odds", "answer")
LISTS = ("candidates", "answers", "sentences", "passages")  # what a line of JSON calls a question's candidates


class Question(NamedTuple):
    """A question with its candidates, texts or rows that `Ranker.rank` takes, and ids beside them."""

    id: str
    text: str
    candidates: list[Any]
    ids: list[Any] | None = None

    def names(self) -> list[str]:
        """What a run file calls the candidates: their ids, where each has its own, else question and position."""
        from as2lib.ranker import ids_of

        ids = ids_of(self.candidates, self.ids)
        if None not in ids and len(set(ids)) == len(ids):
            return [str(name) for name in ids]
        return [f"{self.id}-{position}" for position in range(len(ids))]


def is_questions(text: str) -> bool:
    """Whether an argument names a file of questions, or standard input ("-"); else it is a question itself."""
    return text == "-" or Path(text).suffix[1:].lower() in SUFFIXES


def rank_question(
    ranker: "Ranker", question: str, candidates: list[str], top: int | None, batch_size: int | None
) -> None:
    """Print the candidates of one question, best first."""
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
    load: gives the ranker, once the file is known to be there.  layout: one of `WRITERS`; default: by the end of `out`.
    batch_size: as `Ranker.rank` takes it.
    """
    from tqdm import tqdm

    require_place(out, source)
    if source != "-" and not Path(source).expanduser().is_file():
        raise FileNotFoundError(f"{source}: no such file")
    layout = layout or layout_of(out)
    ranker = load()
    questions = pairs = 0
    with ExitStack() as stack:
        file = stack.enter_context(text_file(out))
        write = WRITERS[layout](file, tag)
        quiet = source == "-" or (out is None and sys.stdout.isatty())
        bar = stack.enter_context(tqdm(unit=" pairs", unit_scale=True, desc="ranking", disable=quiet or None))
        for chunk in chunks(read_questions(source), 1 if source == "-" else CHUNK):
            texts = [question.text for question in chunk]
            lists, ids = [question.candidates for question in chunk], [question.ids for question in chunk]
            rankings = ranker.rank(texts, lists, top, ids=ids, batch_size=batch_size)
            for question, ranked in zip(chunk, rankings, strict=True):
                write(question, ranked)
            if source == "-":
                file.flush()
            questions, pairs = questions + len(chunk), pairs + sum(map(len, lists))
            bar.update(sum(map(len, lists)))
    wrote = f"; wrote {out}" if out else ""
    print(f"ranked {pairs:,} pairs of {questions:,} questions in {ranker.precision}{wrote}", file=sys.stderr)


def layout_of(out: str | None) -> str:
    """How a file is written, by the end of its name."""
    suffix = Path(out or "").suffix.lower()
    return {".run": "trec", ".trec": "trec", ".jsonl": "jsonl", ".tsv": "tsv"}.get(suffix, "csv")


# ---------------------------------------------------------------- questions


def read_questions(source: str) -> Iterator[Question]:
    """The questions of a file, or of standard input, one after the other.

    Raises ValueError that names the file and the row, when it comes to it.
    """
    if source == "-":
        yield from lines_of_questions(sys.stdin, "standard input", once=False)
        return
    path = Path(source).expanduser()
    if path.suffix.lower() == ".jsonl" and has_lists(path):
        with path.open(encoding="utf-8-sig", newline="\n") as stream:
            yield from lines_of_questions(stream, path.name)
        return
    from as2lib.data.pairs import load_unlabelled

    yield from questions_of([load_unlabelled(path).with_format("arrow")[:]])


def has_lists(path: Path) -> bool:
    """Whether the first line of a JSONL file is a question with a list of candidates, and no pair."""
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        first = next(filter(str.strip, stream), "")
    try:
        row = json.loads(first)
    except ValueError:
        return False
    return isinstance(row, dict) and any(isinstance(row.get(name), list) for name in LISTS)


def lines_of_questions(lines: Iterable[str], name: str, once: bool = True) -> Iterator[Question]:
    """`{"question_id": …, "question": …, "candidates": […]}`, a line each; where none has an id, it is the row.

    Candidates are texts, or objects with a text and perhaps an id: `{"id": …, "text": …}`.
    once: whether each id may come only once, as in a file; else, as of a service, none is kept in mind.
    No candidate is an empty ranking, and an empty one is scored as empty.
    Raises ValueError that names the row: where there is no such question, where some rows have ids and others none, and
    where an id comes again.
    """
    from as2lib.ranker import text_of

    rows: dict[str, int] = {}
    for row, line in enumerate(filter(str.strip, lines), start=1):
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name}, row {row}: expected a JSON object, got {shorten(str(error))}") from None
        fields = content if isinstance(content, dict) else {}
        text = fields.get("question", fields.get("query"))
        candidates = next((fields[key] for key in LISTS if key in fields), None)
        if not (isinstance(text, str) and text.strip() and isinstance(candidates, list)):
            expected = 'expected a "question" and a list of "candidates"'
            raise ValueError(f"{name}, row {row}: {expected}; got {shorten(content)}")
        try:
            for place, candidate in enumerate(candidates, start=1):
                text_of(candidate, place)
        except ValueError as error:
            raise ValueError(f"{name}, row {row}: {error}") from None
        identity = next((str(fields[key]) for key in ("question_id", "id", "qid") if key in fields), None)
        if once:
            if row == 1:
                first_has_id = identity is not None
            if first_has_id != (identity is not None):
                raise ValueError(f"{name}, row {row}: expected each row to have an id, or none; row 1 is otherwise")
            if identity is not None and (before := rows.setdefault(identity, row)) != row:
                expected = f"expected an id of its own, got {shorten(identity)}, as in row {before}"
                raise ValueError(f"{name}, row {row}: {expected}")
        yield Question(str(row) if identity is None else identity, text, candidates)


def questions_of(tables: "Iterable[pyarrow.Table]") -> Iterator[Question]:
    """The questions of pairs whose rows stand together, whatever tables these come in."""

    def rows() -> Iterator[tuple[str, str, str, str | None]]:
        for table in tables:
            names = table["candidate_id"].to_pylist() if "candidate_id" in table.column_names else [None] * len(table)
            columns = [table[name].to_pylist() for name in ("question_id", "question", "answer")]
            yield from zip(*columns, names, strict=True)

    for identity, group in groupby(rows(), key=lambda row: row[0]):
        members = list(group)
        ids = [name for *_, name in members]
        yield Question(identity, members[0][1], [answer for _, _, answer, _ in members], ids)


def chunks(questions: Iterable[Question], size: int) -> Iterator[list[Question]]:
    """Questions in lists of at least so many pairs, but for the last one."""
    chunk: list[Question] = []
    pairs = 0
    for question in questions:
        chunk.append(question)
        pairs += len(question.candidates)
        if pairs >= size:
            yield chunk
            chunk, pairs = [], 0
    if chunk:
        yield chunk


# ---------------------------------------------------------------- what is written

Write = Callable[[Question, "list[Ranked]"], None]


def _table(separator: str, file: TextIO, tag: str) -> Write:
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(COLUMNS)
    readable = terminal if file.isatty() else str

    def write(question: Question, ranking: "list[Ranked]") -> None:
        for place, ranked in enumerate(ranking, start=1):
            texts = (question.id, "" if ranked.id is None else str(ranked.id), ranked.candidate)
            question_id, candidate_id, answer = (readable(cell(text)) for text in texts)
            numbers = ranked.position, ranked.score, ranked.log_odds
            writer.writerow([question_id, place, candidate_id, *numbers, answer])

    return write


def _jsonl(file: TextIO, tag: str) -> Write:
    def write(question: Question, ranking: "list[Ranked]") -> None:
        lines = []
        for ranked in ranking:
            line = {"position": ranked.position, "score": ranked.score, "log_odds": ranked.log_odds}
            line["answer"] = ranked.candidate
            if ranked.id is not None:
                line["candidate_id"] = ranked.id
            if ranked.row is not None:
                line["row"] = ranked.row
            lines.append({**line, **ranked.parts})
        row = {"question_id": question.id, "question": question.text, "ranking": lines}
        file.write(json.dumps(row, ensure_ascii=file.isatty()) + "\n")

    return write


def _trec(file: TextIO, tag: str) -> Write:
    """The score of a run file is the log odds: a probability would tie at 1."""
    from as2lib.metrics.trec import field

    def write(question: Question, ranking: "list[Ranked]") -> None:
        names = question.names()
        for place, ranked in enumerate(ranking, start=1):
            name = field(names[ranked.position])
            file.write(f"{field(question.id)} Q0 {name} {place} {ranked.log_odds!r} {field(tag)}\n")

    return write


WRITERS = {"csv": partial(_table, ","), "tsv": partial(_table, "\t"), "jsonl": _jsonl, "trec": _trec}
