"""Operations and seconds of monolithic models, sequences of them and a cascade, over the same batches of questions."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from timeit import timeit
from typing import TYPE_CHECKING, Any

import numpy
import pandas
import torch
import transformers
from transformers import PreTrainedModel

from as2lib import models
from as2lib.data.encode import load_encoder
from as2lib.data.pairs import load_parts
from as2lib.metrics.cost import cascade_cost, flops, survivors
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.cross_encoder import build
from as2lib.models.sequential import SequentialReranker
from as2lib.papers.cascade.systems import PAPER_EXITS, Scheme, schemes
from as2lib.runs.reach import encoder_at_hand
from as2lib.runs.results import published
from as2lib.score import on_threads

if TYPE_CHECKING:
    from as2lib.study import Study

transformers.logging.disable_progress_bar()  # one a model that is loaded


def asked(study: "Study") -> dict[str, Any]:
    """What decides the measurement, as JSON values."""
    identities = [study.store.identity(name) for name in _names(study)]
    return {"models": identities, "alphas": study.cascade.alphas, "threads": study.threads}


def measure(study: "Study", questions: int = 3, rounds: int = 3) -> dict[str, Any] | None:
    """What each row of Table 3 takes over the first wide test questions; None where no model of them is here.

    Columns: `FLOPs a question (M)`, which any machine counts alike, and `ms a question`, the median over `rounds`, the
    systems taking turns; each also relative to the model of all layers: `FLOPs %`, `time %`.
    These columns stand under `work`, under `sizes` the number of candidates of each of these questions, and under
    `untrained` the runs for which an untrained model of the same shape stands in.
    """
    folders = {name: study.run(name).folder / "model" for name in _names(study)}
    kept = {name: folder for name, folder in folders.items() if folder.exists()}
    untrained = [name for name in folders if name not in kept]
    found = [models.load(kept[name]) if name in kept else _untrained(study, name) for name in folders]
    if not kept or None in found:
        return None
    batches = question_batches(study, next(iter(kept.values())), questions)
    calls = {str(row): _call(study, row, [model.eval() for model in found], batches) for row in schemes(study)}
    with on_threads(study.threads), torch.inference_mode():
        counted = pandas.Series({name: flops(call) for name, call in calls.items()})
        turns = [{name: timeit(call, number=1) for name, call in calls.items()} for _ in range(rounds)]
    seconds, whole = pandas.DataFrame(turns).median(), str(Scheme("MT", study.cascade.exits[-1]))
    columns = {
        "FLOPs a question (M)": counted / questions / 1e6,
        "FLOPs %": 100 * (counted / counted[whole] - 1),
        "ms a question": 1000 * seconds / questions,
        "time %": 100 * (seconds / seconds[whole] - 1),
    }
    sizes = [len(batch["input_ids"]) for batch in batches]
    return {"work": pandas.DataFrame(columns).to_dict(), "sizes": sizes, "untrained": untrained}


def _names(study: "Study") -> list[str]:
    return ["cascade/wide/seed-0", *(f"monolith/{n}/wide/seed-0" for n in study.cascade.exits)]


def _untrained(study: "Study", name: str) -> PreTrainedModel | None:
    """A model of a run's shape with a new classifier; None where its encoder is not here, or is itself made here."""
    spec = study.plan[name].spec
    backbone = spec.get("backbone", {})
    if "name" not in backbone or not encoder_at_hand(backbone["name"]):
        return None
    model = build(backbone["name"], backbone["layers"])
    return CascadeTransformer.from_backbone(model, **spec["cascade"]) if "cascade" in spec else model


def note_untrained(study: "Study", measured: dict[str, Any]) -> str:
    """Of which systems an untrained model was measured; empty where of none."""
    count, all_ = len(measured.get("untrained", [])), len(_names(study))
    stand_in = f"Untrained models of the same shape stand in for {count} of the {all_}, whose weights are not kept: "
    return f"{stand_in}weights decide only which candidates are left." if count else ""


def question_batches(study: "Study", folder: Path, questions: int) -> list[dict[str, torch.Tensor]]:
    """The first questions of the wide test set, one a batch, encoded as for the model in `folder`."""
    encoder, pairs = load_encoder(folder), load_parts(tuple(study.wide.test), "answered")
    ids, items = numpy.asarray(pairs["question_id"]), encoder.encode(pairs)
    first = islice(dict.fromkeys(ids.tolist()), questions)
    return [encoder.collate(items.__getitems__(numpy.flatnonzero(ids == name).tolist())) for name in first]


def _call(study: "Study", scheme: Scheme, found: list[PreTrainedModel], batches: list[dict]) -> Callable[[], list[Any]]:
    """Ranks every batch as the scheme does.  found: the models of `_names`."""
    (cascade, *members), place, alpha = found, study.cascade.exits.index(scheme.layers), scheme.alpha
    if scheme.method == "MT":
        return lambda: [members[place](**batch) for batch in batches]
    if scheme.method == "SR":
        margins = [lambda batch, model=model: model(**batch).logits.diff(dim=1)[:, 0] for model in members]
        sequence = SequentialReranker(margins)
        return lambda: [sequence.rank(batch, alpha) for batch in batches]
    if alpha:
        return lambda: [cascade.rank(batch, alpha) for batch in batches]
    return lambda: [cascade(**batch, only_exit=place) for batch in batches]


def throughput(study: "Study") -> tuple[dict[str, float], str]:
    """The batch that a layer sees on average in the paper's example (section 4.3.2), with its exits and with ours.

    It is what bounds memory where each layer's batch is freed.  Also returns what that means, in a sentence.
    """
    said = published("cascade_batches").set_index("quantity")["value"]
    start, limit = (int(said[name]) for name in ("candidates of the example", "largest batch that fits"))
    alpha, own = said["alpha of the example"], study.cascade.exits
    papers, ours = (start * cascade_cost(exits[-1], exits, alpha, start) for exits in (PAPER_EXITS, own))
    left = ", ".join(map(str, survivors(len(PAPER_EXITS), alpha, start)[1:]))
    return {"average_batch": papers, "average_batch_own_exits": ours}, (
        f"{start} candidates at alpha {alpha:g} shrink to {left}: {papers:.1f} a layer on average (the paper: "
        f"{said['average batch']:g}), so where {limit} fit, throughput grows by {100 * (start / limit - 1):.0f} % (the "
        f"paper: {said['more throughput (%)']:.0f} %). With the exits of this study the average is {ours:.1f}."
    )
