"""Tiny encoders with random weights, and a padded batch for them."""

import torch

from as2lib.models import cross_encoder

SIZES = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 2, "pad_token_id": 0}
SIZES |= {"intermediate_size": 48, "max_position_embeddings": 40}
RELATIVE = {"relative_attention": True, "position_biased_input": False, "pos_att_type": ["p2c", "c2p"]}  # of DeBERTa
DEBERTA = {**RELATIVE, "position_buckets": 8, "norm_rel_ebd": "layer_norm"}
DEBERTA |= {"share_att_key": True, "conv_kernel_size": 3}
EXTRA = {
    "electra": {"embedding_size": 16},
    "albert": {"embedding_size": 16, "inner_group_num": 2},
    "deberta-v2": DEBERTA,  # as microsoft/deberta-v2-xlarge and deberta-v3-base have them
}
FAMILIES = ["electra", "bert", "roberta", "albert", "deberta-v2", "mpnet"]


def classifier(family="electra", **changes):
    """A sequence classifier whose weights are wide enough for scores that stand apart."""
    torch.manual_seed(0)
    fields = {"model_type": family, "initializer_range": 0.2, **SIZES, **EXTRA.get(family, {}), **changes}
    model = cross_encoder.build(fields).eval()
    for name, weights in model.named_parameters():  # biases of zero and scales of one would hide a part left out
        if name.endswith("bias") or "norm" in name.lower():
            torch.nn.init.normal_(weights, mean=float(name.endswith("weight")), std=0.2)
    return model


def batch(pairs=6, padded=True, seed=1):
    """Eleven tokens a pair; every third pair has seven real ones, from the third, and the fifth has three."""
    ids = torch.randint(5, 50, (pairs, 11), generator=torch.Generator().manual_seed(seed))
    mask = torch.ones_like(ids)
    if padded:
        for rows, length in ((slice(2, None, 3), 7), (slice(4, 5), 3)):
            ids[rows, length:], mask[rows, length:] = 0, 0
    return {"input_ids": ids, "attention_mask": mask}


def plain(model):
    """The same weights as transformers itself computes with them: every token in every layer."""
    copy = type(model)(model.config).train(model.training)
    copy.load_state_dict(model.state_dict())
    return copy
