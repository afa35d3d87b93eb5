"""What a user deploys: any model here ranks candidates, in memory; writes nothing to disk, knows no study and no run.

n candidates of a question
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from as2lib import serve
from as2lib.data.batches import whole_questions
from as2lib.metrics.pruning import Ratios
from as2lib.models import ensemble
from as2lib.precision import computed_in

if TYPE_CHECKING:  # an exported model ranks without torch
    import torch

HELD = 1024  # pairs of a cascade whose hidden states are held at once
LEXICAL = ("word_overlap", "reciprocal_rank", "overlap_then_rank")


class Ranked(NamedTuple):
    """A candidate, its score, its place in the list that was given (from 0), and what its score is made of.

    score: P(correct); of a lexical ranker, what it counts.  parts: the scores of each head (`head_0`), exit (`exit_4`:
    behind four layers), member of an ensemble (`member_0`) or stage of a sequence (`stage_0`) that read the candidate.
    """

    candidate: str
    score: float
    position: int
    parts: Mapping[str, float]


class Scored(NamedTuple):
    """One question's candidates.  order: (n,), positions, best first.  scores: (n,).  parts: name → (n,), NaN where
    a candidate was not read."""

    order: numpy.ndarray
    scores: numpy.ndarray
    parts: dict[str, numpy.ndarray]


Scorer = Callable[[list[str], list[list[str]]], list[Scored]]  # of questions and the candidates of each


class Ranker:
    """Ranks candidate sentences with any model of the study: `Ranker.load(folder).rank(question, candidates)`.

    model, encoder: a model with what encodes its pairs; or a `Scorer` alone.  The model is the ranker's from here on.
    precision: "float32", "bf16", or "auto": bf16 where the machine computes it natively.
    alpha: of a cascade: the share of candidates that each exit but the last drops; None: all exits score all.
    """

    def __init__(self, model: Any, encoder: Any = None, precision: str = "float32", alpha: Ratios | None = None):
        if alpha is not None and not hasattr(model, "rank"):
            raise ValueError(f"alpha: expected a cascade to drop candidates, got {type(model).__name__}")
        self.model, self.encoder, self.precision = model, encoder, computed_in(precision)
        self._score: Scorer = model if encoder is None else self._by_model if alpha is None else self._by_cascade
        self._alpha, self._kernels = alpha, ExitStack()
        if encoder is not None:
            from as2lib.score import prepared

            self._kernels.enter_context(prepared(model))

    @classmethod
    def load(
        cls,
        model: str | Path,
        max_length: int | None = None,
        precision: str = "float32",
        alpha: Ratios | None = None,
        backend: str | None = None,
    ) -> "Ranker":
        """A ranker from a model folder (`save_pretrained` with its tokenizer), a hub name, or `lexical/word_overlap`;
        or from what `as2 export` wrote of a model.

        max_length: tokens of question and candidate together; default: what the tokenizer was saved with.
        backend: "torch", "openvino" or "onnx"; default: an exported model's own, else the first of `serve.BACKENDS`
        that is installed and whose export lies in the folder under that name, else torch: `python -m bench serving`
        measures their speed.  A model not yet exported is, in float32, where its backend is asked for.
        """
        scorer = str(model).removeprefix("lexical/")
        if scorer in LEXICAL and not Path(model).is_dir():
            return cls(partial(_count, scorer), precision=precision)
        if exported := serve.find(Path(model), backend, max_length):
            from as2lib.serve.runtime import Served

            served = Served(exported, precision)
            ranker = cls(partial(_by_graph, served, alpha), precision=served.precision)
            ranker.model = served
            return ranker
        from as2lib import models
        from as2lib.data.encode import load_encoder

        return cls(models.load(model), load_encoder(model, max_length), precision, alpha)

    @classmethod
    def ensemble(
        cls, rankers: Sequence["Ranker"], weights: Sequence[float] | None = None, intercept: float | None = None
    ) -> "Ranker":
        """The (weighted) mean of several rankers' scores; with an intercept, a logistic regression over them."""
        return cls(partial(_together, list(rankers), weights, intercept), precision=rankers[0].precision)

    @classmethod
    def sequence(cls, rankers: Sequence["Ranker"], alpha: Ratios) -> "Ranker":
        """Rankers in a row, the cheapest first: each but the last drops the share `alpha` of what reaches it."""
        return cls(partial(_in_a_row, list(rankers), alpha), precision=rankers[-1].precision)

    def rank(
        self, question: str | Sequence[str], candidates: Sequence[Any], top: int | None = None
    ) -> list[Ranked] | list[list[Ranked]]:
        """The candidates, best first; equal scores keep the order that was given.

        question: one, with a list of its candidates; or several, with a list for each of them: the result is then a
        list for each.  top: how many are returned; default: all.
        Raises ValueError where a text is empty or no text, there is no candidate, or lists do not fit.
        """
        one = isinstance(question, str)
        questions, lists = ([question], [candidates]) if one else (list(question), list(candidates))
        _check(questions, lists, top)
        scored = self._score(questions, [list(texts) for texts in lists]) if questions else []
        found = [_ranked(texts, each, top) for texts, each in zip(lists, scored, strict=True)]
        return found[0] if one else found

    def _by_model(self, questions: list[str], lists: list[list[str]]) -> list[Scored]:
        from as2lib.score import outputs, probability

        ids, answers, sizes = _flat(lists)
        items = self.encoder.items([questions[i] for i in ids], answers, ids)
        pairs = [item["pairs"] for item in items] if "pairs" in items[0] else None
        length = [item["length"] for item in items]
        take = lambda rows: [items[row] for row in rows]  # noqa: E731
        found = outputs(self.model, self.encoder, take, length, pairs, self.precision)
        columns = {"score": probability(found["logits"])}
        if "head_logits" in found:
            columns |= {f"head_{i}": values for i, values in enumerate(probability(found["head_logits"]).T)}
        if "exit_logits" in found:
            columns |= dict(zip(self._exits, probability(found["exit_logits"]).T, strict=True))
        split = {name: numpy.split(values, numpy.cumsum(sizes)[:-1]) for name, values in columns.items()}
        scores = split.pop("score")
        return [_by_score(scores[i], {name: values[i] for name, values in split.items()}) for i in range(len(lists))]

    def _by_cascade(self, questions: list[str], lists: list[list[str]]) -> list[Scored]:
        from as2lib.score import cascaded

        (ids, answers, _), found = _flat(lists), []
        for rows in whole_questions(ids, HELD):
            items = self.encoder.items([questions[ids[i]] for i in rows], [answers[i] for i in rows], ids[rows])
            for ranking in cascaded(self.model, self.encoder.collate(items), self._alpha, ids[rows], self.precision):
                order, scores = ranking.order.numpy(), ranking.scores.numpy()
                last = numpy.empty(len(order), dtype=int)  # the exit that read a candidate last; the best come first
                last[order] = [sum(i < reached for reached in ranking.survivors) - 1 for i in range(len(order))]
                parts = {name: numpy.where(last == i, scores, numpy.nan) for i, name in enumerate(self._exits)}
                found.append(Scored(order, scores, parts))
        return found

    @property
    def _exits(self) -> list[str]:
        return [f"exit_{layers}" for layers in self.model.config.exits]


