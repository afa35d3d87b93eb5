"""A tiny study with invented scores for all of its runs: nothing is trained, and notebooks run in seconds."""

from pathlib import Path

import nbformat
import numpy
import pandas
import pytest

from as2lib import Study
from as2lib.data import load_parts
from as2lib.study.run import Run, plan
from as2lib.study.store import Store
from tests.study.conftest import STEP, tiny_params, write_pairs, write_study

ROOT = Path(__file__).parents[2]
EPOCHS = {"epochs": 2, "learning_rate": 2e-3, "batch_size": 2}


def pair_set(root: Path, name: str) -> dict:
    return {split: str(root / f"{name}-{split}.tsv") for split in ("train", "dev", "test")}


def tiny(root: Path) -> dict:
    """Every section that a study of CERBERUS and Cosinet may have; encoders have four layers."""
    params = tiny_params(root, layers=4)
    params["data"]["transfer"] = pair_set(root, "transfer")
    params["mhs"]["heads"] = [1, 2]
    params["latency"] = {"batch": 1, "tokens": 8, "repeats": 2, "rows": ["base/electra", "mhs/3h1"]}
    words = {"vectors": {"source": "random", "dimensions": 8}, "hidden": 6, "seeds": [0]}
    params["cosinet"] = {**words, "pointwise": EPOCHS, "listwise": EPOCHS}
    return params


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A fresh root with the tiny study and its pairs."""
    root = tmp_path / "root"
    write_study(root, **tiny(root))
    for seed, path in enumerate(pair_set(root, "transfer").values()):
        write_pairs(Path(path), 24, seed, 4)
    monkeypatch.setenv("AS2_ROOT", str(root))
    return root


SCORES: dict = {}  # invented once a process
READ: set[str] = set()  # the runs whose scores, logs or facts were read since a notebook began


class InventedRun:
    """A stored run whose scores are better than chance, others for each head, each seed and the last weights."""

    model_folder = commit = published = None
    identity = "invented"

    def __init__(self, run: Run):
        self.run, self.name = run, run.name
        self.facts = {"parameters": 1000 + len(run.name), "weights": [0.5, 0.5], "seconds": 1.0, "pairs": 10}

    def scores(self, split: str = "test") -> pandas.DataFrame:
        READ.add(self.name)
        parts = tuple(self.run.data[split])
        key = (self.name, split, tuple(Path(part).name for part in parts), str(self.run.spec))
        if key not in SCORES:
            SCORES[key] = self.invented(split, parts)
        return SCORES[key].copy()

    def invented(self, split: str, parts: tuple[str, ...]) -> pandas.DataFrame:
        pairs = load_parts(parts, "all").to_pandas()
        generator = numpy.random.default_rng(sum(map(ord, self.name + split)))
        table = pairs[["question_id", "label"]].copy()
        table.insert(1, "position", pairs.groupby("question_id", sort=False).cumcount())
        strength = 0.1 + 0.25 * generator.random()

        def score():
            return strength * pairs["label"] + (1 - strength) * generator.random(len(pairs))

        table.insert(3, "score", score())
        for head in range(self.run.spec.get("mhs", {}).get("heads", 0)):
            table[f"head_{head}"] = score()
        for layer in self.run.spec.get("cascade", {}).get("exits", ()):
            table[f"exit_{layer}"] = score()
        return table.assign(last=score()) if self.run.kind == "fit" else table  # by the last weights of a fit

    def log(self) -> list[dict]:
        READ.add(self.name)
        heads = self.run.spec.get("mhs", {}).get("heads")
        soft = [0.5] * heads if heads else 0.5
        return [{"step": step, "dev_MAP": 0.5 + step / 100, "soft": soft, "followed": 1.5} for step in (2, 4)]


@pytest.fixture
def invented(root, monkeypatch):
    """The tiny study; every run that is asked for has invented scores."""
    monkeypatch.setattr(Store, "find", lambda store, name, model=False: InventedRun(store.planned(name)))
    monkeypatch.setattr("as2lib.study.study.Study.run", lambda study, name, model=False: study.store.find(name))
    return Study.load("tiny")


@pytest.fixture
def sections(invented, root) -> dict:
    """The sections that the tiny study lacks, as overrides."""
    evaluated = {**STEP, "evaluate_every": 2}
    other, base = pair_set(root, "transfer"), {"of": "student"}
    cascade = {"encoder": "student", "exits": [1, 2, 4], "targets": {"other": other}, "ablations": False}
    cascade["fit"] = {"transfer": evaluated, "adapt": evaluated}
    govern = {"unlabelled": other["train"], "start": "transfer", "student": base}
    govern["teachers"] = [base, {"of": "base/roberta"}, {"of": "teacher/electra"}]
    govern |= dict.fromkeys(("teacher_fit", "unlabelled_fit", "labelled_fit"), evaluated)
    govern["ablation"] = {"teacher": base, "student": base | {"layers": 2}, "teachers": [1, 3], "fit": EPOCHS}
    return {"cascade": cascade, "govern": govern}


def run_notebook(name: str, overrides: dict | None = None) -> dict:
    """What the code cells of a notebook leave behind, run in this process with other parameters."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4)
    space: dict = {"study": "tiny", "overrides": overrides or {}, "save": True}
    READ.clear()
    for cell in notebook.cells:
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", []):
            exec(compile(cell.source, f"{name}:{cell.id}", "exec"), space)
    if not name.startswith("00"):  # the overview comes after all runs
        [notebook] = [each for each in space["study"].notebooks if each.name == name]
        assert set(plan(space["study"], notebook.systems)) >= READ  # which a study's graph makes before it
    return space


@pytest.fixture(autouse=True)
def target_of_a_paper(monkeypatch):
    """The small sets of these tests stand for a paper's, but where a test is about one's own."""
    monkeypatch.setattr("as2lib.papers.row.of_own_target", lambda study: False)
    monkeypatch.setattr("as2lib.papers.beyond.of_own_pairs", lambda study: False)
