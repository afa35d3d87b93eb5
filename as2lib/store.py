"""Where a run lives: its identity, its folder, its scores; knows how runs are found, not how they are made."""

import json
import os
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.data import sources
from as2lib.params import Study
from as2lib.paths import find_root, model_origin, work_folder
from as2lib.plan import VERSIONS, Run

if TYPE_CHECKING:
    import datasets
    import pandas

KERNELS = "first token, plain attention, dropout from raw bits"  # what fits compute with: they round and draw otherwise
VECTORS_VERSION = 1  # of `data.embeddings`: raise it when the same source and corpus would give other vectors
WEIGHT_FILES = ("config.json", "*.safetensors", "*.bin", "tokenizer*", "vocab*", "merges.txt", "*.model")


@dataclass(frozen=True)
class Finished:
    """A run that was made: its scores, and its model where it has one and it is here.

    name, identity: the run's.  facts: what making it measured (parameters, best step, dev MAP, seconds, precision).
    folder: the run's folder, or the published parquet file where only the scores are at hand.
    """

    name: str
    identity: str
    facts: dict[str, Any]
    folder: Path

    def scores(self, split: str = "test") -> "pandas.DataFrame":
        """Columns question_id, position, label, score, and one a head; every question, in the order of the pairs.

        Raises ValueError where the run was not scored on that split.
        """
        import pandas

        if self.folder.suffix == ".parquet":
            every = pandas.read_parquet(self.folder)
            table = every[every["split"] == split].drop(columns="split").reset_index(drop=True)
            if table.empty:
                raise ValueError(f"{self.name} has no scores on {split!r}; it has {sorted(every['split'].unique())}")
            return table
        path = self.folder / "scores" / f"{split}.parquet"
        if not path.exists():
            known = sorted(p.stem for p in path.parent.glob("*.parquet"))
            raise ValueError(f"{self.name} has no scores on {split!r}; it has {known}")
        return pandas.read_parquet(path)

    @property
    def model_folder(self) -> Path:
        """What `from_pretrained` reads.  Raises FileNotFoundError for a run that has no model here."""
        folder = self.folder / "model"
        if not folder.exists():
            raise FileNotFoundError(f"{self.name} has no model here, only scores; `run(name, model=True)` trains it")
        return folder

    def log(self) -> list[dict[str, Any]]:
        """What training logged: loss parts, dev MAP, seconds, by step; empty where nothing was trained."""
        path = self.folder / "log.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Store:
    """The runs of one study, found by the hash of everything that made them."""

    def __init__(self, study: Study):
        self.study = study
        self.plan: dict[str, Run] = study.plan()
        self._identities: dict[str, str] = {}

    @cached_property
    def published_folder(self) -> Path:
        return find_root() / "reports" / self.study.study / "runs"

    @cached_property
    def _published(self) -> dict[str, dict[str, Any]]:
        index = self.published_folder / "index.json"
        return json.loads(index.read_text()) if index.exists() else {}

    @cached_property
    def precision(self) -> str:
        """The precision that this study's `precision` means on this machine."""
        return computed_in(self.study.precision)

    def planned(self, name: str) -> Run:
        """The run of that name.  Raises KeyError with the nearest names."""
        if name not in self.plan:
            from difflib import get_close_matches

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
            "data": {role: [data_identity(part) for part in parts] for role, parts in run.data.items()},
            "parents": {role: [self.identity(parent) for parent in names] for role, names in run.parents.items()},
        }
        if run.kind == "fit":
            made_from |= {"threads": self.study.threads, "precision": self.precision}
            if self.study.kernels and "words" not in run.spec:
                made_from["kernels"] = KERNELS
            if origin := run.spec.get("backbone", {}).get("name"):
                made_from["weights"] = weights_identity(origin)
            if vectors := run.spec.get("words", {}).get("vectors"):
                made_from["vectors"] = vectors_identity(vectors)
        return made_from

    def folder(self, name: str) -> Path:
        return work_folder() / "runs" / self.identity(name)[:24]

    def find(self, name: str, need_model: bool = False) -> Finished | None:
        """The run if it was made here, or published (scores only), else None."""
        identity, folder = self.identity(name), self.folder(name)
        if (folder / "done.json").exists() and not (need_model and self._model_missing(name)):
            return Finished(name, identity, json.loads((folder / "done.json").read_text()), folder)
        entry = self._published.get(name)
        if need_model or entry is None or entry["identity"] != identity:
            return None
        return Finished(name, identity, entry["facts"], self.published_folder / f"{name}.parquet")

    def _model_missing(self, name: str) -> bool:
        """Whether the weights behind a run are not all here: its own, or those of an ensemble's members."""
        run = self.planned(name)
        if run.kind == "fit":
            return not (self.folder(name) / "model").exists()
        return run.kind == "ensemble" and any(self._model_missing(member) for member in run.parents["members"])

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

    def group(self, group: str) -> list[str]:
        """The runs of a group, parents first.  Raises KeyError that names the groups."""
        names = [run.name for run in self.plan.values() if run.group == group]
        if not names:
            raise KeyError(
                f"no group {group!r}; there are {', '.join(dict.fromkeys(r.group for r in self.plan.values()))}"
            )
        return names

    def group_identity(self, group: str) -> str:
        """Changes when any run of the group does."""
        return sha256("".join(map(self.identity, self.group(group))).encode()).hexdigest()

    def run(self, name: str, model: bool = False) -> Finished:
        """The finished run, with its model where asked; made first where it is missing, with what it needs."""
        if self.find(name, model) is None:
            from as2lib.make import make_all

            make_all(self, [name], model=model)
        return self.find(name, model)

    def runs(self, prefix: str) -> list[Finished]:
        """The finished runs below `prefix`, in the plan's order (one a seed)."""
        names = [name for name in self.plan if name == prefix or name.startswith(f"{prefix}/")]
        if not names:
            self.planned(prefix)
        if missing := [name for name in names if self.find(name) is None]:
            from as2lib.make import make_all

            make_all(self, missing)
        return [self.find(name) for name in names]

    def used_by(self, name: str) -> list[str]:
        """The runs made from this one."""
        return [other.name for other in self.plan.values() if name in other.parent_names]

    def publish(self, names: list[str]) -> list[Path]:
        """Write the scores and facts of finished runs to `reports/<study>/runs/`; they hold no text.

        Raises ValueError where the study is not as its file says.
        """
        import pandas

        if self.study.variant != self.study.study:
            raise ValueError(f"expected {self.study.study} as its file says, got one with other parameters")

        index, written = dict(self._published), []
        for name in self.missing(names):
            self.run(name)
        for run in filter(None, map(self.find, names)):
            if run.folder.suffix == ".parquet":
                continue
            splits = sorted(path.stem for path in (run.folder / "scores").glob("*.parquet"))
            if not splits:
                continue
            table = pandas.concat([run.scores(split).assign(split=split) for split in splits], ignore_index=True)
            path = self.published_folder / f"{run.name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            table.astype({"split": "category"}).to_parquet(path, index=False, compression="zstd")
            index[run.name] = {"identity": run.identity, "facts": run.facts}
            written.append(path)
        index = {name: index[name] for name in sorted(index) if name in self.plan}
        write_json(self.published_folder / "index.json", index)
        self.__dict__.pop("_published", None)
        return written