def _flat(lists: list[list[str]]) -> tuple[numpy.ndarray, list[str], list[int]]:
    """All candidates one after the other: the number of each one's question, the texts, and how many a question has."""
    sizes = [len(texts) for texts in lists]
    return numpy.repeat(numpy.arange(len(lists)), sizes), [text for texts in lists for text in texts], sizes


def _by_graph(served, alpha: Ratios | None, questions: list[str], lists: list[list[str]]) -> list[Scored]:
    ids, answers, sizes = _flat(lists)
    ranking = served.rank([(questions[i], text) for i, text in zip(ids, answers, strict=True)], ids, alpha)
    starts = numpy.cumsum([0, *sizes[:-1]])
    split = zip(*(numpy.split(column, starts[1:]) for column in (ranking.order, ranking.scores)), strict=True)
    return [Scored(order - start, scores, {}) for start, (order, scores) in zip(starts, split, strict=True)]


def _count(scorer: str, questions: list[str], lists: list[list[str]]) -> list[Scored]:
    from datasets import Dataset

    from as2lib.models import lexical

    ids, answers, sizes = _flat(lists)
    columns = {"question_id": [str(i) for i in ids], "question": [questions[i] for i in ids], "answer": answers}
    pairs = Dataset.from_dict(columns)
    scores = getattr(lexical, scorer)(pairs)
    return [_by_score(each, {}) for each in numpy.split(scores, numpy.cumsum(sizes)[:-1])]


def _together(rankers, weights, intercept, questions: list[str], lists: list[list[str]]) -> list[Scored]:
    found = []
    for members in zip(*(ranker._score(questions, lists) for ranker in rankers), strict=True):
        scores = [member.scores for member in members]
        if intercept is None:
            together = ensemble.mean(scores, weights)
        else:
            together = 1 / (1 + numpy.exp(-ensemble.weigh({"weights": weights, "intercept": intercept}, scores)))
        found.append(_by_score(together, {f"member_{i}": values for i, values in enumerate(scores)}))
    return found


def _in_a_row(rankers, alpha: Ratios, questions: list[str], lists: list[list[str]]) -> list[Scored]:
    import torch

    from as2lib.models.sequential import rank_by_stages

    found = []
    for question, texts in zip(questions, lists, strict=True):
        parts = {f"stage_{stage}": numpy.full(len(texts), numpy.nan) for stage in range(len(rankers))}

        def score(stage: int, rows: "torch.Tensor", question=question, texts=texts, parts=parts) -> "torch.Tensor":
            scores = rankers[stage]._score([question], [[texts[row] for row in rows.tolist()]])[0].scores
            parts[f"stage_{stage}"][rows.numpy()] = scores
            return torch.from_numpy(scores)

        ranking = rank_by_stages(score, len(rankers), len(texts), alpha)
        found.append(Scored(ranking.order.numpy(), ranking.scores.numpy(), parts))
    return found


def _by_score(scores: numpy.ndarray, parts: dict[str, numpy.ndarray]) -> Scored:
    return Scored(numpy.argsort(-scores, kind="stable"), scores, parts)


def _ranked(texts: Sequence[str], scored: Scored, top: int | None) -> list[Ranked]:
    def parts(i: int) -> dict[str, float]:
        return {name: float(values[i]) for name, values in scored.parts.items() if values[i] == values[i]}

    return [Ranked(texts[i], float(scored.scores[i]), i, parts(i)) for i in scored.order[:top].tolist()]


def _check(questions: list[Any], lists: list[Any], top: int | None) -> None:
    if len(questions) != len(lists):
        raise ValueError(f"expected a list of candidates for each of {len(questions)} questions, got {len(lists)}")
    for question, texts in zip(questions, lists, strict=True):
        if isinstance(texts, str):
            raise ValueError(f"expected a list of candidates, got one text, {texts[:60]!r}")
        if not all(isinstance(text, str) and text.strip() for text in (question, *texts)) or not len(texts):
            raise ValueError(f"expected a question and one or more candidates, texts, none empty; got {len(texts)}")
    if top is not None and top < 1:
        raise ValueError(f"top: expected at least 1, got {top}")
