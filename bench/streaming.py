"""Memory of `score` over 20,000 and over 100,000 pairs, tokens on disk: it grows by the scores, not by the texts."""

from as2lib.data.pairs import load_unlabelled
from as2lib.paths import find_root
from as2lib.score import score
from bench.making import generate, small_model
from bench.memory import held, watched

TARGET = "for a million pairs below 100 MiB beyond the model and a batch"
SIZES, MILLION = (20_000, 100_000), 1_000_000


def main(sizes: tuple[int, int] = SIZES) -> dict[str, float | str]:
    """KiB of peak memory over what was held before, of the second time: the first one warms the allocator up."""
    model, encoder = small_model()
    grown = []
    for size in sizes:
        pairs = load_unlabelled(generate(find_root() / f"{size}.tsv", size))
        score(model, pairs, encoder)
        before = held()
        grown.append(round(watched(lambda pairs=pairs: score(model, pairs, encoder)).gib * 2**20) - before)
    a_pair = max(0.0, grown[1] - grown[0]) / (sizes[1] - sizes[0])
    return {
        **{f"MiB, {size:,} pairs": kib / 1024 for size, kib in zip(sizes, grown, strict=True)},
        "bytes a pair": 1024 * a_pair,
        "MiB, projected to a million": (grown[1] + a_pair * (MILLION - sizes[1])) / 1024,
        "precision": "float32",
    }
