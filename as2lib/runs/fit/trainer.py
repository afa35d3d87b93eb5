"""A Hugging Face Trainer with a pluggable objective, whose evaluation is `score` on dev and whose log is ours."""

import json
import math
import shutil
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from transformers import (
    EarlyStoppingCallback,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
)

from as2lib.data.pairs import load_parts
from as2lib.intact import Damaged, file_sha256, note, read_json
from as2lib.kernels.cosinet import reading_whole_batches
from as2lib.kernels.first_token import reading_first_token
from as2lib.kernels.training import training_kernels
from as2lib.metrics.ranking import summary
from as2lib.runs import world
from as2lib.runs.files import write_json, write_lines
from as2lib.runs.fit.batches import GroupedBatches, Items, Shares
from as2lib.runs.fit.objectives import TARGETS, objective
from as2lib.runs.fit.schedules import step_inputs
from as2lib.runs.params import Training
from as2lib.runs.run import Job
from as2lib.runs.vouched import check_files
from as2lib.score import score

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

LOG, SEAL = "log.jsonl", "sha256.json"  # beside what the Trainer writes into a checkpoint
CHECKPOINTS = 2  # kept of a fit: should the newest be damaged, there is one before it
CHECKPOINT_EVERY = 1000  # steps, where nothing is evaluated on the way: shorter fits start again when interrupted


class RankingTrainer(Trainer):
    """A Trainer whose loss is the objective of a job and whose evaluation is `score` on dev."""

    def __init__(self, job: Job, encoder, batches: GroupedBatches, log_file: Path, callbacks=(), **kwargs: Any):
        self.entries: list[dict[str, Any]] = []  # of the log
        super().__init__(data_collator=encoder.collate, callbacks=[*callbacks, Sealing(self.entries)], **kwargs)
        self.job, self.encoder, self.batches, self.log_file = job, encoder, batches, log_file
        self.objective = objective(job.run.spec)
        self.step_inputs = step_inputs(job.run.spec, batches.steps, job.run.seed)
        self.masks = None
        self.parts: list[dict[str, torch.Tensor]] = []
        self.started = time.perf_counter()
        self.remove_callback(PrinterCallback)

    def train(self, *args: Any, **kwargs: Any) -> Any:
        with ExitStack() as inside:
            inside.enter_context(reading_whole_batches(self.model))
            if self.job.kernels and "words" not in self.job.run.spec:
                inside.enter_context(reading_first_token(self.model))
                self.masks = inside.enter_context(training_kernels(self.model, self.args.seed))
            return super().train(*args, **kwargs)

    def get_train_dataloader(self) -> DataLoader:
        batches = Shares(self.batches, world.rank(), world.size())
        return DataLoader(self.train_dataset, batch_sampler=batches, collate_fn=self.data_collator)

    def create_scheduler(self, num_training_steps: int, optimizer=None):
        if (ratio := self.job.run.spec["training"].get("ratio")) is None:
            return super().create_scheduler(num_training_steps, optimizer)
        cut = self.args.warmup_steps / num_training_steps
        shape = partial(slanted_triangle, steps=num_training_steps, cut=cut, ratio=ratio)
        self.lr_scheduler = LambdaLR(optimizer or self.optimizer, shape)
        return self.lr_scheduler

    def floating_point_ops(self, inputs: dict[str, Any]) -> int:
        return 0  # unused here, and the Trainer's own count walks through the model in every step

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        targets = {name: inputs.pop(name) for name in TARGETS if name in inputs}
        step = self.state.global_step
        if self.masks is not None:
            self.masks.begin(step)
        output = model(**inputs, **self.step_inputs(step))
        loss, weight = self.objective(output, targets, step), world.weight(len(output.logits))
        self.parts.append({name: value.detach() * weight for name, value in loss._asdict().items()})
        return (loss.total * weight, output) if return_outputs else loss.total * weight

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        dev = self.eval_dataset
        metrics = {}
        if world.rank() == 0:
            found = score(self.model, dev, self.encoder, self.job.precision).score
            metrics = summary(dev["question_id"][:], dev["label"][:], found)
        metrics = world.agreed(metrics)
        self.log({"eval_MAP": metrics["MAP"], "eval_P@1": metrics["P@1"]})
        found = {"eval_MAP": metrics["MAP"]}
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, found)
        return found

    def log(self, logs: dict[str, float], *args: Any) -> None:
        """Adds a line to the run's log: the parts of the loss since the last one, dev metrics, seconds."""
        super().log(logs, *args)
        if not self.parts and "eval_MAP" not in logs:
            return  # the Trainer's closing summary
        entry: dict[str, Any] = {"step": self.state.global_step}
        if self.parts:
            for name in self.parts[0]:
                entry[name] = world.mean(torch.stack([part[name] for part in self.parts]).mean(dim=0)).tolist()
            self.parts = []
        if world.rank():
            return
        entry |= {name.replace("eval_", "dev_"): logs[name] for name in ("eval_MAP", "eval_P@1") if name in logs}
        entry["seconds"] = round(time.perf_counter() - self.started, 2)
        self.entries.append(entry)
        write_lines(self.log_file, self.entries)


