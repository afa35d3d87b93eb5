"""Cosinet's convolutions and tanh rank RNN, with forward and backward passes over whole batches of texts and lists.

Texts stand one after the other, with zeros between two of them, and none is padded.
N words of b texts · L places of words and zeros · d input channels · f filters · k words of a window · U distinct words
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from as2lib.kernels import replacing
from as2lib.models.rank_rnn import RankRNN
from as2lib.models.word_convolution import FrozenWordConvolution, WordConvolution

BUCKET = 64
STRIP = 8  # the greatest of that many words at once is vectorised, of a text's words one by one it is not


@contextmanager
def reading_whole_batches(model: nn.Module) -> Iterator[None]:
    """Inside, Cosinet and Compare-Aggregate convolve texts, and a tanh rank RNN reads lists, as this module does.

    Values and gradients are the same but for rounding.  An LSTM, and a recurrent layer on a GPU, reads as before.
    """
    quick = {WordConvolution: convolve, FrozenWordConvolution: convolve_frozen, RankRNN: read_lists}
    with replacing({layer: partial(quick[type(layer)], layer) for layer in model.modules() if type(layer) in quick}):
        yield


def convolve(layer: WordConvolution, words: Tensor, lengths: Tensor) -> Tensor:
    """What a `WordConvolution` computes, with one product for each distance from a word, of whatever window sizes."""
    margin = max(map(abs, layer.taps))  # zeros between two texts, so that no window sees both
    texts = torch.arange(len(lengths), device=words.device).repeat_interleave(lengths)
    places = torch.arange(len(words), device=words.device) + margin * (texts + 1)
    starts = [margin + distance for distance in layer.taps]
    total = 2 * margin + _round_up(len(words) + margin * (len(lengths) - 1))
    apart = words.new_zeros(total, words.shape[1]).index_copy(0, places, words)
    filling, strips = in_strips(lengths)
    return _Words.apply(apart, places[filling] - margin, starts, margin, strips, layer.bias, *layer.weight).relu()


def convolve_frozen(
    layer: FrozenWordConvolution, table: Tensor, rows: Tensor, extra: Tensor, lengths: Tensor
) -> Tensor:
    """What a `FrozenWordConvolution` computes, each distinct word multiplied once: far less arithmetic."""
    first, total = windows(lengths, layer.size)
    own = first + (layer.size - 1) // 2
    rows, extra = (part.new_zeros(total).index_copy(0, own, part) for part in (rows + 1, extra))
    more = _round_up(len(table) + 1) - len(table) if _autocast_dtype(table) else 1
    table = functional.pad(table, (0, 0, 1, more - 1))
    filling, strips = in_strips(lengths)
    return _FrozenWords.apply(layer.weight, layer.extra, layer.bias, table, rows, extra, first[filling], strips)


def windows(lengths: Tensor, size: int) -> tuple[Tensor, int]:
    """Where each word's window starts, (N,), in texts that stand `size` − 1 zeros apart; and all their places.

    lengths: (b,).  A window takes `size` places, of which its own word has number (size − 1) // 2, from 0.
    """
    texts = torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)
    first = torch.arange(len(texts), device=lengths.device) + (size - 1) * texts
    return first, len(texts) + (size - 1) * len(lengths)


def in_strips(lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The words of each text with its last one repeated until they fill strips of `STRIP`, for `greatest`.

    lengths: (b,).  Returns words' numbers over all texts, and the strips of each text, (b,).
    """
    strips = (lengths + STRIP - 1) // STRIP
    ends, filled = lengths.cumsum(0), (STRIP * strips).cumsum(0)
    text = torch.arange(len(lengths), device=lengths.device).repeat_interleave(STRIP * strips)
    added = filled - STRIP * strips - ends + lengths  # (b,), words repeated in the texts before
    return torch.minimum(torch.arange(len(text), device=lengths.device) - added[text], ends[text] - 1), strips


