"""P(correct) and its log odds, by numpy: torch gives equal logits another last digit at the end of a tensor."""

from collections.abc import Sequence

import numpy as np

NEAREST = 2.0**-53  # the nearest that a float64 below 1 gets to it


def sigmoid(log_odds: np.ndarray) -> np.ndarray:
    """P(correct) of log odds, of any shape: float64 of float64."""
    with np.errstate(over="ignore"):  # below -709, where the probability is 0
        return 1.0 / (1.0 + np.exp(-log_odds))


def log_odds(probability: Sequence[float] | np.ndarray) -> np.ndarray:
    """The log odds of probabilities, float64; those of 0 and 1 are finite: ±36.7."""
    from scipy.special import logit

    return logit(np.asarray(probability, dtype=np.float64).clip(NEAREST, 1 - NEAREST))
