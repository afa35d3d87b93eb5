"""Cosinet: static word vectors with their relatedness to the other text, a CNN for each text.

b pairs · q questions · Q, N words of the questions and of the candidates · m, n words of the longest of each
d dimensions of a vector · f filters
"""

from typing import Any

import numpy
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForSequenceClassification, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from as2lib.data.vectors import unknown_vector
from as2lib.models.logits import Float32Linear, two_class_logits
from as2lib.models.rank_rnn import RankRNN, by_question
from as2lib.models.word_convolution import WordConvolution


class CosinetConfig(PretrainedConfig):
    """words, dimensions: of the static vectors.  hidden: filters.  kernel: words of a window.

    rank_rnn: None, "rnn" or "lstm", which may be bidirectional.
    dropout: on the pair vectors; the paper names none, and the 0.2 of the study is ours.
    related: False leaves the relatedness out (an ablation).
    probabilities: whether a score is P(correct), or only orders the candidates of one question.  Default: the first
    without a rank RNN.
    """

    model_type = "cosinet"

    def __init__(
        self,
        words: int = 1,
        dimensions: int = 300,
        hidden: int = 300,
        kernel: int = 5,
        rank_rnn: str | None = None,
        bidirectional: bool = False,
        dropout: float = 0.0,
        related: bool = True,
        probabilities: bool | None = None,
        **kwargs: Any,
    ):
        self.words, self.dimensions, self.hidden, self.kernel = words, dimensions, hidden, kernel
        self.rank_rnn, self.bidirectional, self.dropout = rank_rnn, bidirectional, dropout
        self.related = related
        self.probabilities = rank_rnn is None if probabilities is None else probabilities
        super().__init__(**{"num_labels": 2, **kwargs})


class WordPairModel(PreTrainedModel):
    """What Cosinet and Compare-Aggregate share: frozen vectors below, and what happens to a pair's two vectors.

    embeddings: the static vectors, (words, dimensions), and `fields` of the configuration; or a whole configuration.
    """

    def __init__(self, embeddings: Any, **fields: Any):
        if isinstance(embeddings, PretrainedConfig):
            config, vectors = embeddings, torch.zeros(embeddings.words, embeddings.dimensions)
        else:
            vectors = torch.tensor(numpy.asarray(getattr(embeddings, "vectors", embeddings)))
            config = self.config_class(*vectors.shape, **fields)
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


AutoConfig.register("cosinet", CosinetConfig, exist_ok=True)
AutoModelForSequenceClassification.register(CosinetConfig, Cosinet, exist_ok=True)
