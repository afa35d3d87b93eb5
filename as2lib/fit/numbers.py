"""Which numbers a fit takes, from Python and from the command line alike; imports no torch."""

import math
from numbers import Integral, Real
from typing import Any

INTEGERS = {  # from … to
    "seed": (0, 2**32 - 1),
    "epochs": (1, 10_000),
    "steps": (1, 10**9),
    "batch_size": (1, 2**16),
    "batch_tokens": (1, 2**31 - 1),
    "evaluate_every": (1, 10**9),
    "patience": (1, 10**9),
    "max_length": (5, 2**15),
}
SHARES = {  # above (False) or from (True) 0, up to …
    "learning_rate": (False, 1.0),
    "warmup": (True, 1.0),
    "alpha": (True, 1.0),
    "tau": (False, 1e6),
}


def require(prefix: str = "", **settings: Any) -> None:
    """Raises ValueError for the first setting that a fit can't take; None and what is no number of a fit pass.

    prefix: before a name in the message, "--" of a command's options.
    """
    for name, value in settings.items():
        if value is None or name not in INTEGERS | SHARES:
            continue
        written = prefix + (name.replace("_", "-") if prefix else name)
        if name in INTEGERS:
            low, high = INTEGERS[name]
            right = isinstance(value, Integral) and not isinstance(value, bool) and low <= value <= high
            expected = f"a whole number from {low} to {high:,}"
        else:
            closed, top = SHARES[name]
            right = isinstance(value, Real) and math.isfinite(value) and (value > 0 or (closed and value == 0))
            right = right and value <= top
            expected = f"a number {'from' if closed else 'above'} 0, up to {top:g}"
        if not right:
            raise ValueError(f"{written}: expected {expected}, got {value!r}")
    if settings.get("epochs") is not None and settings.get("steps") is not None:
        raise ValueError(f"{prefix}steps: expected steps or epochs, got {settings['steps']} and {settings['epochs']}")
