"""Pair sets made of other sets: SQuAD's sentences, Natural Questions' paragraphs, ASNQ as its authors released it.

A record at a time, in the order of the page, so that no set has to be in memory whole; knows no model. `pairs` keeps
what is made here in a file, and nothing else knows that it was made.
"""

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from as2lib.data import sets
from as2lib.data.sets import COLUMNS, shorten
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


def squad_sentences(records: Iterable[Record]) -> Iterator[Row]:
    """One row a sentence of a question's paragraph, split by spaCy's rules.

    records: `id`, `question`, `context`, `answers` with `text` and `answer_start`.
    Correct is the sentence whose characters hold the first annotated answer, by its offset; an answer across two
    sentences marks none, as does a question without one.  Source: Cosinet, section 5.1.
    """
    import spacy

    splitter = spacy.blank("en")
    splitter.add_pipe("sentencizer")
    context, sentences = None, []
    for record in records:
        if record["context"] != context:  # the questions of a paragraph come one after the other
            context = record["context"]
            spans = ((sent.start_char, sent.end_char, sent.text.strip()) for sent in splitter(context).sents)
            sentences = [span for span in spans if span[2]]
        starts, texts = record["answers"]["answer_start"], record["answers"]["text"]
        first, last = (starts[0], starts[0] + len(texts[0])) if len(starts) else (-1, -1)
        for start, end, text in sentences:
            yield str(record["id"]), record["question"].strip(), text, int(start <= first and last <= end)


def natural_paragraphs(records: Iterable[Record]) -> Iterator[Row]:
    """One row a paragraph of a question's page: the top-level long-answer candidates that are `<P>`, in its order.

    records: of Natural Questions, simplified or as on the hub.
    Correct is a paragraph that any annotator chose. Tables and lists are left out, with the paragraphs nested in them,
    and so are paragraphs without a word.
    Source: Cosinet, section 5.1.
    """
    for record in records:
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
    split_of = {line.strip(): path.name for path in location.lists for _, line in _lines(path)}
    prefix, run, last = file_sha256(location.files[0])[:8], 0, None
    for where, line in chain.from_iterable(map(_lines, location.files)):
        fields = line.split("\t")
        if len(fields) != 3 or not (fields[0].strip() and fields[1].strip() and fields[2] in ("1", "2", "3", "4")):
            expected = "expected 3 fields, a question, a sentence and a label from 1 to 4 (4 is correct), none empty"
            raise ValueError(f"{where}: {expected}; got {len(fields)}: {', '.join(map(shorten, fields))}")
        question, sentence, label = fields
        run, last = run + (question != last), question
        if split_of and question.strip() not in split_of:
            names = " nor ".join(path.name for path in location.lists)
            raise ValueError(f"{where}: question {shorten(question.strip())} is in neither {names}")
        if not split_of or split_of[question.strip()] == sets.LISTS[location.split]:
            yield f"{prefix}-{run}", question, sentence, int(label == "4")


def is_dev(question_id: str) -> bool:
    """Whether a training question is one of the tenth that serves as dev."""
    return hashlib.sha256(question_id.encode()).digest()[0] * DEV_SHARE < 256


def _page(record: Record) -> tuple[list[str], list[bool]]:
    """The tokens of a record's page, and which of them are markup."""
    if "document_text" in record:  # the simplified files: one text, markup told by its angle brackets
        tokens = record["document_text"].split(" ")
        return tokens, [token.startswith("<") and token.endswith(">") for token in tokens]
    return record["document"]["tokens"]["token"], record["document"]["tokens"]["is_html"]  # the hub


def _of_hub(location: sets.Location) -> Iterable[Record]:
    import datasets

    hub, split = sets.BUILT[location.builder], "validation" if location.split == "test" else "train"
    with sets.hub_reached(hub, split, location.revision):
        return datasets.load_dataset(hub, revision=location.revision, split=split, streaming=True)


def _of_file(path: Path) -> Iterator[Record]:
    """The records of one file: Parquet as on the hub, JSON lines, or SQuAD's own JSON; also gzipped."""
    if path.suffix == ".parquet":
        for batch in parquet.ParquetFile(path).iter_batches(64):
            yield from batch.to_pylist()
        return
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as stream:
        if ".jsonl" in path.name:
            yield from (record for _, record in json_rows(path.name, stream))
            return
        articles = json.load(stream)["data"]
    for paragraph in chain.from_iterable(article["paragraphs"] for article in articles):
        for question in paragraph["qas"]:
            answers = {key: [answer[key] for answer in question["answers"]] for key in ("text", "answer_start")}
            yield question | {"context": paragraph["context"], "answers": answers}


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a text file, each with what to call it."""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as stream:
            for number, line in enumerate(stream, 1):
                yield f"{path.name}, line {number}", line.rstrip("\r\n")
    except UnicodeDecodeError:
        raise not_utf8(path) from None
