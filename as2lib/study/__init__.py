"""A study: its parameters, its runs and where they are kept, and what their scores say."""

from typing import TYPE_CHECKING

from as2lib import lazy

if TYPE_CHECKING:
    from as2lib.study.study import Study

__all__ = ["Study"]
__getattr__, __dir__, _ = lazy.names(__name__, {".study": "Study"})  # its parts need none of what it brings in
