"""How long a run will take and how large its encoder is, from sizes alone: loads no model."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from as2lib.data import sources
from as2lib.paths import model_origin
from as2lib.runs.run import Run
from as2lib.runs.store import Store

FLOPS = {"float32": 3.0e10, "bf16": 1.2e11}  # multiply-adds a second and thread that small encoders reach in training
# Encoders of true size are for a GPU: from this many weights in its layers on; BERT-base has 85 million.
TRUE_SIZE = 5e7
GPU = "H200"
GPU_FLOPS = 1.5e14  # multiply-adds a second: 30 % of the 989 bf16 TFLOP/s that its maker states, unmeasured
# Pairs of the known splits that a study can learn from without having them here (CERBERUS Table 1).
PAIRS = {"asnq:train": 23_662_238, "asnq:dev": 539_210, "asnq:test": 535_116}
PAIRS |= {"wikiqa:train": 8_672, "wikiqa:dev": 1_130, "wikiqa:test": 2_351}
EPOCH = 270  # steps of an epoch of WikiQA in batches of 32, where only epochs are planned and the data are not known
# Layers, hidden units and units of the feed-forward layers of known encoders, whose files need not be here.
KNOWN = {
    "sentence-transformers/all-MiniLM-L6-v2": (6, 384, 1536),
    "google/electra-base-discriminator": (12, 768, 3072),
    "google/electra-large-discriminator": (24, 1024, 4096),
    "FacebookAI/roberta-base": (12, 768, 3072),
    "FacebookAI/roberta-large": (24, 1024, 4096),
    "albert/albert-base-v2": (12, 768, 3072),
    "albert/albert-xxlarge-v2": (12, 4096, 16384),
    "microsoft/deberta-v2-xxlarge": (48, 1536, 6144),
    "facebook/xlm-roberta-xl": (36, 2560, 10240),
}


def estimate(store: Store, name: str) -> float:
    """At most how many seconds a run takes: a finished sibling's, else from the encoder's size and what it reads.

    Rough; of one GPU where the study's encoders have their true size, else of as many threads as a fit has.
    """
    run = store.plan[name]
    if run.kind != "fit":
        return 1.0
    if (seconds := _of_a_sibling(store, name.rsplit("/", 1)[0])) is not None:
        return seconds
    if "words" in run.spec:
        return 60.0 if store.precision(run) == "bf16" else 4.0
    training, read = run.spec["training"], pairs_of(run, "train")
    batch, tokens = training.get("batch_size"), run.spec["max_length"] / 2  # of a typical pair
    steps = training.get("steps") or training["epochs"] * (read or EPOCH * 32) / batch
    evaluations = steps // training["evaluate_every"] if training.get("evaluate_every") else 0
    scored = pairs_of(run, "dev") * (1 + evaluations) + pairs_of(run, "test")
    trained = steps * (training.get("batch_tokens") or batch * tokens)
    work = encoder_weights(store, run) * (3 * trained + scored * tokens)
    for teacher in taught_by(store, run):  # its logits are computed once, for all that learn from them
        learning = learners(store)[teacher, *run.data["train"]]
        work += encoder_weights(store, store.plan[teacher]) * read * tokens / learning
    return work / (GPU_FLOPS if needs_gpu(store) else FLOPS[store.precision(run)] * store.study.threads)


@lru_cache(maxsize=4096)
def _of_a_sibling(store: Store, prefix: str) -> float | None:
    """Seconds that the first finished seed below a prefix took; looked up once for all its seeds."""
    found = (store.find(name, need_model=True) for name in store.below(prefix) if "/seed-" in name)
    return next((run.facts["seconds"] for run in found if run), None)


def said(store: Store, seconds: float) -> str:
    """An estimate in words: hours of a GPU where the study's encoders have their true size, else of the processor."""
    if needs_gpu(store):
        return f"{seconds / 3600:,.1f} hours of one {GPU} GPU"
    time = f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
    return f"{time} of {store.study.threads} processor core{'s' * (store.study.threads > 1)}"


@lru_cache(maxsize=4)
def needs_gpu(store: Store) -> bool:
    """Whether an encoder of the study has its true size, as hub encoders do, and not a sentence encoder's or less."""
    fits = (run for run in store.plan.values() if run.kind == "fit" and "name" in run.spec.get("backbone", {}))
    return any(encoder_weights(store, run) >= TRUE_SIZE for run in fits)


def pairs_of(run: Run, role: str) -> int:
    """Pairs of the known splits that a run has in this role, and lines of local files; those of others count 0."""
    return sum(PAIRS[part] if part in PAIRS else lines(part) for part in run.data.get(role, []))


@lru_cache(maxsize=64)
def lines(part: str) -> int:
    """Lines of the text files of a part, about its pairs; 0 where it has none, or none here."""
    try:
        files = sources.resolve(*sources.split_part(part)).files
    except (OSError, ValueError):
        return 0
    return sum(path.read_bytes().count(b"\n") for path in files if path.suffix.lower() != ".parquet")


def taught_by(store: Store, run: Run) -> Iterator[str]:
    """The encoders whose logits a run learns from: its teachers, or their members; models over words cost next to
    nothing."""
    for name in run.parents.get("teachers", []):
        members = store.plan[name].parents.get("members", [name])
        yield from (member for member in members if "words" not in store.plan[member].spec)


@lru_cache(maxsize=4)
def learners(store: Store) -> Counter[tuple[str, ...]]:
    """How many runs learn from one teacher's logits over one training set, by teacher and set."""
    fits = [run for run in store.plan.values() if run.kind == "fit"]
    return Counter((teacher, *run.data["train"]) for run in fits for teacher in taught_by(store, run))


def encoder_weights(store: Store, run: Run) -> float:
    """Weights of the encoder's layers, from its configuration or the table of known encoders.

    Raises ValueError for an encoder whose configuration is not here and that the table does not have.
    """
    depth, width, inner = sizes(store.lineage(run.name)[0].spec["backbone"])
    return depth * width * (4 * width + 2 * inner)


def sizes(backbone: dict) -> tuple[int, int, int]:
    """Layers, hidden units and feed-forward units of a run's encoder.  Raises ValueError as `encoder_weights`."""
    name, config = backbone.get("name", ""), backbone.get("config")
    if config is None and name.partition("@")[0] in KNOWN:
        depth, width, inner = KNOWN[name.partition("@")[0]]
        return backbone.get("layers", depth), width, inner
    if config is None:
        path = Path(model_origin(name)[0]) / "config.json"
        if not path.exists():
            raise ValueError(f"{name}: its size is not known here; add it to KNOWN in as2lib/runs/estimate.py")
        config = json.loads(path.read_text())
    width = config["hidden_size"]
    return backbone.get("layers", config["num_hidden_layers"]), width, config.get("intermediate_size", 4 * width)
