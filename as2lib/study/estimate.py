"""What a run takes before it is made: operations, seconds and bytes, by its spec and by what runs took here.

Operations are floating point, two a multiply-add: those of matrix products alone, of pairs as long as `max_length`:
rather too many. They are counted by a formula, since a plan imports no torch.
"""

import json
from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from as2lib import hub
from as2lib.paths import find_root, model_origin

if TYPE_CHECKING:
    from as2lib.study.run import Run
    from as2lib.study.store import Store

REACHED = 0.4  # of a device's peak, where nothing was measured
PEAK = {  # floating point operations a second, of dense products, as NVIDIA's data sheets have them
    "A100": {"float32": 19.5e12, "bf16": 312e12},
    "H100": {"float32": 67e12, "bf16": 989e12},
}
CORE = 250e9  # the same of a processor's core, as pairs are a third as long as they may be
OVERHEAD = 0.004  # seconds of a step that a tiny model takes all the same
DERIVED = 1.0  # seconds of a run that trains nothing
WORDS = 2e9  # operations of a step of a model without a transformer, roughly
HUB_CONFIGS = {  # layers, hidden units and units between, of encoders whose config.json is not here
    "google/electra-base-discriminator": (12, 768, 3072),
    "google/electra-large-discriminator": (24, 1024, 4096),
    "FacebookAI/roberta-base": (12, 768, 3072),
    "FacebookAI/roberta-large": (24, 1024, 4096),
    "albert/albert-base-v2": (12, 768, 3072),
    "albert/albert-xxlarge-v2": (12, 4096, 16384),
    "microsoft/deberta-v2-xxlarge": (48, 1536, 6144),
    "facebook/xlm-roberta-xl": (36, 2560, 10240),
}
UNKNOWN = (12, 768, 3072)
VOCABULARY = 30_000  # tokens, where a configuration says none
PAIRS = {  # in the splits of known sets
    "wikiqa:train": 8_672,
    "wikiqa:dev": 1_130,
    "wikiqa:test": 6_165,
    "asnq:train": 20_377_568,
    "asnq:dev": 463_914,
    "asnq:test": 466_148,
}
SOME_PAIRS = 10_000  # of any other source that is no file
BYTES_A_PAIR = 150  # of a file of pairs


