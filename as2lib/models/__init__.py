"""Models that score pairs, one a module.

`load(name)` opens any of them, and any sequence classifier of transformers.
"""

from as2lib.models.cross_encoder import load

__all__ = ["load"]
