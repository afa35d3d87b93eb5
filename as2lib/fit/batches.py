"""What a training batch holds, and in which order batches come: the same for the same seed; knows no model, no loss."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy
import torch
from datasets import Dataset

from as2lib.data.encode import rows_of
from as2lib.data.pairs import encoded, encoded_fingerprint
from as2lib.metrics.questions import Questions

# m pairs · b pairs in a batch · q questions in a batch · k teachers · c = 2 classes
NEIGHBOURS = 32  # batches' worth of items that are sorted by length together
# Of an epoch: the length of each item, how many a batch holds about, and how numbers of items, sorted, become batches.
Items: TypeAlias = tuple[numpy.ndarray, int, Callable[[list[int]], list[list[int]]]]


class Examples:
    """Encoded items, pairs or whole questions, with their labels and each teacher's logits, where there are any.

    teachers: (m, k, c) float32.  question: (m,) the number of each pair's question, where batches hold whole ones.
    """

    def __init__(
        self,
        pairs: Dataset,
        encoder: Any,
        teachers: numpy.ndarray | None = None,
        question: numpy.ndarray | None = None,
    ):
        self.encoder, self.question = encoder, question
        items = encoded(pairs, encoder)
        self.fingerprint = encoded_fingerprint(pairs, encoder)  # of the pairs, and of how they are encoded
        self.items, numbers = items.with_format("arrow"), items.with_format("numpy")
        self.length = numbers["length"][:]  # tokens of each item
        self.sizes = numbers["pairs"][:] if "pairs" in items.column_names else numpy.ones(len(items), dtype=int)
        self.ends = numpy.cumsum(self.sizes)
        self.labels = None
        if "label" in pairs.column_names:
            self.labels = torch.from_numpy(pairs.with_format("numpy")["label"][:].astype(numpy.int64))
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


class Batches:
    """Batches of items of similar length in a random order, every item once an epoch; a function of seed and epoch.

    length: (m,) tokens of each item.  size: items in a batch.
    tokens: instead, tokens in a batch at most, padding included (or one longer item).
    """

    def __init__(self, length: numpy.ndarray, size: int | None, seed: int, tokens: int | None = None):
        self.length, self.size, self.seed, self.tokens = length, size, seed, tokens

    def epoch(self, epoch: int) -> list[list[int]]:
        """The batches of one epoch, as numbers of items, in a random order; each is cut from items sorted by length."""
        generator = numpy.random.default_rng([self.seed, epoch])
        length, typical, cut = self._items(generator)
        shuffled, batches = generator.permutation(len(length)), []
        for start in range(0, len(shuffled), typical * NEIGHBOURS):
            window = shuffled[start : start + typical * NEIGHBOURS]
            batches += cut(window[numpy.argsort(length[window], kind="stable")].tolist())
        return [batches[i] for i in generator.permutation(len(batches))]

    def since(self, batch: int) -> Iterator[list[int]]:
        """The batches from a number on, without an end."""
        epoch = 0
        while True:
            batches = self.epoch(epoch)
            yield from batches[batch:]
            batch, epoch = max(0, batch - len(batches)), epoch + 1

    def _items(self, generator: numpy.random.Generator) -> Items:
        typical = self.size or max(1, self.tokens // max(1, round(float(self.length.mean()))))
        return self.length, typical, self._cut

    def _cut(self, items: list[int]) -> list[list[int]]:
        if self.size is not None:
            return [items[i : i + self.size] for i in range(0, len(items), self.size)]
        batches: list[list[int]] = [[]]
        for item in items:
            if batches[-1] and (len(batches[-1]) + 1) * self.length[item] > self.tokens:
                batches.append([])
            batches[-1].append(item)
        return batches


class QuestionBatches(Batches):
    """Batches of whole questions with about `size` pairs, every question once an epoch, its candidates in their order.

    question: (m,) the number of each pair's question.  label: (m,), None without labels.  length: (m,) tokens.
    candidates: of a question at most: all correct ones, and others drawn anew each epoch.
    A batch ends where the next question would take it farther from `size` than it is.
    """

    def __init__(
        self,
        question: numpy.ndarray,
        label: numpy.ndarray | None,
        length: numpy.ndarray,
        size: int,
        seed: int,
        candidates: int = 30,
    ):
        super().__init__(length, size, seed)
        self.rows = [numpy.arange(len(question))[rows] for rows in Questions.together(question).slices()]
        self.correct = numpy.zeros(len(question), dtype=bool) if label is None else numpy.asarray(label) == 1
        self.candidates = candidates

    def _items(self, generator: numpy.random.Generator) -> Items:
        questions = [self._drawn(rows, generator) for rows in self.rows]
        longest = numpy.array([self.length[rows].max() for rows in questions])
        typical = max(1, round(self.size / numpy.mean([len(rows) for rows in questions])))

        def cut(numbers: list[int]) -> list[list[int]]:
            batches: list[list[int]] = [[]]
            for number in numbers:
                missing = self.size - len(batches[-1])
                if batches[-1] and len(questions[number]) - missing > missing:
                    batches.append([])
                batches[-1] += questions[number].tolist()
            return batches

        return longest, typical, cut

    def _drawn(self, rows: numpy.ndarray, generator: numpy.random.Generator) -> numpy.ndarray:
        if len(rows) <= self.candidates:
            return rows
        correct, others = rows[self.correct[rows]], rows[~self.correct[rows]]
        room = max(1, self.candidates - len(correct))
        return numpy.sort(numpy.append(correct, generator.permutation(others)[:room]))
