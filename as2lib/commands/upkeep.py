"""`as2 show`: what a run is, and where it is used."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from as2lib.study import Study

IDENTITY = 24  # characters of a run's identity that name its folder


def show(study: "Study", name: str) -> None:
    """Print a run's spec, parents, where it is used, its facts, and what it scored."""
    from as2lib.commands.scoring import print_metrics
    from as2lib.study.catalogue import notebooks

    store = study.store
    run, stored = store.planned(name), store.find(name)
    print(f"{name}   {run.kind}   identity {store.identity(name)[:IDENTITY]}")
    lines = {"spec": json.dumps(run.spec), "data": json.dumps(run.data)}
    lines |= {role: ", ".join(parent.name for parent in runs) for role, runs in run.parents.items()}
    children = [other.name for other in study.plan.values() if run in other.parent_runs()]
    readers = [notebook.name for notebook in notebooks(study) if name in _runs_of(notebook)]
    lines |= {"used by": ", ".join(children) or "–", "read by": ", ".join(readers) or "–"}
    if stored is None:
        missing = [other for other in store.missing([name]) if other != name]
        lines["state"] = "to do" + (f", with {len(missing)} missing runs that it is made from" if missing else "")
    else:
        lines |= {"facts": json.dumps(stored.facts), "commit": stored.commit or "–", "folder": str(stored.folder)}
    for title, content in lines.items():
        print(f"{title:<9} {content}")
    for split in ("dev", "test") if stored else ():
        if split in run.data:
            print_metrics(split, stored.scores(split), "answered")


def _runs_of(notebook) -> set[str]:
    return {run.name for system in notebook.systems for run in system.runs()}
