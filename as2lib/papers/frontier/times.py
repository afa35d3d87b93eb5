"""Measured milliseconds of the systems on the front, from their shapes alone: random weights and words, no score read.

A system takes as long as its stages together, each timed alone over the candidates that the stages before it leave.
"""

from collections.abc import Callable
from timeit import timeit
from typing import TYPE_CHECKING, Any

import numpy
import pandas
import torch

from as2lib.models.cross_encoder import build
from as2lib.papers.cerberus.longer import twin
from as2lib.papers.frontier.rankers import Ranker, rankers, reached
from as2lib.papers.frontier.systems import BASE, BASELINE
from as2lib.papers.frontier.tables import COST, answered_sizes, front, label
from as2lib.runs import costs
from as2lib.runs.fit.start import WORD_MODELS
from as2lib.runs.run import Run
from as2lib.runs.wording import listed, some, span
from as2lib.score import on_threads

if TYPE_CHECKING:
    from as2lib.study import Study

ROUNDS = 7  # passes, of which the median counts
CLOSE = 1.2  # times within this factor count as one: measured again, medians of one shape differ by as much or more
VOCABULARY = 1000  # distinct words that a random text is drawn from
UNITS = 32  # of an attention head, where they go into the width
TIME, BY_TIME, BY_OPERATIONS, STAYS = "ms a question", "time ×", "operations ×", "on the front of time"
NOTE = (
    "ms: one forward pass over a question of the mean number of candidates, of mean words, without padding; median of "
    f"{ROUNDS} passes, float32, random weights, BERT's layers with attention heads of {UNITS} units, nothing "
    "tokenised; comparing words is not timed. ×: of the base model's. MAP as in the other tables. On the front of "
    f"time: no other has as much MAP in less time by a factor of {CLOSE:g}; medians of one shape may differ by that."
)


def asked(study: "Study", rows: pandas.DataFrame) -> dict[str, Any]:
    """What decides the measurement, as JSON values: of each system its parts, with how many candidates they score.

    rows: from `tables.table`.  The systems: those that the table of the front shows, and the base model.
    """
    words, candidates = costs.lengths(study), answered_sizes(study.run(BASELINE).scores())
    first, shown = front(rows)
    names = {label(study, twin(study, BASE)), *first.index[:shown]}
    systems = {one.label: parts(study, one, candidates) for one in rankers(study) if one.label in names}
    sizes = {**words._asdict(), "pair": costs.tokens(study, words)}
    sizes = {name: round(length) for name, length in sizes.items()}
    return {"systems": systems, "words": sizes, "rounds": ROUNDS, "threads": study.threads}


def parts(study: "Study", ranker: Ranker, candidates: numpy.ndarray) -> list[dict[str, Any]]:
    """What a ranker computes: layers of an encoder or a model over words, and the mean number of candidates, rounded.

    candidates: (q,), of each question.  An exit of a cascade is the layers behind the exit before it.
    """
    found, done = [], 0
    for stage, many in reached(ranker, candidates):
        shapes = shapes_of(study, study.plan[study.store.below(stage.prefix)[0]])
        if stage.column.startswith("exit_"):
            exit_layer = int(stage.column.removeprefix("exit_"))
            shapes, done = [shape | {"layers": exit_layer - done} for shape in shapes], exit_layer
        elif done and stage.prefix == ranker.stages[0].prefix:  # the heads behind a student's own exits
            shapes = [shape | {"layers": shape["layers"] - done} for shape in shapes]
        found += [shape | {"candidates": max(1, round(many))} for shape in shapes]
    return found


def shapes_of(study: "Study", run: Run) -> list[dict[str, Any]]:
    """The models that a run is made of, by their sizes: an ensemble its members, a trivial ranker none."""
    if run.kind == "lexical":
        return []
    if run.kind == "ensemble":
        return [shape for name in run.parents["members"] for shape in shapes_of(study, study.plan[name])]
    if spec := run.spec.get("words"):
        return [{**spec, "vectors": spec["vectors"]["dimensions"], "dropout": 0.0}]
    return [dict(zip(("layers", "width", "inner"), costs.encoder(study, run), strict=True))]


