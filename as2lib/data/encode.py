"""Turns pairs into token ids once, keeps them on disk, and pads them to batches; knows nothing of models or losses.

b pairs in a batch · n tokens of the longest of them
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast
from transformers.utils import cached_file

from as2lib.data import words
from as2lib.data.words import WordEncoder
from as2lib.intact import read_json
from as2lib.paths import model_origin, work_folder

if TYPE_CHECKING:  # a second of imports, which ranking does without
    import pyarrow as pa
    from datasets import Dataset

_VERSION = 1  # raise it when the same pairs would be encoded differently
_BATCH = 4096
_FEW = 16  # pairs that are not worth waking the tokenizer's threads
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "spm.model", "sentencepiece.bpe.model")
PAIRS_A_PROCESS = 500_000  # fewer are not worth a process, which takes seconds to start
_SPECIALS = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


class PairEncoder:
    """Encodes question and candidate together, as cross-encoders read them.

    tokenizer: a fast one; type ids are made if its `model_input_names` has them.
    max_length: tokens of a pair at most; past that the longer of the two texts loses its end first, as in
        Hugging Face's own cross-encoders, so that the question, usually the shorter, goes last.
    """

    unit = "pair"

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_length: int):
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError(f"expected a fast tokenizer, got {type(tokenizer).__name__}; load it with AutoTokenizer")
        if tokenizer.pad_token_id is None:
            raise ValueError(f"expected a tokenizer with a padding token, got {type(tokenizer).__name__} without one")
        if max_length <= tokenizer.num_special_tokens_to_add(pair=True):
            raise ValueError(f"max_length must leave room for words beside the special tokens, got {max_length}")
        self.tokenizer, self.max_length = tokenizer, max_length
        self.has_token_types = "token_type_ids" in tokenizer.model_input_names

    def save(self, folder: str | Path) -> None:
        """Leave beside a model what `load_encoder` reads: who loads the folder truncates as this encoder does."""
        self.tokenizer.model_max_length = self.max_length
        self.tokenizer.backend_tokenizer.no_truncation()  # set by the last call, if any: the same file either way
        self.tokenizer.backend_tokenizer.no_padding()
        self.tokenizer.save_pretrained(folder)

    def fingerprint(self, pairs: "Dataset") -> str:
        """The SHA-256 of all that decides the tokens: the pairs, the tokenizer, the length and our version."""
        from as2lib.data import pairs as pair_table

        tokenizer = tokenizer_fingerprint(self.tokenizer)
        return _digest([_VERSION, pair_table.fingerprint(pairs), tokenizer, self.max_length, self.has_token_types])

    def encode(self, pairs: "Dataset", processes: int | None = None) -> "Dataset":
        """The tokens of each pair, memory-mapped from `work/encoded/`, where they are put the first time.

        processes: how many do it; default: one for each half a million pairs, four at most.
        Returns a row for each pair, in order: `input_ids` (int32), `length` (int32) and, where the tokenizer has them,
        `token_type_ids` (int8).
        """
        from datasets import Dataset, DatasetInfo, Features

        from as2lib.data import disk

        name = self.fingerprint(pairs)
        processes = processes or min(len(pairs) // PAIRS_A_PROCESS, os.cpu_count() or 1, 4)
        tokens = disk.kept(f"encoded/{name}", self._made(pairs, processes))
        features = Features.from_arrow_schema(self._schema())
        return Dataset(tokens, info=DatasetInfo(features=features), fingerprint=name[:32])

    def _made(self, pairs: "Dataset", processes: int) -> Iterator["pa.Table"]:
        from datasets import Features

        texts = pairs.with_format("arrow").select_columns(["question", "answer"])
        if processes <= 1:
            yield from map(self._tokens, texts.iter(_BATCH))
            return
        work_folder().mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".", dir=work_folder()) as scratch, _nothing_left_behind():
            made = {"features": Features.from_arrow_schema(self._schema()), "remove_columns": texts.column_names}
            made |= {"num_proc": processes, "cache_file_name": f"{scratch}/tokens.arrow"}
            yield from texts.map(self._tokens, batched=True, batch_size=_BATCH, **made).iter(_BATCH)

    def items(self, questions: Sequence[str], candidates: Sequence[str], ids: Sequence[Any]) -> list[dict[str, Any]]:
        """What `encode` makes of some pairs, an item a pair, in memory.  ids: of the questions, which are not read."""
        made = self._encoded(list(questions), list(candidates))
        return [{name: values[i] for name, values in made.items()} for i in range(len(questions))]

    def collate(self, items: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """A batch padded on the right to its longest pair.

        Returns int64 tensors `input_ids`, `attention_mask` and, where encoded, `token_type_ids`, each (b, n); and where
        the items have them, `labels` (b,) int64 and `teacher_logits` (b, …) float32.
        """
        lengths = np.array([len(item["input_ids"]) for item in items])
        mask = np.arange(lengths.max()) < lengths[:, None]  # (b, n)
        batch = {"attention_mask": mask.astype(np.int64)}
        for name, padding in (("input_ids", self.tokenizer.pad_token_id), ("token_type_ids", 0)):
            if name in items[0]:
                batch[name] = np.full(mask.shape, padding)
                batch[name][mask] = np.concatenate([item[name] for item in items])
        for name, kind in (("labels", np.int64), ("teacher_logits", np.float32)):
            if name in items[0]:
                batch[name] = np.array([item[name] for item in items], dtype=kind)
        return {name: torch.from_numpy(values) for name, values in batch.items()}

    def _schema(self) -> "pa.Schema":
        import pyarrow as pa

        token_types = [("token_type_ids", pa.list_(pa.int8()))] if self.has_token_types else []
        return pa.schema([("input_ids", pa.list_(pa.int32())), *token_types, ("length", pa.int32())])

    def _tokens(self, pairs: "pa.Table") -> "pa.Table":
        encoded = self._encoded(pairs["question"].to_pylist(), pairs["answer"].to_pylist())
        return type(pairs).from_pydict(encoded, self._schema())

    def _encoded(self, questions: list[str], answers: list[str]) -> dict[str, list[Any]]:
        """The columns of `encode`, as lists."""
        backend = self.tokenizer.backend_tokenizer  # itself: two thirds of the time of the Python around it
        backend.no_padding()
        backend.enable_truncation(self.max_length, strategy="longest_first", direction=self.tokenizer.truncation_side)
        pairs = list(zip(questions, answers, strict=True))
        few = len(pairs) <= _FEW
        encoded = [backend.encode(*pair) for pair in pairs] if few else backend.encode_batch_fast(pairs)
        columns: dict[str, Any] = {"input_ids": [pair.ids for pair in encoded]}
        if self.has_token_types:
            columns["token_type_ids"] = [pair.type_ids for pair in encoded]
        return columns | {"length": [len(ids) for ids in columns["input_ids"]]}


@contextmanager
def _nothing_left_behind() -> Iterator[None]:
    """No progress bars, and the process's environment as it was: with processes, `Dataset.map` leaves a copy of it in
    its place, which later changes of the true one do not reach."""
    import datasets

    shown, environment = not datasets.are_progress_bars_disabled(), os.environ
    variables = dict(environment)
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        os.environ = environment  # noqa: B003 (the same object again, which is what B003 asks for)
        for name in environment.keys() - variables.keys():
            del environment[name]
        if shown:
            datasets.enable_progress_bars()


def load_encoder(name: str | Path, max_length: int | None = None) -> PairEncoder | WordEncoder:
    """What encodes the pairs of a model, by its folder or hub name: words where it has their vocabulary, else tokens.

    max_length: tokens of question and candidate together (or words of a text); default: what it was saved with, 512
    tokens at most.
    Raises ValueError that names what is missing, or does not fit the model: it would be encoded, and ranked, as noise.
    """
    origin, revision = model_origin(name)
    folder = Path(origin)
    if not folder.is_dir():
        for file in ("config.json", words.FILE):  # to be had from the hub, or not there
            if found := cached_file(origin, file, revision=revision, _raise_exceptions_for_missing_entries=False):
                folder = Path(found).parent
    config = read_json(folder / "config.json") if (folder / "config.json").exists() else {}
    if "words" in config or (folder / words.FILE).exists():
        _require_file(folder, words.FILE)
        encoder = WordEncoder.load(folder, max_length)
        _require_fit(folder, encoder.number, config.get("words"))
        return encoder
    if Path(origin).is_dir():
        _require_file(folder, "tokenizer_config.json")
        _require_file(folder, *TOKENIZER_FILES)
    try:
        tokenizer = AutoTokenizer.from_pretrained(origin, revision=revision)
    except Exception as error:  # of any kind: libraries parse what is there
        raise ValueError(f"{origin}: its tokenizer can't be loaded: {str(error).partition(chr(10))[0]}") from None
    vocabulary = config.get("vocab_size", config.get("backbone", {}).get("vocab_size"))
    _require_fit(folder, tokenizer, vocabulary, padded=True)
    return PairEncoder(tokenizer, max_length or min(tokenizer.model_max_length, 512))


def _require_file(folder: Path, *names: str) -> None:
    """Raises ValueError where a folder has none of these files."""
    if not any((folder / name).exists() for name in names):
        raise ValueError(
            f"{folder}: expected {' or '.join(names)}, which encodes pairs for the model; got no such file"
        )


def _require_fit(folder: Path, vocabulary: Sized, words: int | None, padded: bool = False) -> None:
    """Raises ValueError where a vocabulary is not the model's.  padded: the model may have room for more."""
    if words is not None and (len(vocabulary) > words or (len(vocabulary) < words and not padded)):
        raise ValueError(f"{folder}: expected a vocabulary of {words}, as its model has, got one of {len(vocabulary)}")


