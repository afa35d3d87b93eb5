"""One run, trained: the only place where models, losses and metrics meet."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts: deterministic products

import numpy
import torch
import transformers
from datasets import Dataset
from torch.utils.data import DataLoader
from transformers import EarlyStoppingCallback, PrinterCallback, Trainer, TrainingArguments, set_seed

from as2lib import models
from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.data.pairs import fingerprint, load_parts
from as2lib.losses import distillation
from as2lib.metrics.ranking import summary
from as2lib.models import cross_encoder
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.params import Training
from as2lib.paths import work_folder
from as2lib.plan import Run
from as2lib.score import on_threads, probability, score
from as2lib.store import Store, read_logits, write_logits, write_scores

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

CHECKPOINT_EVERY = 1000  # steps, where nothing is evaluated on the way: shorter fits start again when interrupted


def train(store: Store, run: Run, folder: Path, progress: bool = False) -> dict[str, Any]:
    """Train `run` into `folder` (`model/`, `scores/`, `log.jsonl`); returns the facts that `done.json` keeps.

    Goes on from the newest complete checkpoint in `folder` and ends with the weights of an uninterrupted run.
    """
    started = time.perf_counter()
    torch.use_deterministic_algorithms(True)
    with on_threads(store.study.threads):
        pairs = load_parts(tuple(run.data["train"]), "answered")
        set_seed(run.seed)  # before the model is built: new weights, dropout and batches all come from it
        model, encoder = _start(store, run)
        teachers = [teacher_logits(store, name, pairs) for name in run.parents.get("teachers", ())]
        trainer = _trainer(store, run, model, encoder, pairs, teachers, folder, progress)
        checkpoint = _newest_checkpoint(folder / "checkpoints")
        _forget_after(folder / "log.jsonl", checkpoint)
        trainer.train(resume_from_checkpoint=checkpoint and str(checkpoint))
        model.save_pretrained(folder / "model")
        encoder.tokenizer.model_max_length = run.spec["max_length"]  # who loads the folder truncates as the study does
        encoder.tokenizer.save_pretrained(folder / "model")
        for split in ("dev", "test"):
            if split in run.data:
                _write_scores(model, encoder, run.data[split], store.precision, folder / "scores" / f"{split}.parquet")
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    return {
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "pairs": len(pairs),
        "steps": trainer.state.global_step,
        "best_step": trainer.state.best_global_step,
        "dev_MAP": trainer.state.best_metric,
        "precision": store.precision,
        "threads": store.study.threads,
        "device": next(model.parameters()).device.type,
        "seconds": round(time.perf_counter() - started, 2),
    }


def teacher_logits(store: Store, teacher: str, pairs: Dataset) -> numpy.ndarray:
    """A teacher's logits over a pair set, (m, c) float32: computed once, stored with the set's fingerprint.

    Raises ValueError where what is stored belongs to another pair set.
    """
    content = fingerprint(pairs)
    path = work_folder() / "logits" / f"{store.identity(teacher)[:24]}-{content[:24]}.safetensors"
    if not path.exists():
        folder = store.find(teacher, need_model=True).model_folder
        encoder = PairEncoder(cross_encoder.tokenizer(folder), store.planned(teacher).spec["max_length"])
        logits = score(models.load(folder), pairs, encoder, store.precision).logits
        write_logits(path, logits, content)
    return read_logits(path, content)


def objective(spec: dict[str, Any]) -> Callable[[Any, torch.Tensor, torch.Tensor | None], NamedTuple]:
    """The loss that a spec names, as a function of (model output, labels (b,), teacher logits (b, k, c))."""
    if spec["loss"] == "ce":
        return lambda output, labels, teachers: distillation.cross_entropy(output.logits, labels)
    balance = {"alpha": spec["alpha"], "tau": spec["tau"]}
    if spec["loss"] == "kd":
        return lambda output, labels, teachers: distillation.kd(output.logits, teachers[:, 0], labels, **balance)
    if spec["loss"] == "per_head":
        return lambda output, labels, teachers: distillation.per_head(output.head_logits, teachers, labels, **balance)
    raise ValueError(f"loss: expected ce, kd or per_head, got {spec['loss']!r}")


class Items(torch.utils.data.Dataset):
    """Encoded pairs with their labels and what each teacher says of them."""

    def __init__(self, encoded: Dataset, labels: list[int], teachers: list[numpy.ndarray]):
        self.encoded = encoded
        self.labels = labels
        self.teachers = numpy.stack(teachers, axis=1) if teachers else None  # (m, k, c)

    def __len__(self) -> int:
        return len(self.encoded)

    def __getitems__(self, rows: list[int]) -> list[dict[str, Any]]:
        items = self.encoded.__getitems__(rows)
        for item, row in zip(items, rows, strict=True):
            item["labels"] = self.labels[row]
            if self.teachers is not None:
                item["teacher_logits"] = self.teachers[row]
        return items


class GroupedBatches:
    """Batches of similar length in a random order: a pure function of (lengths, batch size, steps, seed)."""

    def __init__(self, length: numpy.ndarray, batch_size: int, steps: int, seed: int, neighbours: int = 32):
        self.length, self.batch_size, self.steps, self.seed = length, batch_size, steps, seed
        self.neighbours = neighbours  # batches that are sorted by length together

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[list[int]]:
        step, epoch = 0, 0
        while step < self.steps:
            for rows in self.epoch(epoch)[: self.steps - step]:
                step += 1
                yield rows
            epoch += 1

    def epoch(self, epoch: int) -> list[list[int]]:
        """The batches of one epoch: every row once."""
        generator = numpy.random.default_rng([self.seed, epoch])
        shuffled = generator.permutation(len(self.length))
        window = self.batch_size * self.neighbours
        batches = []
        for start in range(0, len(shuffled), window):
            rows = shuffled[start : start + window]
            rows = rows[numpy.argsort(self.length[rows], kind="stable")]
            batches += [rows[i : i + self.batch_size].tolist() for i in range(0, len(rows), self.batch_size)]
        return [batches[i] for i in generator.permutation(len(batches))]


class RankingTrainer(Trainer):
    """A Trainer whose loss is an objective and whose evaluation is `score` on dev."""

    def __init__(self, *args: Any, objective, encoder: PairEncoder, log_file: Path, precision: str, **kwargs: Any):
        super().__init__(*args, data_collator=encoder.collate, **kwargs)
        self.objective, self.encoder, self.log_file, self.precision = objective, encoder, log_file, precision
        self.parts: list[dict[str, torch.Tensor]] = []
        self.started = time.perf_counter()
        self.remove_callback(PrinterCallback)

    def get_train_dataloader(self) -> DataLoader:
        length = numpy.asarray(self.train_dataset.encoded["length"])
        batches = GroupedBatches(length, self.args.train_batch_size, self.args.max_steps, self.args.seed)
        return DataLoader(self.train_dataset, batch_sampler=batches, collate_fn=self.data_collator)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels, teachers = inputs.pop("labels"), inputs.pop("teacher_logits", None)
        output = model(**inputs)
        loss = self.objective(output, labels, teachers)
        self.parts.append({name: value.detach() for name, value in loss._asdict().items()})
        return (loss.total, output) if return_outputs else loss.total

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        dev = self.eval_dataset
        found = score(self.model, dev, self.encoder, self.precision).score
        metrics = summary(dev["question_id"], dev["label"], found)
        self.log({"eval_MAP": metrics["MAP"], "eval_P@1": metrics["P@1"]})
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, {"eval_MAP": metrics["MAP"]}
        )
        return {"eval_MAP": metrics["MAP"]}

    def log(self, logs: dict[str, float], *args: Any) -> None:
        super().log(logs, *args)
        if not self.parts and "eval_MAP" not in logs:
            return  # the Trainer's closing summary
        entry: dict[str, Any] = {"step": self.state.global_step}
        if self.parts:
            for name in self.parts[0]:
                entry[name] = torch.stack([part[name] for part in self.parts]).mean(dim=0).tolist()
            self.parts = []
        entry |= {name.replace("eval_", "dev_"): logs[name] for name in ("eval_MAP", "eval_P@1") if name in logs}
        entry["seconds"] = round(time.perf_counter() - self.started, 2)
        with self.log_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def _start(store: Store, run: Run) -> tuple[torch.nn.Module, PairEncoder]:
    """The model before its first step, and what encodes its pairs."""
    if start := run.parents.get("start"):
        folder = store.find(start[0], need_model=True).model_folder
        model, tokenizer = models.load(folder), cross_encoder.tokenizer(folder)
    elif name := run.spec["backbone"].get("name"):
        model = cross_encoder.build(name, run.spec["backbone"].get("layers"))
        tokenizer = cross_encoder.tokenizer(name)
    else:
        texts = load_parts(tuple(run.data["vocabulary"]), "all")
        tokenizer = word_tokenizer([*texts["question"], *texts["answer"]], run.spec["max_length"])
        sizes = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        model = cross_encoder.build({**run.spec["backbone"]["config"], **sizes})
    if shape := run.spec.get("mhs"):
        model = MHSForSequenceClassification.from_backbone(model, **shape)
    return model, PairEncoder(tokenizer, run.spec["max_length"])


def _trainer(store, run, model, encoder, pairs, teachers, folder, progress) -> RankingTrainer:
    """The Trainer of a run: Adam, linear warm-up and decay, best dev MAP kept."""
    training = Training(**run.spec["training"])
    steps = training.steps
    every = training.evaluate_every if "dev" in run.data else None
    arguments = TrainingArguments(
        output_dir=str(folder / "checkpoints"),
        max_steps=steps,
        per_device_train_batch_size=training.batch_size,
        learning_rate=training.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=round(training.warmup * steps),
        optim="adamw_torch_fused",
        weight_decay=0.0,
        bf16=store.precision == "bf16",
        eval_strategy="steps" if every else "no",
        eval_steps=every,
        save_strategy="steps",
        save_steps=every or CHECKPOINT_EVERY,
        save_total_limit=1,
        load_best_model_at_end=every is not None,
        metric_for_best_model="MAP" if every else None,
        greater_is_better=True if every else None,
        logging_steps=every or max(1, steps // 10),
        seed=run.seed,
        report_to="none",
        disable_tqdm=not progress,
        use_cpu=not torch.cuda.is_available(),
    )
    return RankingTrainer(
        model,
        arguments,
        train_dataset=Items(encoder.encode(pairs), pairs["label"], teachers),
        eval_dataset=load_parts(tuple(run.data["dev"]), "answered") if every else None,
        callbacks=[EarlyStoppingCallback(training.patience)] if every else [],
        objective=objective(run.spec),
        encoder=encoder,
        log_file=folder / "log.jsonl",
        precision=store.precision,
    )


def _newest_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that was written whole: the Trainer writes `trainer_state.json` last."""
    complete = [path.parent for path in folder.glob("checkpoint-*/trainer_state.json")]
    return max(complete, key=_step, default=None)


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.split("-")[1])


def _forget_after(log: Path, checkpoint: Path | None) -> None:
    """Drop what was logged after the checkpoint, or everything where there is none: it will be logged again."""
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True) if log.exists() else []
    last = _step(checkpoint) if checkpoint else 0
    log.write_text("".join(line for line in lines if json.loads(line)["step"] <= last), encoding="utf-8")


def _write_scores(model, encoder: PairEncoder, parts: list[str], precision: str, path: Path) -> None:
    """Scores over every question of a split, heads beside, without any text."""
    pairs = load_parts(tuple(parts), "all")
    found = score(model, pairs, encoder, precision)
    heads = {} if found.head_logits is None else dict(enumerate(probability(found.head_logits).T))
    write_scores(path, pairs, found.score, {f"head_{i}": values for i, values in heads.items()})
