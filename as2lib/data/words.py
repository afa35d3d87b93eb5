"""Questions and candidates as words, for models that read static vectors; knows no vector, no model and no loss.

q questions in a batch · b pairs in it · Q, N words of its questions and of its candidates, one text after the other
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from as2lib.data.sets import note
from as2lib.metrics.questions import Questions

FILE = "vocabulary.json"
WORDS_HELD = 1 << 14  # words that spaCy keeps the text of, before it starts anew
WITHOUT_BLANKS = re.compile("[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")  # Thai to Chinese


def words_of(texts: Iterable[str]) -> list[list[str]]:
    """The lower-cased words of each text, by spaCy's blank English tokenizer (Cosinet, section 5.1)."""
    texts = list(texts)
    if len(_splitter().vocab) > WORDS_HELD:
        _splitter.cache_clear()
    if any(map(WITHOUT_BLANKS.search, texts)):
        note("Chinese, Japanese or Thai is not split into words: it matches as a whole alone")
    return [[token.lower_ for token in text if not token.is_space] for text in _splitter().pipe(texts)]


@cache
def _splitter() -> Any:
    import spacy  # most of a second, and only models over words ask for it

    return spacy.blank("en").tokenizer


@lru_cache(maxsize=1 << 16)
def unknown_id(word: str) -> int:
    """The number of a word outside a vocabulary: negative, made of its SHA-256."""
    return -1 - (int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big") >> 2)


class WordEncoder:
    """Encodes pairs as word numbers, in items of a whole question ("question") or of one candidate ("pair").

    vocabulary: the words that have a vector; the others get `unknown_id`.
    max_length: words of a text at most, from its beginning; None keeps all.
    """

    schema = pa.schema(
        {name: pa.list_(pa.int64()) for name in ("question", "candidates")}
        | {"sizes": pa.list_(pa.int32()), "pairs": pa.int32(), "length": pa.int32()}
    )

    def __init__(self, vocabulary: Sequence[str], unit: str = "question", max_length: int | None = None):
        self.unit, self.max_length = unit, max_length
        self.number = {word: number for number, word in enumerate(vocabulary)}

    def save(self, folder: str | Path) -> None:
        """Leave beside a model what `load` reads."""
        content = {"unit": self.unit, "max_length": self.max_length, "words": list(self.number)}
        (Path(folder) / FILE).write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path, max_length: int | None = None) -> "WordEncoder":
        """The encoder saved in a folder, with its own length or another."""
        content = json.loads((Path(folder) / FILE).read_text(encoding="utf-8"))
        return cls(content["words"], content["unit"], max_length or content["max_length"])

    def settings(self) -> tuple[list[str], str, int | None]:
        """All that decides the items of pairs."""
        return list(self.number), self.unit, self.max_length

    def collate(self, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """A batch without padding, the texts of all items one after the other, int64.

        `question_words` (Q,), `question_lengths` (q,), `candidate_words` (N,), `candidate_lengths` (b,),
        `candidates` (q,: pairs of a question).
        """
        import torch  # seconds, which words alone do without

        batch = {
            "question_words": np.concatenate([item["question"] for item in items]),
            "question_lengths": np.array([len(item["question"]) for item in items]),
            "candidate_words": np.concatenate([item["candidates"] for item in items]),
            "candidate_lengths": np.concatenate([item["sizes"] for item in items]),
            "candidates": np.array([item["pairs"] for item in items]),
        }
        return {name: torch.from_numpy(values.astype(np.int64)) for name, values in batch.items()}

    def items(self, questions: Sequence[str], candidates: Sequence[str], ids: Sequence[Any]) -> list[dict[str, Any]]:
        """Items of pairs.  ids: of the questions, those of an item together.

        `question` (word numbers), `candidates` (those of its candidates, one after the other), `sizes` (words of each
        candidate), `pairs` (how many candidates), `length` (words of all).
        """
        ids = np.array(ids if self.unit == "question" else range(len(questions)))
        whole = Questions.together(ids)
        candidate_words = self._numbers(candidates)
        question_words = self._numbers([questions[start] for start in whole.starts])
        items = []
        for question, rows in zip(question_words, whole.slices(), strict=True):
            words = candidate_words[rows]
            sizes = [len(candidate) for candidate in words]
            item = {"question": question, "candidates": [*chain(*words)], "sizes": sizes}
            items.append(item | {"pairs": len(words), "length": len(question) + sum(sizes)})
        return items

    def _numbers(self, texts: Sequence[str]) -> list[list[int]]:
        distinct = list(dict.fromkeys(texts))  # each distinct text is split once
        numbers = {}
        for text, words in zip(distinct, words_of(distinct), strict=True):
            words = words[: self.max_length] or [""]  # a text without a word has one that no vector is known of
            numbers[text] = [self.number[word] if word in self.number else unknown_id(word) for word in words]
        return [numbers[text] for text in texts]
