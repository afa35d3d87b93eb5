"""Where a run lives: its identity and its folder; knows how runs are found, not how they are made."""

import os
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib import imported
from as2lib.intact import Damaged, json_sha256, note, read_json, shown
from as2lib.paths import find_root, work_folder
from as2lib.precision import computed_in
from as2lib.runs.code import fingerprint
from as2lib.runs.finished import Finished
from as2lib.runs.identity import data_identity, vectors_identity, weights_identity
from as2lib.runs.run import VERSIONS, Run
from as2lib.runs.vouched import check_files, read_done

if TYPE_CHECKING:
    from as2lib.study import Study

ENTRY = {"identity", "facts", "code", "files"}  # of a published run
KERNELS = "first token, plain attention, dropout from raw bits"  # what fits compute with: they round and draw otherwise


class Store:
    """The runs of one study, found by the hash of everything that made them."""

    def __init__(self, study: "Study"):
        self.study, self.plan = study, study.plan
        self._identities: dict[str, str] = {}
        self._codes: dict[str, str] = {}
        self._folder = str(work_folder() / "runs")
        self.damaged: dict[str, str] = {}  # name → what was found not to be as it was written
        self._data, self._weights = cache(data_identity), cache(weights_identity)

    @cached_property
    def published_folder(self) -> Path:
        return find_root() / "reports" / self.study.study / "runs"

    @cached_property
    def published(self) -> dict[str, dict[str, Any]]:
        """Name → identity and facts of the runs whose scores were published; one that is damaged has none."""
        index = self.published_folder / "index.json"
        try:
            found = read_json(index) if index.exists() else {}
            for name, entry in found.items():
                if not (isinstance(entry, dict) and {"identity", "facts"} <= set(entry) <= ENTRY):
                    raise Damaged(f"{shown(index)}: expected identity and facts of {name}, got something else")
            return found
        except Damaged as error:
            note(f"{error}; no run is taken from there until it is restored, or `as2 publish` writes it again")
            return {}

    def precision(self, run: Run | None = None) -> str:
        """What a run's `precision`, or this study's, means on this machine."""
        return computed_in((run and run.precision) or self.study.precision)

    def kernels(self, run: Run) -> bool:
        """Whether a run's fit computes with kernels: as it says, or its study."""
        return self.study.kernels if run.kernels is None else run.kernels

    def planned(self, name: str) -> Run:
        """The run of that name.  Raises KeyError with the nearest names."""
        if below := self._below.get(name):
            seeds = "its seeds are" if all(one.startswith(f"{name}/seed-") for one in below) else "below it are"
            raise KeyError(f"no run {name!r}; {seeds} {', '.join(below[:3])}{', …' * (len(below) > 3)}")
        if name not in self.plan:
            near = get_close_matches(name, self.plan, n=3, cutoff=0.3)
            guess = f"did you mean {', '.join(near)}? " if near else ""
            raise KeyError(f"no run {name!r}; {guess}`as2 plan {self.study.study}` lists them")
        return self.plan[name]

    def identity(self, name: str) -> str:
        """SHA-256 over everything that makes the run; the same wherever its data and weights are the same files."""
        if name not in self._identities:
            self._identities[name] = json_sha256(self.ingredients(name))
        return self._identities[name]

    def ingredients(self, name: str) -> dict[str, Any]:
        """What the identity hashes, as JSON values."""
        run = self.planned(name)
        made_from: dict[str, Any] = {
            "kind": run.kind,
            "version": VERSIONS[run.kind],
            "spec": run.spec,
            "seed": run.seed,
            "data": {role: [self._data(part) for part in parts] for role, parts in run.data.items()},
            "parents": {role: [self.identity(parent) for parent in names] for role, names in run.parents.items()},
        }
        if run.kind == "fit":
            made_from |= {"threads": self.study.threads, "precision": self.precision(run)}
            if self.kernels(run) and "words" not in run.spec:
                made_from["kernels"] = KERNELS
            if "cascade" in run.spec:
                made_from["classifiers"] = "glorot"  # what they start with: models/cascade.py
            if origin := run.spec.get("backbone", {}).get("name"):
                made_from["weights"] = self._weights(origin)
            if vectors := run.spec.get("words", {}).get("vectors"):
                made_from["vectors"] = vectors_identity(vectors)
            if own := [run.spec[key] for key in ("loss", "model") if imported.is_path(run.spec.get(key))]:
                made_from["own"] = {path: imported.source(path) for path in own}
        return made_from

    def folder(self, name: str) -> Path:
        return Path(self._folder, self.identity(name)[:24])

    def find(self, name: str, need_model: bool = False) -> Finished | None:
        """The run if it was made here, or published (scores only), and is as it was written; else None."""
        return self._found(name, need_model)

    def _found(self, name: str, need_model: bool = False) -> Finished | None:
        """As `find`, for those who read no result but ask which code made it."""
        run, identity = self.planned(name), self.identity(name)
        found = self._made_here(run, identity)
        if found and not (need_model and self._model_missing(run)):
            return found
        entry = self.published.get(name)
        if need_model or entry is None or entry["identity"] != identity:
            return None
        published = Finished(run, folder=self.published_folder / f"{name}.parquet", **entry)
        try:
            check_files(published.folder.parent, published.files)
        except Damaged as error:
            return self._note(name, error)
        return published

    def _made_here(self, run: Run, identity: str) -> Finished | None:
        done = os.path.join(self._folder, identity[:24], "done.json")  # a Path would cost more than the look
        if not os.path.exists(done):
            return None
        try:
            found = Finished(run, identity, folder=Path(done).parent, **read_done(Path(done)))
        except Damaged as error:
            return self._note(run.name, error)
        self.damaged.pop(run.name, None)
        return found

    def _note(self, name: str, error: Damaged) -> None:
        self.damaged[name] = str(error)
        note(f"{error}; {name} is made again")

    def made_by(self, name: str) -> str:
        """The fingerprint of the source that would make the run now, over those of the runs it is made from."""
        if name not in self._codes:
            parents = [(parent, self._found(parent)) for parent in self.planned(name).parent_names]
            known = [None if found and found.code is None else self.made_by(parent) for parent, found in parents]
            self._codes[name] = self._code_over(name, known)
        return self._codes[name]

    def code(self, name: str) -> str:
        """What a run that is made now is to remember: this source, over what made the parents that are here."""
        parents = map(self._found, self.planned(name).parent_names)
        return self._code_over(name, [parent and parent.code for parent in parents])

    def _code_over(self, name: str, parents: list[str | None]) -> str:
        """A run's fingerprint over those of its parents; None for one that was made before any was kept."""
        own = fingerprint(self.lineage(name), self.kernels(self.planned(name)))
        return sha256(" ".join([own, *map(str, parents)]).encode()).hexdigest()

    def by_other_code(self, found: Finished | None) -> bool:
        """Whether a run is known to be made, or what it is made from, by other source than there is now."""
        return found is not None and found.code is not None and found.code != self.made_by(found.name)

    def outdated(self) -> list[str]:
        """The finished runs of the study that are known to be made by other code."""
        return [name for name in self.plan if self.by_other_code(self._found(name))]

    def unpublished(self) -> list[str]:
        """The finished runs whose scores are not published, or under another identity."""
        known = {name: entry["identity"] for name, entry in self.published.items()}
        return [name for name in self.plan if (run := self.find(name)) and known.get(name) != run.identity]

    def lineage(self, name: str) -> list[Run]:
        """The run and those whose weights it continues, the first one first."""
        found = [self.planned(name)]
        while start := found[0].parents.get("start"):
            found.insert(0, self.planned(start[0]))
        return found

    def changed(self) -> None:
        """To be called when a run was made: what is known of others may be different now."""
        self._codes.clear()

    def with_parents(self, name: str) -> Finished | None:
        """The finished run with the finished runs it was made from, and theirs; with models where they are here."""
        found = self.find(name, need_model=True) or self.find(name)
        return found and replace(found, parents=self.parents(found.run))

    def parents(self, run: Run) -> dict[str, list[Finished]]:
        """Role → the finished parents of a run; one that is not here is left out."""
        return {role: list(filter(None, map(self.with_parents, names))) for role, names in run.parents.items()}

    def _model_missing(self, run: Run) -> bool:
        """Whether the weights behind a run are not all here: its own, or those of an ensemble's members."""
        if run.kind == "fit":
            here = self._made_here(run, self.identity(run.name))
            return here is None or not (here.folder / "model").exists()
        return run.kind == "ensemble" and any(self._model_missing(self.plan[name]) for name in run.parents["members"])

    def missing(self, names: list[str], model: bool = False, refresh: bool = False) -> list[str]:
        """What has to be made for these scores, or models, parents first; parents only where a child needs them.

        refresh: what other code made counts as missing.
        """
        wanted: dict[str, bool] = {}  # name → whether its model is needed

        def visit(name: str, need_model: bool) -> None:
            run = self.planned(name)
            found = self.find(name, need_model)
            never_scored = run.kind == "fit" and not {"dev", "test"} & set(run.data)
            nothing_to_score = never_scored and not found and name not in self.damaged
            if refresh and self.by_other_code(found):
                found = None
            if found or wanted.get(name, -1) >= need_model or (nothing_to_score and not need_model):
                return
            wanted[name] = wanted.get(name, False) or need_model
            for role, parents in run.parents.items():
                for parent in parents:
                    visit(parent, role != "members" or (need_model and run.kind == "ensemble"))

        for name in names:
            visit(name, model)
        return [name for name in self.plan if name in wanted]

    def below(self, prefix: str) -> list[str]:
        """The runs below `prefix`, in the plan's order (one a seed).  Raises KeyError as `planned`."""
        return self._below.get(prefix) or [self.planned(prefix).name]

    @cached_property
    def _below(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.plan:
            parts = name.split("/")
            for end in range(1, len(parts)):
                found.setdefault("/".join(parts[:end]), []).append(name)
        return found

    def group(self, group: str) -> list[str]:
        """The runs of a group, parents first.  Raises KeyError that names the groups."""
        if group not in self.groups:
            raise KeyError(f"no group {group!r}; there are {', '.join(self.groups)}")
        return self.groups[group]

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """Group → its runs, parents first."""
        found: dict[str, list[str]] = {}
        for run in self.plan.values():
            found.setdefault(run.group, []).append(run.name)
        return found

    def marker(self, group: str) -> Path:
        """The file by which the graph of a study knows that a group was made; removed when a run of it is again."""
        identity = sha256("".join(map(self.identity, self.group(group))).encode()).hexdigest()
        return work_folder() / "fitted" / self.study.study / f"{group}.{identity[:16]}"

    @property
    def graph_file(self) -> Path:
        """What the graph of a study reads of its runs beside the markers: see `make.graph_state`."""
        return work_folder() / "fitted" / f"{self.study.study}.code.json"
