import pytest
import torch
from torch.nn import functional

from as2lib.kernels.cosinet import greatest, in_strips, reading_whole_batches
from as2lib.models.rank_rnn import RankRNN
from as2lib.models.word_convolution import FrozenWordConvolution, WordConvolution

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


def assert_same_values_and_gradients(found, expected, inputs):
    torch.testing.assert_close(found, expected)
    upstream = torch.randn_like(found)
    of_found, of_expected = (torch.autograd.grad(values, inputs, upstream) for values in (found, expected))
    torch.testing.assert_close(of_found, of_expected)


def inside(layer, *inputs):
    with reading_whole_batches(layer):
        assert "forward" in vars(layer)
        return layer(*inputs)


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
def test_the_model_is_torchs_convolution_of_each_text_alone_and_the_kernel_is_the_model(sizes):
    torch.manual_seed(0)
    layer, words = WordConvolution(4, 3, sizes), torch.randn(10, 4, requires_grad=True)
    biases = zip(sizes, layer.bias.split(3), strict=True)
    expected = torch.cat([one_by_one(words, as_conv1d(layer, k), bias) for k, bias in biases], dim=1)
    plain, inputs = layer(words, LENGTHS), [words, layer.bias, *layer.weight]
    assert_same_values_and_gradients(plain, expected, inputs)
    assert_same_values_and_gradients(inside(layer, words, LENGTHS), layer(words, LENGTHS), inputs)
    assert "forward" not in vars(layer)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_same_over_frozen_words(size):
    torch.manual_seed(0)
    layer, table = FrozenWordConvolution(4, 3, size), torch.randn(6, 4)
    inputs = table, torch.randint(0, 6, (10,)), torch.rand(10), LENGTHS
    weight = torch.cat([layer.weight, layer.extra[:, :, None]], dim=2).permute(1, 2, 0)  # (f, d + 1, k)
    expected = one_by_one(torch.cat([table[inputs[1]], inputs[2][:, None]], dim=1), weight, layer.bias)
    assert_same_values_and_gradients(layer(*inputs), expected, list(layer.parameters()))
    assert_same_values_and_gradients(inside(layer, *inputs), layer(*inputs), list(layer.parameters()))


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("candidates", [[4], [2, 3, 1]])
def test_the_same_of_a_tanh_rank_rnn(bidirectional, candidates):
    torch.manual_seed(0)
    layer, rows = RankRNN(3, 4, "rnn", bidirectional), torch.randn(sum(candidates), 3, requires_grad=True)
    expected = torch.cat([layer.rnn(part[None])[0][0] for part in rows.split(candidates)])
    inputs, candidates = [rows, *layer.parameters()], torch.tensor(candidates)
    assert_same_values_and_gradients(layer(rows, candidates), expected, inputs)
    assert_same_values_and_gradients(inside(layer, rows, candidates), layer(rows, candidates), inputs)


def test_an_lstm_reads_as_before():
    layer, inputs = RankRNN(3, 4, "lstm"), (torch.randn(5, 3), torch.tensor([2, 3]))
    assert torch.equal(inside(layer, *inputs), layer(*inputs))


def test_bf16_is_near_float32_and_comes_back_as_float32():
    torch.manual_seed(0)
    layer, words = WordConvolution(16, 8, (1, 3)), torch.randn(10, 16)
    with torch.autocast("cpu", torch.bfloat16):
        found = inside(layer, words, LENGTHS)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, layer(words, LENGTHS), atol=0.05, rtol=0.05)
    found.sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in layer.parameters())
