import pytest
from torch import nn

from as2lib.kernels import replacing


def test_modules_are_as_before_after_a_block_inside_another_and_after_an_error():
    first, second = nn.Identity(), nn.Identity()
    with replacing({first: lambda x: x + 1, second: lambda x: x / 0}):
        with replacing({first: lambda x: x + 10}):
            assert first(0) == 10
        assert first(0) == 1
    with pytest.raises(ZeroDivisionError), replacing({second: lambda x: x / 0}):
        second(1)
    assert "forward" not in {*vars(first), *vars(second)}
