"""Where a run is: its key, its folder, its scores in the repository; makes one under a lock, and knows not how.

A run's folder, `work/runs/<key>`: spec.json, model/, scores/<split>.parquet, log.jsonl, and done.json, the last.
`reports/<study>/scores/` has what `as2 publish` adds: <name>.parquet with a run's scores (scores.py), <name>.jsonl
with its log, and index.json: key → run, facts, commit, files by their SHA-256, and what the data and encoders were that
they were made from.  An ensemble's scores are made of its members'.
"""

import json
import os
import shutil
import subprocess
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib import hub, plugins
from as2lib.data import sets
from as2lib.data.pretrained import folder_of
from as2lib.paths import PACKAGE, file_sha256, find_root, lock, model_origin, whole_file, work_folder
from as2lib.study.params import Params
from as2lib.study.run import VERSIONS, Run

if TYPE_CHECKING:
    import pandas

VECTORS_VERSION = 1  # of word vectors: raised when the same source and corpus would give other ones
ERROR_FILE = "error.txt"  # in the folder of a run that failed: the traceback
CHECKPOINT = "checkpoint"  # in a run's folder while it is made
# Encoders known by their tensors (`tensors_fingerprint`), whatever file and folder holds them.
KNOWN_TENSORS = {
    "sentence-transformers/all-MiniLM-L6-v2": "b73b902c14041882f5a35215f7933bf4e5d523c3a420b61da7708f76b8ec99c2",
    "sentence-transformers/all-mpnet-base-v2": "01adf25e54281b5106c84e9f03a97b7e10f0fc999c017323231ed5e97056615e",
}
ENCODER_FILES = ("config.json", "*.bin", "tokenizer*", "vocab*", "merges.txt", "*.model")


@dataclass(frozen=True)
class StoredRun:
    """A run that was made: its facts, its scores, its log, and its weights where they are here.

    facts: what making it measured (parameters, best step, dev MAP, seconds, precision).
    published: its entry in index.json where only its scores are here; an ensemble's are then made of its `members`'.
    """

    run: Run
    identity: str
    folder: Path
    facts: dict[str, Any] = field(repr=False)
    commit: str | None = None
    published: dict[str, Any] | None = field(default=None, repr=False)
    members: "tuple[StoredRun, ...]" = field(default=(), repr=False)

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def model_folder(self) -> Path | None:
        """What `from_pretrained` reads; None where only its scores are here, or where it has no weights."""
        folder = self.folder / "model"
        return folder if not self.published and folder.exists() else None

    def scores(self, split: str = "test") -> "pandas.DataFrame":
        """Columns question_id, position, label, score; every question, in the pairs' order.

        And `head_0`, … or `exit_4`, …; and `last`, by the weights of the last step.
        Raises ValueError where the run was not scored on that split, or the file is not as it was published.
        """
        if split not in ("dev", "test") or split not in self.run.data:
            raise ValueError(f"{self.name}: expected a split that it was scored on, got {split!r}")
        from as2lib.study import scores  # with numpy, which a plan does without

        if not self.published:
            return scores.read(self.folder / "scores" / f"{split}.parquet").copy()
        if self.members:
            return scores.combined(self.run, self.facts, self.members, split)
        [file] = [name for name in self.published["files"] if name.endswith(".parquet")]
        table = scores.read_scores(self.folder / file, self.published["files"][file], split)
        return table.assign(last=table["score"]) if "last is best" in self.published else table.copy()

    def log(self) -> list[dict[str, Any]]:
        """What training logged: loss parts, dev MAP, seconds, by step; empty where nothing was trained."""
        path = self.folder / (f"{Path(self.name).name}.jsonl" if self.published else "log.jsonl")
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


# ---------------------------------------------------------------- the runs of a study


