"""The convolution against torch's own, text by text: values, and gradients of the weights and of the words."""

import pytest
import torch
from torch.nn import functional

from as2lib.models.word_convolution import WordConvolution

LENGTHS = [3, 1, 6]

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")  # of torch, for filters of even size


def one_by_one(layer, texts):
    """(b, f), each text, (n, channels), by itself through `torch.nn.functional.conv1d`."""
    values = [functional.conv1d(text.T[None], layer.weight, layer.bias, padding="same")[0] for text in texts]
    return torch.stack([value.amax(dim=1) for value in values]).relu()


def assert_same_values_and_gradients(ours, expected, inputs):
    torch.testing.assert_close(ours, expected)
    upstream = torch.randn_like(ours)
    of_ours, of_expected = (torch.autograd.grad(values, inputs, upstream) for values in (ours, expected))
    torch.testing.assert_close(of_ours, of_expected)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_values_and_gradients_are_those_of_torchs_convolution_of_each_text_alone(size):
    torch.manual_seed(0)
    layer, table = WordConvolution(4, 3, size), torch.randn(6, 4, requires_grad=True)
    rows = torch.randint(0, 6, (10,))
    expected = one_by_one(layer, table[rows].split(LENGTHS))
    ours = layer(table, rows, torch.tensor(LENGTHS))
    assert_same_values_and_gradients(ours, expected, [table, *layer.parameters()])


@pytest.mark.parametrize("shared", [False, True])
def test_the_same_with_a_channel_of_the_pair_also_where_pairs_share_a_text(shared):
    torch.manual_seed(0)
    layer, table, rows = WordConvolution(4, 3, 5, pair_channel=True), torch.randn(6, 4), torch.randint(0, 6, (10,))
    text = torch.tensor([0, 2, 2, 1, 0]) if shared else None
    pairs = text.tolist() if shared else [0, 1, 2]
    channel = torch.rand(len(pairs), 6)
    for pair, number in enumerate(pairs):
        channel[pair, LENGTHS[number] :] = 0
    words = table[rows].split(LENGTHS)
    texts = [torch.cat([words[i], channel[pair, : LENGTHS[i], None]], 1) for pair, i in enumerate(pairs)]
    ours = layer(table, rows, torch.tensor(LENGTHS), text, channel)
    assert_same_values_and_gradients(ours, one_by_one(layer, texts), list(layer.parameters()))
