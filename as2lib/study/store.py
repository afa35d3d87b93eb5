"""Where a run lives: its identity, its folder, its published scores; knows how runs are found, not how they are made.

A run's folder, `work/runs/<identity>`: spec.json, model/, scores/<split>.parquet, log.jsonl, and done.json, the last.
A run's published files, in `reports/<study>/runs/`: <name>.parquet with its scores, <name>.jsonl with its log, both by
their SHA-256 in index.json; sources.json has the identities of the data and encoders that they were made from.
"""

import json
import subprocess
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib import hub, plugins
from as2lib.data import sets
from as2lib.paths import PACKAGE, file_sha256, find_root, model_origin, whole_file, work_folder
from as2lib.study.params import Params, did_you_mean
from as2lib.study.run import VERSIONS, Run

if TYPE_CHECKING:
    import pandas

VECTORS_VERSION = 1  # of word vectors: raised when the same source and corpus would give other ones
# Encoders known by their tensors (`tensors_fingerprint`), whatever file and folder holds them.
TENSORS = {
    "sentence-transformers/all-MiniLM-L6-v2": "b73b902c14041882f5a35215f7933bf4e5d523c3a420b61da7708f76b8ec99c2",
}
ENCODER_FILES = ("config.json", "*.bin", "tokenizer*", "vocab*", "merges.txt", "*.model")


# ---------------------------------------------------------------- a run that was made


@dataclass(frozen=True)
class StoredRun:
    """A run that was made: its facts, its scores, its log, and its weights where they are here.

    facts: what making it measured (parameters, best step, dev MAP, seconds, precision).
    folder: its own, or that of the published scores.  published: whether only its scores are here.
    files: the SHA-256 of its published files by name.
    """

    run: Run
    identity: str
    facts: dict[str, Any]
    folder: Path
    published: bool = False
    files: dict[str, str] = field(default_factory=dict)
    commit: str | None = None

    def __repr__(self) -> str:  # its parents and theirs would fill a screen
        return f"StoredRun({self.run.name!r}, identity={self.identity[:8]!r}, published={self.published})"

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def model_folder(self) -> Path | None:
        """What `from_pretrained` reads; None where only its scores are here, or where it has no weights."""
        folder = self.folder / "model"
        return folder if not self.published and folder.exists() else None

    def scores(self, split: str = "test") -> "pandas.DataFrame":
        """Columns question_id, position, label, score, and one a head or exit; every question, in the pairs' order.

        Raises ValueError where the run was not scored on that split, or the file is not as it was published.
        """
        if self.published:
            table = self._table(f"{self._stem}.parquet")
            if table is not None:
                table = table[table["split"] == split].drop(columns="split").reset_index(drop=True)
        else:
            table = self._table(f"scores/{split}.parquet")
        if table is None or table.empty:
            raise ValueError(f"{self.name}: expected a split that it was scored on, got {split!r}")
        return table.copy()

    def log(self) -> list[dict[str, Any]]:
        """What training logged: loss parts, dev MAP, seconds, by step; empty where nothing was trained."""
        path = self.folder / (f"{self._stem}.jsonl" if self.published else "log.jsonl")
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    @property
    def _stem(self) -> str:
        return Path(self.name).name

    def _table(self, name: str) -> "pandas.DataFrame | None":
        path = self.folder / name
        return _read_parquet(path, self.files[name] if self.published else None) if path.exists() else None


@dataclass(frozen=True)
class Job:
    """A run to make, and what making it needs.

    parents: role → stored runs, with weights where they are here.
    folder: where everything is written.  progress: whether a fit shows its bar.
    """

    store: "Store"
    run: Run
    parents: dict[str, list[StoredRun]]
    folder: Path
    progress: bool = False


@lru_cache(maxsize=128)  # systems of several runs read each of them many times
def _read_parquet(path: Path, digest: str | None) -> "pandas.DataFrame":
    """A table; of a published one its SHA-256 is checked."""
    import pandas

    require_sha256(path, digest)
    return pandas.read_parquet(path)


