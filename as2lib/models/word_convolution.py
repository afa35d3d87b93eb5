"""A convolution over the words of each text, and its greatest value a filter: what Cosinet and its rival read with.

Texts stand one after the other. A window holds a text's words and, beyond its ends, zeros.
N words of b texts · n of the longest · d input channels · f filters · k words of a window · U distinct words
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from as2lib.models.rank_rnn import by_question


class WordConvolution(nn.Module):
    """A one-layer convolution of some window sizes with global max pooling and ReLU.

    channels: d, of the input.  filters: of each size, f in all.  sizes: words of a window, k; as with padding="same",
    (k − 1) // 2 of them stand before its own word.  Starts as `torch.nn.Conv1d` does.
    """

    def __init__(self, channels: int, filters: int, sizes: Sequence[int]):
        super().__init__()
        self.filters, self.sizes = filters, sorted(sizes)
        # A word at some distance is in the windows of all sizes from one on: one product for all of them.
        self.taps = {o: [k for k in self.sizes if o in distances(k)] for o in distances(self.sizes[-1])}
        bound = {k: (channels * k) ** -0.5 for k in self.sizes}
        self.weight = nn.ParameterList(
            torch.cat([_uniform(bound[k], filters, channels) for k in ks]) for ks in self.taps.values()
        )  # for each distance (filters of these sizes, d)
        self.bias = nn.Parameter(torch.cat([_uniform(bound[k], filters) for k in self.sizes]))

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """words: (N, d).  lengths: (b,).  Returns (b, f), the sizes one after the other."""
        return convolve(words, lengths, zip(self.taps, self.weight, strict=True), self.bias)


class FrozenWordConvolution(nn.Module):
    """The same of one size, over vectors that need no gradient and one more channel.

    channels: d, of the vectors.  filters: f.  size: k, words of a window.
    """

    def __init__(self, channels: int, filters: int, size: int):
        super().__init__()
        bound = ((channels + 1) * size) ** -0.5
        self.size, self.weight = size, nn.Parameter(_uniform(bound, size, filters, channels))
        self.bias, self.extra = nn.Parameter(_uniform(bound, filters)), nn.Parameter(_uniform(bound, size, filters))

    def forward(self, table: Tensor, rows: Tensor, extra: Tensor, lengths: Tensor) -> Tensor:
        """table: (U, d), distinct words.  rows: (N,), numbers in it.  extra: (N,), the last channel.  → (b, f)"""
        words = torch.cat([functional.embedding(rows, table), extra[:, None]], dim=1)  # (N, d + 1)
        weights = torch.cat([self.weight, self.extra[:, :, None]], dim=2)  # (k, f, d + 1)
        return convolve(words, lengths, zip(distances(self.size), weights, strict=True), self.bias)


def distances(size: int) -> range:
    """Of the words of a window of that size from its own word."""
    return range(-((size - 1) // 2), size // 2 + 1)


def convolve(words: Tensor, lengths: Tensor, taps: Iterable[tuple[int, Tensor]], bias: Tensor) -> Tensor:
    """max over a text's words t of bias + Σ_o W_o words_(t + o), then ReLU: (N, d) → (b, f).

    lengths: (b,).  taps: each distance o and the weights W_o there, (f of it, d), of the last filters.  bias: (f,).
    """
    taps, (texts, real) = dict(taps), by_question(words, lengths)  # (b, n, d) · (b, n)
    n, margin = texts.shape[1], max(map(abs, taps))
    texts, values = functional.pad(texts, (0, 0, margin, margin)), bias
    for distance, weight in taps.items():
        product = texts[:, margin + distance : margin + distance + n] @ weight.T
        values = values + functional.pad(product, (len(bias) - len(weight), 0))  # (b, n, f)
    return values.masked_fill(~real[..., None], -torch.inf).amax(dim=1).relu()


def _uniform(bound: float, *shape: int) -> Tensor:
    return torch.empty(shape).uniform_(-bound, bound)
