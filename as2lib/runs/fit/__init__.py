"""One run, trained: the only place where models, losses and metrics meet."""

import gc
import os
import shutil
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts: deterministic products

import numpy
import torch
from datasets import Dataset
from transformers import set_seed

from as2lib import models
from as2lib.data.encode import load_encoder
from as2lib.data.pairs import fingerprint, leave_out, load_parts, load_unlabelled_parts
from as2lib.intact import require_space
from as2lib.metrics import cost
from as2lib.models import ensemble
from as2lib.paths import work_folder
from as2lib.precision import machine
from as2lib.runs import world
from as2lib.runs.alone import only_one
from as2lib.runs.card import run_card
from as2lib.runs.files import read_logits, write_logits, write_scores
from as2lib.runs.fit.calibration import calibrated, fit_platt
from as2lib.runs.fit.start import start
from as2lib.runs.fit.trainer import logged, newest_checkpoint, ranking_trainer, space_for
from as2lib.runs.gpu import take_one
from as2lib.runs.run import Job, Run
from as2lib.runs.store import Finished
from as2lib.score import on_gpu, on_threads, probability, score

take_one()  # before CUDA starts
gc.freeze()  # what was imported stays: each collection, and a Trainer asks for some, would walk through all of it


def train(job: Job, folder: Path, progress: bool = False) -> dict[str, Any]:
    """Train a run into `folder` (`model/`, `scores/`, `log.jsonl`); returns the facts that `done.json` keeps.

    Goes on from the newest complete checkpoint in `folder` and ends with the weights of an uninterrupted run.
    """
    run, started = job.run, time.perf_counter()
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # a write of every new tensor, against unset values
    with on_threads(job.threads):
        pairs = training_pairs(run)
        set_seed(run.seed)  # before the model is built: new weights, dropout and batches all come from it
        model, encoder = start(job)
        with world.first_alone():  # the others find tokens and logits on disk
            platt = _platt(job)
            teachers = [taught(teacher, pairs, job.precision, platt) for teacher in job.parents.get("teachers", ())]
            trainer = ranking_trainer(job, model, encoder, pairs, teachers, folder, progress)
        checkpoint = world.agreed(None if world.rank() else newest_checkpoint(folder / "checkpoints"))
        trainer.entries += logged(checkpoint)
        require_space(space_for(trainer), run.name)
        trainer.train(resume_from_checkpoint=checkpoint and str(checkpoint))
        if world.rank():
            return {}
        model.save_pretrained(folder / "model")
        encoder.save(folder / "model")
        for split in ("dev", "test"):
            if split in run.data:
                _write_scores(model, encoder, run.data[split], job.precision, folder / "scores" / f"{split}.parquet")
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    device = next(model.parameters()).device
    facts = {
        "parameters": cost.parameters(model),
        "pairs": len(pairs),
        "steps": trainer.state.global_step,
        "best_step": trainer.state.best_global_step,
        "dev_MAP": trainer.state.best_metric,
        "precision": job.precision,
        "threads": job.threads,
        "device": device.type,
        **({"calibration": platt} if platt else {}),
        **({"processes": world.size()} if world.size() > 1 else {}),
        "machine": torch.cuda.get_device_name(device) if device.type == "cuda" else machine(),
        "seconds": round(time.perf_counter() - started, 2),
    }
    (folder / "model" / "README.md").write_text(run_card(job, facts), encoding="utf-8")
    return facts


def training_pairs(run: Run) -> Dataset:
    """What a run learns from: a pool without labels where its spec says so; all folds of the questions but one."""
    parts = tuple(run.data["train"])
    if run.spec.get("unlabelled"):
        return load_unlabelled_parts(parts)
    pairs = load_parts(parts, "answered")
    return leave_out(pairs, *run.spec["leave_out"]) if "leave_out" in run.spec else pairs


