"""A recurrent layer over a question's candidates in their order: what lets a model see the original rank."""

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

# b pairs · q questions · n candidates of the longest list · w inputs · h hidden units of both directions
# r directions · u units of one, r u = h
KINDS = {"rnn": nn.RNN, "lstm": nn.LSTM}


def by_question(rows: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of pairs as padded lists of a question each.

    rows: (b, …).  candidates: (q,), how many rows each question has.  Returns (q, n, …), zero behind a list's end, and
    a mask (q, n), true at candidates.
    """
    mask = torch.arange(int(candidates.max()), device=rows.device) < candidates[:, None]  # (q, n)
    padded = rows.new_zeros(*mask.shape, *rows.shape[1:])
    padded[mask] = rows
    return padded, mask


class RankRNN(nn.Module):
    """Reads the vectors of a question's pairs in their order, from the first, or from both ends.

    inputs: width of a pair vector.  hidden: units of both directions together.  kind: "rnn" (tanh) or "lstm".
    Computes in float32 also under autocast.  Source: Cosinet, section 4.2.
    """

    def __init__(self, inputs: int, hidden: int, kind: str, bidirectional: bool = False):
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f"rank_rnn: expected one of {', '.join(KINDS)}, got {kind!r}")
        units = hidden // 2 if bidirectional else hidden
        self.rnn = KINDS[kind](inputs, units, batch_first=True, bidirectional=bidirectional)

    def forward(self, pairs: Tensor, candidates: Tensor) -> Tensor:
        """pairs: (b, w), the pairs of a question together.  candidates: (q,).  Returns (b, h)."""
        with torch.autocast(pairs.device.type, enabled=False):
            pairs = pairs.float()
            if isinstance(self.rnn, nn.RNN) and pairs.device.type == "cpu":
                return read_both_ways(self.rnn, pairs, candidates)
            if len(candidates) == 1:
                return self.rnn(pairs[None])[0][0]
            padded, mask = by_question(pairs, candidates)  # (q, n, w)
            packed = pack_padded_sequence(padded, candidates.cpu(), batch_first=True, enforce_sorted=False)
            return pad_packed_sequence(self.rnn(packed)[0], batch_first=True)[0][mask]  # (b, h)


def read_both_ways(rnn: nn.RNN, pairs: Tensor, candidates: Tensor) -> Tensor:
    """What `rnn` returns for each list by itself, (b, w) → (b, h), in half the time on a processor.

    Both directions take a step together, each list in its own order and padded at its end, where nothing is read.
    """
    ends = ["", "_reverse"] if rnn.bidirectional else [""]
    of_input, of_state, bias, more_bias = (
        torch.stack([getattr(rnn, f"{name}_l0{end}") for end in ends])
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )  # (r, u, w) · (r, u, u) · (r, u) · (r, u)
    inputs = functional.linear(pairs, of_input.flatten(0, 1), (bias + more_bias).flatten())  # (b, h)
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
