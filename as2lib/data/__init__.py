"""The pair table: where it comes from, its checks and its tokens; imports nothing heavy until a loader is asked for."""

from as2lib import lazy

# The plan of a study imports `as2lib.data.sets`, and must not pay for `datasets`.
_names = {".pairs": "leaks load_pairs load_parts load_splits load_unlabelled save_pairs"}
__getattr__, __dir__, __all__ = lazy.names(__name__, _names)
