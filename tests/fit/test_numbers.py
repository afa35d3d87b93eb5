import math

import pytest

from as2lib.fit.numbers import INTEGERS, SHARES, require

WHOLE = {  # the least and the most
    "seed": (0, 2**32 - 1),
    "epochs": (1, 10_000),
    "steps": (1, 10**9),
    "batch_size": (1, 2**16),
    "batch_tokens": (1, 2**31 - 1),
    "evaluate_every": (1, 10**9),
    "patience": (1, 10**9),
    "max_length": (5, 2**15),
}
OTHERS = {  # the least, above 0 or 0 itself, and the most
    "learning_rate": (5e-324, 1.0),
    "warmup": (0.0, 1.0),
    "alpha": (0.0, 1.0),
    "tau": (5e-324, 1e6),
}


@pytest.mark.parametrize("name", [*WHOLE, *OTHERS])
def test_a_number_is_taken_from_its_least_to_its_most_and_none_beside(name):
    least, most = (WHOLE | OTHERS)[name]
    beside = [least - 1, most + 1, float(most), True] if name in WHOLE else [math.nan, math.inf, -1e-9]
    if name in OTHERS:
        beside += [math.nextafter(least, -1), math.nextafter(most, math.inf)]
    for value in (least, most, None):
        require(**{name: value})
    for value in [*beside, "1"]:
        with pytest.raises(ValueError, match=rf"^--{name.replace('_', '-')}: expected a (whole )?number .*, got"):
            require("--", **{name: value})


def test_every_number_of_a_fit_has_its_bounds_and_steps_and_epochs_are_one_of_two():
    assert {*WHOLE} == {*INTEGERS}
    assert {*OTHERS} == {*SHARES}
    require(steps=1, epochs=None, something=-1)
    with pytest.raises(ValueError, match=r"^steps: expected steps or epochs, got 1 and 2$"):
        require(steps=1, epochs=2)
