"""What a run takes before it is made: operations, seconds and bytes, by its spec and by what runs took here.

Operations are those of matrix products, two a multiply-add, of pairs as long as `max_length`: rather too many.
"""

import heapq
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from as2lib import hub
from as2lib.paths import find_root, model_origin
from as2lib.study.recipes import Encoder, Ranker
from as2lib.study.run import Run
from as2lib.study.store import Store

if TYPE_CHECKING:
    from as2lib.study.worker import Queue

SHARE_OF_PEAK = 0.4  # of a device's peak, where nothing was measured
PEAK = {  # floating point operations a second, of dense products, as NVIDIA's data sheets have them
    "A100": {"float32": 19.5e12, "bf16": 312e12},
    "H100": {"float32": 67e12, "bf16": 989e12},
}
CORE_OPERATIONS = (
    600e9  # the same of a core, between old ones and new ones, as pairs are a third as long as they may be
)
STEP_SECONDS = 0.004  # that a tiny model takes all the same
DERIVED_SECONDS = 1.0  # of a run that trains nothing
WORDS_STEP_OPERATIONS = 2e9  # of a step of a model without a transformer, roughly
ENCODER_SIZES = {  # layers, hidden units and units between, of encoders whose config.json is not here
    "google/electra-large-discriminator": (24, 1024, 4096),
    "FacebookAI/roberta-large": (24, 1024, 4096),
    "albert/albert-xxlarge-v2": (12, 4096, 16384),
    "microsoft/deberta-v2-xxlarge": (48, 1536, 6144),
    "facebook/xlm-roberta-xl": (36, 2560, 10240),
}
BASE_SIZES = (12, 768, 3072)  # a BASE model's
VOCABULARY_TOKENS = 30_000
PAIRS_OF_SETS = {  # in the splits of known sets
    "wikiqa:train": 8_672,
    "wikiqa:dev": 1_130,
    "wikiqa:test": 6_165,
    "asnq:train": 20_377_568,
    "asnq:dev": 463_914,
    "asnq:test": 466_148,
}
PAIRS_OF_OTHERS = 10_000  # in any other source that is no file
PAIRS_A_QUESTION = 30
BYTES_A_PAIR = 150  # of a file of pairs
LIBRARY_MEGABYTES = 4_000
COPIES = 6  # of a fit's weights: these, gradients, Adam's two moments, the best ones and a checkpoint
LONGEST_MINUTES = 24 * 60  # that a worker asks for: one that needs more is put back in the queue, and goes on


def seconds_of(store: Store) -> Callable[[Run], float]:
    """The seconds of a study's runs: by what fits of such a model took here, else fits of any; else by the device."""
    measured = _measured(store)
    peak = PEAK["A100"][store.study.precision] if store.study.gpu else CORE_OPERATIONS * store.study.threads

    def seconds(run: Run) -> float:
        if run.kind != "fit":
            return max(DERIVED_SECONDS, operations(run) / (SHARE_OF_PEAK * peak))
        if ratio := measured.get(_shape(run)) or measured.get(None):
            return operations(run) * ratio
        return operations(run) / (SHARE_OF_PEAK * peak) + STEP_SECONDS * steps(run)

    return seconds


def device_of(store: Store) -> str:
    """What `seconds_of` means, as `as2 plan` says it."""
    device = "an A100" if store.study.gpu else "this processor"
    return "as fits took here" if _measured(store) else f"on {device}, as nothing was timed here"


def _measured(store: Store) -> dict[Any, float]:
    """Shape of a model, and None for all → seconds an operation, the median of the fits that were made here."""
    ratios = defaultdict(list)
    for run in store.plan.values():
        stored = store.find(run.name) if run.kind == "fit" else None
        if stored is None or stored.scores_only or not stored.facts.get("seconds"):
            continue
        share = stored.facts.get("steps", steps(run)) / steps(run)  # it may have ended early
        for key in (_shape(run), None):
            ratios[key].append(stored.facts["seconds"] / (share * operations(run)))
    return {shape: median(values) for shape, values in ratios.items()}


def wall_time(queue: "Queue", seconds: Callable[[Run], float], plan: dict[str, Run], workers: int) -> float:
    """Seconds until so many workers, which take runs as `Queue.ready` says, have made all that is missing."""
    running: list[tuple[float, str]] = []
    now, ended = 0.0, set()
    while True:
        running_names = {name for _, name in running}
        for name in queue.ready(ended.__contains__) if len(running) < workers else ():
            if name not in running_names:
                heapq.heappush(running, (now + seconds(plan[name]), name))
            if len(running) == workers:
                break
        if not running:
            return now
        now, name = heapq.heappop(running)
        ended.add(name)


