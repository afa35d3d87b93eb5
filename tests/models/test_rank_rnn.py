import pytest
import torch

from as2lib.models.rank_rnn import RankRNN, by_question


def test_lists_are_padded_with_zeros_behind_their_ends():
    padded, mask = by_question(torch.tensor([1, 2, 3]), torch.tensor([1, 2]))
    assert padded.tolist() == [[1, 0], [2, 3]]
    assert mask.tolist() == [[True, False], [True, True]]


@pytest.mark.parametrize("kind", ["rnn", "lstm"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_rank_rnn_reads_each_list_by_itself_and_as_torch_does(kind, bidirectional):
    torch.manual_seed(0)
    layer, rows = RankRNN(3, 4, kind, bidirectional), torch.randn(5, 3)
    states = layer(rows, torch.tensor([2, 3]))
    for part in (slice(0, 2), slice(2, 5)):
        torch.testing.assert_close(states[part], layer.rnn(rows[part][None])[0][0])
        torch.testing.assert_close(states[part], layer(rows[part], torch.tensor([part.stop - part.start])))


def test_another_kind_is_refused():
    with pytest.raises(ValueError, match="rnn, lstm"):
        RankRNN(3, 4, "gru")
