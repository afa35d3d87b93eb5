"""Questions and candidates as words, for models that read static vectors; knows no vector, no model and no loss.

q questions in a batch · b pairs in it · Q, N words of its questions and of its candidates, one text after the other
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from as2lib.intact import read_json

if TYPE_CHECKING:  # a second of imports, which ranking does without
    import pyarrow as pa
    from datasets import Dataset

_VERSION = 1  # raise it when the same pairs would be encoded differently
FILE = "vocabulary.json"
UNITS = ("question", "pair")


def words_of(texts: Iterable[str]) -> list[list[str]]:
    """The lower-cased words of each text: spaCy's blank English tokenizer, white space left out.

    Source: Cosinet, section 5.1 (lower-cased, spaCy tokens).
    """
    documents = word_splitter().pipe(texts)
    return [[token.lower_ for token in document if not token.is_space] for document in documents]


@cache
def word_splitter() -> Any:
    """spaCy's blank English tokenizer."""
    import spacy  # most of a second, and only models over words ask for it

    return spacy.blank("en").tokenizer


@lru_cache(maxsize=1 << 16)
def unknown_id(word: str) -> int:
    """The number of a word outside a vocabulary: negative, and made of the word's SHA-256."""
    return -1 - (int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big") >> 2)


class WordEncoder:
    """Encodes pairs as word numbers, in items of a whole question ("question") or of one candidate ("pair").

    vocabulary: the words that have a vector; the others get `unknown_id`.
    max_length: words of a text at most, from its beginning; None keeps all.
    """

    def __init__(self, vocabulary: Sequence[str], unit: str = "question", max_length: int | None = None):
        if unit not in UNITS:
            raise ValueError(f"unit: expected one of {', '.join(UNITS)}, got {unit!r}")
        self.unit, self.max_length = unit, max_length
        self.number = {word: number for number, word in enumerate(vocabulary)}

    def save(self, folder: str | Path) -> None:
        """Leave beside a model what `load` reads."""
        content = {"unit": self.unit, "max_length": self.max_length, "words": list(self.number)}
        (Path(folder) / FILE).write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path, max_length: int | None = None) -> "WordEncoder":
        """The encoder saved in a folder.  max_length: instead of the one it was saved with."""
        content = read_json(Path(folder) / FILE)
        return cls(content["words"], content["unit"], max_length or content["max_length"])

    def encode(self, pairs: "Dataset") -> "Dataset":
        """One row an item, in order, memory-mapped from `work/encoded/`, where it is put the first time.

        Columns: `question` (word numbers), `candidates` (those of its candidates, one after the other), `sizes` (words
        of each candidate), `pairs` (how many candidates), `length` (words of all).
        """
        from datasets import Dataset

        from as2lib.data import disk
        from as2lib.data.pairs import fingerprint

        vocabulary = hashlib.sha256("\n".join(self.number).encode()).hexdigest()
        made_from = [_VERSION, fingerprint(pairs), vocabulary, self.unit, self.max_length]
        name = hashlib.sha256(json.dumps(made_from).encode()).hexdigest()
        return Dataset(disk.kept(f"encoded/{name}", self._items(pairs)))

    def collate(self, items: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """A batch without padding: the texts of all items, one after the other.

        Returns int64 tensors `question_words` (Q,), `question_lengths` (q,), `candidate_words` (N,),
        `candidate_lengths` (b,), `candidates` (q,: pairs of a question); and, where the items have them, `labels` (b,).
        """
        batch = {
            "question_words": np.concatenate([item["question"] for item in items]),
            "question_lengths": np.array([len(item["question"]) for item in items]),
            "candidate_words": np.concatenate([item["candidates"] for item in items]),
            "candidate_lengths": np.concatenate([item["sizes"] for item in items]),
            "candidates": np.array([item["pairs"] for item in items]),
        }
        if "labels" in items[0]:
            batch["labels"] = np.concatenate([item["labels"] for item in items])
        return {name: torch.from_numpy(values.astype(np.int64)) for name, values in batch.items()}

    def items(self, questions: Sequence[str], candidates: Sequence[str], ids: Sequence[Any]) -> list[dict[str, Any]]:
        """What `encode` makes of some pairs, in memory.  ids: of the questions, those of an item together."""
        ids = np.array(ids if self.unit == "question" else range(len(questions)))
        starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
        said, asked = self._numbers(candidates), self._numbers([questions[start] for start in starts])
        items = []
        for question, start, end in zip(asked, starts, [*starts[1:], len(ids)], strict=True):
            sizes = [len(candidate) for candidate in said[start:end]]
            item = {"question": question, "candidates": [*chain(*said[start:end])], "sizes": sizes}
            items.append(item | {"pairs": int(end - start), "length": len(question) + sum(sizes)})
        return items

    def _items(self, pairs: "Dataset") -> Iterator["pa.Table"]:
        import pyarrow as pa

        lists = {"question": pa.list_(pa.int64()), "candidates": pa.list_(pa.int64()), "sizes": pa.list_(pa.int32())}
        schema = pa.schema(lists | {"pairs": pa.int32(), "length": pa.int32()})
        yield pa.Table.from_pylist(
            self.items(pairs["question"][:], pairs["answer"][:], pairs["question_id"][:]), schema
        )

    def _numbers(self, texts: Sequence[str]) -> list[list[int]]:
        known = {}  # each distinct text is split once
        for text, words in zip(dict.fromkeys(texts), words_of(dict.fromkeys(texts)), strict=True):
            kept = words[: self.max_length]
            known[text] = [self.number[word] if word in self.number else unknown_id(word) for word in kept]
        return [known[text] for text in texts]
