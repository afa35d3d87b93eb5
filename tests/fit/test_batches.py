from itertools import pairwise
from types import SimpleNamespace

import numpy

from as2lib.fit.batches import CANDIDATES, Batches, Examples
from as2lib.metrics.questions import Questions
from tests.fit import tiny


def lengths(count=101, longest=40):
    return numpy.random.default_rng(0).integers(4, longest, count)


def examples(length, sizes=None, labels=None):
    """Of so many tokens each; sizes: pairs of each question, where batches hold whole ones."""
    question = None if sizes is None else numpy.repeat(numpy.arange(len(sizes)), sizes)
    return SimpleNamespace(length=length, question=question, labels=labels, encoder=SimpleNamespace(unit="pair"))


def test_an_epoch_of_whole_questions_has_every_question_once_with_its_candidates_in_order():
    sizes = numpy.random.default_rng(1).integers(1, 12, 60)
    whole = examples(lengths(sizes.sum()), sizes)
    question = whole.question
    about_16, bounded = Batches(whole, 16, seed=3).epoch(2), Batches(whole, None, seed=3, tokens=500).epoch(2)
    for epoch in (about_16, bounded):
        assert sorted(row for batch in epoch for row in batch) == list(range(len(question)))
        for batch in epoch:
            runs = Questions.together(question[batch]).sizes.tolist()
            assert runs == [sizes[question[batch[first]]] for first in numpy.cumsum([0, *runs[:-1]])]
            assert all(b == a + 1 for a, b in pairwise(batch) if question[a] == question[b])
    assert abs(numpy.mean([len(batch) for batch in about_16]) - 16) < 3
    assert all(len(batch) * whole.length[batch].max() <= 500 for batch in bounded)


def test_a_long_question_keeps_its_correct_candidates_and_as_many_others_as_fit():
    label = numpy.zeros(53, dtype=int)
    label[[4, 44, 51]] = 1
    batches = Batches(examples(lengths(53), [50, 3], label), 64, seed=0)
    rows = [sorted(row for batch in batches.epoch(epoch) for row in batch) for epoch in range(2)]
    for chosen in rows:
        assert len(chosen) == CANDIDATES + 3
        assert {4, 44, 50, 51, 52} <= set(chosen)
    assert rows[0] != rows[1]


def test_targets_belong_to_their_pairs():
    pairs, encoder = tiny.pairs(), tiny.encoder()
    teachers = numpy.stack(tiny.logits(pairs, 3), axis=1)
    question = Questions.together(pairs["question_id"][:]).code
    inputs, targets = Examples(pairs, encoder, teachers, question).batch([4, 0, 1])
    assert targets["candidates"].tolist() == Questions.together(question[[4, 0, 1]]).sizes.tolist()
    assert [part.tolist() for part in Questions.together([0, 0, 0, 1, 2, 2]).parts(2)] == [[0, 1, 2], [3, 4, 5]]
    items = encoder.items(pairs["question"][:], pairs["answer"][:], pairs["question_id"][:])
    for place, row in enumerate([4, 0, 1]):
        real = inputs["attention_mask"][place].bool()
        assert inputs["input_ids"][place][real].tolist() == list(items[row]["input_ids"])
        assert targets["labels"][place] == pairs["label"][row]
        assert (targets["teacher_logits"][place].numpy() == teachers[row]).all()


def test_an_epoch_has_every_item_once_in_batches_of_similar_length_and_depends_on_seed_and_epoch_alone():
    length = lengths(2000, 128)
    batches = Batches(examples(length), 16, seed=5)
    epoch = batches.epoch(1)
    assert sorted(item for batch in epoch for item in batch) == list(range(2000))
    assert sum(length[batch].max() * len(batch) for batch in epoch) < 1.15 * length.sum()
    assert epoch == Batches(examples(length), 16, seed=5).epoch(1)
    assert epoch != batches.epoch(0)
    assert epoch != Batches(examples(length), 16, seed=6).epoch(1)
    length[7] = 500  # longer than the bound: it comes alone
    bounded = Batches(examples(length), None, seed=1, tokens=200).epoch(0)
    assert sorted(item for batch in bounded for item in batch) == list(range(2000))
    assert [7] in bounded
    assert all(len(batch) * length[batch].max() <= 200 for batch in bounded if batch != [7])
