"""A convolution over the words of each text, and its greatest value a filter: what Cosinet and its rival read with.

It computes what `nn.Conv1d(padding="same")`, a maximum over the words and ReLU compute, and its parameters are those of
`nn.Conv1d`; a step of Cosinet over twelve questions takes a fifth of the time that it takes with that.
Cosinet's paper names no activation: ReLU is ours.

U distinct words · N words of q texts, one after the other · n of the longest · b pairs · d dimensions · f filters
k words of a window
"""

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from as2lib.models.rank_rnn import by_question


class WordConvolution(nn.Conv1d):
    """A one-layer convolution with global max pooling and ReLU over texts of numbered words: (U, d) → (b, f).

    channels: d.  filters: f.  size: k, of whose words (k − 1) // 2 stand before a window's own; beyond a text's ends
    there are zeros.  pair_channel: one more channel, a number for each word that depends on the pair.
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
        """
        k = self.kernel_size[0]
        numbers, mask = by_question(rows + 1, lengths)  # (q, n), 0 behind a text's end
        windows = _windows(numbers, k)  # (q, n, k), of which 0 is a row of zeros
        words, pair = self.weight, None
        if self.pair_channel:
            words, pair = self.weight[:, :-1], self.weight[:, -1]  # (f, d, k) · (f, k)
            channel = _windows(channel, k)  # (b, n, k)
        table = functional.pad(table, (0, 0, 1, 0))
        return (_Greatest.apply(words, pair, table, windows, mask, text, channel) + self.bias).relu()


def _windows(values: Tensor, size: int) -> Tensor:
    """(b, n) → (b, n, k), the k values around each, with zeros beyond the ends."""
    return functional.pad(values, ((size - 1) // 2, size // 2)).unfold(1, size, 1)


class _Greatest(torch.autograd.Function):
    """max over a text's words t of Σ_o W_o table[windows_to] + pair_o · channel_to.

    A convolution is linear: each row of the table is multiplied with the filters once, and a window sums k of the
    products. Only the greatest value of a filter passes a gradient on: to k rows a text, of n.
    """

    @staticmethod
    def forward(ctx, weight, pair, table, windows, mask, text, channel):
        """The greatest value of each filter over the words of each pair's text, (b, f) float32.

        weight: (f, d, k).  pair: (f, k), or None without a channel.  table: (U + 1, d), its first row zeros.
        windows: (q, n, k) rows of the table.  mask: (q, n), true at words.  text: (b,), or None: q = b.
        channel: (b, n, k), or None.
        """
        f, _, k = weight.shape
        products = functional.linear(table, weight.permute(2, 0, 1).flatten(0, 1)).float().view(-1, f)  # ((U + 1) k, f)
        taps = torch.arange(k, device=windows.device)
        sums = functional.embedding_bag(windows[mask] * k + taps, products, mode="sum")  # (N, f)
        with torch.autocast(sums.device.type, enabled=False):
            if channel is not None and text is None:
                sums.addmm_(channel[mask], pair.T)
            values = sums.new_full((*mask.shape, f), -torch.inf)
            values[mask] = sums  # (q, n, f)
            if text is not None:
                values = values[text]  # (b, n, f)
                if channel is not None:
                    values.baddbmm_(channel, pair.T.expand(len(text), k, f))
        greatest, place = values.max(dim=1)  # (b, f) each
        ctx.save_for_backward(weight, table, windows, text, place, channel)
        return greatest

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        """The gradients of weight, pair and table, in their shapes, from that of the greatest values, (b, f)."""
        weight, table, windows, text, place, channel = ctx.saved_tensors
        (f, _, k), b = weight.shape, len(gradient)
        text = torch.arange(b, device=place.device) if text is None else text
        rows = windows[text[:, None], place].permute(2, 1, 0)  # (k, f, b), of the table
        shares = gradient.T.expand(k, f, b)
        of_weight = of_pair = of_table = None
        if ctx.needs_input_grad[0]:
            of_weight = _weighted_sums(table, rows.reshape(k * f, b), shares.reshape(k * f, b))  # (k f, d)
            of_weight = of_weight.view(k, f, -1).permute(1, 2, 0)
        if channel is not None:
            chosen = channel[torch.arange(b, device=place.device)[:, None], place]  # (b, f, k)
            of_pair = (chosen * gradient[:, :, None]).sum(dim=0)
        if ctx.needs_input_grad[2]:
            row, order = rows.flatten().sort(stable=True)
            starts = torch.searchsorted(row, torch.arange(len(table), device=row.device))
            filters = weight.permute(2, 0, 1).flatten(0, 1)  # (k f, d)
            of_table = _weighted_sums(filters, order // b, shares.flatten()[order], starts)
        return of_weight, of_pair, of_table, None, None, None, None


def _weighted_sums(table: Tensor, rows: Tensor, shares: Tensor, starts: Tensor | None = None) -> Tensor:
    """Σ shares · table[rows], a sum for each of the rows, or from each of the starts to the next."""
    return functional.embedding_bag(rows, table, starts, per_sample_weights=shares, mode="sum")
