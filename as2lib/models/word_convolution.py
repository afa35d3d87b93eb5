"""A convolution over the words of a text and its greatest value a filter: for texts of any length, without padding.

Texts stand one after the other. A window holds a text's words and, beyond its ends, zeros; one value for each word.
N words of b texts · d input channels · f filters · k words of a window · U distinct words
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

BUCKET = 64
STRIP = 8  # the greatest of that many words at once is vectorised, of a text's words one by one it is not


class WordConvolution(nn.Module):
    """A one-layer convolution of some window sizes with global max pooling and ReLU.

    channels: d, of the input.  filters: of each size, f in all.  sizes: words of a window, k; as with padding="same",
    (k − 1) // 2 of them stand before its own word.  Starts as `torch.nn.Conv1d` does.
    """

    def __init__(self, channels: int, filters: int, sizes: Sequence[int]):
        super().__init__()
        self.filters, self.sizes = filters, sorted(sizes)
        # A word at some distance is in the windows of all sizes from one on: one product for all of them.
        distances = range(-((self.sizes[-1] - 1) // 2), self.sizes[-1] // 2 + 1)
        self.taps = {o: [k for k in self.sizes if -((k - 1) // 2) <= o <= k // 2] for o in distances}
        bound = {k: (channels * k) ** -0.5 for k in self.sizes}
        self.weight = nn.ParameterList(
            torch.cat([_uniform(bound[k], filters, channels) for k in ks]) for ks in self.taps.values()
        )  # for each distance (filters of these sizes, d)
        self.bias = nn.Parameter(torch.cat([_uniform(bound[k], filters) for k in self.sizes]))

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """words: (N, d).  lengths: (b,).  Returns (b, f), the sizes one after the other."""
        margin = max(-min(self.taps), max(self.taps))  # zeros between two texts, so that no window sees both
        texts = torch.arange(len(lengths), device=words.device).repeat_interleave(lengths)
        places = torch.arange(len(words), device=words.device) + margin * (texts + 1)
        starts = [margin + distance for distance in self.taps]
        total = 2 * margin + _round_up(len(words) + margin * (len(lengths) - 1))
        apart = words.new_zeros(total, words.shape[1]).index_copy(0, places, words)
        filling, strips = in_strips(lengths)
        return _Words.apply(apart, places[filling] - margin, starts, margin, strips, self.bias, *self.weight).relu()


class FrozenWordConvolution(nn.Module):
    """The same of one size, for words that need no gradient, with one more channel: far less arithmetic.

    channels: d, of the vectors.  filters: f.  size: k, words of a window.
    """

    def __init__(self, channels: int, filters: int, size: int):
        super().__init__()
        bound = ((channels + 1) * size) ** -0.5
        self.size, self.weight = size, nn.Parameter(_uniform(bound, size, filters, channels))
        self.bias, self.extra = nn.Parameter(_uniform(bound, filters)), nn.Parameter(_uniform(bound, size, filters))

    def forward(self, table: Tensor, rows: Tensor, extra: Tensor, lengths: Tensor) -> Tensor:
        """table: (U, d), distinct words.  rows: (N,), numbers in it.  extra: (N,), the last channel.  → (b, f)"""
        first, total = windows(lengths, self.size)
        own = first + (self.size - 1) // 2
        rows, extra = (part.new_zeros(total).index_copy(0, own, part) for part in (rows + 1, extra))
        more = _round_up(len(table) + 1) - len(table) if _autocast_dtype(table) else 1
        table = functional.pad(table, (0, 0, 1, more - 1))
        filling, strips = in_strips(lengths)
        return _FrozenWords.apply(self.weight, self.extra, self.bias, table, rows, extra, first[filling], strips)


def _round_up(rows: int) -> int:
    """To a multiple of `BUCKET`: a product of matrices in bf16 is compiled anew for each size."""
    return -(-rows // BUCKET) * BUCKET


def _uniform(bound: float, *shape: int) -> Tensor:
    return torch.empty(shape).uniform_(-bound, bound)


def windows(lengths: Tensor, size: int) -> tuple[Tensor, int]:
    """Where each word's window begins once the texts stand `size` − 1 zeros apart, as many around all as it takes.

    lengths: (b,).  Returns (N,) places, of which a window takes `size` and its own word is the (size − 1) // 2-th, from
    0; and how many places there are.
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
        of_weights = functional.embedding_bag(chosen, apart, per_sample_weights=of_filter, mode="sum")  # (F, d)
        sources, order = chosen.flatten().sort(stable=True)
        first = torch.searchsorted(sources, torch.arange(len(apart), device=sources.device))
        of_apart = functional.embedding_bag(
            order // chosen.shape[1],
            torch.cat(weights),
            first,
            per_sample_weights=of_filter.flatten()[order],
            mode="sum",
        )  # (L, d)
        split = [part.float() for part in of_weights.split(sizes)]
        return of_apart.float(), None, None, None, None, gradient.sum(dim=0), *split


def _autocast_dtype(values: Tensor) -> torch.dtype | None:
    device = values.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None


def _as(dtype: torch.dtype | None, values: Tensor) -> Tensor:
    return values if dtype is None else values.to(dtype)


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
        words = functional.embedding_bag(
            rows.index_select(0, chosen).view(-1, b),
            table,
            per_sample_weights=_as(ctx.dtype, gradient).repeat(k, 1),
            mode="sum",
        )  # (k f, d)
        extra = (near.index_select(0, chosen).view(k, f, b) * gradient).sum(dim=2)  # (k, f)
        return words.float().view(k, f, -1), extra, gradient.sum(dim=1), None, None, None, None, None
