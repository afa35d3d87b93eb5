"""`as2 rank` and `as2 evaluate`: files of any size ranked as they stream by, and runs of any tool evaluated."""

import csv
import gc
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from as2lib import serve
from as2lib.data.sources import SUFFIXES
from as2lib.escape import field, spreadsheet, terminal

if TYPE_CHECKING:
    import pyarrow

    from as2lib.ranker import Ranked, Ranker
    from as2lib.study import Study

CHUNK = 4096  # pairs that are ranked together at least: whole questions
READ = ("question_id", "question", "answer")
WRITTEN = ("question_id", "rank", "position", "score", "answer")
Question = tuple[str, str, list[str]]  # id, text, candidates


def load_ranker(options: Namespace, load_study: Callable[[], "Study"]) -> "Ranker":
    """The ranker that a command names: a folder, a lexical one, a run of the study, or a model of the hub."""
    from as2lib.ranker import LEXICAL, Ranker

    if not (Path(options.model) / serve.FACTS).exists():  # an exported model ranks without them
        import transformers

        from as2lib import score  # noqa: F401

        transformers.logging.disable_progress_bar()
    gc.enable()
    name, settings = options.model, {"precision": options.precision, "alpha": options.alpha}
    a_folder = any((Path(name) / file).exists() for file in ("config.json", serve.FACTS))
    if not a_folder and name.removeprefix("lexical/") not in LEXICAL:
        study = load_study()
        kinds = {planned.split("/")[0] for planned in study.plan}
        if name in study.plan or name.count("/") != 1 or name.split("/")[0] in kinds:
            return study.ranker(name, **settings)
    return Ranker.load(name, **settings)


def is_pair_file(text: str) -> bool:
    return Path(text).suffix[1:].lower() in SUFFIXES


def print_ranking(options: Namespace, load_study: Callable[[], "Study"]) -> None:
    """The candidates of one question, best first."""
    candidates = options.candidates or [line.strip() for line in sys.stdin if line.strip()]
    ranker = load_ranker(options, load_study)
    for place, ranked in enumerate(ranker.rank(options.question, candidates, options.top), start=1):
        print(f"{place:>3}  {ranked.score:.4f}  {terminal(ranked.candidate)}")
    print(f"ranked {len(candidates):,} candidates in {ranker.precision}", file=sys.stderr)


def rank_file(options: Namespace, load_study: Callable[[], "Study"]) -> None:
    """Rank every question of a file, a few thousand pairs at a time, to a csv file, a TREC run, or standard output."""
    from tqdm import tqdm

    from as2lib.data.pairs import stream_pairs

    path, started = Path(options.question), time.perf_counter()
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    ranker, questions, pairs = load_ranker(options, load_study), 0, 0
    begun = time.perf_counter()
    with ExitStack() as inside:
        out = inside.enter_context(_writing(options.out))
        write = _trec(out, options.model) if _is_run(options) else _csv(out)
        bar = inside.enter_context(tqdm(total=_rows(path), unit=" pairs", unit_scale=True, desc="ranking"))
        for chunk in _chunks(stream_pairs(path)):
            ids, texts, lists = (list(column) for column in zip(*chunk, strict=True))
            for name, ranked in zip(ids, ranker.rank(texts, lists, options.top), strict=True):
                write(name, ranked)
            questions, pairs = questions + len(ids), pairs + sum(map(len, lists))
            bar.update(sum(map(len, lists)))
    rate = pairs / (time.perf_counter() - begun)
    print(
        f"ranked {pairs:,} pairs of {questions:,} questions in {ranker.precision}: {rate:,.0f} pairs a second"
        + (f" after {begun - started:.1f} s of loading; wrote {options.out}" if options.out else ""),
        file=sys.stderr,
    )


def evaluate(options: Namespace) -> None:
    """Metrics of a TREC run under judgements, whatever tools made them."""
    from as2lib.commands import print_metrics
    from as2lib.data.trec import judged, read_judgements, read_run

    table, assumed = judged(read_run(options.run), read_judgements(options.judgements))
    for line in assumed:
        print(f"as2 evaluate: {line}", file=sys.stderr)
    print_metrics(options.run.name, table, options.questions)


def _chunks(tables: Iterable["pyarrow.Table"]) -> Iterator[list[Question]]:
    """The questions of pairs in lists of at least `CHUNK` pairs, but for the last one."""
    rows = chain.from_iterable(zip(*(table[name].to_pylist() for name in READ), strict=True) for table in tables)
    chunk: list[Question] = []
    size = 0
    for name, group in groupby(rows, key=lambda row: row[0]):
        own = list(group)
        chunk.append((name, own[0][1], [answer for _, _, answer in own]))
        size += len(own)
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _rows(path: Path) -> int | None:
    """About how many pairs a file has, for the progress bar: lines less a header, or what Parquet says."""
    if path.suffix.lower() == ".parquet":
        from pyarrow import parquet

        return parquet.read_metadata(path).num_rows
    with path.open("rb") as stream:
        lines = sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
    return lines - (path.suffix.lower() != ".jsonl")


def _is_run(options: Namespace) -> bool:
    return options.format == "trec" or (options.format is None and Path(options.out or "").suffix in (".run", ".trec"))


def _writing(out: str | None) -> AbstractContextManager[TextIO]:
    return nullcontext(sys.stdout) if out is None else Path(out).open("w", encoding="utf-8", newline="")


def _csv(out: TextIO) -> Callable[[str, list["Ranked"]], None]:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(WRITTEN)
    shown = terminal if out.isatty() else str

    def write(name: str, ranked: list["Ranked"]) -> None:
        for place, one in enumerate(ranked, 1):
            writer.writerow(
                [shown(spreadsheet(name)), place, one.position, one.score, shown(spreadsheet(one.candidate))]
            )

    return write


def _trec(out: TextIO, tag: str) -> Callable[[str, list["Ranked"]], None]:
    tag = field(tag.replace("/", "-"))

    def write(name: str, ranked: list["Ranked"]) -> None:
        question = field(name)
        for place, one in enumerate(ranked, 1):
            out.write(f"{question} Q0 {question}-{one.position} {place} {one.score!r} {tag}\n")

    return write
