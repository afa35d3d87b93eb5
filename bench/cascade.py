"""A cascade against the monolithic model: 28 candidates of 128 tokens, 12 layers of base size.

The monolithic model is transformers' own, all tokens through all layers; a second one computes only the first token in
its last layer, a saving that exits which read the mean of the tokens cannot have.
"""

import torch
from transformers import AutoModelForSequenceClassification

from as2lib.metrics.cost import cascade_cost
from as2lib.models import cross_encoder
from as2lib.models.cascade import EXITS, CascadeTransformer
from bench.measuring import DEVICE, ROUNDS, compared, measure

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


def main(candidates: int = CANDIDATES, rounds: int = ROUNDS, shape: dict = BASE, exits=EXITS) -> dict[str, dict]:
    """A row for each alpha and each monolithic model."""
    torch.manual_seed(0)
    with torch.device(DEVICE):
        short = cross_encoder.build(shape).eval()
        ordinary = AutoModelForSequenceClassification.from_config(short.config).eval()
        cascade = CascadeTransformer.from_backbone(ordinary, exits).eval()
        ids = torch.randint(5, shape["vocab_size"], (candidates, TOKENS))
    ordinary.load_state_dict(short.state_dict())
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    @torch.inference_mode()
    def logits(model) -> torch.Tensor:
        return model(**batch).logits

    gap = (logits(ordinary) - logits(short)).abs().max().item()
    assert gap < 1e-3, f"logits differ by {gap}"
    models = {"ordinary": ordinary, "short last layer": short}
    functions = {name: lambda model=model: logits(model) for name, model in models.items()}
    functions |= {alpha: lambda alpha=alpha: cascade.rank(batch, alpha) for alpha in ALPHAS}
    turns = measure(functions, rounds)
    depth = shape["num_hidden_layers"]
    return {
        f"alpha {alpha}, {name}": {
            **compared(turns[name], turns[alpha]),
            "saved %": 100 * (1 - turns[alpha].seconds / turns[name].seconds),
            "analytic %": 100 * (1 - cascade_cost(depth, exits, alpha)),
            "floors %": 100 * (1 - cascade_cost(depth, exits, alpha, candidates)),
            "precision": "float32",
        }
        for alpha in ALPHAS
        for name in models
    }
