"""What Cosinet and Compare-Aggregate share: static word vectors, a convolution over words, a rank RNN over candidates.

b pairs · q questions, or texts · n candidates, or words, of the longest · Q, N words of the questions and of the
candidates, one text after the other · U distinct words · d dimensions of a vector · f filters · k words of a window
w width of a pair's vector · h hidden units of both directions
"""

from typing import Any

import numpy
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from as2lib.data.vectors import unknown_vector
from as2lib.models.logits import Float32Linear, two_class_logits


class WordPairModel(PreTrainedModel):
    """What Cosinet and Compare-Aggregate share: frozen vectors below, and what happens to a pair's two vectors.

    embeddings: the static vectors, (words, dimensions), and `fields` of the configuration; or a whole configuration.
    """

    def __init__(self, embeddings: Any, **fields: Any):
        if isinstance(embeddings, PretrainedConfig):
            config, vectors = embeddings, torch.zeros(embeddings.words, embeddings.dimensions)
        else:
            vectors = torch.tensor(numpy.asarray(embeddings))
            words, dimensions = vectors.shape
            config = self.config_class(words=words, dimensions=dimensions, **fields)
        super().__init__(config)
        self.register_buffer("vectors", vectors.to(torch.float16))

    def add_ranking(self, width: int, rank_hidden: int) -> None:
        """The layers above a pair's vectors of `width` each: the optional rank RNN and the score."""
        config = self.config
        self.dropout = nn.Dropout(config.dropout)
        self.rank = None
        if config.rank_rnn is not None:
            self.rank = RankRNN(2 * width, rank_hidden, config.rank_rnn, config.bidirectional)
        self.classifier = Float32Linear(rank_hidden if self.rank else 2 * width, 1)

    def _init_weights(self, module: nn.Module) -> None:
        """Torch's own initialisation stays."""

    def lookup(self, words: Tensor) -> Tensor:
        """The vectors of word numbers, (m,) → (m, d) float32.

        A word without a known vector has a negative number, and a random vector seeded with it; the paper is silent.
        """
        vectors = functional.embedding(words.clamp(min=0), self.vectors).float()
        for row in (words < 0).nonzero().flatten().tolist():
            vector = unknown_vector(int(words[row]), vectors.shape[1]).astype(numpy.float16)
            vectors[row] = torch.from_numpy(vector).to(vectors)
        return vectors

    def forward(
        self,
        question_words: Tensor,
        question_lengths: Tensor,
        candidate_words: Tensor,
        candidate_lengths: Tensor,
        candidates: Tensor,
        labels: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """A batch of `WordEncoder.collate`, tensors: the texts' words one after the other.

        question_words: (Q,).  question_lengths: (q,).  candidate_words: (N,).  candidate_lengths: (b,).
        candidates: (q,), how many each question has.  labels: (b,) int64, 0 or 1.
        Returns logits (b, 2), of which the first is 0, and a loss where labels are given: the point-wise binary
        cross-entropy.  Source: Cosinet, section 4.1.2 and 4.2.
        """
        asks = torch.arange(len(candidates), device=candidates.device).repeat_interleave(candidates)  # (b,)
        texts = question_words, question_lengths, candidate_words, candidate_lengths
        question, candidate = self.read(*texts, asks)  # (b, w)
        pairs = self.dropout(torch.cat([question * candidate, question - candidate], dim=1))  # (b, 2 w)
        if self.rank is not None:
            pairs = self.rank(pairs, candidates)
        logits = two_class_logits(self.classifier(pairs))  # (b, 2)
        loss = None if labels is None else functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


class RankRNN(nn.Module):
    """Reads the vectors of a question's pairs in their order, from the first, or from both ends.

    inputs: width of a pair vector.  hidden: units of both directions together.  kind: "rnn" (tanh) or "lstm".
    Computes in float32 also under autocast.  Source: Cosinet, section 4.2.
    """

    def __init__(self, inputs: int, hidden: int, kind: str, bidirectional: bool = False):
        super().__init__()
        units = hidden // 2 if bidirectional else hidden
        layer = {"rnn": nn.RNN, "lstm": nn.LSTM}[kind]
        self.rnn = layer(inputs, units, batch_first=True, bidirectional=bidirectional)

    def forward(self, pairs: Tensor, candidates: Tensor) -> Tensor:
        """pairs: (b, w), the pairs of a question together.  candidates: (q,).  Returns (b, h)."""
        with torch.autocast(pairs.device.type, enabled=False):
            padded, mask = by_question(pairs.float(), candidates)  # (q, n, w)
            if len(candidates) == 1:
                return self.rnn(padded)[0][0]
            packed = pack_padded_sequence(padded, candidates.cpu(), batch_first=True, enforce_sorted=False)
            return pad_packed_sequence(self.rnn(packed)[0], batch_first=True)[0][mask]  # (b, h)


class WordConvolution(nn.Conv1d):
    """A one-layer convolution with global max pooling and ReLU over texts of numbered words: (U, d) → (b, f).

    It computes what `nn.Conv1d(padding="same")`, a maximum over the words and ReLU compute, with the same parameters.
    Cosinet's paper names no activation: ReLU is ours.
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


def by_question(rows: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Rows (b, …) of pairs as padded lists, (q, n, …), and a mask (q, n), true at candidates.

    candidates: (q,), how many rows each question has.
    """
    mask = torch.arange(int(candidates.max()), device=rows.device) < candidates[:, None]  # (q, n)
    padded = rows.new_zeros(*mask.shape, *rows.shape[1:])
    padded[mask] = rows
    return padded, mask


def _windows(values: Tensor, size: int) -> Tensor:
    """(b, n) → (b, n, k), the k values around each, with zeros beyond the ends."""
    return functional.pad(values, ((size - 1) // 2, size // 2)).unfold(1, size, 1)