def ranking_trainer(job: Job, model, encoder, pairs, teachers, folder, progress) -> RankingTrainer:
    """The Trainer of a run: Adam, linear warm-up and decay, best dev MAP kept."""
    run, training = job.run, Training(**job.run.spec["training"])
    if world.size() > 1 and encoder.unit != "pair":
        raise ValueError(f"{run.name}: expected a model of pairs to fit on {world.size()} processes, got one of lists")
    labels = pairs["label"] if "label" in pairs.column_names else None
    items = Items(encoder.encode(pairs), labels, teachers)
    length = items.encoded.with_format("numpy")["length"][:]
    steps = training.steps or training.epochs * math.ceil(len(items) / training.batch_size)
    every = training.evaluate_every if "dev" in run.data else None
    arguments = TrainingArguments(
        output_dir=str(folder / "checkpoints"),
        max_steps=steps,
        per_device_train_batch_size=training.batch_size or 1,
        learning_rate=training.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=round(training.warmup * steps),
        optim="adamw_torch_fused",
        weight_decay=0.0,
        bf16=job.precision == "bf16",
        eval_strategy="steps" if every else "no",
        eval_steps=every,
        save_strategy="steps" if every or steps > CHECKPOINT_EVERY else "no",
        save_steps=every or CHECKPOINT_EVERY,
        save_total_limit=CHECKPOINTS,
        load_best_model_at_end=every is not None,
        metric_for_best_model="MAP" if every else None,
        greater_is_better=True if every else None,
        logging_steps=every or max(1, steps // 10),
        seed=run.seed + 2**24 * world.rank(),  # processes that fit together drop different units
        report_to="none",
        disable_tqdm=not progress,
        use_cpu=not torch.cuda.is_available(),
    )
    arguments._n_gpu = min(1, arguments.n_gpu)  # a fit has one GPU: with several the Trainer would split its batches
    return RankingTrainer(
        job,
        encoder,
        GroupedBatches(length, training.batch_size, steps, run.seed, batch_tokens=training.batch_tokens),
        folder / "log.jsonl",
        model=model,
        args=arguments,
        train_dataset=items,
        eval_dataset=load_parts(tuple(run.data["dev"]), "answered") if every else None,
        callbacks=[EarlyStoppingCallback(training.patience)] if every else [],
    )


def slanted_triangle(step: int, steps: int, cut: float, ratio: float) -> float:
    """The share of the highest learning rate at a step: up from 1 / ratio over the first `cut` of the steps, and down.

    Source: Howard and Ruder 2018, equation 3.
    """
    rise = max(1, int(cut * steps))
    place = step / rise if step < rise else max(0.0, 1 - (step - rise) / max(1, rise * (1 / cut - 1)))
    return (1 + place * (ratio - 1)) / ratio


class Sealing(TrainerCallback):
    """Ends each checkpoint with its log so far and the hashes of all its files: without them it is not whole."""

    def __init__(self, entries: list[dict[str, Any]]):
        self.entries = entries

    def on_save(self, args: TrainingArguments, state: TrainerState, control: Any, **kwargs: Any) -> None:
        world.agreed(None)  # every process has left its random state there
        if world.rank():
            return
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        write_lines(folder / LOG, self.entries)
        files = {path.name: file_sha256(path, anew=True) for path in sorted(folder.iterdir()) if path.name != SEAL}
        write_json(folder / SEAL, files)


def space_for(trainer: RankingTrainer) -> int:
    """Bytes that a fit writes at most: its model, and in each checkpoint the model and Adam's two moments."""
    weights = sum(tensor.nbytes for tensor in trainer.model.state_dict().values())
    return weights * (1 + (0 if trainer.args.save_strategy == "no" else 3 * (CHECKPOINTS + 1)))


def newest_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that is as it was written, and so is the one with the best weights; others are removed."""
    whole = {path for path in folder.glob("checkpoint-*") if _is_whole(path)}
    usable = {path: _best(path) for path in whole if _best(path) in {None, *whole}}
    newest = max(usable, key=_step, default=None)
    for path in folder.glob("checkpoint-*"):
        if path not in (newest, usable.get(newest)):
            shutil.rmtree(path, ignore_errors=True)
    return newest


def _is_whole(checkpoint: Path) -> bool:
    if not (checkpoint / SEAL).exists():
        return False  # the process ended while it was written
    try:
        check_files(checkpoint, read_json(checkpoint / SEAL), anew=True)
    except Damaged as error:
        note(f"{error}; the fit goes on from an older checkpoint, or starts again")
        return False
    return True


def _best(checkpoint: Path) -> Path | None:
    best = read_json(checkpoint / "trainer_state.json")["best_model_checkpoint"]
    return best and Path(best)


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.split("-")[1])


def logged(checkpoint: Path | None) -> list[dict[str, Any]]:
    """What had been logged when a checkpoint was written; nothing where there is none."""
    lines = (checkpoint / LOG).read_text(encoding="utf-8").splitlines() if checkpoint else []
    return [json.loads(line) for line in lines]