# ---------------------------------------------------------------- the runs of a study


class Store:
    """The runs of one study, found by the hash of everything that was asked of them."""

    def __init__(self, study: Params, plan: dict[str, Run]):
        self.study, self.plan = study, plan
        self._identities: dict[str, str] = {}
        self._data, self._encoder = cache(self._data_identity), cache(self._encoder_identity)

    def planned(self, name: str) -> Run:
        """The run of that name.  Raises KeyError with the nearest names."""
        if name not in self.plan:
            raise KeyError(f"no run {name!r}{did_you_mean(name, self.plan)}; `as2 plan {self.study.study}` lists them")
        return self.plan[name]

    def of_system(self, system: str) -> list[str]:
        """The names of a system's runs, in the plan's order (one a seed).  Raises KeyError with the nearest systems."""
        names = [name for name, run in self.plan.items() if run.system == system]
        if not names:
            systems = dict.fromkeys(run.system for run in self.plan.values())
            raise KeyError(f"no system {system!r}{did_you_mean(system, systems)}")
        return names

    # ------------------------------------------------------------ identities

    def identity(self, run: Run | str) -> str:
        """SHA-256 over everything that was asked of the run; the same wherever its data and weights are the same."""
        name = run.name if isinstance(run, Run) else run
        if name not in self._identities:
            self._identities[name] = json_sha256(self.ingredients(name))
        return self._identities[name]

    def ingredients(self, name: str) -> dict[str, Any]:
        """What the identity hashes, as JSON values."""
        run = self.planned(name)
        content: dict[str, Any] = {
            "kind": run.kind,
            "version": VERSIONS[run.kind],
            "spec": run.spec,
            "seed": run.seed,
            "data": {role: [self._data(part) for part in parts] for role, parts in run.data.items()},
            "parents": {role: [self.identity(run.name) for run in runs] for role, runs in run.parents.items()},
        }
        if run.kind != "fit":
            return content
        content["threads"] = self.study.threads
        content["precision"] = self.study.precision
        if "cascade" in run.spec:
            content["classifiers"] = "glorot"  # what they start with: models/cascade.py
        if encoder := run.spec.get("backbone", {}).get("name"):
            content["weights"] = self._encoder(encoder)
        if vectors := run.spec.get("words", {}).get("vectors"):
            content["vectors"] = self._vectors_identity(vectors)
        paths = [run.spec[key] for key in ("loss", "model") if plugins.is_path(run.spec.get(key))]
        if paths:
            content["own"] = {path: plugins.source(path) for path in paths}
        return content

    def sources(self, name: str) -> dict[str, Any]:
        """The identities of the data and encoders that a run names, for who has them not (`sources.json`)."""
        run = self.planned(name)
        identities = {part: self._data(part) for parts in run.data.values() for part in parts}
        return identities | {encoder: self._encoder(encoder) for encoder in run.encoders()}

    def learnt_from(self, run: Run) -> str:
        """The name of the pairs that a run learns from, found without loading them: a teacher's logits have it."""
        content = {"data": [self._data(part) for part in run.data["train"]]}
        content |= {key: run.spec[key] for key in ("unlabelled", "leave_out") if key in run.spec}
        return json_sha256(content)[:24]

    def _data_identity(self, part: str) -> Any:
        """Of one `source:split` part; where it is not here, what is published with its scores."""
        try:
            return sets.identity(*sets.split_part(part))
        except (FileNotFoundError, ValueError):
            if part in self.published_sources:
                return self.published_sources[part]
            raise

    def _encoder_identity(self, name: str) -> Any:
        """Of a pretrained encoder; where it is not to be had, what is published with its scores."""
        identity = encoder_identity(name)
        return self.published_sources.get(name, identity) if "revision" in identity else identity

    def _vectors_identity(self, vectors: dict[str, Any]) -> Any:
        """Of a source of word vectors: the encoder's, the file's SHA-256, or the method's version."""
        identity: dict[str, Any] = {"version": VECTORS_VERSION}
        if vectors["source"] == "encoder":
            identity["weights"] = self._encoder(vectors["name"])
        elif "name" in vectors:
            identity["sha256"] = file_sha256(find_root() / vectors["name"])
        return identity

    # ------------------------------------------------------------ what is here

    def folder(self, name: str) -> Path:
        return work_folder() / "runs" / self.identity(name)[:24]

    def find(self, name: str, model: bool = False) -> StoredRun | None:
        """The run if it was made here, or its scores are published; else None.

        model: only where its weights are here too (of an ensemble: those of its members).
        """
        run, identity = self.planned(name), self.identity(name)
        done = _done(self.folder(name))
        if done and not (model and self._weights_missing(run)):
            return StoredRun(run, identity, done["facts"], self.folder(name), commit=done.get("commit"))
        return None if model else self._published_run(run, identity)

    def _published_run(self, run: Run, identity: str) -> StoredRun | None:
        name = self._published_names.get(identity)
        if name is None:
            return None
        entry = self.published[name]
        folder = (self.published_folder / name).parent
        if not all((folder / file).exists() for file in entry["files"]):
            return None
        named = replace(run, name=name)  # of equal content, perhaps published under another name
        return StoredRun(named, identity, entry["facts"], folder, True, entry["files"], entry.get("commit"))

    def _weights_missing(self, run: Run) -> bool:
        """Whether the weights behind a run are not all here: its own, or those of an ensemble's members."""
        if run.kind == "ensemble":
            return any(self._weights_missing(member) for member in run.parents["members"])
        return run.kind == "fit" and not (self.folder(run.name) / "model").exists()

    def missing(self, names: list[str], model: bool = False) -> list[str]:
        """What has to be made for these scores, or models, parents first; parents only where a child needs them."""
        return list(self.needed(names, model))

    def needed(self, names: list[str], model: bool = False) -> dict[str, bool]:
        """The runs that are missing for these scores, or models, parents first → whether their weights are needed."""
        weights_for = {self.planned(name).name: model for name in names}  # run → whether its weights are wanted
        needed: dict[str, bool] = {}
        for name in reversed(self.plan):  # children before parents: all that is wanted of a run is known
            if name not in weights_for or self.find(name, weights_for[name]):
                continue
            run, weights = self.plan[name], weights_for[name]
            if not weights and run.kind == "fit" and not {"dev", "test"} & set(run.data):
                continue  # it has no scores, and is made where a run goes on from its weights
            needed[name] = weights
            for role, parents in run.parents.items():
                of_parents = weights if role == "members" else True  # an ensemble's scores are made of its members'
                for parent in parents:
                    weights_for[parent.name] = weights_for.get(parent.name, False) or of_parents
        return dict(reversed(needed.items()))

    # ------------------------------------------------------------ what is published

    @property
    def published_folder(self) -> Path:
        return find_root() / "reports" / self.study.study / "runs"

    @cached_property
    def published(self) -> dict[str, dict[str, Any]]:
        """Name → identity, facts and files of the runs whose scores are published.  Raises what `read_json` raises."""
        path = self.published_folder / "index.json"
        return read_json(path) if path.exists() else {}

    @cached_property
    def _published_names(self) -> dict[str, str]:
        return {entry["identity"]: name for name, entry in self.published.items()}

    @cached_property
    def published_sources(self) -> dict[str, Any]:
        """Part or encoder → the identity that it had when scores were published."""
        path = self.published_folder / "sources.json"
        return read_json(path) if path.exists() else {}


