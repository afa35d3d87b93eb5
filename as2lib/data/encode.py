"""Turns pairs into token ids once, keeps them on disk, and pads them to batches; knows nothing of models or losses.

b pairs in a batch · n tokens of the longest of them
"""

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PretrainedConfig, PreTrainedTokenizerBase, PreTrainedTokenizerFast
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from as2lib.data import words
from as2lib.data.pretrained import folder_of, open_tokenizer, read_config
from as2lib.data.sets import note
from as2lib.data.words import WordEncoder

if TYPE_CHECKING:  # a second of imports, which ranking does without
    from datasets import Dataset

_VERSION = 1  # raise it when the same pairs would be encoded differently
_BATCH = 4096
_FEW_PAIRS = 16  # pairs that are not worth waking the tokenizer's threads
TOKENS = 512  # tokens of a pair, where nothing else is said
SHORTEST = 5  # tokens that a pair may be cut to: two of texts beside the special ones
# Their first position is the one after the padding token's number.
_AFTER_PADDING = "roberta xlm-roberta xlm-roberta-xl camembert roberta-prelayernorm mpnet longformer".split()
# Families that need their padding on the left, whatever their tokenizer says; and those that mix neighbouring or all
# positions without a mask: their score of a pair is its own only in a batch of one length.
_ON_THE_LEFT = ("xlnet",)
_UNPADDED = ("convbert", "fnet", "mobilebert", "nystromformer", "yoso")
_SPECIALS = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


