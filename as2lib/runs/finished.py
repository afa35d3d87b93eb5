"""A run that was made: its facts, its scores, its model and its log, each as it was written; looks for no run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.intact import Damaged, shown
from as2lib.runs.run import Run
from as2lib.runs.vouched import check_files

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Finished:
    """A run that was made: its scores, and its model where it has one and it is here.

    facts: what making it measured (parameters, best step, dev MAP, seconds, precision).
    folder: the run's folder, or the published parquet file where only the scores are at hand.
    parents: role → finished runs, where `Store.with_parents` found it.
    code, files: the fingerprint of what made it, and the SHA-256 of its files by name; None and empty where unknown.
    """

    run: Run
    identity: str
    facts: dict[str, Any]
    folder: Path
    parents: Mapping[str, list["Finished"]] = field(default_factory=dict)
    code: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def published(self) -> bool:
        """Whether only its scores are here."""
        return self.folder.suffix == ".parquet"

    def scores(self, split: str = "test") -> "pandas.DataFrame":
        """Columns question_id, position, label, score, and one a head; every question, in the order of the pairs.

        Raises ValueError where the run was not scored on that split, or the scores are not as they were written.
        """
        path = self.folder if self.published else self.folder / "scores" / f"{split}.parquet"
        self._check(path.name if self.published else f"scores/{path.name}")
        found = {}
        if self.published or path.exists():
            found = _read_scores(path, path.stat().st_mtime_ns if path.exists() else 0)
        if split not in found:
            known = sorted(found or (one.stem for one in path.parent.glob("*.parquet")))
            raise ValueError(f"{self.name} has no scores on {split!r}; it has {known}")
        return found[split].copy()

    @property
    def model_folder(self) -> Path:
        """What `from_pretrained` reads.  Raises FileNotFoundError for a run that has no model here."""
        folder = self.folder if (self.folder / "config.json").exists() else self.folder / "model"
        if not folder.exists():
            raise FileNotFoundError(f"{self.name} has no model here, only scores; `run(name, model=True)` trains it")
        return folder

    def log(self) -> list[dict[str, Any]]:
        """What training logged: loss parts, dev MAP, seconds, by step; empty where nothing was trained."""
        path = self.folder.with_suffix(".jsonl") if self.published else self.folder / "log.jsonl"
        self._check(path.name)
        try:
            return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        except ValueError:
            raise Damaged(f"{shown(path)}: expected a JSON object a line, got something else") from None

    def weights(self) -> dict[str, str]:
        """The SHA-256 of the files of its model; empty where they are not known."""
        return {name: digest for name, digest in self.files.items() if name.startswith("model/")}

    def _check(self, name: str) -> None:
        """Raises Damaged where a file changed after the run was found."""
        folder = self.folder.parent if self.published else self.folder
        check_files(folder, {name: self.files[name]} if name in self.files else {})


@lru_cache(maxsize=64)  # systems of several runs read each of them many times
def _read_scores(path: Path, changed: int) -> dict[str, "pandas.DataFrame"]:
    """Split → its table, of a published file; of another one its own name.  changed: when, so that none is outdated."""
    import pandas

    try:
        table = pandas.read_parquet(path)
    except (ValueError, OSError):  # of a run made before hashes were kept
        raise Damaged(f"{shown(path)}: expected a table of scores, got what can't be read; remove its run") from None
    if "split" not in table:
        return {path.stem: table}
    splits = table.groupby("split", observed=True)
    return {split: rows.drop(columns="split").reset_index(drop=True) for split, rows in splits}