def resources(store: Store, workers: int) -> dict[str, int]:
    """What one of so many workers asks a cluster for: GPUs, megabytes of memory and minutes."""
    seconds, runs = seconds_of(store), [store.plan[name] for name in store.needed(list(store.plan))]
    longest = max((sum(map(seconds, [run, *run.ancestors()])) for run in runs), default=0.0)
    minutes = max(longest, sum(map(seconds, runs)) / workers) / 60
    weights = max((parameters(run) for run in runs if isinstance(run.recipe, Encoder)), default=0.0)
    megabytes = round(LIBRARY_MEGABYTES + COPIES * 4 * weights / 1e6)
    return {"gpu": int(store.study.gpu), "mem_mb": megabytes, "runtime": min(30 + round(2 * minutes), LONGEST_MINUTES)}


def duration(seconds: float) -> str:
    """About how long, in the unit that a person would use."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _shape(run: Run) -> tuple[bool, tuple[int, int, int]]:
    return isinstance(run.recipe, Encoder), sizes(run)


def steps(run: Run) -> int:
    """Optimizer steps at most."""
    if run.kind != "fit":
        return 0
    training = run.recipe.training
    if "steps" in training:
        return training["steps"]
    of_questions = run.recipe.orders_only and not isinstance(run.recipe, Encoder)
    batch = training["batch_size"] * (PAIRS_A_QUESTION if of_questions else 1)
    return max(1, training["epochs"] * pairs(run.data["train"]) // batch)


def operations(run: Run) -> float:
    """Of a fit's steps, of three passes each, its evaluations on dev and its scores; of a ranker its scores."""
    recipe = run.recipe
    if not isinstance(recipe, Encoder | Ranker):
        return WORDS_STEP_OPERATIONS * steps(run)
    if not recipe.has_costs:
        return 0.0
    dev, test = (recipe.max_length * pairs(run.data.get(split, ())) for split in ("dev", "test"))
    depth, hidden, between = sizes(run)
    layers, tokens = depth, dev + test
    if isinstance(recipe, Encoder):
        training, layers = recipe.training, recipe.computed_layers(depth)
        tokens += 3 * steps(run) * (training.get("batch_tokens") or training["batch_size"] * recipe.max_length)
        tokens += dev * (steps(run) // training["evaluate_every"] if training.get("evaluate_every") else 0)
    return layers * (2 * (4 * hidden**2 + 2 * hidden * between) + 4 * recipe.max_length * hidden) * tokens


def gpu_seconds(run: Run, gpu: str, precision: str) -> float:
    return operations(run) / (SHARE_OF_PEAK * PEAK[gpu][precision])


def disk(run: Run) -> float:
    """Bytes of a run's weights and its scores."""
    weights = 4 * parameters(run) if isinstance(run.recipe, Encoder) else 0
    return weights + 30 * sum(pairs(run.data.get(split, ())) for split in ("dev", "test"))


def parameters(run: Run) -> float:
    """Weights of a fit's model, roughly: of layers that share theirs too, each counts."""
    depth, hidden, between = sizes(run)
    return run.recipe.computed_layers(depth) * (4 * hidden**2 + 2 * hidden * between) + VOCABULARY_TOKENS * hidden


def sizes(run: Run) -> tuple[int, int, int]:
    """Layers, hidden units and units between of a run's encoder."""
    recipes = [step.recipe for step in run.lineage()]
    if isinstance(recipes[0], Ranker):
        return _of_name(recipes[0].name)
    backbone = getattr(recipes[0], "backbone", None)
    if not backbone:
        return BASE_SIZES
    depth, hidden, between = _of_config(backbone["config"]) if "config" in backbone else _of_name(backbone["name"])
    depths = [recipe.layers for recipe in recipes if recipe.layers]
    return depths[-1] if depths else backbone.get("layers") or depth, hidden, between


@lru_cache(maxsize=64)
def _of_name(name: str) -> tuple[int, int, int]:
    origin, revision = model_origin(name)
    file = origin / "config.json" if isinstance(origin, Path) else hub.cached_config(origin, revision)
    if file and file.is_file():
        return _of_config(json.loads(file.read_text(encoding="utf-8")))
    return ENCODER_SIZES.get(str(origin), BASE_SIZES)


def _of_config(config: dict) -> tuple[int, int, int]:
    hidden = config.get("hidden_size", BASE_SIZES[1])
    return config.get("num_hidden_layers", BASE_SIZES[0]), hidden, config.get("intermediate_size") or 4 * hidden


def pairs(parts: Iterable[str]) -> int:
    """How many pairs some `source:split` parts have, roughly, without reading them."""
    files = {part: find_root() / part for part in parts}
    return sum(
        file.stat().st_size // BYTES_A_PAIR if file.is_file() else PAIRS_OF_SETS.get(part, PAIRS_OF_OTHERS)
        for part, file in files.items()
    )
