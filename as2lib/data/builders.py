"""Pair sets made of other sets: SQuAD's sentences, Natural Questions' paragraphs, ASNQ as its authors released it.

A record at a time, in the order of the page, so that no set has to be in memory whole; knows no model. `pairs` keeps
what is made here in a file, and nothing else knows that it was made.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from as2lib.data import sets
from as2lib.data.sets import COLUMNS, json_value, shorten
from as2lib.data.tables import json_rows, not_utf8
from as2lib.paths import file_sha256

_BATCH = 8192
DEV_SHARE = 10  # one in so many training questions is dev

Record = dict[str, Any]
Row = tuple[str, str, str, int]


def tables(location: sets.Location) -> Iterator[pa.Table]:
    """The pairs of a built set's split, some thousand rows a table, unchecked.

    Of SQuAD and Natural Questions, train and dev are the original training set, one question in `DEV_SHARE` (by the
    SHA-256 of its id) being dev; test is the original validation set.
    Raises ValueError that names the record that is not in the original format.
    """
    if location.builder == "asnq":
        rows = asnq_sentences(location)
    else:
        build = squad_sentences if location.builder == "squad-sent" else natural_paragraphs
        rows = build(chain.from_iterable(map(_of_file, location.files)) if location.files else _of_hub(location))
        if location.split != "test":
            rows = (row for row in rows if is_dev(row[0]) == (location.split == "dev"))
    while batch := list(islice(rows, _BATCH)):
        yield pa.table(dict(zip(COLUMNS, map(pa.array, zip(*batch, strict=True)), strict=True)))


def squad_sentences(records: Iterable[tuple[str, Record]]) -> Iterator[Row]:
    """One row a sentence of a question's paragraph, split by spaCy's rules.

    records: (what to call it, `id`, `question`, `context`, `answers` with `text` and `answer_start`).
    Correct is the sentence whose characters hold the first annotated answer, by its offset; an answer across two
    sentences marks none, as does a question without one.  Source: Cosinet, section 5.1.
    """
    import spacy

    splitter = spacy.blank("en")
    splitter.add_pipe("sentencizer")
    context, sentences = None, []
    for where, record in records:
        with _in_format(where, "SQuAD"):
            if record["context"] != context:  # the questions of a paragraph come one after the other
                context = record["context"]
                spans = ((sent.start_char, sent.end_char, sent.text.strip()) for sent in splitter(context).sents)
                sentences = [span for span in spans if span[2]]
            starts, texts = record["answers"]["answer_start"], record["answers"]["text"]
            first, last = (starts[0], starts[0] + len(texts[0])) if len(starts) else (-1, -1)
            identifier, question = str(record["id"]), record["question"].strip()
        for start, end, text in sentences:
            yield identifier, question, text, int(start <= first and last <= end)


def natural_paragraphs(records: Iterable[tuple[str, Record]]) -> Iterator[Row]:
    """One row a paragraph of a question's page: the top-level long-answer candidates that are `<P>`, in its order.

    records: (what to call it, a record of Natural Questions, simplified or as on the hub).
    Correct is a paragraph that any annotator chose. Tables and lists are left out, with the paragraphs nested in them,
    and so are paragraphs without a word.
    Source: Cosinet, section 5.1.
    """
    for where, record in records:
        with _in_format(where, "Natural Questions"):
            identifier = str(record["example_id"] if "example_id" in record else record["id"])
            question = record.get("question_text") or record["question"]
            question = (question if isinstance(question, str) else question["text"]).strip()
            tokens, markup = _page(record)
            candidates, annotations = record["long_answer_candidates"], record["annotations"]
            if isinstance(candidates, dict):  # as on the hub
                ranges = zip(candidates["start_token"], candidates["end_token"], candidates["top_level"], strict=True)
                chosen = {answer["candidate_index"] for answer in annotations["long_answer"]}
            else:
                ranges = [(part["start_token"], part["end_token"], part["top_level"]) for part in candidates]
                chosen = {annotation["long_answer"]["candidate_index"] for annotation in annotations}
            paragraphs = []
            for number, (start, end, top_level) in enumerate(ranges):
                if top_level and start < len(tokens) and tokens[start].upper() == "<P>":
                    words = " ".join(tokens[i] for i in range(start, end) if not markup[i])
                    paragraphs.append((start, words.strip(), int(number in chosen)))
        yield from ((identifier, question, text, label) for _, text, label in sorted(paragraphs) if text)


def asnq_sentences(location: sets.Location) -> Iterator[Row]:
    """The rows of ASNQ's original files; of dev.tsv, those of the questions that the list of the split names.

    A line is question, sentence and label between tabs: 4 is a sentence of the long answer with the short one in it,
    which is correct; 1 to 3 lack one or both. A run of equal questions has one id, made of the file's bytes.
    Raises ValueError that names file and line.
    Sources: Garg et al. 2020 (TANDA); Soldaini and Moschitti 2020, section 5.1 (the lists that halve dev.tsv).
    """
    owner, names = _owners(location.lists), [path.name for path in location.lists]
    prefix, run, last, empty = file_sha256(location.files[0])[:8], 0, None, True
    for where, question, sentence, label in chain.from_iterable(map(_asnq_lines, location.files)):
        run, last = run + (question != last), question
        if owner and question.strip() not in owner:
            raise ValueError(f"{where}: question {shorten(question.strip())} is in neither {' nor '.join(names)}")
        if not owner or owner[question.strip()].name == sets.LISTS[location.split]:
            empty = False
            yield f"{prefix}-{run}", question, sentence, int(label == "4")
    if owner and empty:
        raise ValueError(f"{location.name}: no question of {sets.LISTS[location.split]} is in this file")


def is_dev(question_id: str) -> bool:
    """Whether a training question is one of the tenth that serves as dev."""
    return hashlib.sha256(question_id.encode()).digest()[0] * DEV_SHARE < 256


def _page(record: Record) -> tuple[list[str], list[bool]]:
    """The tokens of a record's page, and which of them are markup."""
    if "document_text" in record:  # the simplified files: one text, markup told by its angle brackets
        tokens = record["document_text"].split(" ")
        return tokens, [token.startswith("<") and token.endswith(">") for token in tokens]
    return record["document"]["tokens"]["token"], record["document"]["tokens"]["is_html"]  # the hub


