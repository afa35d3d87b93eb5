import pytest
import torch

from as2lib.models.rank_rnn import RankRNN


@pytest.mark.parametrize("kind", ["rnn", "lstm"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_rank_rnn_reads_each_list_by_itself_and_as_torch_does(kind, bidirectional):
    torch.manual_seed(0)
    layer, rows = RankRNN(3, 4, kind, bidirectional), torch.randn(5, 3)
    states = layer(rows, torch.tensor([2, 3]))
    for part in (slice(0, 2), slice(2, 5)):
        torch.testing.assert_close(states[part], layer.rnn(rows[part][None])[0][0])
        torch.testing.assert_close(states[part], layer(rows[part], torch.tensor([part.stop - part.start])))
