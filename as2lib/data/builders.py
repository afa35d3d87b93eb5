"""Pair sets made of other sets, a record at a time: SQuAD's sentences and Natural Questions' paragraphs."""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from as2lib.data import sets
from as2lib.data.sets import COLUMNS

_BATCH = 8192
DEV_SHARE = 10  # one in so many training questions is dev

Record = dict[str, Any]
Row = tuple[str, str, str, int]


def tables(location: sets.Location) -> Iterator[pa.Table]:
    """The pairs of a built set's split, some thousand rows a table, unchecked.

    Train and dev are the original training set, one question in `DEV_SHARE` being dev; test is the original validation.
    """
    build = squad_sentences if location.name == "squad-sent" else natural_paragraphs
    rows = build(_records(location))
    if location.split != "test":
        rows = (row for row in rows if is_dev(row[0]) == (location.split == "dev"))
    while batch := list(islice(rows, _BATCH)):
        yield pa.table(dict(zip(COLUMNS, map(pa.array, zip(*batch, strict=True)), strict=True)))


def squad_sentences(records: Iterable[Record]) -> Iterator[Row]:
    """One row a sentence of a question's paragraph, split by spaCy's rules.

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

    Correct is a paragraph that any annotator chose. Tables and lists are left out, with the paragraphs nested in them,
    and so are paragraphs without a word.  Source: Cosinet, section 5.1.
    """
    for record in records:
        tokens, is_markup = record["document"]["tokens"]["token"], record["document"]["tokens"]["is_html"]
        candidates = record["long_answer_candidates"]
        ranges = zip(candidates["start_token"], candidates["end_token"], candidates["top_level"], strict=True)
        chosen = {answer["candidate_index"] for answer in record["annotations"]["long_answer"]}
        paragraphs = []
        for number, (start, end, top_level) in enumerate(ranges):
            if top_level and start < len(tokens) and tokens[start].upper() == "<P>":
                words = " ".join(tokens[i] for i in range(start, end) if not is_markup[i])
                paragraphs.append((start, words.strip(), int(number in chosen)))
        for _, text, label in sorted(paragraphs):
            if text:
                yield str(record["id"]), record["question"]["text"].strip(), text, label


def is_dev(question_id: str) -> bool:
    return hashlib.sha256(question_id.encode()).digest()[0] * DEV_SHARE < 256


def _records(location: sets.Location) -> Iterator[Record]:
    for path in location.files:
        for batch in parquet.ParquetFile(path).iter_batches(64):
            yield from batch.to_pylist()
    if not location.files:
        split = "validation" if location.split == "test" else "train"
        yield from sets.from_hub(sets.BUILT[location.name], None, split, location.revision, streaming=True)