def data_identity(part: str) -> Any:
    """The identity of one `source:split` part, without loading it."""
    return sources.identity(*sources.split_part(part))


def weights_identity(name: str) -> Any:
    """The identity of a pretrained encoder: its files' SHA-256 where they are local, else hub name and revision."""
    origin, revision = model_origin(name)
    if isinstance(origin, str):
        return {"hub": origin, "revision": revision}
    files = sorted({path for pattern in WEIGHT_FILES for path in origin.glob(pattern)})
    return {path.name: sources.file_sha256(path) for path in files}


def vectors_identity(vectors: dict[str, Any]) -> Any:
    """The identity of a source of word vectors: the encoder's files, the file's SHA-256, or the method's version."""
    version = {"version": VECTORS_VERSION}
    if vectors["source"] == "encoder":
        return version | {"weights": weights_identity(vectors["name"])}
    return version | ({"sha256": sources.file_sha256(find_root() / vectors["name"])} if "name" in vectors else {})


def computed_in(precision: str) -> str:
    """A precision where "auto" stands for bf16 on a processor or GPU that has it, else for float32."""
    return ("bf16" if native_bf16() else "float32") if precision == "auto" else precision


def native_bf16() -> bool:
    """Whether the processor, or an NVIDIA GPU of the last generations, multiplies bf16 natively; imports no torch."""
    if Path("/proc/driver/nvidia/version").exists():
        return True
    cpuinfo = Path("/proc/cpuinfo")
    flags = cpuinfo.read_text() if cpuinfo.exists() else ""
    return any(flag in flags for flag in ("avx512_bf16", "amx_bf16", " bf16"))


def write_json(path: Path, content: Any) -> None:
    """Written whole or not at all: a temporary name, then a rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    temporary.replace(path)


def write_scores(path: Path, pairs: "datasets.Dataset", score: Any, columns: dict[str, Any] | None = None) -> None:
    """One row a pair: question_id, position in the question, label, score, and more columns; no text."""
    import numpy
    import pandas

    table = pandas.DataFrame({"question_id": pairs["question_id"][:]})
    table["position"] = table.groupby("question_id", sort=False).cumcount().astype("int32")
    table["label"] = numpy.asarray(pairs["label"][:], dtype="int8")
    table["score"] = numpy.asarray(score, dtype="float64")
    write_parquet(path, table.assign(**(columns or {})))


def write_parquet(path: Path, table: "pandas.DataFrame") -> None:
    """Written whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    table.to_parquet(temporary, index=False)
    temporary.replace(path)


def write_logits(path: Path, logits: Any, pairs_fingerprint: str) -> None:
    """A teacher's logits, (m, c) float32, with the fingerprint of the pair set that they are over."""
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    save_file({"logits": logits}, temporary, metadata={"pairs": pairs_fingerprint})
    temporary.replace(path)


def read_logits(path: Path, pairs_fingerprint: str) -> Any:
    """Stored logits.  Raises ValueError where they are over another pair set than the one of that fingerprint."""
    from safetensors import safe_open

    with safe_open(path, "numpy") as stored:
        found = stored.metadata()["pairs"]
        if found != pairs_fingerprint:
            raise ValueError(
                f"{path.name}: expected logits over the pair set {pairs_fingerprint[:12]}, these are over "
                f"{found[:12]}; remove the file to compute them anew"
            )
        return stored.get_tensor("logits")
