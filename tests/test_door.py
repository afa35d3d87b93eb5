"""What Python has from `import as2lib`: its names, a module of one's own, and torch's loss."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

import as2lib
from as2lib import Ranker, load_pairs, train
from tests.fit import tiny


class Bag(nn.Module):
    """A module of one's own: the mean of word vectors, and an output of any kind with logits."""

    def __init__(self, output=SimpleNamespace, labels=2):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.classifier, self.output = nn.Embedding(64, 8), nn.Linear(8, labels), output

    def forward(self, input_ids, attention_mask, **_):
        mask = attention_mask[:, :, None]
        mean = (self.words(input_ids) * mask).sum(1) / mask.sum(1)
        return self.output(logits=self.classifier(mean))


@pytest.mark.parametrize(("output", "labels"), [(SimpleNamespace, 1), (dict, 2)])
def test_a_module_of_ones_own_is_trained_ranks_and_is_saved(output, labels, tmp_path):
    encoder = tiny.encoder()
    fit = train(tiny.pairs(), Bag(output, labels), "ce", dev=tiny.pairs(seed=1), encoder=encoder, steps=4)
    expected = Ranker(fit.model, fit.encoder).rank("who wrote", ["the red book", "old"])
    fit.save(tmp_path / "bag")
    again = Ranker.load(tmp_path / "bag", model=lambda: Bag(output, labels))
    assert again.rank("who wrote", ["the red book", "old"]) == expected
    with pytest.raises(ValueError, match="model=Class"):
        Ranker.load(tmp_path / "bag")


def test_names_are_there_and_a_wrong_one_is_an_attribute_error():
    assert (as2lib.train, as2lib.load_pairs, as2lib.Ranker) == (train, load_pairs, Ranker)
    for room in (as2lib, as2lib.data):
        assert all(getattr(room, name) is not None for name in room.__all__)
        with pytest.raises(AttributeError, match="no_such_name"):
            room.no_such_name  # noqa: B018


def test_torchs_cross_entropy_is_a_loss_and_its_others_are_refused():
    def total(loss):
        return train(tiny.pairs(), Bag(), loss, encoder=tiny.encoder(), steps=3).log[-1]["total"]

    assert total(nn.CrossEntropyLoss()) == pytest.approx(total("ce"), rel=1e-6)
    for loss in (nn.BCEWithLogitsLoss(), nn.functional.cross_entropy, nn.MSELoss()):
        with pytest.raises(ValueError):
            total(loss)
