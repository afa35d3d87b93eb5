"""Marks of tests that not every machine can run."""

import pytest

from as2lib.precision import native_bf16

needs_bf16 = pytest.mark.skipif(not native_bf16("cpu"), reason="this processor does not multiply bf16")
BF16 = pytest.param("bf16", marks=needs_bf16)