def _platt(job: Job) -> dict[str, dict[str, Any]]:
    """List-wise teacher → its Platt scaling, fitted on its dev scores; none where the run's spec asks for none."""
    if job.run.spec.get("calibration") != "platt":
        return {}
    listwise = [one for one in job.parents["teachers"] if one.run.spec.get("unit") == "question"]
    return {teacher.name: fit_platt(teacher.scores("dev")) for teacher in listwise}


def taught(teacher: Finished, pairs: Dataset, precision: str, platt: dict[str, dict[str, Any]]) -> numpy.ndarray:
    """What a student is told by a teacher: its logits over a pair set, calibrated where `platt` says how."""
    logits = teacher_logits(teacher, pairs, precision)
    return calibrated(platt[teacher.name], logits, pairs["question_id"][:]) if teacher.name in platt else logits


def teacher_logits(teacher: Finished, pairs: Dataset, precision: str) -> numpy.ndarray:
    """A teacher's logits over a pair set, (m, c) float32: computed once, stored with the set's fingerprint.

    Those of an ensemble come from its members': their weighted mean probability, or a logistic regression's log odds.
    What is stored of another model, or damaged, is computed again.
    Raises ValueError where it belongs to another pair set.
    """
    if teacher.run.kind == "ensemble":
        members = [teacher_logits(member, pairs, precision) for member in teacher.parents["members"]]
        if teacher.run.spec["combine"] == "logistic":
            log_odds = ensemble.weigh(teacher.facts, [probability(logits) for logits in members])
            return numpy.stack([numpy.zeros_like(log_odds), log_odds], axis=1).astype(numpy.float32)
        return ensemble.mean_logits(members, teacher.facts.get("weights"))
    content = fingerprint(pairs)
    path = work_folder() / "logits" / f"{teacher.identity[:24]}-{content[:24]}.safetensors"
    if (logits := read_logits(path, content, teacher.weights())) is not None:
        return logits
    with only_one(path.stem, f"what {teacher.name} says of {len(pairs):,} pairs"):  # another student may ask, too
        if (logits := read_logits(path, content, teacher.weights())) is None:
            encoder = load_encoder(teacher.model_folder, teacher.run.spec.get("max_length"))
            logits = score(on_gpu(models.load(teacher.model_folder)), pairs, encoder, precision).logits
            write_logits(path, logits, content, teacher.weights())
    return logits


def score_shuffled(job: Job, folder: Path) -> dict[str, Any]:
    """A model's scores where each question's candidates come in a random order, in the rows of the original order."""
    parent = job.parents["model"][0]
    model, encoder = on_gpu(models.load(parent.model_folder)), load_encoder(parent.model_folder)
    pairs = load_parts(tuple(job.run.data["test"]), "all")
    order = shuffled_rows(pairs["question_id"][:], job.run.seed)
    with on_threads(job.threads):
        found = numpy.empty(len(pairs))
        found[order] = score(model, pairs.select(order), encoder, job.precision).score
    write_scores(folder / "scores" / "test.parquet", pairs, found)
    return {"parameters": parent.facts["parameters"]}


def shuffled_rows(question_id: list[str], seed: int) -> numpy.ndarray:
    """The rows of a pair set with those of each question in a random order; questions stay where they are."""
    ids = numpy.asarray(question_id)
    question = numpy.cumsum(numpy.append(True, ids[1:] != ids[:-1]))
    return numpy.lexsort((numpy.random.default_rng(seed).random(len(ids)), question))


def _write_scores(model, encoder, parts: list[str], precision: str, path: Path) -> None:
    """Scores over every question of a split, those of each head (`head_0`) or exit (`exit_4`) beside; no text."""
    pairs = load_parts(tuple(parts), "all")
    found = score(model, pairs, encoder, precision)
    columns = {}
    if found.head_logits is not None:
        columns = {f"head_{i}": values for i, values in enumerate(probability(found.head_logits).T)}
    if found.exit_logits is not None:
        names = [f"exit_{layer}" for layer in model.config.exits]
        columns = dict(zip(names, probability(found.exit_logits).T, strict=True))
    write_scores(path, pairs, found.score, columns)
