"""Cosinet: static word vectors with their relatedness to the other text, a CNN for each text; knows no loss.

b pairs · q questions · Q, N words of the questions and of the candidates · d dimensions of a vector · f filters
"""

from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForSequenceClassification, PretrainedConfig, PreTrainedModel
from transformers.utils import ModelOutput

from as2lib.data.embeddings import unknown_vector
from as2lib.models.pushing import upload_with_card
from as2lib.models.rank_rnn import RankRNN
from as2lib.models.word_convolution import FrozenWordConvolution

Texts = tuple[Tensor, Tensor]  # the words of texts one after the other, and the length of each


class CosinetConfig(PretrainedConfig):
    """words, dimensions: of the static vectors.  hidden: filters.  kernel: words of a window.

    rank_rnn: None, "rnn" or "lstm".  bidirectional: of the rank RNN.  dropout: on the pair vectors.
    related: False leaves the relatedness out (an ablation).
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
        **kwargs: Any,
    ):
        self.related = related
        self.words, self.dimensions, self.hidden, self.kernel = words, dimensions, hidden, kernel
        self.rank_rnn, self.bidirectional, self.dropout = rank_rnn, bidirectional, dropout
        super().__init__(**{"num_labels": 2, **kwargs})


@dataclass
class ListOutput(ModelOutput):
    """logits: (b, 2), of which the first is 0.  candidates: (q,), pairs of each question, whose rows stand together."""

    logits: torch.Tensor | None = None
    candidates: torch.Tensor | None = None


class WordPairModel(PreTrainedModel):
    """What Cosinet and Compare-Aggregate share: frozen vectors below, and what happens to a pair's two vectors.

    embeddings: the static vectors, (words, dimensions), or a configuration, which `from_pretrained` gives.
    fields: the other fields of the configuration.
    """

    _upload_modified_files = upload_with_card

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
        self.classifier = nn.Linear(rank_hidden if self.rank else 2 * width, 1)

    def _init_weights(self, module: nn.Module) -> None:
        """Torch's own initialisation stays."""

    def lookup(self, words: Tensor) -> Tensor:
        """The vectors of word numbers, (m,) → (m, d) float32; a negative number is an unknown word's."""
        found = functional.embedding(words.clamp(min=0), self.vectors).float()
        for row in (words < 0).nonzero().flatten().tolist():
            made = unknown_vector(int(words[row]), found.shape[1]).astype(numpy.float16)
            found[row] = torch.from_numpy(made).to(found)
        return found

    def score_pairs(self, question: Tensor, candidate: Tensor, candidates: Tensor) -> ListOutput:
        """question, candidate: (b, w), a pair's two vectors.  candidates: (q,).  Source: section 4.1.2 and 4.2."""
        pairs = self.dropout(torch.cat([question * candidate, question - candidate], dim=1))  # (b, 2 w)
        if self.rank is not None:
            pairs = self.rank(pairs, candidates)
        score = self.classifier(pairs)  # (b, 1)
        return ListOutput(logits=torch.cat([torch.zeros_like(score), score], dim=1), candidates=candidates)


class Cosinet(WordPairModel):
    """Cosinet, point-wise or with a rank RNN.  Source: Cosinet, section 4.

    A rank RNN has `hidden` units of both directions together: half its 2 × hidden inputs, which is what the published
    parameter counts say (the text says as many as inputs).
    """

    config_class = CosinetConfig

    def __init__(self, embeddings: Any, **fields: Any):
        super().__init__(embeddings, **fields)
        config = self.config
        self.question = FrozenWordConvolution(config.dimensions, config.hidden, config.kernel)
        self.candidate = FrozenWordConvolution(config.dimensions, config.hidden, config.kernel)
        self.add_ranking(config.hidden, config.hidden)
        self.post_init()

    def forward(self, question_words, question_lengths, candidate_words, candidate_lengths, candidates, **_: Any):
        """A batch of `WordEncoder.collate`, tensors: the texts' words one after the other.  Returns a `ListOutput`."""
        asked, asked_rows = question_words.unique(return_inverse=True)
        said, said_rows = candidate_words.unique(return_inverse=True)
        asked, said = self.lookup(asked), self.lookup(said)  # (U, d)
        rows, lengths = repeat_texts(asked_rows, question_lengths, candidates)  # of each pair's question
        with torch.no_grad(), torch.autocast(asked.device.type, enabled=False):
            similar = functional.normalize(said) @ functional.normalize(asked).T  # (U said, U asked)
            texts = (said_rows, candidate_lengths), (asked_rows, question_lengths)
            of_asked, of_said = relatedness(similar, *texts, candidates)
            if not self.config.related:
                of_asked, of_said = torch.zeros_like(of_asked), torch.zeros_like(of_said)
        question = self.question(asked, rows, of_asked, lengths)  # (b, f)
        candidate = self.candidate(said, said_rows, of_said, candidate_lengths)
        return self.score_pairs(question, candidate, candidates)


def relatedness(similar: Tensor, said: Texts, asked: Texts, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Each word's greatest cosine with the words of the other text of its pair.

    similar: (U said, U asked), cosines of distinct words.  said: the candidates' words as its rows, (N,), and their
    lengths, (b,).  asked: the questions' words as its columns, (Q,), and their lengths, (q,).
    candidates: (q,), pairs of each question.
    Returns one value for each word of the pairs' questions, and (N,).  Source: section 4.1.1.
    """
    question = torch.arange(len(candidates), device=similar.device).repeat_interleave(candidates)  # (b,), of each pair
    to_question = greatest_rows(similar.T.contiguous(), *asked)  # (q, U said)
    to_candidate = greatest_rows(similar, *said)  # (b, U asked)
    rows, lengths = repeat_texts(*asked, candidates)
    pair = torch.arange(len(lengths), device=similar.device).repeat_interleave(lengths)
    return to_candidate[pair, rows], to_question[question.repeat_interleave(said[1]), said[0]]


def greatest_rows(table: Tensor, rows: Tensor, lengths: Tensor) -> Tensor:
    """The greatest value of each column over each text's words, which are rows of a table: (U, c) → (b, c)."""
    return functional.embedding_bag(rows, table, lengths.cumsum(0) - lengths, mode="max")


def repeat_texts(rows: Tensor, lengths: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
    """Texts that stand one after the other, each as often as `times` says.

    rows: words of all texts.  lengths, times: one a text.  Returns the words of the repeated texts and their lengths.
    """
    repeated = [text.repeat(count) for text, count in zip(rows.split(lengths.tolist()), times.tolist(), strict=True)]
    return torch.cat(repeated), lengths.repeat_interleave(times)


AutoConfig.register("cosinet", CosinetConfig, exist_ok=True)
AutoModelForSequenceClassification.register(CosinetConfig, Cosinet)
