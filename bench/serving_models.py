"""The models that `serving` measures: MiniLM-L6 with new classifiers, or fitted on WikiQA."""

from pathlib import Path

import torch
from transformers import PreTrainedModel

from as2lib import models
from as2lib.data.encode import load_encoder
from as2lib.fit import train
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.mhs import MHSForSequenceClassification
from bench import wikiqa

STEPS = {"cross-encoder": 200, "MHS B5 3H1": 60, "cascade": 120}  # of 32 pairs, far fewer than a study's
LOSSES = {"MHS B5 3H1": "ce_per_head"}
MODELS, EXITS = tuple(STEPS), (2, 4, 6)


def fitted(name: str) -> Path:
    """The folder of one of `MODELS`, kept in `work/serving`; it is fitted first where it is not there."""
    folder = Path("work") / "serving" / name.replace(" ", "-").lower()
    if not (folder / "config.json").exists():
        with wikiqa.classifier_folder() as start:
            start = start if name == "cross-encoder" else fitted("cross-encoder")
            model, encoder = of_kind(name, models.load(start)), load_encoder(start)
            pairs, loss = wikiqa.pairs("train"), LOSSES.get(name, "ce")
            train(pairs, model, loss, encoder=encoder, steps=STEPS[name], learning_rate=5e-5).save(folder)
    return folder


def new(name: str, folder: Path) -> Path:
    """One of `MODELS` with new classifiers, as fast as a fitted one."""
    with wikiqa.classifier_folder() as start:
        of_kind(name, models.load(start)).save_pretrained(folder)
        load_encoder(start).save(folder)
    return folder


def of_kind(name: str, classifier: PreTrainedModel) -> PreTrainedModel:
    torch.manual_seed(0)
    if name == "cascade":
        return CascadeTransformer.from_backbone(classifier, EXITS)
    if name == "MHS B5 3H1":
        return MHSForSequenceClassification.from_backbone(classifier, body=5, heads=3, perturb=0.02)
    return classifier
