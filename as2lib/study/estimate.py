"""What a fit takes before it is made: its steps, and its hours of an H100."""

from collections.abc import Iterable

from as2lib.paths import find_root
from as2lib.study.run import Run

OPERATIONS_AN_HOUR = {"float32": 0.4 * 67e12 * 3600, "bf16": 0.4 * 989e12 * 3600}  # 40 % of NVIDIA's data sheet
SIZES = {  # layers and hidden units of encoders by their names; of any other those of a base model
    "sentence-transformers/all-MiniLM-L6-v2": (6, 384),
    "google/electra-large-discriminator": (24, 1024),
    "FacebookAI/roberta-large": (24, 1024),
    "albert/albert-xxlarge-v2": (12, 4096),
    "microsoft/deberta-v2-xxlarge": (48, 1536),
    "facebook/xlm-roberta-xl": (36, 2560),
}
BASE = (12, 768)
PAIRS_OF_SETS = {"wikiqa:train": 8_672, "asnq:train": 20_377_568, "asnq:dev": 463_914, "asnq:test": 466_148}
PAIRS_OF_OTHERS, PAIRS_A_QUESTION, BYTES_A_PAIR = 10_000, 30, 150  # the last of a file


def steps(run: Run) -> int:
    """Optimizer steps at most."""
    training = run.spec.get("training", {"steps": 0})
    if "steps" in training:
        return training["steps"]
    batch = training.get("batch_size") or training["batch_tokens"] // run.spec.get("max_length", PAIRS_A_QUESTION)
    batch *= PAIRS_A_QUESTION if "words" in run.spec and run.orders_only else 1
    return max(1, training["epochs"] * pairs(run.data["train"]) // batch)


def hours(run: Run) -> float:
    """An encoder's steps, of three passes each, its evaluations on dev and its scores, of pairs as long as allowed.

    A token takes two operations a weight, 12 hidden² of them in a layer, and 4 · length · hidden for its attention.
    """
    if run.kind != "fit" or "words" in run.spec:
        return 0.0
    training, length, (depth, hidden) = run.spec["training"], run.spec["max_length"], sizes(run)
    dev, test = (length * pairs(run.data.get(split, ())) for split in ("dev", "test"))
    evaluations = steps(run) // (training.get("evaluate_every") or steps(run) + 1)
    batch = training.get("batch_tokens") or training["batch_size"] * length
    tokens = 3 * steps(run) * batch + (1 + evaluations) * dev + test
    shape = run.spec.get("mhs", {"body": 0, "heads": 1})
    layers = shape["body"] + shape["heads"] * (depth - shape["body"])
    return layers * (24 * hidden**2 + 4 * length * hidden) * tokens / OPERATIONS_AN_HOUR[run.computing["precision"]]


def sizes(run: Run) -> tuple[int, int]:
    """Layers and hidden units of a fit's encoder."""
    specs = [step.spec for step in run.lineage()]
    backbone = specs[0].get("backbone", {})
    depth, hidden = SIZES.get(backbone.get("name", "").partition("@")[0], BASE)
    if config := backbone.get("config"):
        depth, hidden = config["num_hidden_layers"], config["hidden_size"]
    kept = [spec["layers"] for spec in (backbone, *specs) if spec.get("layers")]
    return kept[-1] if kept else depth, hidden


def pairs(parts: Iterable[str]) -> int:
    """How many pairs some `source:split` parts have, roughly, without reading them."""
    files = {part: find_root() / part for part in parts}
    return sum(
        file.stat().st_size // BYTES_A_PAIR if file.is_file() else PAIRS_OF_SETS.get(part, PAIRS_OF_OTHERS)
        for part, file in files.items()
    )
