"""Rankers that a study takes as they are, its section `rankers`: what others trained or published; trains nothing."""

import re
from dataclasses import replace
from pathlib import Path

from as2lib import hub
from as2lib.models import COUNTING
from as2lib.papers.row import as_it_is
from as2lib.paths import find_root, model_origin
from as2lib.study import Study
from as2lib.study.run import Row
from as2lib.study.store import Store

GROUP = "taken as it is"


def systems(study: Study) -> list[Row]:
    """A row a ranker; one that is neither here nor has published scores is not run, and its label says so.

    Raises ValueError for the name of a run.
    """
    store, rows = Store(study, {}), []
    published = {entry["run"] for entry in store.index["runs"].values()}
    for label, source in study.rankers.items():
        run = f"ranker/{re.sub(r'[^a-z0-9]+', '-', label.lower()).strip('-')}"
        if source in COUNTING:
            ranker = as_it_is(study, "lexical", scorer=source)
        else:
            ranker = as_it_is(study, "ranker", source=source, max_length=study.data.max_length)
        row = Row(run, label, GROUP, **ranker, seeds=(0,))
        is_published = run in published and {*row.encoders} <= {*store.sources}  # from what the study names now
        if is_published or all(map(at_hand, row.encoders)):
            rows.append(row.of(study))
        elif re.search(r"/seed-\d+$", source):
            expected = f"expected the folder of a run's model, which Study.load(STUDY).model({source!r}) says"
            raise ValueError(f"rankers.{label}: {expected}; got its name")
        else:
            rows.append(replace(row, label=f"{label} (not at hand)", seeds=()))
    return rows


def at_hand(name: str) -> bool:
    """Whether a file of scores, or the folder of a model or its copy in the hub's cache, is on this machine."""
    origin, revision = model_origin(name)
    is_here = isinstance(origin, Path) or (find_root() / name).is_file()
    return is_here or hub.cached_config(origin, revision) is not None
