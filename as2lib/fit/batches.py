"""What a training batch holds, and in which order batches come: the same for the same seed; knows no model, no loss."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy
import torch
from datasets import Dataset

from as2lib.data.pairs import encoded, encoded_fingerprint
from as2lib.metrics.questions import Questions

# m pairs · b pairs in a batch · q questions in a batch · k teachers · c = 2 classes
NEIGHBOURS = 32  # batches' worth of items that are sorted by length together
CANDIDATES = 30  # of a question in a batch at most
Array: TypeAlias = numpy.ndarray
Tensors: TypeAlias = dict[str, torch.Tensor]


class Examples:
    """Encoded items, pairs or whole questions, with their labels and each teacher's logits, where there are any.

    teachers: (m, k, c) float32.  question: (m,) the number of each pair's question, where batches hold whole ones.
    """

    def __init__(self, pairs: Dataset, encoder: Any, teachers: Array | None = None, question: Array | None = None):
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

    def batch(self, items: list[int], device: str | torch.device = "cpu") -> tuple[Tensors, Tensors]:
        """The model's inputs, and the targets: `labels` (b,), `teacher_logits` (b, k, c), `candidates` (q,)."""
        table, names = self.items[items], self.items.column_names
        columns = [table[name].to_numpy() for name in names]  # whose lists are arrays
        inputs = self.encoder.collate([dict(zip(names, item, strict=True)) for item in zip(*columns, strict=True)])
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

    size: items in a batch.  tokens: instead, tokens in a batch at most, padding included (or one longer item).
    Of pairs whose questions have numbers a batch holds whole questions, of about `size` pairs: it ends where the next
    one would take it farther from that than it is.  Candidates stay in their order, of more than `CANDIDATES` all
    correct ones, and others drawn anew each epoch.
    """

    def __init__(self, examples: Examples, size: int | None, seed: int, tokens: int | None = None):
        self.length, self.size, self.seed, self.tokens = examples.length, size, seed, tokens
        labels = numpy.zeros(len(self.length)) if examples.labels is None else examples.labels
        self.correct = numpy.asarray(labels) == 1
        whole = examples.question is not None and examples.encoder.unit == "pair"
        slices = Questions.together(examples.question).slices() if whole else []
        self.questions = [numpy.arange(len(self.length))[rows] for rows in slices]

    def epoch(self, epoch: int) -> list[list[int]]:
        """The batches of one epoch, as numbers of items, in a random order; each is cut from items sorted by length."""
        generator = numpy.random.default_rng([self.seed, epoch])
        questions = [self._drawn(rows, generator) for rows in self.questions]
        length, pairs = self.length, 1.0
        if questions:
            length = numpy.array([self.length[rows].max() for rows in questions])
            pairs = numpy.mean([len(rows) for rows in questions])
        size = self.size or self.tokens // max(1, round(float(length.mean())))
        window = NEIGHBOURS * max(1, round(size / pairs))
        shuffled, batches = generator.permutation(len(length)), []
        for start in range(0, len(shuffled), window):
            items = shuffled[start : start + window]
            batches += self._cut(items[numpy.argsort(length[items], kind="stable")].tolist(), length, questions)
        return [batches[i] for i in generator.permutation(len(batches))]

    def since(self, batch: int) -> Iterator[list[int]]:
        """The batches from a number on, without an end."""
        epoch = 0
        while True:
            batches = self.epoch(epoch)
            yield from batches[batch:]
            batch, epoch = max(0, batch - len(batches)), epoch + 1

    def _cut(self, items: list[int], length: Array, questions: list[Array]) -> list[list[int]]:
        """Items that are sorted by length, or the pairs of questions that are, as batches."""
        batches: list[list[int]] = [[]]
        for item in items:
            rows = questions[item].tolist() if questions else [item]
            if self.size:
                missing = self.size - len(batches[-1])
                is_full = len(rows) - missing > missing
            else:
                is_full = (len(batches[-1]) + len(rows)) * length[item] > self.tokens
            if batches[-1] and is_full:
                batches.append([])
            batches[-1] += rows
        return batches

    def _drawn(self, rows: Array, generator: numpy.random.Generator) -> Array:
        """A question's rows, some of the incorrect ones where it has more than `CANDIDATES`."""
        if len(rows) <= CANDIDATES:
            return rows
        correct, others = rows[self.correct[rows]], rows[~self.correct[rows]]
        room = max(1, CANDIDATES - len(correct))
        return numpy.sort(numpy.append(correct, generator.permutation(others)[:room]))