def greatest(values: Tensor, strips: Tensor) -> tuple[Tensor, Tensor]:
    """Each text's greatest value a filter, and the first word that has it.

    values: (N, f), of the words of `in_strips`.  strips: (b,).  Returns (b, f), and (b, f) numbers of the N.
    """
    image = values.view(1, 1, *values.shape).permute(0, 3, 1, 2)  # one whose channels are the filters
    found, inside = functional.max_pool2d(image, (1, STRIP), return_indices=True)  # (1, f, 1, N / STRIP)
    starts, all_strips = strips.cumsum(0) - strips, torch.arange(found.shape[3], device=values.device)
    found, _, _, strip = torch.embedding_bag(found[0, :, 0].T, all_strips, starts, mode=2)  # 2: the maximum
    return found, inside[0, :, 0].T.gather(0, strip)


class _Words(torch.autograd.Function):
    """Convolution and greatest value over each text.

    Only the greatest pass a gradient on: b of a filter's L values, so that sums of chosen rows do for whole products.
    """

    @staticmethod
    def forward(ctx, apart, places, starts, margin, strips, bias, *weights):
        # apart (L, d), zeros between the texts · places (N,) of `in_strips`: L → window
        # weights: for each distance (f of it, d)
        ctx.dtype = _autocast_dtype(apart)
        apart, weights = _as(ctx.dtype, apart), [_as(ctx.dtype, weight) for weight in weights]
        count, f = len(apart) - 2 * margin, len(bias)
        values = bias.repeat(count, 1)  # (L − 2 margin, f)
        for start, weight in zip(starts, weights, strict=True):
            values[:, f - len(weight) :] += apart[start : start + count] @ weight.T
        found, where = greatest(values[places], strips)
        ctx.save_for_backward(apart, places[where], *weights)
        ctx.starts = starts
        return found  # (b, f)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        # gradient (b, f) · F: rows of all distances' weights
        apart, where, *weights = ctx.saved_tensors
        sizes, where, of_filter = [len(weight) for weight in weights], where.T, gradient.T.contiguous()
        chosen = torch.cat([where[-f:] + start for f, start in zip(sizes, ctx.starts, strict=True)])  # (F, b) in L
        of_filter = _as(ctx.dtype, torch.cat([of_filter[-f:] for f in sizes]))  # (F, b)
        of_weights = _weighted_sums(chosen, apart, of_filter)  # (F, d)
        sources, order = chosen.flatten().sort(stable=True)
        first = torch.searchsorted(sources, torch.arange(len(apart), device=sources.device))
        shares, rows = of_filter.flatten()[order], order // chosen.shape[1]
        of_apart = _weighted_sums(rows, torch.cat(weights), shares, first)  # (L, d)
        split = [part.float() for part in of_weights.split(sizes)]
        return of_apart.float(), None, None, None, None, gradient.sum(dim=0), *split


class _FrozenWords(torch.autograd.Function):
    """Convolution, greatest value over each text, and ReLU, where the words need no gradient.

    A convolution is linear: each distinct word is multiplied with the filters once, a window sums k of the products.
    Only the greatest value of a filter passes a gradient on, so a filter's gradient sums k words a text.
    """

    @staticmethod
    def forward(ctx, weight, extra, bias, table, rows, near, first, strips):
        # weight (k, f, d) · extra (k, f) · table (U + 1, d), its first row zero
        # rows (L,) of the table, near (L,): at the places of `windows` · first (N,) of `in_strips`
        k, f, _ = weight.shape
        ctx.dtype = _autocast_dtype(table)
        table = _as(ctx.dtype, table)
        products = functional.linear(table, weight.flatten(0, 1)).float().view(-1, f)  # ((U + 1) k, f)
        taps = torch.arange(k, device=first.device)
        around = first[:, None] + taps  # (N, k)
        values = functional.embedding_bag(rows[around] * k + taps, products, mode="sum")  # (N, f)
        with torch.autocast(values.device.type, enabled=False):
            values.addmm_(near[around], extra)
        found, where = greatest(values, strips)
        found = (found + bias).relu()
        ctx.save_for_backward(table, rows, near, first[where.T.contiguous()], found > 0)
        ctx.k = k
        return found  # (b, f)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        table, rows, near, first, active = ctx.saved_tensors  # first (f, b)
        gradient, (f, b), k = torch.where(active, gradient, 0.0).T.contiguous(), first.shape, ctx.k  # (f, b)
        chosen = (first + torch.arange(k, device=first.device)[:, None, None]).flatten()  # (k f b,)
        shares = _as(ctx.dtype, gradient).repeat(k, 1)
        words = _weighted_sums(rows.index_select(0, chosen).view(-1, b), table, shares)  # (k f, d)
        extra = (near.index_select(0, chosen).view(k, f, b) * gradient).sum(dim=2)  # (k, f)
        return words.float().view(k, f, -1), extra, gradient.sum(dim=1), None, None, None, None, None


