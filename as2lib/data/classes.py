"""Which of two classes says that a candidate answers its question, by the names of a model's labels, or a column's."""

import re
from collections.abc import Sequence

YES = "correct relevant entailment positive true yes 1 label_1".split()
NO = "incorrect irrelevant contradiction negative false no 0 label_0 wrong".split()
NOT = re.compile(rf"(not?|non|un)_?({'|'.join(YES)})")


def correct_class(names: Sequence[str]) -> int | None:
    """The number of the class whose name means yes, or whose only neighbour's means no; None where no name says."""
    words = [re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_") for name in names]
    yes = [number for number, word in enumerate(words) if word in YES]
    no = [number for number, word in enumerate(words) if word in NO or NOT.fullmatch(word)]
    if len(yes) == 1:
        return yes[0]
    return 1 - no[0] if len(names) == 2 and len(no) == 1 and not yes else None
