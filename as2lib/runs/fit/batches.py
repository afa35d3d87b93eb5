"""What a training batch is made of, and in which order batches come: the same for the same seed."""

from collections.abc import Iterator
from typing import Any

import numpy
import torch
from datasets import Dataset

from as2lib.data.encode import rows_of


class Items(torch.utils.data.Dataset):
    """Encoded items, pairs or whole questions, with their labels, where they have any, and what each teacher says."""

    def __init__(self, encoded: Dataset, labels: list[int] | None, teachers: list[numpy.ndarray]):
        self.encoded, self.arrow = encoded, encoded.with_format("arrow")
        self.labels = None if labels is None else labels[:]  # a column of a Dataset reads a row at a time
        if "pairs" in encoded.column_names:  # an item holds several pairs, and a list of labels
            self.labels = numpy.split(numpy.asarray(self.labels), numpy.cumsum(encoded["pairs"][:])[:-1])
        self.teachers = numpy.stack(teachers, axis=1) if teachers else None  # (m, k, c)

    def __len__(self) -> int:
        return len(self.encoded)

    def __getitems__(self, rows: list[int]) -> list[dict[str, Any]]:
        items = rows_of(self.arrow, rows)
        for item, row in zip(items, rows, strict=True):
            if self.labels is not None:
                item["labels"] = self.labels[row]
            if self.teachers is not None:
                item["teacher_logits"] = self.teachers[row]
        return items


class GroupedBatches:
    """Batches of similar length in a random order: a pure function of (lengths, bound, steps, seed).

    batch_size: pairs in a batch; None where `batch_tokens` bounds it, tokens at most with padding (or one longer pair).
    """

    def __init__(
        self,
        length: numpy.ndarray,
        batch_size: int | None,
        steps: int,
        seed: int,
        neighbours: int = 32,
        batch_tokens: int | None = None,
    ):
        self.length, self.batch_size, self.steps, self.seed = length, batch_size, steps, seed
        self.neighbours, self.batch_tokens = neighbours, batch_tokens  # neighbours: batches sorted by length together

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[list[int]]:
        step, epoch = 0, 0
        while step < self.steps:
            for rows in self.epoch(epoch)[: self.steps - step]:
                step += 1
                yield rows
            epoch += 1

    def epoch(self, epoch: int) -> list[list[int]]:
        """The batches of one epoch: every row once."""
        generator = numpy.random.default_rng([self.seed, epoch])
        shuffled = generator.permutation(len(self.length))
        typical = self.batch_size or max(1, self.batch_tokens // max(1, round(float(self.length.mean()))))
        window = typical * self.neighbours
        batches = []
        for start in range(0, len(shuffled), window):
            rows = shuffled[start : start + window]
            rows = rows[numpy.argsort(self.length[rows], kind="stable")]
            batches += self._cut(rows)
        return [batches[i] for i in generator.permutation(len(batches))]

    def _cut(self, rows: numpy.ndarray) -> list[list[int]]:
        """Rows from the shortest to the longest, in batches within the bound."""
        if self.batch_size is not None:
            return [rows[i : i + self.batch_size].tolist() for i in range(0, len(rows), self.batch_size)]
        batches: list[list[int]] = [[]]
        for row in rows.tolist():
            if batches[-1] and (len(batches[-1]) + 1) * self.length[row] > self.batch_tokens:
                batches.append([])
            batches[-1].append(row)
        return batches


class Shares:
    """What one of several processes takes of each batch: every `size`-th row, all of a batch with fewer rows."""

    def __init__(self, batches: GroupedBatches, rank: int, size: int):
        self.batches, self.rank, self.size = batches, rank, size

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        for rows in self.batches:
            yield rows if len(rows) < self.size else rows[self.rank :: self.size]
