"""Operations and seconds of monolithic models, sequences of them and a cascade, over the same batches of questions."""

import statistics
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import pandas
import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from as2lib import models
from as2lib.data.encode import load_encoder
from as2lib.data.pairs import load_parts
from as2lib.models.sequential import SequentialReranker
from as2lib.papers.cascade.pruning import System, systems
from as2lib.score import on_threads

if TYPE_CHECKING:
    from as2lib.study import Study

transformers.logging.disable_progress_bar()  # one a model that is loaded

Batch = dict[str, torch.Tensor]


def at_hand(study: "Study") -> bool:
    """Whether every model is here, not only its published scores."""
    runs = [study.run("cascade/wide/seed-0"), *(study.run(f"monolith/{n}/wide/seed-0") for n in study.cascade.exits)]
    return all((run.folder / "model").exists() for run in runs)


def question_batches(study: "Study", folder: Path, questions: int) -> list[Batch]:
    """The first questions of the wide test set, one a batch, encoded as for the model in `folder`."""
    encoder = load_encoder(folder)
    pairs = load_parts(tuple(study.wide.test), "answered")
    ids = numpy.asarray(pairs["question_id"])
    items = encoder.encode(pairs)
    first = islice(dict.fromkeys(ids.tolist()), questions)
    return [encoder.collate(items.__getitems__(numpy.flatnonzero(ids == name).tolist())) for name in first]


def measure(study: "Study", questions: int = 3, rounds: int = 3) -> tuple[pandas.DataFrame, list[int]]:
    """What each row of Table 3 takes over the first wide test questions, relative to the model of all layers.

    Columns: `FLOPs` and `FLOPs %`, which any machine counts alike; `ms a question` and `time %`, medians over `rounds`,
    the systems taking turns.  Also returns the number of candidates of each of these questions.
    """
    exits = study.cascade.exits
    cascade = models.load(study.run("cascade/wide/seed-0").model_folder).eval()
    members = [models.load(study.run(f"monolith/{n}/wide/seed-0").model_folder).eval() for n in exits]
    batches = question_batches(study, study.run("cascade/wide/seed-0").model_folder, questions)
    calls = {system: _call(system, exits, cascade, members, batches) for system in systems(study)}
    with on_threads(study.threads), torch.inference_mode():
        flops = {system: _flops(call) for system, call in calls.items()}
        seconds: dict[System, list[float]] = {system: [] for system in calls}
        for _ in range(rounds):
            for system, call in calls.items():
                started = time.perf_counter()
                call()
                seconds[system].append(time.perf_counter() - started)
    medians = {system: statistics.median(values) for system, values in seconds.items()}
    whole = System("MT", exits[-1])
    rows = {
        str(system): {
            "FLOPs a question (M)": flops[system] / questions / 1e6,
            "FLOPs %": 100 * (flops[system] / flops[whole] - 1),
            "ms a question": 1000 * medians[system] / questions,
            "time %": 100 * (medians[system] / medians[whole] - 1),
        }
        for system in calls
    }
    sizes = [len(batch["input_ids"]) for batch in batches]
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("system"), sizes


def _call(system: System, exits: Sequence[int], cascade, members, batches: list[Batch]) -> Callable[[], None]:
    """Ranks every batch as the system does."""
    place = exits.index(system.layers)
    if system.method == "MT":
        return lambda: [members[place](**batch) for batch in batches] and None
    if system.method == "SR":
        sequence = SequentialReranker([lambda batch, model=model: _margin(model(**batch).logits) for model in members])
        return lambda: [sequence.rank(batch, system.alpha) for batch in batches] and None
    if not system.alpha:
        return lambda: [cascade(**batch, only_exit=place) for batch in batches] and None
    return lambda: [cascade.rank(batch, system.alpha) for batch in batches] and None


def _margin(logits: torch.Tensor) -> torch.Tensor:
    return logits[:, 1] - logits[:, 0]


def _flops(call: Callable[[], None]) -> int:
    """Operations of matrix products; attention as plain products, since the counter knows no fused one."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()
