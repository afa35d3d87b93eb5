"""A recurrent layer over a question's candidates in their order: what lets a model see the original rank."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

# b pairs · q questions · n candidates of the longest list · w inputs · h hidden units of both directions
KINDS = {"rnn": nn.RNN, "lstm": nn.LSTM}


def by_question(rows: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Rows (b, …) of pairs as padded lists, (q, n, …), and a mask (q, n), true at candidates.

    candidates: (q,), how many rows each question has.
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
        units = hidden // 2 if bidirectional else hidden
        self.rnn = KINDS[kind](inputs, units, batch_first=True, bidirectional=bidirectional)

    def forward(self, pairs: Tensor, candidates: Tensor) -> Tensor:
        """pairs: (b, w), the pairs of a question together.  candidates: (q,).  Returns (b, h)."""
        with torch.autocast(pairs.device.type, enabled=False):
            padded, mask = by_question(pairs.float(), candidates)  # (q, n, w)
            if len(candidates) == 1:
                return self.rnn(padded)[0][0]
            packed = pack_padded_sequence(padded, candidates.cpu(), batch_first=True, enforce_sorted=False)
            return pad_packed_sequence(self.rnn(packed)[0], batch_first=True)[0][mask]  # (b, h)
