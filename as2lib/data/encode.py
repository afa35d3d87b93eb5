"""Turns pairs into token ids once, keeps them on disk, and pads them to batches; knows nothing of models or losses.

b pairs in a batch · n tokens of the longest of them
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PretrainedConfig, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from as2lib.data import words
from as2lib.data.pretrained import folder_of, open_tokenizer, read_config
from as2lib.data.sets import note
from as2lib.data.words import WordEncoder

TOKENS = 512  # tokens of a pair, where nothing else is said
NO_LENGTH = 1 << 20  # tokens from which a tokenizer's length stands for none
ALL_WORDS = 1 << 31  # of a vocabulary: more than any texts have
SHORTEST = 5  # tokens that a pair may be cut to: two of texts beside the special ones
# Their first position is the one after the padding token's number.
_AFTER_PADDING = "roberta xlm-roberta xlm-roberta-xl camembert roberta-prelayernorm mpnet longformer".split()
# Families that read the padding on the right as text: their score of a pair would depend on its batch.
_UNMASKED = ("convbert", "fnet", "mobilebert", "nystromformer", "xlnet", "yoso")
_SPECIALS = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


class PairEncoder:
    """Encodes question and candidate together, as cross-encoders read them.

    tokenizer: a fast one, which stays as it is.
    max_length: tokens of a pair at most; past that the longer text is cut first, on the tokenizer's `truncation_side`.
    Batches are padded on the right; threads may share an encoder.
    Raises ValueError for a tokenizer that is not fast, with neither of padding and end.
    """

    unit = "pair"

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_length: int):
        if tokenizer.pad_token_id is None:
            tokenizer = copy.deepcopy(tokenizer)
            tokenizer.pad_token = tokenizer.eos_token  # as decoders are padded; the mask hides it
        if not tokenizer.is_fast or tokenizer.pad_token_id is None:
            expected = "expected a fast tokenizer with a padding or an end token, from AutoTokenizer"
            raise ValueError(f"{tokenizer.name_or_path}: {expected}; got {type(tokenizer).__name__}")
        self.tokenizer, self.max_length = tokenizer, max_length
        self.has_token_types = "token_type_ids" in tokenizer.model_input_names
        token_types = {"token_type_ids": pa.list_(pa.int8())} if self.has_token_types else {}
        self.schema = pa.schema({"input_ids": pa.list_(pa.int32()), **token_types, "length": pa.int32()})
        self._backend = copy.deepcopy(tokenizer.backend_tokenizer)  # set once, so that threads may share it
        self._backend.no_padding()
        self._backend.enable_truncation(max_length, strategy="longest_first", direction=tokenizer.truncation_side)
        self.pad_id: int = tokenizer.pad_token_id
        self._says_cuts = True  # until pairs are cut

    def save(self, folder: str | Path) -> None:
        """Leave beside a model what `load_encoder` reads."""
        tokenizer = copy.deepcopy(self.tokenizer)
        tokenizer.model_max_length = self.max_length
        tokenizer.backend_tokenizer.no_truncation()  # of somebody's last call
        tokenizer.backend_tokenizer.no_padding()
        tokenizer.save_pretrained(folder)

    def settings(self) -> tuple[str, bool]:
        """All that decides the tokens of a pair."""
        return self._backend.to_str(), self.has_token_types

    def items(self, questions: Sequence[str], candidates: Sequence[str], ids: Sequence[Any]) -> list[dict[str, Any]]:
        """An item a pair: `input_ids`, `length` and, where the tokenizer has them, `token_type_ids`.

        The first time that pairs are cut a line says how many.  ids: as `WordEncoder` takes them.
        """
        encoded = self._backend.encode_batch_fast([*zip(questions, candidates, strict=True)])
        if self._says_cuts and (cut := sum(bool(pair.overflowing) for pair in encoded)):
            note(f"{cut:,} of {len(encoded):,} pairs are longer than {self.max_length} tokens, and are cut there")
            self._says_cuts = False
        items = [{"input_ids": pair.ids, "length": len(pair.ids)} for pair in encoded]
        if self.has_token_types:
            items = [item | {"token_type_ids": pair.type_ids} for item, pair in zip(items, encoded, strict=True)]
        return items

    def lengths(self, questions: Sequence[str], candidates: Sequence[str]) -> np.ndarray:
        """(b,) tokens of each pair when none is cut."""
        backend = copy.deepcopy(self._backend)
        backend.no_truncation()
        encoded = backend.encode_batch_fast([*zip(questions, candidates, strict=True)])
        return np.array([len(pair.ids) for pair in encoded], dtype=np.int64)

    def collate(self, items: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """A batch padded to its longest pair.

        Returns int64 tensors `input_ids`, `attention_mask` and, where encoded, `token_type_ids`, each (b, n).
        """
        lengths = np.array([len(item["input_ids"]) for item in items])
        mask = np.arange(lengths.max()) < lengths[:, None]  # (b, n)
        batch = {"attention_mask": mask.astype(np.int64)}
        for name, padding in (("input_ids", self.pad_id), ("token_type_ids", 0)):
            if name in items[0]:
                batch[name] = np.full(mask.shape, padding)
                batch[name][mask] = np.concatenate([item[name] for item in items])
        return {name: torch.from_numpy(values) for name, values in batch.items()}


def paired(model: Any, encoder: Any) -> Any:
    """The encoder with the padding of a model, by which some see what it is; a model without one gets the encoder's.

    Raises ValueError for a family whose scores depend on the padding.
    """
    config = getattr(model, "config", None)
    if not isinstance(encoder, PairEncoder) or not isinstance(config, PretrainedConfig):
        return encoder
    if config.model_type in _UNMASKED:
        raise ValueError(f"{config.model_type}: expected a family whose scores do not depend on padding, such as bert")
    if config.pad_token_id not in range(len(encoder.tokenizer)):
        config.pad_token_id = encoder.tokenizer.pad_token_id
    encoder = copy.copy(encoder)
    encoder.pad_id = config.pad_token_id
    return encoder


def load_encoder(name: str | Path, max_length: int | None = None) -> PairEncoder | WordEncoder:
    """What encodes the pairs of a model, by its folder or hub name: words where it has their vocabulary, else tokens.

    max_length: tokens of question and candidate together (or words of a text); default: what it was saved with, or as
    many as the model has positions for. Where the model has fewer positions, they are the limit, and a line says so.
    Raises ValueError that names what is missing, or does not fit the model, and for fewer than 5 tokens.
    """
    if max_length is not None and not (isinstance(max_length, Integral) and max_length >= SHORTEST):
        raise ValueError(f"max_length: expected a whole number of {SHORTEST} or more, got {max_length!r}")
    folder = folder_of(name)
    config = read_config(folder)
    if "words" in config or (folder / words.FILE).exists():
        return WordEncoder.load(folder, max_length)
    tokenizer = open_tokenizer(name)
    own, limit = tokenizer.model_max_length, positions(config.get("backbone") or config)
    length = max_length or (own if own < NO_LENGTH else limit or TOKENS)
    if limit is not None and length > limit:
        note(f"{folder.name} has positions for {limit} tokens: pairs are cut there, not at {length}")
        length = limit
    return PairEncoder(tokenizer, length)


def positions(config: Mapping[str, Any]) -> int | None:
    """The tokens that an encoder has positions for, by the fields of its configuration; None: any number."""
    limit, padding = config.get("max_position_embeddings"), config.get("pad_token_id")
    if config.get("position_biased_input") is False:  # DeBERTa's positions are relative
        return None
    if limit is not None and config.get("model_type") in _AFTER_PADDING:
        return limit - (1 if padding is None else padding) - 1
    return limit


def cut_share(pairs: Dataset, encoder: PairEncoder) -> float:
    """The share of pairs that an encoder cuts."""
    return float(np.mean(encoder.lengths(pairs["question"][:], pairs["answer"][:]) > encoder.max_length))


def fitting_length(pairs: Dataset, encoder: PairEncoder) -> int:
    """The tokens that hold 99 of 100 pairs whole, up to the next 16, at most the encoder's own and 512."""
    lengths = encoder.lengths(pairs["question"][:], pairs["answer"][:])
    return int(min(encoder.max_length, TOKENS, -(-np.quantile(lengths, 0.99) // 16) * 16))


def by_length(length: np.ndarray, batch_tokens: int | None = None, batch_size: int | None = None) -> list[np.ndarray]:
    """Rows from the longest to the shortest, as many a batch as fit in `batch_tokens` with their padding.

    batch_size: so many rows a batch instead.
    """
    order = np.argsort(-length, kind="stable")
    batches = []
    while len(order):
        size = max(1, batch_size or batch_tokens // max(1, int(length[order[0]])))
        batches.append(order[:size])
        order = order[size:]
    return batches


def word_tokenizer(texts: Iterable[str], max_length: int) -> PreTrainedTokenizerFast:
    """A tokenizer whose vocabulary is the lower-cased words of some texts; the same texts give the same bytes.

    Words are split as BERT does, at blanks and punctuation, each Chinese character alone; they are numbered by
    (−count, word) after the five special tokens. A pair becomes `[CLS] question [SEP] answer [SEP]`.
    """
    backend = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(clean_text=False, strip_accents=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    options = {"vocab_size": ALL_WORDS, "special_tokens": [*_SPECIALS.values()], "show_progress": False}
    backend.train_from_iterator(texts, trainers.WordLevelTrainer(**options))
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=max_length,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{role}_token": token for role, token in _SPECIALS.items()},
    )
