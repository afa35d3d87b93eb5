"""The papers, a room each: which systems their tables compare, and what the papers published; trains nothing.

Importing this registers them, so that a `Study` has their systems and notebooks.
"""

from as2lib.papers import beyond, taken
from as2lib.papers.cascade import rows as cascade_rows
from as2lib.papers.cerberus import rows as cerberus_rows
from as2lib.papers.cosinet import rows as cosinet_rows
from as2lib.papers.govern import rows as govern_rows
from as2lib.study import Study
from as2lib.study.run import PAPERS

__all__ = ["Study"]

PAPERS |= {  # in reading order
    "cerberus": cerberus_rows,
    "cascade": cascade_rows,
    "cosinet": cosinet_rows,
    "govern": govern_rows,
    "taken": taken,
    "beyond": beyond,
}
