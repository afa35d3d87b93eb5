"""A convolution over the words of each text, and its greatest value a filter: what Cosinet and its rival read with.

It computes what `nn.Conv1d(padding="same")`, a maximum over the words and ReLU compute, and its parameters are those of
`nn.Conv1d`.  Cosinet's paper names no activation: ReLU is ours.

U distinct words · N words of q texts, one after the other · n of the longest · b pairs · d dimensions · f filters
k words of a window
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from as2lib.models.rank_rnn import by_question


class WordConvolution(nn.Conv1d):
    """A one-layer convolution with global max pooling and ReLU over texts of numbered words: (U, d) → (b, f).

    channels: d.  filters: f.  size: k.  pair_channel: one more channel, a number a word that depends on the pair.
    """

    def __init__(self, channels: int, filters: int, size: int, pair_channel: bool = False):
        super().__init__(channels + pair_channel, filters, size, padding="same")
        self.pair_channel = pair_channel

    def forward(
        self, table: Tensor, rows: Tensor, lengths: Tensor, text: Tensor | None = None, channel: Tensor | None = None
    ) -> Tensor:
        """Each pair's text as one vector, (b, f).

        table: (U, d), the words' vectors.  rows: (N,), the words of all texts as rows of the table.  lengths: (q,).
        text: (b,), which of the texts each pair reads; None: q = b, in their order.
        channel: (b, n), the pair's own channel, 0 behind a text's end; only with `pair_channel`.

        A convolution is linear: each word is multiplied with the filters once, and a window sums k of the products.
        """
        k, f = self.kernel_size[0], self.out_channels
        numbers, mask = by_question(rows + 1, lengths)  # (q, n), 0 behind a text's end
        windows = _windows(numbers, k)[mask]  # (N, k) rows of the table, of which 0 is zeros
        words = self.weight[:, :-1] if self.pair_channel else self.weight  # (f, d, k)
        table = functional.pad(table, (0, 0, 1, 0))  # (U + 1, d)
        products = functional.linear(table, words.permute(2, 0, 1).flatten(0, 1)).view(-1, f)  # ((U + 1) k, f)
        taps = torch.arange(k, device=rows.device)
        sums = functional.embedding_bag(windows * k + taps, products, mode="sum")  # (N, f)
        values = by_question(sums, lengths)[0].masked_fill(~mask[:, :, None], -torch.inf)  # (q, n, f)
        if text is not None:
            values = values[text]  # (b, n, f)
        if self.pair_channel:
            values = values + _windows(channel, k) @ self.weight[:, -1].T
        return (values.amax(dim=1) + self.bias).relu()


def _windows(values: Tensor, size: int) -> Tensor:
    """(b, n) → (b, n, k), the k values around each, with zeros beyond the ends."""
    return functional.pad(values, ((size - 1) // 2, size // 2)).unfold(1, size, 1)
