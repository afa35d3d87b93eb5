"""A cascade against the monolithic model: 28 candidates of 128 tokens, 12 layers of base size.

The monolithic model is the ordinary one, all tokens through all layers; a second one computes only the first token in
its last layer, a saving that exits which read the mean of the tokens cannot have.
"""

import torch

from as2lib.kernels.first_token import reading_first_token
from as2lib.metrics.cost import cascade_cost
from as2lib.models import cross_encoder
from as2lib.models.cascade import EXITS, CascadeTransformer
from bench.timing import DEVICE, ROUNDS, compared, measure

BASE = {
    "model_type": "roberta",
    "vocab_size": 1000,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 140,
}
TARGET = "time saved within 5 points of the analytic 37 % at alpha 0.3 and 51 % at 0.5"
CANDIDATES, TOKENS, ALPHAS = 28, 128, (0.3, 0.5)


def main(candidates: int = CANDIDATES, rounds: int = ROUNDS) -> dict[str, dict]:
    """A row for each alpha and each monolithic model."""
    torch.manual_seed(0)
    with torch.device(DEVICE):
        monolith = cross_encoder.build(BASE).eval()
        cascade = CascadeTransformer.from_backbone(monolith, EXITS)
        ids = torch.randint(5, 1000, (candidates, TOKENS))
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    @torch.inference_mode()
    def ordinary(rows: int = candidates) -> torch.Tensor:
        return monolith(**{name: values[:rows] for name, values in batch.items()}).logits

    def short(rows: int = candidates) -> torch.Tensor:
        with reading_first_token(monolith):
            return ordinary(rows)

    @torch.inference_mode()
    def ranked(alpha: float) -> torch.Tensor:
        return cascade.rank(batch, alpha)

    gap = (ordinary(4) - short(4)).abs().max().item()
    assert gap < 1e-3, f"logits differ by {gap}"
    functions = {"ordinary": ordinary, "short last layer": short}
    found = measure(functions | {alpha: lambda alpha=alpha: ranked(alpha) for alpha in ALPHAS}, rounds)
    return {
        f"alpha {alpha}, {name}": {
            **compared(found[name], found[alpha]),
            "saved %": 100 * (1 - found[alpha].seconds / found[name].seconds),
            "analytic %": 100 * (1 - cascade_cost(12, EXITS, alpha)),
            "floors %": 100 * (1 - cascade_cost(12, EXITS, alpha, candidates)),
            "precision": "float32",
        }
        for alpha in ALPHAS
        for name in functions
    }