def measure(asked: dict[str, Any]) -> dict[str, float]:
    """Milliseconds a question of each system, its parts taking turns with all others.  asked: from `asked`."""
    distinct = {str(part): part for found in asked["systems"].values() for part in found}
    with torch.random.fork_rng(), torch.inference_mode(), on_threads(asked["threads"]):
        torch.manual_seed(0)
        calls = {name: _call(part, asked["words"]) for name, part in distinct.items()}
        turns = [{name: timeit(call, number=1) for name, call in calls.items()} for _ in range(1 + asked["rounds"])]
    seconds = pandas.DataFrame(turns[1:], columns=list(calls)).median()
    return {name: 1000 * float(sum(seconds[str(part)] for part in found)) for name, found in asked["systems"].items()}


def _call(part: dict[str, Any], words: dict[str, int]) -> Callable[[], Any]:
    """A forward pass of a part over random words."""
    sizes = dict(part)
    many = sizes.pop("candidates")
    if "layers" in sizes:
        heads = sizes["width"] // UNITS if sizes["width"] % UNITS == 0 else 1
        config = {"model_type": "bert", "vocab_size": VOCABULARY, "num_attention_heads": heads}
        config |= {"num_hidden_layers": sizes["layers"], "hidden_size": sizes["width"]}
        model = build({**config, "intermediate_size": sizes["inner"]}).eval()
        ids = torch.randint(VOCABULARY, (many, words["pair"]))
        return lambda: model(input_ids=ids)
    model = WORD_MODELS[sizes.pop("type")](torch.randn(VOCABULARY, sizes.pop("vectors")), **sizes).eval()
    batch = {
        "question_words": torch.randint(VOCABULARY, (words["question"],)),
        "question_lengths": torch.tensor([words["question"]]),
        "candidate_words": torch.randint(VOCABULARY, (many * words["candidate"],)),
        "candidate_lengths": torch.full((many,), words["candidate"]),
        "candidates": torch.tensor([many]),
    }
    return lambda: model(**batch)


def table(study: "Study", rows: pandas.DataFrame, measured: dict[str, float]) -> pandas.DataFrame:
    """A row for each timed system, in the order of its time: MAP, milliseconds, and both costs over the base model's.

    `STAYS`: whether none of the timed systems has as much MAP in less time by the factor `CLOSE`.
    rows: from `tables.table`.  measured: from `measure`.
    """
    base, time = label(study, twin(study, BASE)), pandas.Series(measured)
    timed = rows.loc[time.index, ["kind", "MAP", COST, "front"]]
    stays = [not (timed["MAP"][time * CLOSE < own] >= timed.loc[name, "MAP"]).any() for name, own in time.items()]
    found = {TIME: time, BY_TIME: time / time[base], BY_OPERATIONS: timed[COST] / timed.loc[base, COST], STAYS: stays}
    timed = timed.assign(**found).drop(columns=COST)
    return timed.sort_values([TIME, "MAP"], kind="stable").rename_axis("system")


def shown(timed: pandas.DataFrame) -> pandas.DataFrame:
    """The table with yes and no.  timed: from `table`."""
    return timed.assign(**{name: timed[name].map({True: "yes", False: "no"}) for name in ("front", STAYS)})


def sentences(timed: pandas.DataFrame) -> list[str]:
    """Which systems of the front stay on it by a clock, and which take longest for their operations."""
    here = timed[timed["front"]]
    said = [f"Of the front by operations, on the front by measured time too: {some(here[STAYS].sum(), len(here))}."]
    counted = timed[timed[BY_OPERATIONS] > 0]
    longer = counted[BY_TIME] / counted[BY_OPERATIONS]
    if len(counted) > 1:
        order = counted[BY_TIME].corr(counted[BY_OPERATIONS], method="spearman")
        slow = longer[longer * CLOSE >= longer.max()].sort_values(ascending=False)
        said += [
            f"Over {len(counted)} timed systems, time and operations have rank correlation {order:.2f}; for their "
            f"operations take longest, {span(slow.min(), slow.max())} times what the base model would: "
            f"{listed([f'“{name}”' for name in slow.index])}."
        ]
    return said
