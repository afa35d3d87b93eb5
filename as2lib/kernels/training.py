"""A training step on a processor, faster: plain attention, and dropout whose masks are compared raw bits."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy
import torch
from torch import nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from as2lib.kernels import replacing

# b pairs in a batch · a attention heads · n tokens · h units of a head
PLAIN = "as2lib_plain"  # the name under which transformers finds `plain_attention`
PLAIN_BELOW = {torch.float32: 0, torch.bfloat16: 256}  # tokens; where nothing is dropped: see bench/README.md
LEVELS = 2**16  # values of 16 bits


class Masks:
    """Which numbers a dropout keeps: a pure function of (seed, step, place in the step), at any number of threads."""

    def __init__(self, seed: int):
        self.seed = seed
        self.begin(0)

    def begin(self, step: int) -> None:
        """To be called before each step: masks do not depend on the steps before, so that a fit can resume."""
        self._bits = numpy.random.SFC64(numpy.random.SeedSequence([self.seed, step]))

    def keep(self, shape: torch.Size, p: float) -> torch.Tensor:
        """A new mask: True, independently, with probability 1 - p, as near as 16 bits can say it (within 1e-5)."""
        count = shape.numel()
        drawn = self._bits.random_raw(-(-count // 4)).view(numpy.int16)[:count]  # four numbers in 64 bits
        return torch.from_numpy(drawn).view(shape) >= round(p * LEVELS) - LEVELS // 2

    def drop(self, module: nn.Dropout, values: torch.Tensor) -> torch.Tensor:
        """What `nn.Dropout` computes; the values themselves in evaluation, or for p = 0."""
        if not module.training or module.p == 0:
            return values
        if module.p == 1:
            return values * 0
        return values * self.keep(values.shape, module.p).to(values.dtype).mul_(1 / (1 - module.p))


@contextmanager
def training_kernels(model: nn.Module, seed: int) -> Iterator[Masks]:
    """Inside, a model on a processor trains with plain attention and with masks of `seed`; call `begin` each step.

    Two things change. Every `nn.Dropout` draws from the masks that are yielded: torch draws one Bernoulli number after
    the other. Attention that transformers would give to torch's fused kernel is a product, a softmax and a product
    where shares are dropped, and in bf16 at the lengths of sentences, where the fused backward is slow. Losses and
    gradients are the same but for rounding, and for what is dropped.  Does nothing to a model on a GPU.
    """
    on_processor = all(weights.device.type == "cpu" for weights in model.parameters())
    modules, masks = list(model.modules()) if on_processor else [], Masks(seed)
    dropouts = [module for module in modules if type(module) is nn.Dropout]
    configs = {id(module.config): module.config for module in modules if hasattr(module, "config")}.values()
    fused = [config for config in configs if getattr(config, "_attn_implementation", None) == "sdpa"]
    with replacing({module: partial(masks.drop, module) for module in dropouts}):
        for config in fused:
            config._attn_implementation = PLAIN
        try:
            yield masks
        finally:
            for config in fused:
                config._attn_implementation = "sdpa"


def plain_attention(
    module, query, key, value, attention_mask, scaling: float | None = None, dropout: float = 0.0, **options: Any
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Attention as transformers calls it: (b, a, n, h) each → (b, n, a, h), and the shares (b, a, n, n).

    module: the attention layer, whose own `nn.Dropout` drops shares.  attention_mask: (b, 1, n, n) booleans, or None.
    """
    if not dropout and query.shape[2] >= PLAIN_BELOW.get(query.dtype, 0):
        options |= {"dropout": dropout, "scaling": scaling}
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = (query * scaling) @ key.transpose(2, 3)  # (b, a, n, n)
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    shares = scores.softmax(-1, dtype=torch.float32).to(value.dtype)
    if dropout:
        shares = (module.attention_dropout if hasattr(module, "attention_dropout") else module.dropout)(shares)
    return (shares @ value).transpose(1, 2).contiguous(), shares


AttentionInterface.register(PLAIN, plain_attention)
AttentionMaskInterface.register(PLAIN, sdpa_mask)
