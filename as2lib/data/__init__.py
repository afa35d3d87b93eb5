"""The pair table: where it comes from, its checks and its tokens."""

from typing import Any

__all__ = ["leaks", "load_pairs", "load_parts", "load_splits"]


def __getattr__(name: str) -> Any:
    """A loader, with the data libraries: a study is planned by `data.sets` without them."""
    if name not in __all__:
        raise AttributeError(f"module 'as2lib.data' has no attribute {name!r}")
    from as2lib.data import pairs

    return getattr(pairs, name)
