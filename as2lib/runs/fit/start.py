"""The model of a run before its first step, and what encodes its pairs."""

from functools import lru_cache

import torch

from as2lib import imported, models
from as2lib.data.embeddings import Embeddings, embeddings
from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.data.pairs import load_parts
from as2lib.data.words import WordEncoder, words_of
from as2lib.models import cross_encoder
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.compare_aggregate import CompareAggregate
from as2lib.models.cosinet import Cosinet
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.runs.identity import check_tensors, vectors_identity
from as2lib.runs.run import Job, Run

WORD_MODELS = {"cosinet": Cosinet, "compare_aggregate": CompareAggregate}


def start(job: Job) -> tuple[torch.nn.Module, PairEncoder | WordEncoder]:
    """The model before its first step, and what encodes its pairs."""
    run = job.run
    if "words" in run.spec:
        return _on_words(run)
    if start := job.parents.get("start"):
        folder = start[0].model_folder
        layers = run.spec.get("layers")
        model = cross_encoder.build(folder, layers) if layers else models.load(folder)
        tokenizer = cross_encoder.tokenizer(folder)
    elif name := run.spec["backbone"].get("name"):
        check_tensors(name)
        model = cross_encoder.build(name, run.spec["backbone"].get("layers"))
        tokenizer = cross_encoder.tokenizer(name)
    else:
        texts = load_parts(tuple(run.data["vocabulary"]), "all")
        tokenizer = word_tokenizer([*texts["question"][:], *texts["answer"][:]], run.spec["max_length"])
        sizes = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        model = cross_encoder.build({**run.spec["backbone"]["config"], **sizes})
    if shape := run.spec.get("mhs"):
        noise = {"seed": run.seed} if "perturb" in shape else {}
        model = MHSForSequenceClassification.from_backbone(model, **shape, **noise)
    if (shape := run.spec.get("cascade")) and not isinstance(model, CascadeTransformer):
        model = CascadeTransformer.from_backbone(model, **shape)
    if own := run.spec.get("model"):
        model = imported.load(own)(model)
    return model, PairEncoder(tokenizer, run.spec["max_length"])


def _on_words(run: Run) -> tuple[torch.nn.Module, WordEncoder]:
    """A model over static vectors of the words of the run's pairs."""
    shape = dict(run.spec["words"])
    vectors, model = word_vectors(shape.pop("vectors"), run.data), WORD_MODELS[shape.pop("type")]
    return model(vectors, **shape), WordEncoder(vectors.words, run.spec["unit"])


def word_vectors(source: dict, data: dict[str, list[str]]) -> Embeddings:
    """The vectors of all words in a run's pairs; where they are learnt here, from the training sets."""
    words = set().union(*(_words(tuple(parts)) for parts in data.values()))
    own = _texts(tuple(data["vocabulary"])) if "vocabulary" in data else []
    return embeddings(source, vectors_identity(source), words, own)


@lru_cache(maxsize=8)
def _words(parts: tuple[str, ...]) -> frozenset[str]:
    """Every word of some parts; kept, since the fits of a group share them and splitting takes longer than a fit."""
    return frozenset(word for words in words_of(dict.fromkeys(_texts(parts))) for word in words)


def _texts(parts: tuple[str, ...]) -> list[str]:
    """Each question once, and all candidates."""
    pairs = load_parts(parts, "all")
    return [*dict.fromkeys(pairs["question"][:]), *pairs["answer"][:]]
