"""The models that `serving` measures: fitted on WikiQA once, kept in `work/serving`."""

import tempfile
from pathlib import Path
from types import SimpleNamespace

import transformers
from transformers import PreTrainedModel, set_seed

from as2lib import models
from as2lib.data.encode import PairEncoder, load_encoder
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.runs.fit.trainer import ranking_trainer
from bench import wikiqa

STEPS = {"cross-encoder": 90, "cascade": 40, "MHS B5 3H1": 10}  # of 16 pairs, far fewer than the study's
EXITS = (2, 4, 6)


def fitted(name: str) -> Path:
    """The folder of one of `STEPS`; it is fitted first where it is not there."""
    folder = Path("work") / "serving" / name.replace(" ", "-").lower()
    if not (folder / "config.json").exists():
        set_seed(0)
        if name == "cross-encoder":
            with wikiqa.classifier_folder() as start:
                _fit(models.load(start), load_encoder(start), name, folder)
        else:
            start = fitted("cross-encoder")
            model = models.load(start)
            if name == "cascade":
                model = CascadeTransformer.from_backbone(model, EXITS)
            else:
                model = MHSForSequenceClassification.from_backbone(model, body=5, heads=3, perturb=0.02)
            _fit(model, load_encoder(start), name, folder)
    return folder


def _fit(model: PreTrainedModel, encoder: PairEncoder, name: str, folder: Path) -> None:
    transformers.logging.set_verbosity_error()
    spec = {"loss": "ce_per_head" if name.startswith("MHS") else "ce"}
    spec |= {"cascade": {"exits": list(EXITS)}} if name == "cascade" else {}
    training = {"steps": STEPS[name], "learning_rate": 1e-4, "batch_size": 16, "warmup": 0.1}
    run = SimpleNamespace(spec={**spec, "training": training}, data={}, seed=0)
    job = SimpleNamespace(run=run, precision="float32", kernels=True)
    with tempfile.TemporaryDirectory() as scratch:
        pairs = wikiqa.pairs("train")
        ranking_trainer(job, model, encoder, pairs, [], Path(scratch), progress=False).train()
    model.save_pretrained(folder)
    encoder.save(folder)