def _weighted_sums(rows: Tensor, table: Tensor, shares: Tensor, starts: Tensor | None = None) -> Tensor:
    return functional.embedding_bag(rows, table, starts, per_sample_weights=shares, mode="sum")


def _round_up(rows: int) -> int:
    """To a multiple of `BUCKET`: a product of matrices in bf16 is compiled anew for each size."""
    return -(-rows // BUCKET) * BUCKET


def _autocast_dtype(values: Tensor) -> torch.dtype | None:
    device = values.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None


def _as(dtype: torch.dtype | None, values: Tensor) -> Tensor:
    return values if dtype is None else values.to(dtype)


# --- the rank RNN: b pairs · q questions · n candidates of the longest list · w inputs · h hidden units of both
# directions · r directions · u units of one, r u = h


def read_lists(layer: RankRNN, pairs: Tensor, candidates: Tensor) -> Tensor:
    """What a `RankRNN` of kind "rnn" returns, (b, w) → (b, h), in half the time on a processor.

    Both directions take a step together, each list in its own order and padded at its end, where nothing is read.
    """
    rnn, ends = layer.rnn, ["", "_reverse"] if layer.rnn.bidirectional else [""]
    if not isinstance(rnn, nn.RNN) or pairs.device.type != "cpu":
        return RankRNN.forward(layer, pairs, candidates)
    with torch.autocast(pairs.device.type, enabled=False):
        of_input, of_state, bias, more_bias = (
            torch.stack([getattr(rnn, f"{name}_l0{end}") for end in ends])
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )  # (r, u, w) · (r, u, u) · (r, u) · (r, u)
        inputs = functional.linear(pairs.float(), of_input.flatten(0, 1), (bias + more_bias).flatten())  # (b, h)
        after = torch.arange(len(pairs)) - (candidates.cumsum(0) - candidates).repeat_interleave(candidates)
        before = candidates.repeat_interleave(candidates) - 1 - after  # candidates of its list after and before each
        steps = torch.stack([after, before][: len(ends)], dim=1)  # (b, r)
        lists, way = torch.arange(len(candidates)).repeat_interleave(candidates)[:, None], torch.arange(len(ends))
        apart = inputs.new_zeros(int(candidates.max()), len(ends), len(candidates), rnn.hidden_size)  # (n, r, q, u)
        apart = apart.index_put((steps, way, lists), inputs.view(len(pairs), len(ends), -1))
        return _Recurrence.apply(apart, of_state)[steps, way, lists].flatten(1)


class _Recurrence(torch.autograd.Function):
    """h_t = tanh(x_t + W h_{t-1}), with one product for the gradient of W in place of one a step."""

    @staticmethod
    def forward(ctx, inputs, weight):
        # inputs (n, r, q, u) · weight (r, u, u)
        states, turned = torch.empty_like(inputs), weight.transpose(1, 2)
        torch.tanh(inputs[0], out=states[0])
        for step in range(1, len(inputs)):
            torch.baddbmm(inputs[step], states[step - 1], turned, out=states[step]).tanh_()
        ctx.save_for_backward(states, weight)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        states, weight = ctx.saved_tensors
        slope, of_inputs = 1 - states * states, torch.empty_like(states)
        torch.mul(gradient[-1], slope[-1], out=of_inputs[-1])
        for step in range(len(states) - 2, -1, -1):
            torch.baddbmm(gradient[step], of_inputs[step + 1], weight, out=of_inputs[step]).mul_(slope[step])
        later, earlier = (part.transpose(0, 1).flatten(1, 2) for part in (of_inputs[1:], states[:-1]))  # (r, …, u)
        return of_inputs, later.transpose(1, 2) @ earlier
