"""A study: its parameters, its runs and where they are kept, and what their scores say."""

from as2lib.study.study import Study

__all__ = ["Study"]
