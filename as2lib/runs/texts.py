"""The pairs of a study where its texts may not be at hand: published scores still say which pairs are correct.

Every table of scores has question_id and label of every pair, so counts and expectations need no text.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from datasets import Dataset, Features

from as2lib.data.pairs import FEATURES, at_hand

if TYPE_CHECKING:
    from pandas import DataFrame

    from as2lib.study import Study


def pairs_of(study: "Study", parts: Sequence[str]) -> Dataset | None:
    """Every pair of some parts, with its texts where they are at hand.

    Else question_id and label alone, as the trivial baseline over these parts has them; None where there is none.
    """
    if (found := at_hand(tuple(parts))) is not None:
        return found
    return scored_pairs(study, parts)


def scored_pairs(study: "Study", parts: Sequence[str]) -> Dataset | None:
    """question_id and label of every pair of some parts, as the trivial baseline over these parts has them."""
    if (table := scored_by(study, "overlap_then_rank", parts)) is None:
        return None
    columns = table[["question_id", "label"]].to_dict("list")
    return Dataset.from_dict(columns, Features({name: FEATURES[name] for name in columns}))


def scored_by(study: "Study", scorer: str, parts: Sequence[str]) -> "DataFrame | None":
    """What a ranker that learns nothing scored on some parts; None where no run of it has."""
    for name, run in study.plan.items():
        for split in ("dev", "test"):
            over_them = run.spec.get("scorer") == scorer and run.data.get(split) == list(parts)
            if over_them and (ranker := study.store.find(name)):
                return ranker.scores(split)
    return None


def has_texts(pairs: Dataset | None) -> bool:
    return pairs is not None and "answer" in pairs.column_names


def missing(parts: Iterable[str], questions: str | None = "all") -> str:
    """A sentence that names those of some parts whose texts are not here; empty where all are.

    questions: None for parts without labels, as `at_hand`.
    """
    absent = [part for part in dict.fromkeys(parts) if at_hand((part,), questions) is None]
    return f"The texts of {', '.join(absent)} are not here." if absent else ""