class PairEncoder:
    """Encodes question and candidate together, as cross-encoders read them.

    tokenizer: a fast one, which stays as it is.
    max_length: tokens of a pair at most; past that the longer text is cut first, on the tokenizer's `truncation_side`.
    padding: the side on which a batch is padded, "left" or "right"; None where a model's scores depend on the padding
        wherever it is: then `by_length` puts pairs of one length together.
    Threads may share an encoder.  Raises ValueError for a tokenizer that is not fast, with neither of padding and end.
    """

    unit = "pair"

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_length: int):
        if getattr(tokenizer, "is_fast", False) and tokenizer.pad_token_id is None:
            tokenizer = copy.deepcopy(tokenizer)
            tokenizer.pad_token = tokenizer.eos_token  # as decoders are padded; the mask hides it
        if not getattr(tokenizer, "is_fast", False) or tokenizer.pad_token_id is None:
            got, name = type(tokenizer).__name__, getattr(tokenizer, "name_or_path", "")
            expected = "expected a fast tokenizer with a padding or an end token, from AutoTokenizer"
            raise ValueError(f"{name or 'tokenizer'}: {expected}; got {got}")
        self.tokenizer, self.max_length = tokenizer, max_length
        self.has_token_types = "token_type_ids" in tokenizer.model_input_names
        self._backend = copy.deepcopy(tokenizer.backend_tokenizer)  # set once, so that threads may share it
        self._backend.no_padding()
        self._backend.enable_truncation(max_length, strategy="longest_first", direction=tokenizer.truncation_side)
        self.padding: str | None = tokenizer.padding_side
        self.pad_id: int = tokenizer.pad_token_id
        self._splitting: Tokenizer | None = None  # encodes special tokens that a text holds as plain text

    def suited(self, config: Any) -> "PairEncoder":
        """An encoder that encodes and pads as a model of transformers needs it.  config: the model's, or its fields."""
        fields = config if isinstance(config, Mapping) else config.to_dict()
        family = (fields.get("backbone") or fields).get("model_type")
        encoder = copy.copy(self)
        if family in CONFIG_MAPPING_NAMES:  # of one's own the tokenizer knows best
            sides = dict.fromkeys(_ON_THE_LEFT, "left") | dict.fromkeys(_UNPADDED)
            encoder.padding = sides.get(family, "right")
        padding = fields.get("pad_token_id")
        if padding is not None and 0 <= padding < len(self.tokenizer):  # by which some models see what is padding
            encoder.pad_id = padding
        if fields.get("is_encoder_decoder") and self.tokenizer.eos_token is not None:
            # Such a classifier wants as many ends of sequence in each pair: one that a text holds is plain text.
            encoder._splitting = copy.deepcopy(self._backend)
            encoder._splitting.encode_special_tokens = True
        return encoder

    def save(self, folder: str | Path) -> None:
        """Leave beside a model what `load_encoder` reads."""
        tokenizer = copy.deepcopy(self.tokenizer)
        tokenizer.model_max_length = self.max_length
        tokenizer.backend_tokenizer.no_truncation()  # of somebody's last call
        tokenizer.backend_tokenizer.no_padding()
        tokenizer.save_pretrained(folder)

    def fingerprint(self, pairs: "Dataset") -> str:
        """The SHA-256 of all that decides the tokens."""
        from as2lib.data import pairs as pair_table

        tokenizer = tokenizer_fingerprint(self.tokenizer)
        parts = [_VERSION, pair_table.fingerprint(pairs), tokenizer, self.max_length, self.has_token_types]
        return _digest(parts if self._splitting is None else [*parts, "split special tokens"])

    def encode(self, pairs: "Dataset") -> "Dataset":
        """A row a pair, in order, memory-mapped from `work/encoded/`, where it is put the first time.

        Columns: `input_ids` (int32), `length` (int32) and, where the tokenizer has them, `token_type_ids` (int8).
        """
        import pyarrow as pa

        from as2lib.data.pairs import arrow_file

        token_types = [("token_type_ids", pa.list_(pa.int8()))] if self.has_token_types else []
        schema = pa.schema([("input_ids", pa.list_(pa.int32())), *token_types, ("length", pa.int32())])

        def tables() -> Iterator[pa.Table]:
            for batch in pairs.select_columns(["question", "answer"]).with_format("arrow").iter(_BATCH):
                yield pa.table(self._columns(batch["question"].to_pylist(), batch["answer"].to_pylist()), schema)

        return arrow_file(f"encoded/{self.fingerprint(pairs)}", tables)

    def items(self, questions: Sequence[str], candidates: Sequence[str], ids: Sequence[Any]) -> list[dict[str, Any]]:
        """What `encode` makes of some pairs, an item a pair, in memory.  ids: as `WordEncoder` takes them."""
        columns = self._columns(list(questions), list(candidates))
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def lengths(self, questions: Sequence[str], candidates: Sequence[str]) -> np.ndarray:
        """(b,) tokens of each pair when none is cut."""
        backend = copy.deepcopy(self._backend)
        backend.no_truncation()
        return np.array([len(pair.ids) for pair in _encoded(backend, questions, candidates)], dtype=np.int64)

    def collate(self, items: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """A batch padded to its longest pair, on the side that `padding` says.

        Returns int64 tensors `input_ids`, `attention_mask` and, where encoded, `token_type_ids`, each (b, n).
        """
        lengths = np.array([len(item["input_ids"]) for item in items])
        mask = np.arange(lengths.max()) < lengths[:, None]  # (b, n)
        if self.padding == "left":
            mask = mask[:, ::-1]
        batch = {"attention_mask": mask.astype(np.int64)}
        for name, padding in (("input_ids", self.pad_id), ("token_type_ids", 0)):
            if name in items[0]:
                batch[name] = np.full(mask.shape, padding)
                batch[name][mask] = np.concatenate([item[name] for item in items])
        return {name: torch.from_numpy(values) for name, values in batch.items()}

    def _columns(self, questions: list[str], answers: list[str]) -> dict[str, list[Any]]:
        encoded = _encoded(self._backend, questions, answers)
        if self._splitting is not None:
            end = self.tokenizer.eos_token
            for i, pair in enumerate(zip(questions, answers, strict=True)):
                if any(end in text for text in pair):
                    encoded[i] = self._splitting.encode(*pair)
        columns: dict[str, list[Any]] = {"input_ids": [pair.ids for pair in encoded]}
        if self.has_token_types:
            columns["token_type_ids"] = [pair.type_ids for pair in encoded]
        return columns | {"length": [len(ids) for ids in columns["input_ids"]]}


def _encoded(backend: Tokenizer, questions: Sequence[str], answers: Sequence[str]) -> list[Any]:
    """Pairs as the backend itself encodes them: two thirds of the time of the Python around it."""
    pairs = list(zip(questions, answers, strict=True))
    return [backend.encode(*pair) for pair in pairs] if len(pairs) <= _FEW_PAIRS else backend.encode_batch_fast(pairs)


def paired(model: Any, encoder: Any) -> Any:
    """The encoder that encodes and pads as a model needs it; a model without a `pad_token_id` gets the encoder's."""
    config = getattr(model, "config", None)
    if not isinstance(encoder, PairEncoder) or not isinstance(config, PretrainedConfig):
        return encoder
    if not 0 <= (-1 if config.pad_token_id is None else config.pad_token_id) < len(encoder.tokenizer):
        config.pad_token_id = encoder.tokenizer.pad_token_id
    return encoder.suited(config)


def load_encoder(name: str | Path, max_length: int | None = None) -> PairEncoder | WordEncoder:
    """What encodes the pairs of a model, by its folder or hub name: words where it has their vocabulary, else tokens.

    max_length: tokens of question and candidate together (or words of a text); default: what it was saved with, 512
    tokens at most. Where the model has fewer positions, they are the limit, and a line says so.
    Raises ValueError that names what is missing, or does not fit the model, and for fewer than 5 tokens.
    """
    if max_length is not None and not (isinstance(max_length, Integral) and max_length >= SHORTEST):
        raise ValueError(f"max_length: expected a whole number of {SHORTEST} or more, got {max_length!r}")
    folder = folder_of(name)
    config = read_config(folder)
    if "words" in config or (folder / words.FILE).exists():
        encoder, number = WordEncoder.load(folder, max_length), config.get("words")
        if number not in (None, len(encoder.number)):
            got = f"got one of {len(encoder.number)}"
            raise ValueError(f"{folder}: expected a vocabulary of {number}, as its model has, {got}")
        return encoder
    tokenizer = open_tokenizer(name)
    backbone = config.get("backbone") or config
    length, limit = max_length or min(tokenizer.model_max_length, TOKENS), positions(backbone)
    if limit is not None and length > limit:
        note(f"{folder.name} has positions for {limit} tokens: pairs are cut there, not at {length}")
        length = limit
    return PairEncoder(tokenizer, length).suited(config)


def positions(config: Any) -> int | None:
    """The tokens that an encoder has positions for, by its configuration or its fields; None: any number."""
    fields = config if isinstance(config, Mapping) else config.to_dict()
    limit = fields.get("max_position_embeddings")
    if limit is None or fields.get("position_biased_input") is False:  # DeBERTa's positions are relative
        return None
    if fields.get("model_type") in _AFTER_PADDING:
        padding = fields.get("pad_token_id")
        limit -= (1 if padding is None else padding) + 1
    return limit


def cut_share(pairs: "Dataset", encoder: PairEncoder) -> float:
    """The share of pairs that an encoder cuts."""
    return float(np.mean(encoder.lengths(pairs["question"][:], pairs["answer"][:]) > encoder.max_length))


def fitting_length(pairs: "Dataset", tokenizer: PreTrainedTokenizerBase, config: Any = None) -> int:
    """The tokens that hold 99 of 100 pairs whole, up to the next 16: a length for data of one's own.

    At most what the tokenizer was made for, the positions of the encoder's configuration, and 512.
    """
    limit = min(tokenizer.model_max_length, TOKENS, (config is not None and positions(config)) or TOKENS)
    lengths = PairEncoder(tokenizer, limit).lengths(pairs["question"][:], pairs["answer"][:])
    return int(min(limit, -(-np.quantile(lengths, 0.99) // 16) * 16))


def rows_of(encoded: "Dataset", rows: Sequence[int]) -> list[dict[str, Any]]:
    """Some items of what an encoder made, given `with_format("arrow")`; their lists are arrays."""
    table, columns = encoded[rows], {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if hasattr(column, "offsets"):  # several times faster than a Python object for each number
            numbers, ends = column.values.to_numpy(), column.offsets.to_numpy()
            columns[name] = [numbers[start:end] for start, end in pairwise(ends)]
        else:
            columns[name] = column.to_pylist()
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def by_length(
    length: np.ndarray, batch_tokens: int | None = None, batch_size: int | None = None, padded: bool = True
) -> list[np.ndarray]:
    """Rows from the longest to the shortest, as many a batch as fit in `batch_tokens` with their padding.

    batch_size: so many rows a batch instead.  padded: whether a batch may hold rows of several lengths.
    """
    order = np.argsort(-length, kind="stable")
    batches = []
    while len(order):
        size = max(1, batch_size or batch_tokens // max(1, int(length[order[0]])))
        if not padded:
            size = min(size, int((length[order] == length[order[0]]).sum()))
        batches.append(order[:size])
        order = order[size:]
    return batches


def tokenizer_fingerprint(tokenizer: PreTrainedTokenizerBase) -> str:
    """The SHA-256 of what a fast tokenizer does to a text, whatever folder it was loaded from."""
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    state["truncation"] = state["padding"] = None  # of the tokenizer's last call
    special = {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
    return _digest([type(tokenizer).__name__, state, special, tokenizer.truncation_side, tokenizer.model_input_names])


def word_tokenizer(texts: Iterable[str], max_length: int) -> PreTrainedTokenizerFast:
    """A tokenizer whose vocabulary is the lower-cased words of some texts; the same texts give the same bytes.

    Words are split as BERT does, at blanks and punctuation, each character of a script without blanks alone; they are
    numbered by (−count, word) after the five special tokens. A pair becomes `[CLS] question [SEP] answer [SEP]`.
    """
    lower, split = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    times_of = Counter(texts)  # a question stands before each of its candidates
    if any(words.HAN.search(text) for text in times_of if not text.isascii()):
        split = pre_tokenizers.Sequence([split, pre_tokenizers.Split(Regex(words.HAN.pattern), "isolated")])
    counts: Counter[str] = Counter()
    for text, times in times_of.items():
        for word, _ in split.pre_tokenize_str(lower.normalize_str(text)):
            counts[word] += times
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    vocabulary = {word: number for number, word in enumerate([*_SPECIALS.values(), *ordered])}
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
