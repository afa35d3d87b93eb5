"""A fit against `CrossEncoderTrainer` with its defaults: one epoch over WikiQA train questions, MiniLM-L6."""

import math
import tempfile
from functools import partial
from pathlib import Path

import torch
from datasets import Dataset
from transformers import PrinterCallback, set_seed

from as2lib import models
from as2lib.data.encode import load_encoder
from as2lib.metrics.ranking import summary
from as2lib.score import probability, score
from bench import wikiqa
from bench.making import fit
from bench.timing import DEVICE, ROUNDS, compared, measure

TARGET = "whole epochs: ≥ 5 in bf16, ≥ 2 in float32, dev MAP no worse beyond seed noise"
PAIRS, PAIRS_ON_GPU = 96, 8_672  # of whole questions, about; all of WikiQA's train pairs
SEEDS = range(3)  # of whole epochs
SETTINGS = {"learning_rate": 5e-5, "batch_size": 32, "warmup": 0.1}  # those of the study `wikiqa`


def main(limit: int | None = None, rounds: int = ROUNDS, full: bool = False) -> dict[str, dict]:
    """limit: how many pairs an epoch has.  full: whole epochs as well, for dev MAP over seeds."""
    package, train = wikiqa.sentence_transformers(), wikiqa.pairs("train")
    limit = limit or (PAIRS if DEVICE == "cpu" else PAIRS_ON_GPU)
    some = train.select(range(min(limit, len(train))))
    settings = {"pairs": len(some), "against": f"sentence-transformers {package.__version__}, float32"}
    with wikiqa.classifier_folder() as folder:
        functions = {"theirs": lambda: theirs(package, folder, some, 0)}
        functions |= {precision: partial(ours, folder, some, 0, precision) for precision in wikiqa.ROWS}
        found = measure(functions, rounds)
        rows = {
            row: {**compared(found["theirs"], found[precision]), "precision": precision, **settings}
            for precision, row in wikiqa.ROWS.items()
        }
        return rows | (quality(package, folder, train) if full else {})


def quality(package, folder: Path, train: Dataset) -> dict[str, dict]:
    """Whole epochs, one a seed: median seconds, and dev MAP of both."""
    dev = wikiqa.pairs("dev")
    texts = list(zip(dev["question"], dev["answer"], strict=True))

    def dev_map(scores) -> float:
        return summary(dev["question_id"], dev["label"], scores)["MAP"]

    models: dict[str, list] = {which: [] for which in ("theirs", *wikiqa.ROWS)}

    def keep(which: str) -> None:
        seed = len(models[which])
        given = folder, train, seed
        models[which].append(theirs(package, *given) if which == "theirs" else ours(*given, which))

    found = measure({which: partial(keep, which) for which in models}, len(SEEDS), warmup=False)
    peer, rows = [dev_map(probability(model.predict(texts))) for model in models["theirs"]], {}
    for precision, row in wikiqa.ROWS.items():
        maps = [dev_map(score(model, dev, load_encoder(folder), precision).score) for model in models[precision]]
        settings = {"precision": precision, "pairs": len(train), "dev MAP, theirs": peer, "dev MAP, ours": maps}
        rows[f"whole epochs, {row}"] = compared(found["theirs"], found[precision]) | settings
    return rows


def ours(folder: Path, pairs: Dataset, seed: int, precision: str = "float32") -> torch.nn.Module:
    """A model fitted for one epoch as a run of a study is."""
    wikiqa.forget_tokens()
    set_seed(seed)
    steps = math.ceil(len(pairs) / SETTINGS["batch_size"])
    spec, model = {"loss": "ce", "training": {"steps": steps, **SETTINGS}}, models.load(folder)
    fit(model, load_encoder(folder), pairs, spec, precision, seed)
    return model


def theirs(package, folder: Path, pairs: Dataset, seed: int):
    """A CrossEncoder fitted for one epoch with default arguments."""
    from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
    from sentence_transformers.cross_encoder.losses import CrossEntropyLoss

    model = package.CrossEncoder(str(folder), device=DEVICE)
    with tempfile.TemporaryDirectory() as scratch:
        arguments = CrossEncoderTrainingArguments(
            output_dir=scratch,
            num_train_epochs=1,
            seed=seed,
            save_strategy="no",  # nor do we write a checkpoint
            report_to="none",
            disable_tqdm=True,
            dataloader_pin_memory=DEVICE == "cuda",  # else it only warns
        )
        columns = pairs.select_columns(["question", "answer", "label"])
        trainer = CrossEncoderTrainer(model, arguments, train_dataset=columns, loss=CrossEntropyLoss(model))
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return model