def _done(folder: Path) -> dict[str, Any] | None:
    """What a run's done.json says; None where it is missing, cut off or of another library: the run is not made."""
    try:
        content = read_json(folder / "done.json")
    except (OSError, ValueError):
        return None
    return content if isinstance(content.get("facts"), dict) else None


# ---------------------------------------------------------------- identities of encoders


def encoder_identity(name: str) -> dict[str, Any]:
    """Of a pretrained encoder: a known one's name and fingerprint of tensors; a hub name at its commit; or a folder's.

    {"hub", "revision"} where it is neither here nor to be asked for at the hub.
    """
    if name in TENSORS:
        return {"name": name, "tensors": TENSORS[name]}
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


@cache
def require_known_tensors(name: str) -> None:
    """Raises ValueError where the weights of a known encoder are not those that this study knows by its name."""
    if name not in TENSORS:
        return
    from transformers.utils import cached_file

    origin, revision = sets.loadable(name)
    fingerprint = tensors_fingerprint(cached_file(origin, "model.safetensors", revision=revision))
    if fingerprint != TENSORS[name]:
        raise ValueError(
            f"{name}: expected the weights of fingerprint {TENSORS[name][:12]}, got {fingerprint[:12]} in {origin}; "
            "give another version a path or name of its own"
        )