def rows_of(encoded: "Dataset", rows: Sequence[int]) -> list[dict[str, Any]]:
    """Some items of what an encoder made, given `with_format("arrow")`: several times faster than one at a time."""
    table = encoded[rows]
    columns = {name: _values(table[name].combine_chunks()) for name in table.column_names}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _values(column: "pa.Array") -> list[Any]:
    """A value a row: of a list the numbers as an array, which needs no Python object for each of them."""
    if not hasattr(column, "offsets"):
        return column.to_pylist()
    numbers, ends = column.values.to_numpy(), column.offsets.to_numpy()
    return [numbers[start:end] for start, end in pairwise(ends)]


def tokenizer_fingerprint(tokenizer: PreTrainedTokenizerBase) -> str:
    """The SHA-256 of what a fast tokenizer does to a text, whatever folder it was loaded from."""
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    # Both change with each call of the tokenizer, and the encoder sets both itself.
    state["truncation"] = state["padding"] = None
    special = {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
    return _digest([type(tokenizer).__name__, state, special, tokenizer.truncation_side, tokenizer.model_input_names])


def word_tokenizer(texts: Iterable[str], max_length: int) -> PreTrainedTokenizerFast:
    """A tokenizer whose vocabulary is the lower-cased words of some texts; the same texts give the same bytes.

    Words are split as BERT does, at blanks and punctuation, and numbered by (−count, word) after the five special
    tokens; other words are unknown. A pair becomes `[CLS] question [SEP] answer [SEP]`.
    max_length: the `model_max_length` that is saved with it.
    Raises ValueError where the texts hold no word.
    """
    lower, split = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text, times in Counter(texts).items():  # a question stands before each of its candidates
        for word, _ in split.pre_tokenize_str(lower.normalize_str(text)):
            counts[word] += times
    if not counts:
        raise ValueError("expected texts with words, got none")
    kept = sorted(counts, key=lambda word: (-counts[word], word))
    vocabulary = {word: number for number, word in enumerate([*_SPECIALS.values(), *kept])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = lower, split
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=max_length,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{role}_token": token for role, token in _SPECIALS.items()},
    )


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
