"""Where a run lives: its identity, its folder, its scores; knows how runs are found, not how they are made."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.paths import find_root, work_folder
from as2lib.precision import computed_in
from as2lib.runs.identity import data_identity, vectors_identity, weights_identity
from as2lib.runs.run import VERSIONS, Run

if TYPE_CHECKING:
    import pandas

    from as2lib.study import Study

KERNELS = "first token, plain attention, dropout from raw bits"  # what fits compute with: they round and draw otherwise


@dataclass(frozen=True)
class Finished:
    """A run that was made: its scores, and its model where it has one and it is here.

    facts: what making it measured (parameters, best step, dev MAP, seconds, precision).
    folder: the run's folder, or the published parquet file where only the scores are at hand.
    parents: role → finished runs, where `Store.with_parents` found it.
    """

    run: Run
    identity: str
    facts: dict[str, Any]
    folder: Path
    parents: Mapping[str, list["Finished"]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def published(self) -> bool:
        """Whether only its scores are here."""
        return self.folder.suffix == ".parquet"

    def scores(self, split: str = "test") -> "pandas.DataFrame":
        """Columns question_id, position, label, score, and one a head; every question, in the order of the pairs.

        Raises ValueError where the run was not scored on that split.
        """
        import pandas

        if self.published:
            every = pandas.read_parquet(self.folder)
            table = every[every["split"] == split].drop(columns="split").reset_index(drop=True)
            known = sorted(every["split"].unique())
        else:
            path = self.folder / "scores" / f"{split}.parquet"
            table = pandas.read_parquet(path) if path.exists() else pandas.DataFrame()
            known = sorted(p.stem for p in path.parent.glob("*.parquet"))
        if table.empty:
            raise ValueError(f"{self.name} has no scores on {split!r}; it has {known}")
        return table

    @property
    def model_folder(self) -> Path:
        """What `from_pretrained` reads.  Raises FileNotFoundError for a run that has no model here."""
        folder = self.folder / "model"
        if not folder.exists():
            raise FileNotFoundError(f"{self.name} has no model here, only scores; `run(name, model=True)` trains it")
        return folder

    def log(self) -> list[dict[str, Any]]:
        """What training logged: loss parts, dev MAP, seconds, by step; empty where nothing was trained."""
        path = self.folder.with_suffix(".jsonl") if self.published else self.folder / "log.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Store:
    """The runs of one study, found by the hash of everything that made them."""

    def __init__(self, study: "Study"):
        self.study, self.plan = study, study.plan
        self._identities: dict[str, str] = {}
        self._folder = str(work_folder() / "runs")
        self._data, self._weights = cache(data_identity), cache(weights_identity)

    @cached_property
    def published_folder(self) -> Path:
        return find_root() / "reports" / self.study.study / "runs"

    @cached_property
    def published(self) -> dict[str, dict[str, Any]]:
        """Name → identity and facts of the runs whose scores were published."""
        index = self.published_folder / "index.json"
        return json.loads(index.read_text()) if index.exists() else {}

    @cached_property
    def precision(self) -> str:
        """The precision that this study's `precision` means on this machine."""
        return computed_in(self.study.precision)

    def planned(self, name: str) -> Run:
        """The run of that name.  Raises KeyError with the nearest names."""
        if name not in self.plan:
            near = get_close_matches(name, self.plan, n=3, cutoff=0.3)
            guess = f"did you mean {', '.join(near)}? " if near else ""
            raise KeyError(f"no run {name!r}; {guess}`as2 plan {self.study.study}` lists them")
        return self.plan[name]

    def identity(self, name: str) -> str:
        """SHA-256 over everything that makes the run; the same wherever its data and weights are the same files."""
        if name not in self._identities:
            made_from = json.dumps(self.ingredients(name), sort_keys=True, ensure_ascii=False)
            self._identities[name] = sha256(made_from.encode()).hexdigest()
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
            made_from |= {"threads": self.study.threads, "precision": self.precision}
            if self.study.kernels and "words" not in run.spec:
                made_from["kernels"] = KERNELS
            if origin := run.spec.get("backbone", {}).get("name"):
                made_from["weights"] = self._weights(origin)
            if vectors := run.spec.get("words", {}).get("vectors"):
                made_from["vectors"] = vectors_identity(vectors)
        return made_from

    def folder(self, name: str) -> Path:
        return Path(self._folder, self.identity(name)[:24])

    def find(self, name: str, need_model: bool = False) -> Finished | None:
        """The run if it was made here, or published (scores only), else None."""
        run, identity = self.planned(name), self.identity(name)
        done = os.path.join(self._folder, identity[:24], "done.json")  # a Path would cost more than the look
        if os.path.exists(done) and not (need_model and self._model_missing(run)):
            return Finished(run, identity, json.loads(Path(done).read_text()), Path(done).parent)
        entry = self.published.get(name)
        if need_model or entry is None or entry["identity"] != identity:
            return None
        return Finished(run, identity, entry["facts"], self.published_folder / f"{name}.parquet")

    def with_parents(self, name: str) -> Finished | None:
        """The finished run with the finished runs it was made from, and theirs; with models where they are here."""
        found = self.find(name, need_model=True) or self.find(name)
        return found and Finished(found.run, found.identity, found.facts, found.folder, self.parents(found.run))

    def parents(self, run: Run) -> dict[str, list[Finished]]:
        """Role → the finished parents of a run; one that is not here is left out."""
        return {role: list(filter(None, map(self.with_parents, names))) for role, names in run.parents.items()}

    def _model_missing(self, run: Run) -> bool:
        """Whether the weights behind a run are not all here: its own, or those of an ensemble's members."""
        if run.kind == "fit":
            return not (self.folder(run.name) / "model").exists()
        return run.kind == "ensemble" and any(self._model_missing(self.plan[name]) for name in run.parents["members"])

    def missing(self, names: list[str], model: bool = False) -> list[str]:
        """What has to be made for these scores, or models, parents first; parents only where a child needs them."""
        wanted: dict[str, bool] = {}  # name → whether its model is needed

        def visit(name: str, need_model: bool) -> None:
            run = self.planned(name)
            nothing_to_score = run.kind == "fit" and not {"dev", "test"} & set(run.data)
            found = self.find(name, need_model)
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

    def group_identity(self, group: str) -> str:
        """Changes when any run of the group does."""
        return sha256("".join(map(self.identity, self.group(group))).encode()).hexdigest()

    def used_by(self, name: str) -> list[str]:
        """The runs made from this one."""
        return [other.name for other in self.plan.values() if name in other.parent_names]