# ---------------------------------------------------------------- files


def json_sha256(content: Any) -> str:
    """The SHA-256 of JSON values, whatever the order of their keys."""
    return sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def require_sha256(path: Path, digest: str | None) -> None:
    """Raises ValueError that names a file which is not as it was published."""
    if digest is not None and file_sha256(path) != digest:
        raise ValueError(f"{shown(path)}: not as its index.json says; restore it, or publish its run again")


def read_json(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds.  Raises ValueError, that names the file, where it holds anything else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:  # also of bytes that are no text
        content = None
    if not isinstance(content, dict):
        raise ValueError(f"{shown(path)}: expected a JSON object, got something else; restore or remove it")
    return content


def write_json(path: Path, content: Any) -> None:
    """Written whole or not at all: a temporary name, then a rename."""
    with whole_file(path) as temporary:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def write_scores(path: Path, pairs: Any, score: Any, **columns: Any) -> None:
    """One row a pair: question_id, position in the question, label, score, and more columns; no text.

    columns: of a fit `last`, the score by the weights after its last step; of a model with heads or exits, theirs.
    """
    import numpy
    import pandas

    from as2lib.metrics.questions import Questions

    table = pandas.DataFrame({"question_id": pairs["question_id"][:]})
    table["position"] = Questions.together(table["question_id"]).place.astype("int32")
    table["label"] = numpy.asarray(pairs["label"][:], dtype="int8")
    table["score"] = numpy.asarray(score, dtype="float64")
    write_parquet(path, table.assign(**columns))


def write_parquet(path: Path, table: "pandas.DataFrame", small: bool = False) -> None:
    """Written whole or not at all.

    small: for a repository, at the price of time: scores to ten digits, those of each head, exit and class to seven.
    """
    numbers = [column for column in table if table[column].dtype.kind == "f"]
    options: dict[str, Any] = {"compression": "snappy"}
    if small:
        fine = {name: 24 if name.startswith(("head_", "exit_", "logit_")) else 36 for name in numbers}
        table = table.assign(**{name: _rounded(table[name], bits) for name, bits in fine.items()})
        texts = [column for column in table if column not in numbers]
        options = {"compression": "zstd", "compression_level": 19}
        options |= {"use_byte_stream_split": numbers, "use_dictionary": texts}
    with whole_file(path) as temporary:
        table.to_parquet(temporary, index=False, **options)


def _rounded(numbers: "pandas.Series", bits: int) -> Any:
    """Rounded to so many bits of their mantissa: the bytes behind are 0, which a file packs to nothing."""
    import numpy

    mantissa, exponent = numpy.frexp(numbers.to_numpy())
    return numpy.ldexp(numpy.rint(numpy.ldexp(mantissa, bits)), exponent - bits)


def shown(path: Path) -> str:
    """A path as messages say it: from the project's root on, where it is there."""
    root = find_root()
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


@cache
def git_commit() -> str | None:
    """The commit of the sources at work; None where they are in no clone."""
    if not (PACKAGE.parent / ".git").exists():  # installed, perhaps inside a clone of something else
        return None
    command = ["git", "-C", str(PACKAGE.parent), "rev-parse", "HEAD"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None
