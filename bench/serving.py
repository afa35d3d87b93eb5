"""A `Ranker` by torch or ONNX Runtime and its precision, on WikiQA: MAP, size and time.

All take turns on one core; what counts is processor time, which other programs stretch far less than the clock's.
A pair of the test set is scored once by each system: every turn takes another part of the questions.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy
import pandas
import torch

from as2lib import models
from as2lib.data.encode import load_encoder
from as2lib.export import export
from as2lib.fit import train
from as2lib.metrics.ranking import summary
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.precision import machine
from as2lib.ranker import Ranker
from bench import NotRun, wikiqa

TARGET = "MAP within 0.5"
STEPS = {"cross-encoder": 200, "MHS B5 3H1": 60}  # of 32 pairs, far fewer than a study's


def main(full: bool = False, rounds: int = 3) -> dict[str, dict]:
    """A row for each model, backend and precision."""
    if not full:
        raise NotRun("two models are fitted first, for minutes: --full")
    pairs = wikiqa.pairs("test").to_pandas()
    questions = [rows for _, rows in pairs.groupby("question_id", sort=False)]
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)  # a second thread would wait for the core, and its waiting would count
    with tempfile.TemporaryDirectory() as scratch:
        folders = dict(exported(Path(scratch)))
        rankers = {name: Ranker.load(path) for name, path in folders.items()}
        sizes = {name: mebibytes(path) for name, path in folders.items()}
        seconds, scores = dict.fromkeys(rankers, 0.0), {name: [] for name in rankers}
        for part in numpy.array_split(numpy.arange(len(questions)), rounds):
            for name, ranker in rankers.items():
                start = time.process_time()
                scores[name] += places(ranker, [questions[number] for number in part])
                seconds[name] += time.process_time() - start
    return {
        name: {
            "MAP": summary(pairs["question_id"], pairs["label"], scores[name])["MAP"],
            "MiB": sizes[name],
            "pairs a second": len(pairs) / seconds[name],
            "pairs": len(pairs),
            "questions": len(questions),
            "processor": machine(),
        }
        for name in rankers
    }


def exported(scratch: Path) -> Iterator[tuple[str, Path]]:
    """Each model's folder, and those that it is exported to, by name: "cross-encoder: onnx, int8"."""
    for model in STEPS:
        folder = fitted(model)
        yield f"{model}: torch, float32", folder
        for precision in ("float32", "int8"):
            out = scratch / f"{folder.name}-{precision}"
            yield f"{model}: onnx, {precision}", export(folder, out, int8=precision == "int8")


def fitted(name: str) -> Path:
    """The folder of one of the models, kept in `work/serving`; it is fitted first where it is not there."""
    folder = Path("work") / "serving" / name.replace(" ", "-").lower()
    if not (folder / "config.json").exists():
        with wikiqa.classifier_folder() as start:
            start = start if name == "cross-encoder" else fitted("cross-encoder")
            model, encoder, loss = models.load(start), load_encoder(start), "ce"
        torch.manual_seed(0)
        if name == "MHS B5 3H1":
            model = MHSForSequenceClassification.from_backbone(model, body=5, heads=3, perturb=0.02)
            loss = "ce_per_head"
        steps = STEPS[name]
        train(wikiqa.pairs("train"), model, loss, encoder=encoder, steps=steps, learning_rate=5e-5).save(folder)
    return folder


def places(ranker: Ranker, questions: Sequence[pandas.DataFrame]) -> list[float]:
    """Minus the place of each pair in its question."""
    scores = []
    lists = [rows["answer"].tolist() for rows in questions]
    for ranking in ranker.rank([rows["question"].iloc[0] for rows in questions], lists):
        place = {ranked.position: -float(number) for number, ranked in enumerate(ranking)}
        scores += [place[position] for position in range(len(place))]
    return scores


def mebibytes(folder: Path) -> float:
    """What a model's weights and graph take on disk."""
    kinds = (".safetensors", ".onnx")
    return sum(path.stat().st_size for path in folder.iterdir() if path.suffix in kinds) / 2**20
