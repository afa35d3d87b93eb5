"""The models that `serving` measures: MiniLM-L6 with new classifiers, or fitted on WikiQA."""

from pathlib import Path
from typing import Any

import transformers
from transformers import PreTrainedModel, set_seed

from as2lib import models
from as2lib.data.encode import load_encoder
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.mhs import MHSForSequenceClassification
from bench import wikiqa
from bench.making import fit

STEPS = {"cross-encoder": 200, "MHS B5 3H1": 60, "cascade": 120}  # of 32 pairs, far fewer than the study's
MODELS, EXITS = tuple(STEPS), (2, 4, 6)


def fitted(name: str) -> Path:
    """The folder of one of `MODELS`, kept in `work/serving`; it is fitted first where it is not there."""
    folder = Path("work") / "serving" / name.replace(" ", "-").lower()
    if not (folder / "config.json").exists():
        set_seed(0)
        with wikiqa.classifier_folder() as start:
            start = start if name == "cross-encoder" else fitted("cross-encoder")
            model, encoder = _made(name, models.load(start)), load_encoder(start)
            transformers.logging.set_verbosity_error()
            fit(model, encoder, wikiqa.pairs("train"), _spec(name))
        model.save_pretrained(folder)
        encoder.save(folder)
    return folder


def new(name: str, folder: Path) -> Path:
    """One of `MODELS` with new classifiers, as fast as a fitted one."""
    with wikiqa.classifier_folder() as start:
        _made(name, models.load(start)).save_pretrained(folder)
        load_encoder(start).save(folder)
    return folder


def _made(name: str, classifier: PreTrainedModel) -> PreTrainedModel:
    if name == "cascade":
        return CascadeTransformer.from_backbone(classifier, EXITS)
    if name == "MHS B5 3H1":
        return MHSForSequenceClassification.from_backbone(classifier, body=5, heads=3, perturb=0.02)
    return classifier


def _spec(name: str) -> dict[str, Any]:
    """Of the run that fits one of `MODELS`."""
    spec = {"loss": "ce_per_head" if name.startswith("MHS") else "ce"}
    spec |= {"cascade": {"exits": list(EXITS)}} if name == "cascade" else {}
    return spec | {"training": {"steps": STEPS[name], "learning_rate": 5e-5, "batch_size": 32, "warmup": 0.1}}
