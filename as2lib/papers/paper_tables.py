"""The papers' own tables as a study may show them: beside a set of one's own stands nothing published."""

from typing import TYPE_CHECKING

import pandas

from as2lib.data import sets
from as2lib.study import results

if TYPE_CHECKING:
    from as2lib.study import Study


def of_own_target(study: "Study") -> bool:
    """Whether a study's target is a set of one's own, of which no paper says anything."""
    return not any(sets.is_known(sets.split_part(part)[0]) for part in study.data.target.test)


def printed(study: "Study", paper: str, table: str) -> pandas.DataFrame:
    """`results.printed`; without rows where the study's target is a set of one's own."""
    return _beside(study, results.printed(paper, table))


def published(study: "Study", paper: str, table: str) -> pandas.DataFrame:
    """`results.published`; without rows where the study's target is a set of one's own."""
    return _beside(study, results.published(paper, table))


def _beside(study: "Study", rows: pandas.DataFrame) -> pandas.DataFrame:
    return rows.iloc[:0] if of_own_target(study) else rows
