"""What a fit takes before it is made: its steps, and its hours of an H100.

Operations are those of matrix products, two a multiply-add, of pairs as long as `max_length`: rather too many.
"""

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from as2lib import hub
from as2lib.paths import find_root, model_origin
from as2lib.study.run import Run

SHARE_OF_PEAK = 0.4
PEAK = {"float32": 67e12, "bf16": 989e12}  # operations a second of an H100, as NVIDIA's data sheet has them
ENCODER_SIZES = {  # layers, hidden units and units between, of encoders whose config.json is not here
    "google/electra-large-discriminator": (24, 1024, 4096),
    "FacebookAI/roberta-large": (24, 1024, 4096),
    "albert/albert-xxlarge-v2": (12, 4096, 16384),
    "microsoft/deberta-v2-xxlarge": (48, 1536, 6144),
    "facebook/xlm-roberta-xl": (36, 2560, 10240),
}
BASE_SIZES = (12, 768, 3072)  # a BASE model's
PAIRS_OF_SETS = {"wikiqa:train": 8_672, "asnq:train": 20_377_568, "asnq:dev": 463_914, "asnq:test": 466_148}
PAIRS_OF_OTHERS = 10_000  # in any other source that is no file
PAIRS_A_QUESTION = 30
BYTES_A_PAIR = 150  # of a file of pairs


def steps(run: Run) -> int:
    """Optimizer steps at most."""
    if run.kind != "fit":
        return 0
    training = run.spec["training"]
    if "steps" in training:
        return training["steps"]
    of_questions = "words" in run.spec and run.orders_only
    batch = training["batch_size"] * (PAIRS_A_QUESTION if of_questions else 1)
    return max(1, training["epochs"] * pairs(run.data["train"]) // batch)


def hours(run: Run) -> float:
    """Of an H100, at 40 % of its peak: an encoder's steps, of three passes each, its evaluations on dev, its scores."""
    if run.kind != "fit" or "words" in run.spec:
        return 0.0
    training, max_length = run.spec["training"], run.spec["max_length"]
    dev, test = (max_length * pairs(run.data.get(split, ())) for split in ("dev", "test"))
    depth, hidden, between = sizes(run)
    evaluations = steps(run) // (training.get("evaluate_every") or steps(run) + 1)
    batch = training.get("batch_tokens") or training["batch_size"] * max_length
    tokens = 3 * steps(run) * batch + (1 + evaluations) * dev + test
    layer = 2 * (4 * hidden**2 + 2 * hidden * between) + 4 * max_length * hidden
    shape = run.spec.get("mhs", {"body": 0, "heads": 1})
    computed = shape["body"] + shape["heads"] * (depth - shape["body"])
    return computed * layer * tokens / (SHARE_OF_PEAK * PEAK[run.computing["precision"]]) / 3600


def sizes(run: Run) -> tuple[int, int, int]:
    """Layers, hidden units and units between of a fit's encoder."""
    specs = [step.spec for step in run.lineage()]
    backbone = specs[0].get("backbone", {"config": {}})
    depth, hidden, between = _of_config(backbone["config"]) if "config" in backbone else _of_name(backbone["name"])
    depths = [spec["layers"] for spec in specs if "layers" in spec]
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
