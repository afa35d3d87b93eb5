"""The pair table: where it comes from, its checks and its tokens; imports nothing heavy until a loader is asked for."""

from typing import Any

__all__ = ["leaks", "load_pairs", "load_parts", "load_splits", "load_unlabelled", "save_pairs"]


def __getattr__(name: str) -> Any:
    # PEP 562: the plan imports `as2lib.data.sets` and must not pay for `datasets`.
    if name in __all__:
        from as2lib.data import pairs

        return getattr(pairs, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
