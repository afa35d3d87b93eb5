"""The training loop: any model of pairs, by any loss, the weights of the best dev MAP; a killed fit goes on."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy
import torch
from datasets import Dataset
from datasets.fingerprint import Hasher
from safetensors.torch import save_model
from torch import nn
from tqdm.auto import tqdm
from transformers import set_seed

from as2lib import models, plugins
from as2lib.data.columns import NoLabels
from as2lib.data.encode import PairEncoder, fitting_length, load_encoder, paired, word_tokenizer
from as2lib.data.pairs import Source, filter_questions, fingerprint, load_pairs, require_apart
from as2lib.data.sets import is_watched, note
from as2lib.data.words import WordEncoder
from as2lib.fit import checkpoint, objectives
from as2lib.fit.batches import Batches, Examples
from as2lib.fit.checkpoint import CHECKPOINT, LOG, Entry, Progress
from as2lib.fit.schedules import CLIP, drawn_exit, rate
from as2lib.fit.teachers import Teacher, is_logits, teacher_logits
from as2lib.metrics import cost
from as2lib.metrics.questions import Questions
from as2lib.metrics.ranking import summary
from as2lib.models import NOTHING, auto, cross_encoder  # noqa: F401  (auto: so that transformers knows our models)
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.paths import PARAMS, expanded, read_yaml, whole_file
from as2lib.precision import computing_on
from as2lib.score import autocast, log_odds, score

LINE_SECONDS = 30.0  # between lines that say how far a fit is, where no bar does
CHECKPOINT_SECONDS = 60.0  # between checkpoints, at least: what a killed fit loses
EPOCHS, BATCH_SIZE = 3, 32
PAIRS_MEASURED = 20_000  # pairs by which the length of all is told
Encoder: TypeAlias = PairEncoder | WordEncoder


@dataclass
class Fit:
    """A fitted model, with what encodes its pairs.

    facts: parameters, pairs, steps, best_step, dev_MAP, precision, threads, device, seconds.
    log: an entry for each evaluation: step, the loss's parts since the one before, dev_MAP, dev_P@1, seconds.
    last: the weights after the last step, where those of the best dev MAP, which are kept, are others.
    """

    model: nn.Module
    encoder: Encoder
    facts: dict[str, Any]
    log: list[Entry]
    last: dict[str, torch.Tensor] | None = None

    def save(self, folder: str | Path) -> None:
        """Leave a model folder, which `Ranker.load` and plain transformers open.

        Of a module that is none of transformers' the tensors alone, for `safetensors.torch.load_model`.
        """
        folder = expanded(folder)
        if hasattr(self.model, "save_pretrained"):
            self.model.save_pretrained(folder)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            save_model(self.model, str(folder / "model.safetensors"))
        self.encoder.save(folder)
        for weights in folder.rglob("*.safetensors"):  # which safetensors writes for their owner alone
            weights.chmod(folder.stat().st_mode & 0o666)


def train(
    pairs: Source,
    model: nn.Module | str | Path | None = None,
    loss: str | Callable[..., Any] | None = None,
    teachers: Sequence[Teacher] = (),
    dev: Source | None = None,
    *,
    encoder: Encoder | None = None,
    seed: int = 0,
    epochs: int | None = None,
    steps: int | None = None,
    learning_rate: float | None = None,
    batch_size: int | None = None,
    batch_tokens: int | None = None,
    warmup: float = 0.1,
    ratio: float | None = None,
    evaluate_every: int | None = None,
    patience: int | None = None,
    alpha: float = 0.5,
    tau: float = 3.0,
    settings: dict[str, Any] | None = None,
    unit: str | None = None,
    schedule: str = "uniform",
    max_length: int | None = None,
    precision: str = "float32",
    device: str | torch.device | None = None,
    folder: str | Path | None = None,
    callbacks: Sequence[Callable[[Entry, nn.Module], bool | None]] = (),
    progress: bool | str | None = None,
    allow_shared_questions: bool = False,
) -> Fit:
    """Fit a model to pairs: Adam, a learning rate that rises and falls linearly, the weights of the best dev MAP.

    pairs, dev: a `Dataset` that `load_pairs` returned, or what it reads, every question.  Without dev the last weights
        are kept; its MAP is that of the questions with both a correct and an incorrect candidate.
    model: a module, which is trained in place, with its `encoder`; or a folder or hub name (default: MiniLM; "nothing"
        is a small new encoder), whose classifier starts anew from `seed` where it has none, with a head for each
        teacher where the loss has them.
    loss: a name in `LOSSES`, default: ce, kd from one teacher, per_head from several; or one's own, a function or
        "package.module:function", called as `loss(output, targets, **settings)` (see `objectives.objective`).
    teachers: folders, hub names, models with their encoders, or logits over the pairs, which are then a `Dataset` of
        `load_pairs` (see `teacher_logits`).
    epochs: passes over the pairs (default: 3).  steps: instead, batches.
    batch_size: pairs in a batch (default: 32); of an encoder whose items are questions: questions.
    batch_tokens: instead, tokens in a batch of pairs at most, padding included.
    learning_rate: the highest; default: 4e-5, from nothing 5e-4.
    warmup: share of the steps in which the rate rises.  ratio: see `schedules.rate`.
    evaluate_every: steps between entries of the log; default: a tenth of all, rounded up.
    patience: evaluations without a better dev MAP after which the fit ends; default: it never does.
    alpha, tau: of distillation: the weight of the labels, and the temperature.
    unit: "question" keeps the candidates of a question, 30 at most, in one batch; default: as the loss needs.
    schedule: which exit of a cascade learns in a step (see `schedules.drawn_exit`).
    max_length: tokens of a pair at most, where the model is a name; default: what holds 99 of 100 pairs whole.
    precision: "float32", or "bf16" for the encoder; the classifier and the loss compute in float32.
    device: default: the GPU where there is one.
    folder: where log.jsonl and the checkpoint are written; a fit that was killed goes on from there, and ends with the
        weights of an uninterrupted one; it loses a minute at most.  It may go once the fit is saved.
    callbacks: called with each entry of the log and the model; where one returns True (a number is none), the fit ends.
    progress: whether it is said how far the fit is: by a bar on a terminal or in a notebook, else by a line each half
        minute, which begins with the text that is given; default: where a bar may be seen.
    allow_shared_questions: whether pairs and dev may have questions in common.
    The same seed, machine and number of torch's threads give the same weights, bit for bit.
    Raises ValueError for an unknown loss, a number out of its bounds, a loss that is not a number, and a folder with
    the checkpoint of another fit.
    """
    above_0 = {"epochs": epochs, "steps": steps, "batch_size": batch_size, "batch_tokens": batch_tokens, "ratio": ratio}
    above_0 |= {"learning_rate": learning_rate, "tau": tau, "evaluate_every": evaluate_every, "patience": patience}
    for name, value in above_0.items():
        if value is not None and not value > 0:
            raise ValueError(f"{name}: expected a number above 0, got {value!r}")
    if (steps and epochs) or (batch_size and batch_tokens):
        raise ValueError("steps: expected steps or epochs, and batch_size or batch_tokens, got both")
    if not (0 <= alpha <= 1 and 0 <= warmup <= 1 and unit in (None, "pair", "question")):
        raise ValueError(f"alpha, warmup, unit: expected 0 to 1, pair or question; got {alpha!r}, {warmup!r}, {unit!r}")
    model = models.DEFAULT_ENCODER if model is None else model
    learning_rate = learning_rate or models.LEARNING_RATES[model == NOTHING]
    progress = is_watched() if progress is None else progress
    bars = bool(progress) and is_watched()
    if not isinstance(teachers, list | tuple):
        raise ValueError(f"teachers: expected a list of them, got {type(teachers).__name__}")
    pairs, dev = _pairs(pairs, teachers), None if dev is None else load_pairs(dev, questions="all")
    if dev is not None and not len(filter_questions(dev, "mixed")):
        note("dev: no question has both a correct and an incorrect candidate: the last weights are kept")
        dev = None
    if patience is not None and dev is None:
        raise ValueError("patience: expected a dev set with correct and incorrect candidates of a question, got none")
    if dev is not None and not allow_shared_questions:
        require_apart({"train": pairs, "dev": dev}, way_out="or allow_shared_questions=True")
    loss = objectives.checked(loss, len(teachers))
    which = objectives.named(loss)
    labels = set(pairs["label"][:] if "label" in pairs.column_names else [])
    if "labels" in which.reads and len(labels) < 2:
        got = f"the label {labels.pop()} alone" if labels else "none"
        raise ValueError(f"loss {loss}: expected labels, of correct and of incorrect candidates; got {got}")
    device = torch.device(computing_on(device))
    loss = loss.to(device) if isinstance(loss, nn.Module) else loss  # the weights of its classes
    with reproducible():
        if not isinstance(model, nn.Module):
            encoder, start = (encoder, model) if encoder else encoder_of(model, pairs, max_length)
            set_seed(seed)
            model = cross_encoder.build(start)
            if which.heads and not isinstance(model, MHSForSequenceClassification):  # which share all layers but one
                body = getattr(model.config, "num_hidden_layers", 0) - 1
                model = MHSForSequenceClassification.from_backbone(model, body, len(teachers))
        elif encoder is None:
            raise ValueError("encoder: expected what encodes pairs for the model; load_encoder(folder) gives it")
        set_seed(seed)  # dropout and batches come from it, and new weights
        model = cross_encoder.for_ranking(model).to(device)
        encoder = paired(model, encoder)
        config = getattr(model, "config", None)
        if unit is None or which.unit == "question":
            unit = which.unit
            if config is not None and (unit == "question" or hasattr(config, "probabilities")):
                config.probabilities = unit == "pair"  # else a score only orders the candidates of a question
        objective = objectives.objective(loss, alpha, tau, settings)
        logits = [teacher_logits(teacher, pairs, precision, device, bars) for teacher in teachers]
        question = Questions.together(pairs["question_id"][:]).code if unit == "question" else None
        examples = Examples(pairs, encoder, numpy.stack(logits, axis=1) if logits else None, question)
        batch_size = batch_size or (None if batch_tokens else BATCH_SIZE)
        batches = Batches(examples, batch_size, seed, batch_tokens)
        steps = steps or sum(len(batches.epoch(epoch)) for epoch in range(epochs or EPOCHS))
        every = evaluate_every or -(-steps // 10)
        exits = len(getattr(config, "exits", ()))
        optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0, fused=True)
        state, path = Progress(), None
        if folder is not None:
            path = expanded(folder) / CHECKPOINT
            numbers = [seed, steps, batch_size, batch_tokens, learning_rate, warmup, ratio, every, patience, alpha, tau]
            code = plugins.source(loss) if plugins.is_path(loss) else getattr(loss, "__code__", None)
            own = (loss if callable(loss) else repr(loss)), code
            contents = [examples.fingerprint, dev and fingerprint(dev), examples.teachers, own]
            weights = [tensor.cpu().reshape(-1).view(torch.uint8).numpy() for tensor in model.state_dict().values()]
            identity = Hasher.hash([numbers, contents, str(model), weights, settings, unit, schedule, precision])
            state = checkpoint.resume(path, identity, model, optimizer, device)

        saved = spoken = time.perf_counter()
        started = saved - state.seconds
        upcoming = batches.since(state.step)
        model.train()
        if progress and state.step:
            print(f"goes on from step {state.step} of {steps}", file=sys.stderr, flush=True)
        with tqdm(total=steps, initial=state.step, desc="steps", unit="step", disable=not bars, leave=None) as pace:
            while state.step < steps and not state.over:
                optimizer.param_groups[0]["lr"] = learning_rate * rate(state.step, steps, warmup, ratio)
                exit_number = {"only_exit": drawn_exit(schedule, exits, state.step, steps, seed)} if exits else {}
                inputs, targets = examples.batch(next(upcoming), device)
                with autocast(device.type, precision):
                    output = model(**inputs, **exit_number)
                losses = objective(output, targets, state.step)
                losses.total.backward()
                state.add(losses, nn.utils.clip_grad_norm_(model.parameters(), CLIP))
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                state.step += 1

                if state.step % every == 0 or state.step == steps:
                    entry = {"step": state.step, **state.means()}
                    if dev is not None:
                        scores = score(model, dev, encoder, precision, progress=bars)
                        odds = log_odds(scores.logits)  # probabilities tie at 1
                        metrics = summary(dev["question_id"][:], dev["label"][:], odds, "mixed")
                        entry |= {"dev_MAP": metrics["MAP"], "dev_P@1": metrics["P@1"]}
                        state.keep_best(entry["dev_MAP"], model)
                        state.over = patience is not None and state.waited >= patience
                    entry["seconds"] = round(time.perf_counter() - started, 2)
                    state.log.append(entry)
                    pace.set_postfix(loss=entry["total"], dev_MAP=entry.get("dev_MAP", "none"), refresh=False)
                    state.over |= any([callback(entry, model) in (True,) for callback in callbacks])
                    model.train()
                    if path is not None:
                        with whole_file(path.with_name(LOG)) as temporary:
                            temporary.write_text("".join(f"{json.dumps(entry)}\n" for entry in state.log))
                if path is not None and time.perf_counter() - saved >= CHECKPOINT_SECONDS:
                    state.seconds = time.perf_counter() - started
                    checkpoint.write(path, identity, model, optimizer, state)
                    saved = time.perf_counter()
                pace.update()
                if progress and not bars and time.perf_counter() - spoken >= LINE_SECONDS:
                    fit = progress if isinstance(progress, str) else "training"
                    print(f"{fit}: step {state.step} of {steps}", file=sys.stderr, flush=True)
                    spoken = time.perf_counter()

        last = None
        if state.best is not None and state.best_step != state.step:
            last = deepcopy(model.state_dict())
            model.load_state_dict(state.best)
        facts = {
            "parameters": cost.parameters(model),
            "pairs": len(pairs),
            "steps": state.step,
            "best_step": state.best_step,
            "dev_MAP": state.dev_MAP,
            "precision": precision,
            "threads": torch.get_num_threads(),
            "device": device.type,
            "seconds": round(time.perf_counter() - started, 2),
        }
    return Fit(model.eval(), encoder, facts, state.log, last)


# ---------------------------------------------------------------- before the first step


def measured(pairs: Dataset) -> Dataset:
    """Pairs of a set by which the length of all is told."""
    return pairs.select(range(0, len(pairs), 1 + len(pairs) // PAIRS_MEASURED))


def encoder_of(name: str | Path, pairs: Dataset, max_length: int | None) -> tuple[PairEncoder, Any]:
    """What encodes the pairs, and what a model is built from: a name, or the configuration of a small new one.

    max_length: tokens of a pair at most; default: what holds 99 of 100 pairs whole.
    """
    if name == NOTHING:
        texts = [*pairs["question"][:], *pairs["answer"][:]]
        length = max_length or fitting_length(measured(pairs), PairEncoder(word_tokenizer(texts, 512), 512))
        encoder = PairEncoder(word_tokenizer(texts, length), length)
        start = read_yaml(PARAMS / "sample.yaml")["study"]["teachers"]["electra"]["config"]
        start |= {"vocab_size": len(encoder.tokenizer), "pad_token_id": encoder.tokenizer.pad_token_id}
        return encoder, start | {"max_position_embeddings": length}
    encoder = load_encoder(name, max_length)
    if not isinstance(encoder, PairEncoder):
        raise ValueError(f"model {name}: expected a transformer, got a model that reads words")
    if max_length is None:
        encoder = PairEncoder(encoder.tokenizer, fitting_length(measured(pairs), encoder))
    return encoder, name


def _pairs(pairs: Source, teachers: Sequence[Teacher] = ()) -> Dataset:
    """Pairs as `load_pairs` reads them, every question.

    Raises ValueError where there is no row, and where logits stand beside rows that reading moved or left out.
    """
    try:
        table = load_pairs(pairs, questions="all")
    except NoLabels:
        table = load_pairs(pairs, questions=None)
    if any(map(is_logits, teachers)) and not (isinstance(pairs, Dataset) and fingerprint(pairs) == fingerprint(table)):
        expected = "expected the Dataset that load_pairs returns, whose rows they are"
        raise ValueError(f"pairs: beside a teacher's logits {expected}; got {type(pairs).__name__}, which it reads")
    return table


@contextmanager
def reproducible() -> Iterator[None]:
    """Inside, torch computes the same bits again; afterwards it is set as it was."""
    deterministic = torch.are_deterministic_algorithms_enabled()
    fills = torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # a write of every new tensor, against unset values
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(deterministic)
        torch.utils.deterministic.fill_uninitialized_memory = fills
