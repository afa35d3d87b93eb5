"""Rankers that a study takes as they are, its section `rankers`: what others trained or published; trains nothing."""

import re

from as2lib import hub
from as2lib.papers.row import scored
from as2lib.paths import model_origin
from as2lib.study import Study
from as2lib.study.recipes import Lexical, Ranker
from as2lib.study.run import Row
from as2lib.study.store import Store, file_at

GROUP = "taken as it is"


def systems(study: Study) -> list[Row]:
    """A row a ranker; one that is neither here nor has published scores is not run, and its label says so."""
    store, rows = Store(study, {}), []
    for label, source in study.rankers.items():
        run, data = f"ranker/{re.sub(r'[^a-z0-9]+', '-', label.lower()).strip('-')}", scored(study)
        if source == "bm25":
            recipe: Lexical | Ranker = Lexical(scorer="bm25", data=data)
        else:
            recipe = Ranker(source=source, max_length=study.data.max_length, data=data)
        if isinstance(recipe, Lexical) or is_published(store, run, recipe) or at_hand(recipe):
            rows.append(Row(run, label, GROUP, recipe, (0,)).of(study))
        else:
            rows.append(Row(run, f"{label} (not at hand)", GROUP, recipe, ()))
    return rows


def is_published(store: Store, run: str, recipe: Ranker) -> bool:
    """Whether a ranker's scores are published, made from the file or model that the study names now."""
    return run in store.index and recipe.name in store.index_sources


def at_hand(recipe: Ranker) -> bool:
    """Whether a ranker's file, folder or copy in the hub's cache is on this machine."""
    if recipe.scheme in ("scores", "cerberus") and not file_at(recipe.name).is_file():
        return False
    if recipe.scheme == "scores":
        return True
    name = recipe.backbone if recipe.scheme == "cerberus" else recipe.name
    origin, revision = model_origin(name)
    return not isinstance(origin, str) or hub.cached_config(origin, revision) is not None