class Estimate:
    """What the runs of a study take: `steps`, `operations`, `seconds`, `disk`, each of a run."""

    def __init__(self, store: "Store"):
        self.store = store

    def steps(self, run: "Run") -> int:
        """Optimizer steps at most; 0 of a run that trains nothing."""
        if run.kind != "fit":
            return 0
        training = run.spec["training"]
        if training.get("steps"):
            return training["steps"]
        batch = training["batch_size"] * (30 if "words" in run.spec and run.spec.get("unit") == "question" else 1)
        return max(1, training["epochs"] * pairs(run.data["train"]) // batch)

    def operations(self, run: "Run") -> float:
        """Of its steps, of three passes each, its evaluations on dev, its scores, and what its teachers first say."""
        if run.kind != "fit":
            return 0.0
        if "words" in run.spec:
            return WORDS * self.steps(run)
        training, length = run.spec["training"], run.spec.get("max_length", 128)
        steps = self.steps(run)
        tokens = training.get("batch_tokens") or training["batch_size"] * length
        learnt = 3 * steps * tokens
        dev, test = (length * pairs(run.data.get(split, ())) for split in ("dev", "test"))
        evaluated = dev * (steps // training["evaluate_every"]) if training.get("evaluate_every") else 0
        told = length * pairs(run.data["train"])
        teachers = [
            teacher for teacher in run.parents.get("teachers", ()) if self._told[_lesson(teacher, run)] == run.name
        ]
        passes = sum(per_token(teacher, length) * told for teacher in teachers if teacher.kind == "fit")
        return per_token(run, length) * (learnt + evaluated + dev + test) + passes

    def seconds(self, run: "Run") -> float:
        """By what fits of this shape took here, else fits of any shape; else by the processor's or GPU's peak."""
        if run.kind != "fit":
            return DERIVED
        operations = self.operations(run)
        if ratio := self._measured.get(_shape(run)) or self._measured.get(None):
            return operations * ratio
        peak = PEAK["A100"][self.store.study.precision] if self.store.study.gpu else CORE * self.store.study.threads
        return operations / (REACHED * peak) + OVERHEAD * self.steps(run)

    def gpu_hours(self, run: "Run", gpu: str) -> float:
        """On one GPU, "A100" or "H100", at 40 % of its peak."""
        return self.operations(run) / (REACHED * PEAK[gpu][self.store.study.precision]) / 3600

    def disk(self, run: "Run") -> float:
        """Bytes of its weights and its scores."""
        weights = 4 * parameters(run) if run.kind == "fit" and "words" not in run.spec else 0
        return weights + 30 * sum(pairs(run.data.get(split, ())) for split in ("dev", "test"))

    @cached_property
    def _told(self) -> dict[Any, str]:
        """A teacher and some pairs → the first run that is told what it says of them: it is computed once."""
        first: dict[Any, str] = {}
        for run in self.store.plan.values():
            for teacher in run.parents.get("teachers", ()):
                first.setdefault(_lesson(teacher, run), run.name)
        return first

    @cached_property
    def _measured(self) -> dict[Any, float]:
        """Shape → seconds an operation, the median of the fits that were made here; None → of all of them."""
        ratios: dict[Any, list[float]] = {}
        for run in self.store.plan.values():
            stored = self.store.find(run.name) if run.kind == "fit" else None
            if stored is None or stored.published or not stored.facts.get("seconds"):
                continue
            made = self.operations(run) * stored.facts.get("steps", self.steps(run)) / self.steps(run)
            for key in (_shape(run), None):
                ratios.setdefault(key, []).append(stored.facts["seconds"] / made)
        return {shape: median(values) for shape, values in ratios.items()}


def _lesson(teacher: "Run", run: "Run") -> Any:
    return teacher.name, run.data["train"], json.dumps(run.spec.get("leave_out"))


def _shape(run: "Run") -> str:
    """What a step's seconds depend on."""
    training = run.spec["training"]
    batch = [training.get(name) for name in ("batch_size", "batch_tokens", "evaluate_every")]
    return json.dumps([run.spec.get(name) for name in ("words", "mhs", "cascade", "max_length")] + [batch, sizes(run)])


def sizes(run: "Run") -> tuple[int, int, int]:
    """Layers, hidden units and units between of a fit's encoder."""
    layers = run.spec.get("layers")
    while "backbone" not in run.spec:
        if "start" not in run.parents:
            return UNKNOWN
        [run] = run.parents["start"]
        layers = layers or run.spec.get("layers")
    backbone = run.spec["backbone"]
    config = backbone.get("config") or _config(backbone["name"])
    depth, hidden, between = config if isinstance(config, tuple) else _sizes(config)
    return layers or backbone.get("layers") or depth, hidden, between


def _sizes(config: dict[str, Any]) -> tuple[int, int, int]:
    hidden = config.get("hidden_size", UNKNOWN[1])
    return config.get("num_hidden_layers", UNKNOWN[0]), hidden, config.get("intermediate_size") or 4 * hidden


@lru_cache(maxsize=64)
def _config(name: str) -> dict[str, Any] | tuple[int, int, int]:
    """A pretrained encoder's configuration, where its folder or the hub's cache has it; else its sizes."""
    origin, revision = model_origin(name)
    file = origin / "config.json" if isinstance(origin, Path) else hub.cached(origin, revision=revision)
    if file and file.is_file():
        return json.loads(file.read_text(encoding="utf-8"))
    return HUB_CONFIGS.get(str(origin), UNKNOWN)


def per_token(run: "Run", length: int) -> float:
    """Operations of a token in a sequence of a length, one pass: each head of a multi-headed model counts."""
    layers, hidden, between = sizes(run)
    if heads := run.spec.get("mhs"):
        layers = heads["body"] + heads["heads"] * (layers - heads["body"])
    return layers * (2 * _layer_weights(hidden, between) + 4 * length * hidden)


def parameters(run: "Run") -> float:
    """Weights of a fit's model, roughly: of layers that share theirs too, each counts."""
    layers, hidden, between = sizes(run)
    if heads := run.spec.get("mhs"):
        layers = heads["body"] + heads["heads"] * (layers - heads["body"])
    return layers * _layer_weights(hidden, between) + VOCABULARY * hidden


def _layer_weights(hidden: int, between: int) -> int:
    return 4 * hidden**2 + 2 * hidden * between


def pairs(parts: Iterable[str]) -> int:
    """How many pairs some `source:split` parts have, roughly, without reading them."""
    return sum(map(_pairs, parts))


@lru_cache(maxsize=256)
def _pairs(part: str) -> int:
    path = find_root() / part
    if path.is_file():
        return path.stat().st_size // BYTES_A_PAIR
    return PAIRS.get(part, SOME_PAIRS)
