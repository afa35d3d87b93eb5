"""Memory of `score` over 100,000 pairs, tokens on disk: it grows by the scores, not by the texts."""

from as2lib.data.pairs import load_unlabelled
from as2lib.paths import find_root
from as2lib.score import score
from bench.measuring import held, watched
from bench.small import small_model, write_pairs

TARGET = "for a million pairs below 100 MiB beyond the model and a batch"
FEW, MANY, MILLION = 2_000, 100_000, 1_000_000


def main(few: int = FEW, many: int = MANY) -> dict[str, float | str]:
    """MiB at the peak of scoring many pairs over what was held once a few were scored, as a line to a million."""
    model, encoder = small_model()
    tables = [load_unlabelled(write_pairs(find_root() / f"{size}.tsv", size)) for size in (few, many)]
    score(model, tables[0], encoder)
    before = held()
    grown = max(0.0, watched(lambda: score(model, tables[1], encoder)).gib * 1024 - before / 1024)
    return {
        f"MiB, {many:,} pairs": grown,
        "bytes a pair": grown * 2**20 / (many - few),
        "MiB, projected to a million": grown * (MILLION - few) / (many - few),
        "precision": "float32",
    }
