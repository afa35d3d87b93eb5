import pytest
import torch
from torch.nn import functional

from as2lib.models.word_convolution import FrozenWordConvolution, WordConvolution, greatest, in_strips, windows

LENGTHS = torch.tensor([3, 1, 6])


pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")  # of torch, for filters of even size


def one_by_one(words, weight, bias):
    """Each text by itself through torch's own convolution.  weight: (f, d, k)."""
    texts = words.split(LENGTHS.tolist())
    found = [functional.conv1d(text.T[None], weight, bias, padding="same")[0].amax(dim=1) for text in texts]
    return torch.stack(found).relu()


def as_conv1d(convolution, size):
    """The weights of one window size, (f, d, k)."""
    taps = []
    for weight, sizes in zip(convolution.weight, convolution.taps.values(), strict=True):
        if size in sizes:
            place = sizes.index(size) * convolution.filters
            taps.append(weight[place : place + convolution.filters])
    return torch.stack(taps, dim=2)


def test_a_window_holds_the_words_around_and_nothing_beyond_the_text():
    first, total = windows(torch.tensor([2, 1]), 3)
    assert (first.tolist(), total) == ([0, 1, 4], 7)  # of 0 a b 0 0 c 0
    assert windows(torch.tensor([3]), 2)[0].tolist() == [0, 1, 2]  # of a b c 0


def test_the_last_word_of_a_text_fills_its_last_strip():
    words, strips = in_strips(torch.tensor([3, 8, 9]))
    assert strips.tolist() == [1, 1, 2]
    assert words.tolist() == [0, 1, *[2] * 6, *range(3, 11), *range(11, 19), *[19] * 8]


@pytest.mark.parametrize("lengths", [[2, 1], [8, 20, 1, 33]])
def test_the_greatest_value_of_each_text_and_its_first_word(lengths):
    values = torch.randint(0, 5, (sum(lengths), 3), generator=torch.Generator().manual_seed(0)).float()  # many ties
    words, strips = in_strips(torch.tensor(lengths))
    found, where = greatest(values[words], strips)
    expected = [part.max(dim=0) for part in values.split(lengths)]
    starts = torch.tensor([0, *lengths[:-1]]).cumsum(0)[:, None]
    assert torch.equal(found, torch.stack([one.values for one in expected]))
    assert torch.equal(words[where], torch.stack([one.indices for one in expected]) + starts)


@pytest.mark.parametrize("sizes", [(1, 2, 3, 4, 5), (3,), (2, 5)])
def test_values_and_gradients_are_those_of_torch_convolutions_of_each_text_alone(sizes):
    torch.manual_seed(0)
    convolution, words = WordConvolution(4, 3, sizes), torch.randn(10, 4, requires_grad=True)
    biases = convolution.bias.split(3)
    expected = torch.cat(
        [one_by_one(words, as_conv1d(convolution, k), bias) for k, bias in zip(sizes, biases, strict=True)], 1
    )
    found = convolution(words, LENGTHS)
    torch.testing.assert_close(found, expected)
    inputs, upstream = [words, convolution.bias, *convolution.weight], torch.randn_like(found)
    for ours, theirs in zip(
        torch.autograd.grad(found, inputs, upstream), torch.autograd.grad(expected, inputs, upstream), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_frozen_words_give_the_same_values_and_gradients(size):
    torch.manual_seed(0)
    convolution, table = FrozenWordConvolution(4, 3, size), torch.randn(6, 4)
    rows, extra = torch.randint(0, 6, (10,)), torch.rand(10)
    weight = torch.cat([convolution.weight, convolution.extra[:, :, None]], dim=2).permute(1, 2, 0)  # (f, d + 1, k)
    expected = one_by_one(torch.cat([table[rows], extra[:, None]], dim=1), weight, convolution.bias)
    found = convolution(table, rows, extra, LENGTHS)
    torch.testing.assert_close(found, expected)
    inputs, upstream = list(convolution.parameters()), torch.randn_like(found)
    for ours, theirs in zip(
        torch.autograd.grad(found, inputs, upstream), torch.autograd.grad(expected, inputs, upstream), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_bf16_is_near_float32_and_comes_back_as_float32():
    torch.manual_seed(0)
    convolution, words = WordConvolution(16, 8, (1, 3)), torch.randn(10, 16)
    with torch.autocast("cpu", torch.bfloat16):
        found = convolution(words, LENGTHS)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, convolution(words, LENGTHS), atol=0.05, rtol=0.05)
    found.sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in convolution.parameters())
