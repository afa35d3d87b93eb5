"""`python -m tests.papers.sizes > as2lib/papers/sizes.csv`: parameters of the papers' models, counted on models."""

import torch

from as2lib.metrics.cost import parameters
from as2lib.models.compare_aggregate import CompareAggregate
from as2lib.models.cosinet import Cosinet
from as2lib.papers.cerberus import true_sizes
from as2lib.papers.cosinet.rows import SHAPES

ENCODERS = [f"{role}/{family}" for role in ("base", "teacher") for family in true_sizes.VOCABULARY]
HEADS = [f"mhs/3h{depth}" for depth in (1, 2, 4, 6)]
OVER_WORDS = {"cosinet": Cosinet, "ca": CompareAggregate}


def counted() -> dict[str, int]:
    """Row → trainable parameters."""
    sizes = {row: sum(map(parameters, true_sizes.build_members(row, "meta"))) for row in [*ENCODERS, *HEADS]}
    for name, model in OVER_WORDS.items():
        for shape, (_, _, rank_rnn, bidirectional) in SHAPES.items():
            fields = {"rank_rnn": rank_rnn, "bidirectional": bidirectional}
            sizes[f"{name}/{shape}"] = parameters(model(torch.zeros(1, 300).numpy(), **fields))
    return sizes


if __name__ == "__main__":
    print("run,parameters", *(f"{row},{size}" for row, size in counted().items()), sep="\n")