def _of_hub(location: sets.Location) -> Iterator[tuple[str, Record]]:
    import datasets

    hub, split = sets.BUILT[location.builder], "validation" if location.split == "test" else "train"
    with sets.hub_reached(hub, split, location.revision):
        stream = datasets.load_dataset(hub, revision=location.revision, split=split, streaming=True)
    for number, record in enumerate(stream, start=1):
        yield f"{hub}, record {number}", record


def _of_file(path: Path) -> Iterator[tuple[str, Record]]:
    """The records of one file: Parquet as on the hub, JSON lines, or SQuAD's own JSON; also gzipped."""
    try:
        yield from _parquet_records(path) if path.suffix == ".parquet" else _json_records(path)
    except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        problem = shorten(str(error).partition("\n")[0])
        raise ValueError(f"{path.name}: expected a whole file of UTF-8 text or Parquet, got {problem}") from None


def _parquet_records(path: Path) -> Iterator[tuple[str, Record]]:
    batches = parquet.ParquetFile(path).iter_batches(64)
    for number, record in enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), start=1):
        yield f"{path.name}, record {number}", record


def _json_records(path: Path) -> Iterator[tuple[str, Record]]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as stream:
        if ".jsonl" in path.name:
            yield from json_rows(path.name, stream)
        else:
            yield from _squad_json(path.name, json_value(path.name, stream.read()))


def _squad_json(name: str, content: Record) -> Iterator[tuple[str, Record]]:
    with _in_format(name, "SQuAD"):
        paragraphs = [paragraph for article in content["data"] for paragraph in article["paragraphs"]]
        questions = [
            (paragraph["context"], entry, entry["id"]) for paragraph in paragraphs for entry in paragraph["qas"]
        ]
    for context, entry, identifier in questions:
        where = f"{name}, question {identifier}"
        with _in_format(where, "SQuAD"):
            answers = {key: [answer[key] for answer in entry["answers"]] for key in ("text", "answer_start")}
            record = {"id": identifier, "question": entry["question"], "context": context, "answers": answers}
        yield where, record


@contextmanager
def _in_format(where: str, format: str) -> Iterator[None]:
    """Says which record is not in its format."""
    try:
        yield
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        problem = f"none with {error}" if isinstance(error, KeyError) else shorten(str(error))
        raise ValueError(f"{where}: expected a record of {format}, got {problem}") from None


def _asnq_lines(path: Path) -> Iterator[tuple[str, str, str, str]]:
    for where, line in _lines(path):
        fields = line.split("\t")
        if len(fields) != 3 or not (fields[0].strip() and fields[1].strip() and fields[2] in ("1", "2", "3", "4")):
            wanted = "expected 3 fields, a question, a sentence and a label from 1 to 4 (4 is correct), none empty"
            raise ValueError(f"{where}: {wanted}; got {len(fields)}: {', '.join(map(shorten, fields))}")
        yield where, *fields


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a text file, each with what to call it."""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as stream:
            for number, line in enumerate(stream, 1):
                yield f"{path.name}, line {number}", line.rstrip("\r\n")
    except UnicodeDecodeError:
        raise not_utf8(path) from None


def _owners(lists: tuple[Path, ...]) -> dict[str, Path]:
    """The questions of some lists, one a line, each with its list.

    Raises ValueError that names list and line where a question is in two, or where a list is empty.
    """
    owner: dict[str, Path] = {}
    for path in lists:
        for where, line in _lines(path):
            if (question := line.strip()) and owner.setdefault(question, path) != path:
                raise ValueError(f"{where}: question {shorten(question)} is also in {owner[question].name}")
        if path not in owner.values():
            raise ValueError(f"{path.name}: expected one question a line, got none")
    return owner
