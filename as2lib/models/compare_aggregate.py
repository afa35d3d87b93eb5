"""Compare-Aggregate (Wang and Jiang 2016) as the Cosinet paper sizes it: attention over words, then a CNN; no loss.

b pairs · q questions · n, m words of the longest candidate and question · d dimensions · f filters a window size
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForSequenceClassification

from as2lib.models.cosinet import CosinetConfig, WordPairModel, repeat_texts
from as2lib.models.rank_rnn import by_question
from as2lib.models.word_convolution import WordConvolution


class CompareAggregateConfig(CosinetConfig):
    """As Cosinet's, with `windows`, the sizes of the CNN's windows, in place of one kernel."""

    model_type = "compare_aggregate"

    def __init__(self, *args: Any, windows: tuple[int, ...] = (1, 2, 3, 4, 5), **kwargs: Any):
        self.windows = list(windows)
        super().__init__(*args, **kwargs)


class CompareAggregate(WordPairModel):
    """Compare-Aggregate, point-wise or with a rank RNN.  Source: Wang and Jiang 2016; Cosinet, section 5.2.

    A rank RNN has 2 × hidden units of both directions together, whatever the windows: so the published counts.
    """

    config_class = CompareAggregateConfig

    def __init__(self, embeddings: Any, **fields: Any):
        super().__init__(embeddings, **fields)
        d, f, sizes = self.config.dimensions, self.config.hidden, self.config.windows
        self.gate, self.content = nn.Linear(d, f), nn.Linear(d, f)
        self.question, self.candidate = WordConvolution(f, f, sizes), WordConvolution(f, f, sizes)
        self.add_ranking(len(sizes) * f, 2 * f)
        self.post_init()

    def forward(self, question_words, question_lengths, candidate_words, candidate_lengths, candidates, **_: Any):
        """A batch of `WordEncoder.collate`, tensors: the texts' words one after the other.  Returns a `ListOutput`."""
        distinct, rows = torch.cat([question_words, candidate_words]).unique(return_inverse=True)
        with torch.autocast(rows.device.type, enabled=False):  # little work, in a size of its own for each batch
            vectors = unit_variance(self.lookup(distinct))
            projected = torch.sigmoid(self.gate(vectors)) * torch.tanh(self.content(vectors))  # (U, f)
            asked_rows, said_rows = rows.split([len(question_words), len(candidate_words)])
            asked_rows, asked_lengths = repeat_texts(asked_rows, question_lengths, candidates)
            asked, said = functional.embedding(asked_rows, projected), functional.embedding(said_rows, projected)
            of_said, of_asked = attend(said, candidate_lengths, asked, asked_lengths)
        question = self.question(asked * of_asked, asked_lengths)  # (b, 5 f)
        candidate = self.candidate(said * of_said, candidate_lengths)
        return self.score_pairs(question, candidate, candidates)


def unit_variance(vectors: Tensor) -> Tensor:
    """Vectors, (m, d), scaled to length √d; a zero vector stays.

    A gated projection of vectors of length 1 is near 0, and so are the products that compare two of them: hardly a
    gradient reaches its weights, and attention is uniform.
    """
    return functional.normalize(vectors) * vectors.shape[1] ** 0.5


def attend(said: Tensor, said_lengths: Tensor, asked: Tensor, asked_lengths: Tensor) -> tuple[Tensor, Tensor]:
    """For each word, the mean of the other text's words under the softmax of its dot products with them.

    said, asked: words of b texts one after the other, (…, d).  said_lengths, asked_lengths: (b,).
    Returns what the words of `said` attend to in `asked`, and the other way round, in their shapes.
    Source: Wang and Jiang 2016, equation 2, without its parameters.
    """
    said, said_mask = by_question(said, said_lengths)  # (b, n, d)
    asked, asked_mask = by_question(asked, asked_lengths)  # (b, m, d)
    alike = said @ asked.transpose(1, 2)  # (b, n, m)
    to_asked = alike.masked_fill(~asked_mask[:, None, :], -torch.inf).softmax(dim=2)
    to_said = alike.masked_fill(~said_mask[:, :, None], -torch.inf).softmax(dim=1).transpose(1, 2)
    return (to_asked @ asked)[said_mask], (to_said @ said)[asked_mask]


AutoConfig.register("compare_aggregate", CompareAggregateConfig, exist_ok=True)
AutoModelForSequenceClassification.register(CompareAggregateConfig, CompareAggregate)
