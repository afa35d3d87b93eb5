"""Cosinet: static word vectors with their relatedness to the other text, a CNN for each text.

b pairs · q questions · m, n words of the longest question and candidate · d dimensions of a vector · f filters
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import PretrainedConfig

from as2lib.models.logits import register
from as2lib.models.word_pairs import WordConvolution, WordPairModel, by_question


class CosinetConfig(PretrainedConfig):
    """words, dimensions: of the static vectors.  hidden: filters.  kernel: words of a window.

    rank_rnn: None, "rnn" or "lstm", which may be bidirectional.
    dropout: on the pair vectors; the paper names none, and the 0.2 of the study is ours.
    related: False leaves the relatedness out (an ablation).
    probabilities: whether a score is P(correct), or only orders the candidates of one question.  Default: the first
    without a rank RNN.
    """

    model_type = "cosinet"

    words: int = 1
    dimensions: int = 300
    hidden: int = 300
    kernel: int = 5
    rank_rnn: str | None = None
    bidirectional: bool = False
    dropout: float = 0.0
    related: bool = True
    probabilities: bool | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        if self.probabilities is None:
            self.probabilities = self.rank_rnn is None


@register
class Cosinet(WordPairModel):
    """Cosinet, point-wise or with a rank RNN.  Source: Cosinet, section 4.

    A rank RNN has `hidden` units of both directions together: half its 2 × hidden inputs, which is what the published
    parameter counts say (the text says as many as inputs).
    """

    config_class = CosinetConfig

    def __init__(self, embeddings: Any, **fields: Any):
        super().__init__(embeddings, **fields)
        config = self.config
        self.question = WordConvolution(config.dimensions, config.hidden, config.kernel, pair_channel=True)
        self.candidate = WordConvolution(config.dimensions, config.hidden, config.kernel, pair_channel=True)
        self.add_ranking(config.hidden, config.hidden)
        self.post_init()

    def read(self, question_words, question_lengths, candidate_words, candidate_lengths, asks):
        """The two vectors of each pair, (b, f), from what `forward` takes.  asks: (b,), the number of its question."""
        question_ids, question_rows = question_words.unique(return_inverse=True)
        candidate_ids, candidate_rows = candidate_words.unique(return_inverse=True)
        question_table, candidate_table = self.lookup(question_ids), self.lookup(candidate_ids)  # distinct words, d
        with torch.no_grad(), torch.autocast(asks.device.type, enabled=False):
            cosines = functional.normalize(candidate_table) @ functional.normalize(question_table).T
            padded_questions, question_mask = by_question(question_rows, question_lengths)  # (q, m)
            padded_candidates, candidate_mask = by_question(candidate_rows, candidate_lengths)  # (b, n)
            cosines = cosines[padded_candidates[:, :, None], padded_questions[asks][:, None, :]]  # (b, n, m)
            of_question, of_candidate = relatedness(cosines, question_mask[asks], candidate_mask)
            if not self.config.related:
                of_question, of_candidate = torch.zeros_like(of_question), torch.zeros_like(of_candidate)
        question = self.question(question_table, question_rows, question_lengths, asks, of_question)  # (b, f)
        return question, self.candidate(candidate_table, candidate_rows, candidate_lengths, None, of_candidate)


def relatedness(cosines: Tensor, question_mask: Tensor, candidate_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Each word's greatest cosine with the words of the other text of its pair.

    cosines: (b, n, m), of each candidate's words with its question's.  Masks: (b, m) and (b, n), true at words.
    Returns (b, m) of the questions and (b, n) of the candidates, 0 behind a text's end.  Source: section 4.1.1.
    """
    both = candidate_mask[:, :, None] & question_mask[:, None, :]
    cosines = cosines.masked_fill(~both, -torch.inf)
    of_question = cosines.amax(dim=1).masked_fill(~question_mask, 0.0)
    of_candidate = cosines.amax(dim=2).masked_fill(~candidate_mask, 0.0)
    return of_question, of_candidate
