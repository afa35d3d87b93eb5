"""Compare-Aggregate (Wang and Jiang 2016) as the Cosinet paper sizes it: attention over words, a CNN for each text.

b pairs · q questions · n, m words of the longest candidate and question · d dimensions · f filters a window size
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from as2lib.models.cosinet import CosinetConfig
from as2lib.models.logits import register
from as2lib.models.word_pairs import WordConvolution, WordPairModel, by_question


class CompareAggregateConfig(CosinetConfig):
    """As Cosinet's, with `windows`, the sizes of the CNN's windows, in place of one kernel."""

    model_type = "compare_aggregate"

    windows: tuple[int, ...] = (1, 2, 3, 4, 5)


@register
class CompareAggregate(WordPairModel):
    """Compare-Aggregate, point-wise or with a rank RNN.  Source: Wang and Jiang 2016; Cosinet, section 5.2.

    The Cosinet paper says only that it takes the standard parameters. Three things are inferred from its 2.89 M
    parameters, which they give exactly (Wang and Jiang have one CNN, over the candidate, and 150 units): attention in
    both directions, a CNN for each text, and 300 units.  Attention without weights, and products to compare, are ours.
    A rank RNN has 2 × hidden units of both directions together, whatever the windows: so the published counts.
    """

    config_class = CompareAggregateConfig

    def __init__(self, embeddings: Any, **fields: Any):
        super().__init__(embeddings, **fields)
        d, f, sizes = self.config.dimensions, self.config.hidden, self.config.windows
        self.gate, self.content = nn.Linear(d, f), nn.Linear(d, f)
        self.question = nn.ModuleList(WordConvolution(f, f, size) for size in sizes)
        self.candidate = nn.ModuleList(WordConvolution(f, f, size) for size in sizes)
        self.add_ranking(len(sizes) * f, 2 * f)
        self.post_init()

    def read(self, question_words, question_lengths, candidate_words, candidate_lengths, asks):
        """As `Cosinet.read`."""
        distinct, rows = torch.cat([question_words, candidate_words]).unique(return_inverse=True)
        with torch.autocast(rows.device.type, enabled=False):  # little work, in a size of its own for each batch
            vectors = unit_variance(self.lookup(distinct))
            projected = torch.sigmoid(self.gate(vectors)) * torch.tanh(self.content(vectors))  # distinct words, f
            question_rows, candidate_rows = rows.split([len(question_words), len(candidate_words)])
            padded_questions, question_mask = by_question(question_rows, question_lengths)
            padded_candidates, candidate_mask = by_question(candidate_rows, candidate_lengths)
            question_mask, question_lengths = question_mask[asks], question_lengths[asks]
            question = functional.embedding(padded_questions[asks], projected)  # (b, m, f)
            candidate = functional.embedding(padded_candidates, projected)  # (b, n, f)
            of_question, of_candidate = attend(question, question_mask, candidate, candidate_mask)
            question, candidate = question * of_question, candidate * of_candidate
        question = convolve(self.question, question[question_mask], question_lengths)  # (b, 5 f)
        return question, convolve(self.candidate, candidate[candidate_mask], candidate_lengths)


def unit_variance(vectors: Tensor) -> Tensor:
    """Vectors, (m, d), scaled to length √d; a zero vector stays.

    A gated projection of vectors of length 1 is near 0, and so are the products that compare two of them: hardly a
    gradient reaches its weights, and attention is uniform.
    """
    return functional.normalize(vectors) * vectors.shape[1] ** 0.5


def attend(question: Tensor, question_mask: Tensor, candidate: Tensor, candidate_mask: Tensor) -> tuple[Tensor, Tensor]:
    """For each word of the question, (b, m, f), and of the candidate, (b, n, f): what it attends to in the other text.

    That is the mean of the other text's words under the softmax of its dot products with them.
    Masks: (b, m) and (b, n), true at words.  Source: Wang and Jiang 2016, equation 2, without its parameters.
    """
    products = question @ candidate.transpose(1, 2)  # (b, m, n)
    lowest = torch.finfo(products.dtype).min
    to_candidate = products.masked_fill(~candidate_mask[:, None, :], lowest).softmax(dim=2)
    to_question = products.masked_fill(~question_mask[:, :, None], lowest).softmax(dim=1)
    return to_candidate @ candidate, to_question.transpose(1, 2) @ question


def convolve(convolutions: nn.ModuleList, words: Tensor, lengths: Tensor) -> Tensor:
    """words: (N, f), of b texts one after the other.  lengths: (b,).  Returns (b, 5 f), by window size."""
    rows = torch.arange(len(words), device=words.device)
    return torch.cat([convolution(words, rows, lengths) for convolution in convolutions], dim=1)
