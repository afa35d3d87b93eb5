"""What a fit takes, before it is made."""

import pytest

from as2lib.study import estimate
from as2lib.study.run import Run
from tests.study.conftest import backbone

DATA = {"train": ("pool:train",), "dev": ("pool:dev",)}


def fit(name="base", steps=100, parents=None, layers=2, **spec) -> Run:
    training = {"steps": steps, "batch_size": 8, "learning_rate": 1e-3}
    if not parents:
        spec["backbone"] = backbone("electra", 16, layers)
    spec |= {"loss": "ce", "training": training, "max_length": 24}
    return Run(f"{name}/seed-0", "fit", 0, spec, DATA, {"start": parents} if parents else {}, {"precision": "float32"})


def test_a_fit_s_operations_are_those_of_its_steps_and_of_its_scores():
    per_token = 2 * (24 * 16**2 + 4 * 24 * 16)
    expected = per_token * (3 * 100 * 8 * 24 + 24 * estimate.PAIRS_OF_OTHERS) / (0.4 * 67e12) / 3600
    assert estimate.hours(fit()) == pytest.approx(expected)
    assert estimate.hours(fit(steps=200)) > 1.05 * expected
    assert estimate.sizes(fit("adapted", parents=(fit(layers=4),))) == (4, 16)