class Store:
    """The runs of one study, found by the hash of everything that was asked of them."""

    def __init__(self, study: Params, plan: dict[str, Run]):
        self.study, self.plan = study, plan
        self._identities: dict[str, str] = {}
        self.data_identity, self.encoder_identity = cache(self._data_identity), cache(self._encoder_identity)

    def planned(self, run: Run | str) -> Run:
        """The run of that name.  Raises KeyError."""
        if isinstance(run, Run):
            return run
        if run not in self.plan:
            raise KeyError(f"no run {run!r}; `as2 plan {self.study.name}` lists them")
        return self.plan[run]

    # ------------------------------------------------------------ identities

    def identity(self, run: Run | str) -> str:
        """A run's key: SHA-256 over everything that was asked of it; the same wherever its data and weights are."""
        name = run.name if isinstance(run, Run) else run
        if name not in self._identities:
            self._identities[name] = json_sha256(self.ingredients(run))
        return self._identities[name]

    def ingredients(self, run: Run | str) -> dict[str, Any]:
        """What the identity hashes, as JSON values; of weights, word vectors and code of one's own their content."""
        run = self.planned(run)
        asked = {
            "kind": run.kind,
            "version": VERSIONS[run.kind],
            "spec": run.spec,
            "seed": run.seed,
            "data": {role: [self.data_identity(part) for part in parts] for role, parts in run.data.items()},
            "parents": {role: [self.identity(run) for run in runs] for role, runs in run.parents.items()},
            **run.computing,
        }
        if own := [path for path in (run.spec.get("loss"), run.spec.get("model")) if plugins.is_path(path)]:
            asked["own"] = {path: plugins.source(path) for path in own}
        weights = {"weights": self.encoder_identity(run.encoders[0])} if run.encoders else {}
        if "words" in run.spec:
            vectors = run.spec["words"]["vectors"]
            file = self.encoder_identity(vectors["name"]) if vectors["source"] == "file" else {}
            return asked | {"vectors": {"version": VECTORS_VERSION, **weights, **file}}
        if "cascade" in run.spec:
            asked["classifiers"] = "glorot"  # what they start with: models/cascade.py
        return asked | weights

    def _data_identity(self, part: str) -> Any:
        """Of a `source:split` part; where it is not here, the one that published scores were made from."""
        try:
            return sets.identity(*sets.split_part(part))
        except (FileNotFoundError, ValueError):
            if part not in self.sources:
                raise
            return self.sources[part]

    def _encoder_identity(self, name: str) -> Any:
        identity = encoder_identity(name)
        return self.sources.get(name, identity) if "revision" in identity else identity

    # ------------------------------------------------------------ what is here

    def folder(self, run: Run | str) -> Path:
        return work_folder() / "runs" / self.identity(run)[:24]

    def partial(self, run: Run | str) -> Path:
        """Where a run is written until it is whole, done.json last, and a killed fit finds its checkpoint."""
        return self.folder(run).with_suffix(".partial")

    def find(self, run: Run | str, model: bool = False) -> StoredRun | None:
        """The run, if made here or published, else None.  model: only where its weights, or its members', are here."""
        run = self.planned(run)
        identity, folder = self.identity(run), self.folder(run)
        fits = [each for each in run.parents.get("members", (run,)) if model and each.kind == "fit"]
        if (folder / "done.json").exists() and all((self.folder(fit) / "model").exists() for fit in fits):
            done = read_json(folder / "done.json")
            return StoredRun(run, identity, folder, done["facts"], done.get("commit"))
        if model or identity not in self.published:
            return None
        folder, entry = self.published[identity]  # perhaps of a run of equal content, of another study even
        run, folder = replace(run, name=entry["run"]), (folder / entry["run"]).parent
        members = tuple(self.find(member) for member in run.parents.get("members", ()))
        if None in members:
            return None
        return StoredRun(run, identity, folder, entry["facts"], entry["commit"], entry, members)

    def parents(self, run: Run) -> dict[str, list[StoredRun]]:
        """What a run is made from, by its role."""
        return {role: [self.find(parent) for parent in runs] for role, runs in run.parents.items()}

    def needed(self, names: Iterable[str], model: bool = False) -> list[str]:
        """The names of the runs that are missing for these scores, or models, parents first."""
        weights_for = {self.planned(name).name: model for name in names}  # run → whether its weights are wanted
        needed = []
        for name in reversed(self.plan):  # children before parents: all that is wanted of a run is known
            if name not in weights_for or self.find(name, weights_for[name]):
                continue
            run, weights = self.plan[name], weights_for[name]
            if not weights and run.kind == "fit" and not {"dev", "test"} & set(run.data):
                continue  # it has no scores, and is made where a run goes on from its weights
            needed.append(name)
            for role, parents in run.parents.items():
                of_parents = weights if role == "members" else True  # an ensemble's scores are made of its members'
                for parent in parents:
                    weights_for[parent.name] = weights_for.get(parent.name, False) or of_parents
        return needed[::-1]

    def make(self, run: Run | str, wait: bool = True, progress: bool | str = False) -> StoredRun | None:
        """Make a run whose parents are here, a fit with its weights; None where another process made it meanwhile.

        wait: for the process that is at it; else filelock's Timeout.  What fails leaves its traceback in `ERROR_FILE`.
        """
        from as2lib.study.make import MAKERS  # with torch

        run = self.planned(run)
        folder, unfinished = self.folder(run), self.partial(run)
        with lock(folder.name, run.name, wait):
            if self.find(run, model=run.kind != "ensemble"):
                return None
            with noting(unfinished / ERROR_FILE):
                for name in run.encoders:
                    require_known_tensors(name)
                write_json(unfinished / "spec.json", {"name": run.name, **self.ingredients(run)})
                tables, facts = MAKERS[run.kind](self, run, unfinished, progress)
                for split, table in tables.items():
                    with whole_file(unfinished / "scores" / f"{split}.parquet") as temporary:
                        table.to_parquet(temporary, index=False, compression="snappy")
                done = {"identity": self.identity(run), "commit": git_commit(), "facts": facts}
                write_json(unfinished / "done.json", done)
                shutil.rmtree(folder, ignore_errors=True)  # one without weights
                os.replace(unfinished, folder)
            (folder / CHECKPOINT).unlink(missing_ok=True)  # only now: until here a killed fit goes on from it
            return self.find(run)

    # ------------------------------------------------------------ what is published

    @property
    def index_folder(self) -> Path:
        return find_root() / "reports" / self.study.name / "scores"

    @cached_property
    def indices(self) -> dict[Path, dict[str, Any]]:
        """The index of each study, this one's last: `runs`, key → run, facts, commit, files; and `sources`."""
        files = sorted(find_root().glob("reports/*/scores/index.json"))
        files.sort(key=lambda file: file.parent == self.index_folder)
        return {file.parent: read_json(file) for file in files}

    @property
    def index(self) -> dict[str, dict[str, Any]]:
        """This study's."""
        return self.indices.get(self.index_folder, {"sources": {}, "runs": {}})

    @cached_property
    def published(self) -> dict[str, tuple[Path, dict[str, Any]]]:
        """Key → where it is published, and its entry; of this study, if of several."""
        return {key: (folder, entry) for folder, index in self.indices.items() for key, entry in index["runs"].items()}

    @cached_property
    def sources(self) -> dict[str, Any]:
        """Part or encoder → the identity that it had when scores were published."""
        return {name: identity for index in self.indices.values() for name, identity in index["sources"].items()}


