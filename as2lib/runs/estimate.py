"""How long a run will take and how large its encoder is, from sizes alone: loads no model."""

import json
from pathlib import Path

from as2lib.paths import model_origin
from as2lib.runs.run import Run
from as2lib.runs.store import Store

FLOPS = {"float32": 3.0e10, "bf16": 1.2e11}  # multiply-adds a second and thread that small encoders reach in training
EPOCH = 270  # steps of an epoch of WikiQA in batches of 32, where only epochs are planned and the data are not counted
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
    "facebook/xlm-roberta-xxl": (48, 4096, 16384),
}


def estimate(store: Store, name: str) -> float:
    """Seconds that a run will take: a finished sibling's, else from the encoder's size and the steps; rough."""
    run = store.plan[name]
    if run.kind != "fit":
        return 1.0
    for other in store.below(name.rsplit("/", 1)[0]):
        if "/seed-" in other and (found := store.find(other, need_model=True)):
            return found.facts["seconds"]
    if "words" in run.spec:
        return 60.0 if store.precision == "bf16" else 4.0
    weights = encoder_weights(store, run)
    training = run.spec["training"]
    batch = training.get("batch_tokens") or training["batch_size"] * run.spec["max_length"] / 2
    steps = training.get("steps") or training["epochs"] * EPOCH * 32 / training["batch_size"]
    tokens = steps * batch
    return 3 * weights * tokens / (FLOPS[store.precision] * store.study.threads)


def encoder_weights(store: Store, run: Run) -> float:
    """Weights of the encoder's layers, from its configuration or the table of known encoders.

    Raises ValueError for an encoder whose configuration is not here and that the table does not have.
    """
    while "backbone" not in run.spec:
        run = store.plan[run.parents["start"][0]]
    depth, width, inner = sizes(run.spec["backbone"])
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
