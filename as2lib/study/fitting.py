"""Makes a fit: what it learns from, what its teachers say, and what it leaves; `fit.train` trains.

m pairs · k teachers · c = 2 classes
"""

from collections.abc import Sequence
from typing import Any

import numpy
import pandas
import torch
import transformers
from datasets import Dataset
from transformers import set_seed

from as2lib import models
from as2lib.data.encode import load_encoder
from as2lib.data.pairs import leave_out, load_parts
from as2lib.data.pretrained import folder_of
from as2lib.data.teacher_scores import TeacherScores
from as2lib.fit import teacher_logits, train
from as2lib.locks import lock
from as2lib.metrics.questions import Questions
from as2lib.models import ensemble
from as2lib.precision import computing_on, machine
from as2lib.score import on_threads, parts_of, probability, score
from as2lib.study.derived import calibration
from as2lib.study.recipes import Ensemble, Ranker
from as2lib.study.run import Run
from as2lib.study.store import StoredRun, Task, file_at, write_parquet, write_scores

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()  # of a model's one file, written in no time


def fit(task: Task) -> dict[str, Any]:
    """Train a run into its folder: model/, scores/, log.jsonl; returns its facts.  Goes on from its checkpoint."""
    run, recipe, study = task.run, task.run.recipe, task.store.study
    precision, training = study.precision, dict(recipe.training)
    in_fit = training.pop("precision", precision)  # what is kept is scored in the study's
    for name in recipe.encoders:
        folder_of(name)  # what is nowhere is refused before teachers are asked
    pairs, dev = training_pairs(run), None
    if "dev" in run.data and training.get("evaluate_every"):
        dev = load_parts(run.data["dev"], "answered")
    else:  # the last weights are kept
        training = {**training, "evaluate_every": None}
    shuffle = run.seed if recipe.shuffle else None
    if shuffle is not None:
        pairs = pairs.select(shuffled_rows(pairs["question_id"][:], shuffle))
        dev = dev and dev.select(shuffled_rows(dev["question_id"][:], shuffle))
    with on_threads(study.threads):
        platt = calibration(run, task.parents.get("teachers", ()))
        teachers = [logits_of(task, teacher, pairs, platt) for teacher in task.parents.get("teachers", ())]
        set_seed(run.seed)  # before the model is built: new weights come from it
        model, encoder = recipe.build(task)
        result = train(
            pairs,
            model,
            recipe.loss,
            teachers,
            dev,
            encoder=encoder,
            seed=run.seed,
            precision=in_fit,
            folder=task.folder,
            progress=task.progress,
            allow_shared_questions=True,  # a study's file says
            **recipe.arguments,
            **training,
        )
        result.checkpoint = None  # it goes when the run's folder has its name
        result.save(task.folder / "model")
        parts = {split: run.data[split] for split in ("dev", "test") if split in run.data}
        tables = {split: score_table(result.model, encoder, parts[split], precision, shuffle) for split in parts}
        last = tables
        if result.last is not None:
            result.model.load_state_dict(result.last)
            last = {split: score_table(result.model, encoder, parts[split], precision, shuffle) for split in parts}
        for split, (pairs, columns) in tables.items():
            write_scores(task.folder / f"scores/{split}.parquet", pairs, **columns, last=last[split][1]["score"])
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    facts = {**result.facts, "machine": gpu or machine()}
    if platt:
        facts["calibration"] = platt
    return facts | recipe.facts(model)


# ---------------------------------------------------------------- what a run learns from


def training_pairs(run: Run) -> Dataset:
    """A pool without labels; all folds of the questions but one; or the answered questions."""
    if run.recipe.unlabelled:
        return load_parts(run.data["train"], None)
    pairs = load_parts(run.data["train"], "answered")
    return leave_out(pairs, *run.recipe.leave_out) if run.recipe.leave_out else pairs


def logits_of(task: Task, teacher: StoredRun, pairs: Dataset, platt: dict[str, dict[str, Any]]) -> numpy.ndarray:
    """What a teacher says of a student's pairs: logits, (m, c) float32, calibrated where `platt` says.

    Those of a model are computed once, and kept in its folder.
    """
    store = task.store
    if isinstance(teacher.run.recipe, Ensemble):
        members = [store.find(run.name) for run in teacher.run.parents["members"]]
        platt_of_members = calibration(teacher.run, members)
        of_members = [logits_of(task, member, pairs, platt_of_members) for member in members]
        if teacher.run.recipe.combine == "logistic":
            log_odds = ensemble.weigh(teacher.facts, [probability(logits) for logits in of_members])
            return numpy.stack([numpy.zeros_like(log_odds), log_odds], axis=1).astype(numpy.float32)
        return ensemble.mean_logits(of_members, teacher.facts.get("weights"))
    if isinstance(teacher.run.recipe, Ranker):
        return teacher_logits(TeacherScores.read(file_at(teacher.run.recipe.source)).of(pairs), pairs)
    path = teacher.folder / "logits" / f"{store.learnt_from(task.run)}.parquet"
    if not path.exists():
        with lock(f"{teacher.identity[:24]}-{path.stem}", f"what {teacher.name} says of {len(pairs):,} pairs"):
            if not path.exists():  # another student may have made them meanwhile
                precision = task.run.recipe.training.get("precision", store.study.precision)
                logits = teacher_logits(teacher.model_folder, pairs, precision)
                write_parquet(path, pandas.DataFrame({f"logit_{i}": column for i, column in enumerate(logits.T)}))
    logits = numpy.ascontiguousarray(pandas.read_parquet(path).to_numpy(dtype=numpy.float32))
    if teacher.name not in platt:
        return logits
    return ensemble.calibrated(platt[teacher.name], logits, pairs["question_id"][:])


# ---------------------------------------------------------------- what a run leaves


def score_table(
    model: torch.nn.Module, encoder: Any, parts: Sequence[str], precision: str, shuffle: int | None = None
) -> tuple[Dataset, dict[str, numpy.ndarray]]:
    """Every pair of a split, and its `score`, beside it that of each head (`head_0`) or exit (`exit_4`).

    shuffle: a seed: the model reads each question's candidates in a random order; rows stay in the original one.
    """
    pairs = load_parts(parts, "all")
    if shuffle is not None:
        order = shuffled_rows(pairs["question_id"][:], shuffle)
        scores = score(model, pairs.select(order), encoder, precision)
        return pairs, {"score": scores.score[numpy.argsort(order)]}
    scores = score(model, pairs, encoder, precision)
    exits = getattr(getattr(model, "config", None), "exits", ())
    return pairs, {"score": scores.score, **parts_of(scores.head_logits, scores.exit_logits, exits)}


def score_shuffled(task: Task) -> dict[str, Any]:
    """A model's scores where each question's candidates come in a random order; rows stay in the original one."""
    parent = task.parents["model"][0]
    model, encoder = models.load(parent.model_folder).to(computing_on()), load_encoder(parent.model_folder)
    with on_threads(task.store.study.threads):
        precision = task.store.study.precision
        pairs, columns = score_table(model, encoder, task.run.data["test"], precision, task.run.seed)
        write_scores(task.folder / "scores" / "test.parquet", pairs, **columns)
    return {"parameters": parent.facts["parameters"]}


def shuffled_rows(question_id: list[str], seed: int) -> numpy.ndarray:
    """The rows of each question in a random order; questions stay where they are."""
    question = Questions.together(question_id).code
    return numpy.lexsort((numpy.random.default_rng(seed).random(len(question)), question))
