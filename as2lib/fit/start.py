"""What a fit starts from: a model's name, or nothing; and what encodes its pairs."""

from pathlib import Path
from typing import Any

from datasets import Dataset
from torch import nn
from transformers import set_seed

from as2lib.data.encode import PairEncoder, fitting_length, load_encoder, word_tokenizer
from as2lib.models import NOTHING, auto, cross_encoder  # noqa: F401  (auto: so that transformers knows our models)
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.paths import params_folder, read_yaml

PAIRS_MEASURED = 20_000  # pairs by which the length of all is told


def measured(pairs: Dataset) -> Dataset:
    """Pairs of a set by which the length of all is told."""
    return pairs.select(range(0, len(pairs), 1 + len(pairs) // PAIRS_MEASURED))


def encoder_of(name: str | Path, pairs: Dataset, max_length: int | None) -> tuple[PairEncoder, Any]:
    """What encodes the pairs, and what a model is built from: a name, or the configuration of a small new one.

    max_length: tokens of a pair at most; default: what holds 99 of 100 pairs whole.
    """
    if name == NOTHING:
        texts = [*pairs["question"][:], *pairs["answer"][:]]
        length = max_length or fitting_length(measured(pairs), word_tokenizer(texts, 512))
        encoder = PairEncoder(word_tokenizer(texts, length), length)
        start = read_yaml(params_folder() / "sample.yaml")["study"]["teachers"]["electra"]["config"]
        start |= {"vocab_size": len(encoder.tokenizer), "pad_token_id": encoder.tokenizer.pad_token_id}
        return encoder, start | {"max_position_embeddings": length}
    encoder = load_encoder(name, max_length)
    if not isinstance(encoder, PairEncoder):
        raise ValueError(f"model {name}: expected a transformer, got a model that reads words")
    if max_length is None:
        config = cross_encoder.configuration(name)
        encoder = PairEncoder(encoder.tokenizer, fitting_length(measured(pairs), encoder.tokenizer, config))
    return encoder, name


def module_of(start: Any, heads: int | None, seed: int) -> nn.Module:
    """The model, whose new weights come from a seed.  heads: of a student; they share all layers but the last."""
    set_seed(seed)
    module = cross_encoder.build(start)
    if heads is None or isinstance(module, MHSForSequenceClassification):
        return module
    depth = getattr(module.config, "num_hidden_layers", 0)
    if depth < 2:
        raise ValueError(f"model {start}: expected two layers or more, of which heads share all but one")
    return MHSForSequenceClassification.from_backbone(module, depth - 1, heads)