@contextmanager
def noting(error: Path) -> Iterator[None]:
    """Leaves the traceback of what fails in a file, until it is tried again."""
    error.unlink(missing_ok=True)
    try:
        yield
    except Exception:
        error.parent.mkdir(parents=True, exist_ok=True)
        error.write_text(traceback.format_exc(), encoding="utf-8")
        raise


# ---------------------------------------------------------------- what a pretrained encoder is known by


def encoder_identity(name: str) -> dict[str, Any]:
    """A known encoder's name and fingerprint, a hub name at its commit, or what is in a folder.

    {"hub", "revision"} where it is neither here nor to be asked for at the hub.
    """
    if name in KNOWN_TENSORS:
        return {"name": name, "tensors": KNOWN_TENSORS[name]}
    if (file := find_root() / name).is_file():
        return {"sha256": file_sha256(file)}
    origin, revision = model_origin(name)
    if isinstance(origin, Path):
        return _folder_identity(origin)
    commit = hub.commit(origin, revision)
    return {"hub": origin, "commit": commit} if commit else {"hub": origin, "revision": revision}


@cache
def _folder_identity(folder: Path) -> dict[str, Any]:
    """The fingerprint of its tensors, and the SHA-256 of the files that say how they and texts are read."""
    files = sorted({path for pattern in ENCODER_FILES for path in folder.glob(pattern)})
    identity = {path.name: file_sha256(path) for path in files}
    for path in sorted(folder.glob("*.safetensors")):
        identity[path.name] = tensors_fingerprint(path)
    return identity


def tensors_fingerprint(file: str | Path) -> str:
    """The SHA-256 of the tensors in a safetensors file: of their names, types, shapes and bytes, by name."""
    from safetensors import safe_open

    total = sha256()
    with safe_open(file, "numpy") as stored:
        for name in sorted(stored.keys()):
            tensor = stored.get_tensor(name)
            total.update(f"{name} {tensor.dtype} {list(tensor.shape)} ".encode())
            total.update(tensor.tobytes())
    return total.hexdigest()


def require_known_tensors(name: str) -> None:
    """Raises ValueError where the weights of a known encoder are not those that this study knows by its name."""
    known = KNOWN_TENSORS.get(name)
    if known and tensors_fingerprint(file := folder_of(name) / "model.safetensors") != known:
        expected = f"expected the weights of fingerprint {known[:12]}, got others in {file}"
        raise ValueError(f"{name}: {expected}; give another version a path or name of its own")


# ---------------------------------------------------------------- files


def json_sha256(content: Any) -> str:
    """The SHA-256 of JSON values, whatever the order of their keys."""
    return sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def read_json(path: Path) -> Any:
    """What a JSON file holds.  Raises ValueError, that names the file, where it holds something else."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # also of bytes that are no text
        raise ValueError(f"{path}: expected JSON, got {error}; restore or remove it") from None


def write_json(path: Path, content: Any) -> None:
    with whole_file(path) as file:
        file.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


@cache
def git_commit() -> str | None:
    """The commit of the sources at work; None where they are in no clone."""
    if not (PACKAGE.parent / ".git").exists():  # installed, perhaps inside a clone of something else
        return None
    command = ["git", "-C", str(PACKAGE.parent), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or None
