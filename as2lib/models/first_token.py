"""What a transformer's last layer makes of the first token, all that a ranker's classifier reads; knows no model.

b pairs in a batch · n tokens · d hidden units · a attention heads
"""

import torch
from torch import Tensor, nn

FAMILIES = ("bert", "electra", "roberta")  # whose layers these are; ALBERT applies one again and again


def first_token(layer: nn.Module, hidden: Tensor, attention_mask: Tensor | None = None) -> Tensor:
    """What a layer of one of `FAMILIES` makes of (b, n, d) for the first token: (b, 1, d).

    No key or value is computed either. With q = W_q h_0, the score q (W_k h_j) is (q W_k) h_j, and the sum over tokens
    of p_j (W_v h_j) is W_v times the sum of p_j h_j: two products with d x d weights a pair instead of two a token.
    attention_mask: as transformers makes it, (b, 1, 1 or n, n), boolean or added to the attention scores; or (b, n),
    1 at real tokens, which flash attention takes.
    """
    attention, first = layer.attention.self, hidden[:, :1]  # (b, 1, d)
    query = attention.query(first).view(len(hidden), attention.num_attention_heads, -1)  # (b, a, d / a)
    to_key, to_value = (linear.weight.view(*query.shape[1:], -1) for linear in (attention.key, attention.value))
    asked = torch.einsum("bah,ahd->bad", query, to_key)
    scores = (asked @ hidden.mT).float() * query.shape[-1] ** -0.5  # (b, a, n); a key's bias adds the same to each
    if attention_mask is not None:
        mask = attention_mask[:, 0, :1] if attention_mask.dim() == 4 else attention_mask[:, None].bool()  # (b, 1, n)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min) if mask.dtype == torch.bool else scores + mask
    shares = attention.dropout(scores.softmax(-1)).to(hidden.dtype)
    mixed = torch.einsum("bad,ahd->bah", shares @ hidden, to_value)
    mixed = mixed + shares.sum(-1, keepdim=True) * attention.value.bias.view(query.shape[1:])  # dropped shares count 0
    return layer.feed_forward_chunk(layer.attention.output(mixed.flatten(1)[:, None], first))
