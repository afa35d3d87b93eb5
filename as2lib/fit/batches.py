"""What a training batch holds, and in which order batches come: the same for the same seed; knows no model, no loss."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy
import torch

from as2lib.data.encode import rows_of
from as2lib.metrics.questions import Questions

if TYPE_CHECKING:
    from datasets import Dataset

# m pairs · b pairs in a batch · q questions in a batch · k teachers · c = 2 classes
NEIGHBOURS = 32  # batches' worth of items that are sorted by length together


class Examples:
    """Encoded items, pairs or whole questions, with their labels, where they have any, and each teacher's logits.

    pairs: the pair table.  encoder: what turns it into items, and items into a batch.
    teachers: (m, k, c) float32, or None.  question: (m,) the number of each pair's question, where batches
        hold whole ones.
    """

    def __init__(
        self,
        pairs: "Dataset",
        encoder: Any,
        teachers: numpy.ndarray | None = None,
        question: numpy.ndarray | None = None,
    ):
        self.encoder, self.question = encoder, question
        encoded = encoder.encode(pairs)
        self.fingerprint = encoder.fingerprint(pairs)  # of the pairs, and of how they are encoded
        self.items, numbers = encoded.with_format("arrow"), encoded.with_format("numpy")
        self.length = numbers["length"][:]  # tokens of each item
        self.sizes = numbers["pairs"][:] if "pairs" in encoded.column_names else numpy.ones(len(encoded), dtype=int)
        self.ends = numpy.cumsum(self.sizes)
        self.labels = labels_of(pairs)
        self.teachers = None if teachers is None else torch.from_numpy(teachers)

    def batch(
        self, items: list[int], device: str | torch.device = "cpu"
    ) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        """The model's inputs, and the targets: `labels` (b,), `teacher_logits` (b, k, c), `candidates` (q,)."""
        inputs = self.encoder.collate(rows_of(self.items, items))
        rows = numpy.concatenate([numpy.arange(self.ends[i] - self.sizes[i], self.ends[i]) for i in items])
        targets = {}
        if self.question is not None:
            targets["candidates"] = torch.from_numpy(Questions.together(self.question[rows]).sizes)
        if self.labels is not None:
            targets["labels"] = self.labels[rows]
        if self.teachers is not None:
            targets["teacher_logits"] = self.teachers[rows]
        inputs = {name: values.to(device) for name, values in inputs.items()}
        return inputs, {name: values.to(device) for name, values in targets.items()}


def labels_of(pairs: "Dataset") -> torch.Tensor | None:
    """The labels of a pair table, (m,) int64; None where it has none."""
    if "label" not in pairs.column_names:
        return None
    return torch.from_numpy(pairs.with_format("numpy")["label"][:].astype(numpy.int64))


class Batches(ABC):
    """Batches, epoch after epoch: a pure function of what they are made of, the seed and the epoch."""

    @abstractmethod
    def epoch(self, epoch: int) -> list[list[int]]:
        """The batches of one epoch, as numbers of items."""

    def steps(self, epochs: int) -> int:
        """How many batches some epochs have."""
        return sum(len(self.epoch(epoch)) for epoch in range(epochs))

    def since(self, batch: int) -> Iterator[list[int]]:
        """The batches from a number on, without an end."""
        epoch = 0
        while True:
            batches = self.epoch(epoch)
            yield from batches[batch:]
            batch, epoch = max(0, batch - len(batches)), epoch + 1


class ItemBatches(Batches):
    """Batches of items of similar length, in a random order; every item once an epoch.

    length: tokens of each item.  batch_size: items in a batch.
    batch_tokens: instead, tokens in a batch at most, padding included (or one longer item).
    """

    def __init__(self, length: numpy.ndarray, batch_size: int | None, seed: int, batch_tokens: int | None = None):
        self.length, self.batch_size, self.seed, self.batch_tokens = length, batch_size, seed, batch_tokens

    def epoch(self, epoch: int) -> list[list[int]]:
        generator = numpy.random.default_rng([self.seed, epoch])
        shuffled = generator.permutation(len(self.length))
        typical = self.batch_size or max(1, self.batch_tokens // max(1, round(float(self.length.mean()))))
        batches = []
        for start in range(0, len(shuffled), typical * NEIGHBOURS):
            window = shuffled[start : start + typical * NEIGHBOURS]
            batches += self._cut(window[numpy.argsort(self.length[window], kind="stable")])
        return [batches[i] for i in generator.permutation(len(batches))]

    def _cut(self, items: numpy.ndarray) -> list[list[int]]:
        """Items from the shortest to the longest, in batches within the bound."""
        if self.batch_size is not None:
            return [items[i : i + self.batch_size].tolist() for i in range(0, len(items), self.batch_size)]
        batches: list[list[int]] = [[]]
        for item in items.tolist():
            if batches[-1] and (len(batches[-1]) + 1) * self.length[item] > self.batch_tokens:
                batches.append([])
            batches[-1].append(item)
        return batches


class QuestionBatches(Batches):
    """Batches of whole questions with about `pairs` pairs; every question once an epoch, its candidates in their order.

    question: (m,) the number of each pair's question.  label: (m,), None without labels.  length: (m,) tokens.
    candidates: of a question at most; all correct ones are among them, the others are drawn anew each epoch.
    A batch ends where the next question would take it farther from `pairs` than it is; one has a question at least.
    """

    def __init__(
        self,
        question: numpy.ndarray,
        label: numpy.ndarray | None,
        length: numpy.ndarray,
        pairs: int,
        seed: int,
        candidates: int = 30,
    ):
        self.rows = [numpy.arange(len(question))[rows] for rows in Questions.together(question).slices()]
        self.correct = numpy.zeros(len(question), dtype=bool) if label is None else numpy.asarray(label) == 1
        self.length, self.pairs, self.seed, self.candidates = length, pairs, seed, candidates

    def epoch(self, epoch: int) -> list[list[int]]:
        generator = numpy.random.default_rng([self.seed, epoch])
        questions = [self._drawn(rows, generator) for rows in self.rows]
        shuffled = generator.permutation(len(questions))
        longest = numpy.array([self.length[rows].max() for rows in questions])
        typical = max(1, round(self.pairs / numpy.mean([len(rows) for rows in questions])))
        batches = []
        for start in range(0, len(shuffled), typical * NEIGHBOURS):
            window = shuffled[start : start + typical * NEIGHBOURS]
            window = window[numpy.argsort(longest[window], kind="stable")]
            batches += self._cut([questions[i].tolist() for i in window])
        return [batches[i] for i in generator.permutation(len(batches))]

    def _drawn(self, rows: numpy.ndarray, generator: numpy.random.Generator) -> numpy.ndarray:
        if len(rows) <= self.candidates:
            return rows
        correct, others = rows[self.correct[rows]], rows[~self.correct[rows]]
        room = max(1, self.candidates - len(correct))
        return numpy.sort(numpy.append(correct, generator.permutation(others)[:room]))

    def _cut(self, questions: list[list[int]]) -> list[list[int]]:
        batches: list[list[int]] = [[]]
        for rows in questions:
            beyond, missing = len(batches[-1]) + len(rows) - self.pairs, self.pairs - len(batches[-1])
            if batches[-1] and beyond > missing:
                batches.append([])
            batches[-1] += rows
        return batches
