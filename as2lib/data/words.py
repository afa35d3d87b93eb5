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
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from as2lib.data.sets import note
from as2lib.metrics.questions import Questions

if TYPE_CHECKING:  # seconds of imports, which ranking by words does without
    import torch
    from datasets import Dataset

_VERSION = 1  # raise it when the same pairs would be encoded differently
FILE = "vocabulary.json"
WORDS_HELD = 1 << 14  # words that spaCy keeps the text of, before it starts anew
# Characters of scripts without blanks between words: Thai, Lao, Burmese, Khmer, kana and Chinese characters.
_HAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_HAN += "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
HAN = re.compile(f"[{_HAN}]")
_PARTS = re.compile(f"[{_HAN}]|[^{_HAN}]+")


def words_of(texts: Iterable[str]) -> list[list[str]]:
    """The lower-cased words of each text, by spaCy (Cosinet, section 5.1); of one in Chinese, Thai… its characters."""
    texts, lines = list(texts), []
    if len(_splitter().vocab) > WORDS_HELD:
        _splitter.cache_clear()
    for text, document in zip(texts, _splitter().pipe(texts), strict=True):
        words = [token.lower_ for token in document if not token.is_space]
        if not text.isascii() and (characters := len(HAN.findall(text))):
            if 2 * characters > sum(map(str.isalnum, text)):
                note("texts without blanks between their words (Chinese, Japanese, Thai) are split by character")
                words = [part for word in words for part in _PARTS.findall(word)]
            else:
                note("Chinese, Japanese or Thai within other texts is not split: it matches as a whole alone")
        lines.append(words)
    return lines


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

    def fingerprint(self, pairs: "Dataset") -> str:
        """The SHA-256 of all that decides the items."""
        from as2lib.data import pairs as pair_table

        vocabulary = hashlib.sha256("\n".join(self.number).encode()).hexdigest()
        made_from = [_VERSION, pair_table.fingerprint(pairs), vocabulary, self.unit, self.max_length]
        return hashlib.sha256(json.dumps(made_from).encode()).hexdigest()

    def collate(self, items: Sequence[Mapping[str, Any]]) -> "dict[str, torch.Tensor]":
        """A batch without padding, the texts of all items one after the other, int64.

        `question_words` (Q,), `question_lengths` (q,), `candidate_words` (N,), `candidate_lengths` (b,),
        `candidates` (q,: pairs of a question).
        """
        batch = {
            "question_words": np.concatenate([item["question"] for item in items]),
            "question_lengths": np.array([len(item["question"]) for item in items]),
            "candidate_words": np.concatenate([item["candidates"] for item in items]),
            "candidate_lengths": np.concatenate([item["sizes"] for item in items]),
            "candidates": np.array([item["pairs"] for item in items]),
        }
        import torch  # which words alone do without

        return {name: torch.from_numpy(values.astype(np.int64)) for name, values in batch.items()}

    def items(self, questions: Sequence[str], candidates: Sequence[str], ids: Sequence[Any]) -> list[dict[str, Any]]:
        """Items of pairs.  ids: of the questions, those of an item together.

        `question` (word numbers), `candidates` (those of its candidates, one after the other), `sizes` (words of each
        candidate), `pairs` (how many candidates), `length` (words of all).
        """
        if not len(questions):
            return []
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
