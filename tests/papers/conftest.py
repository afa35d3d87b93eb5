"""A tiny study with invented scores for all of its runs: nothing is trained, and notebooks run in seconds."""

import json
import random
from pathlib import Path

import nbformat
import numpy
import pandas
import pytest
import yaml

from as2lib.study.run import Run, plan
from as2lib.study.store import Store

ROOT = Path(__file__).parents[2]
WORDS = "red blue green north south river hill stone maple cedar lamp boat".split()
STEPS = {"steps": 4, "learning_rate": 1e-3, "batch_size": 8}
EPOCHS = {"epochs": 2, "learning_rate": 2e-3, "batch_size": 2}
SPLITS = ("train", "dev", "test")


def write_pairs(path: Path, questions: int, seed: int) -> None:
    """Questions about words; the correct candidate repeats the question's word, and one question in six has none."""
    generator = random.Random(seed)
    lines = ["question_id\tquestion\tanswer\tlabel"]
    for number in range(questions):
        word = generator.choice(WORDS)
        correct = -1 if number % 6 == 5 else generator.randrange(4)
        for place in range(4):
            other = word if place == correct else generator.choice([w for w in WORDS if w != word])
            text = f"where is the {word} ?\tthe {other} is here {place}"
            lines.append(f"{path.stem}-{number}\t{text}\t{int(place == correct)}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def encoder(family: str, width: int) -> dict:
    config = {"model_type": family, "hidden_size": width, "num_hidden_layers": 4, "num_attention_heads": 2}
    config |= {"intermediate_size": 32, "max_position_embeddings": 40}
    return {"label": f"4 layers of {width}", "config": config}


def pair_set(root: Path, name: str) -> dict:
    return {split: str(root / f"{name}-{split}.tsv") for split in SPLITS}


def tiny(root: Path) -> dict:
    """Every section that a study of CERBERUS, the cascade, Cosinet and GOVERN may have."""
    families = ("electra", "roberta", "albert")
    return {
        "study": "tiny",
        "title": "a study for the tests",
        "data": {
            "target": pair_set(root, "target"),
            "transfer": pair_set(root, "transfer"),
            "max_length": 24,
            "allow_shared_questions": True,  # twelve words are asked for, in every split
        },
        "backbones": {
            family: {"name": family.upper(), "large": encoder(family, 32), "base": encoder(family, 16)}
            for family in families
        },
        "fit": {"transfer": STEPS, "adapt": {**STEPS, "evaluate_every": 2}, "direct": STEPS},
        "distillation": {"alpha": 0.5, "tau": 3},
        "mhs": {"body": 3, "heads": [1, 2]},
        "seeds": [0, 1],
        "latency": {"batch": 1, "tokens": 8, "repeats": 2, "rows": ["base/electra", "mhs/3h1"]},
        "cosinet": {
            "vectors": {"source": "ppmi", "dimensions": 8},
            "hidden": 6,
            "pointwise": EPOCHS,
            "listwise": EPOCHS,
            "seeds": [0],
        },
    }


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A fresh root with the tiny study and its pairs."""
    root = tmp_path / "root"
    (root / "params").mkdir(parents=True)
    for seed, name in enumerate(("target", "transfer")):
        for number, (split, questions) in enumerate({"train": 30, "dev": 18, "test": 24}.items()):
            write_pairs(root / f"{name}-{split}.tsv", questions, 10 * seed + number)
    (root / "params" / "tiny.yaml").write_text(yaml.safe_dump(tiny(root), sort_keys=False), encoding="utf-8")
    monkeypatch.setenv("AS2_ROOT", str(root))
    return root


READ: set[str] = set()  # the runs whose scores, logs or facts were read since a notebook began


class InventedRun:
    """A stored run whose scores are better than chance, and other ones for each head and each seed."""

    published = False
    model_folder = None
    identity = "invented"

    def __init__(self, run: Run, study):
        self.run, self.study, self.name = run, study, run.name
        self.facts = {"parameters": 1000 + len(run.name), "weights": [0.5, 0.5], "seconds": 1.0, "pairs": 10}

    def scores(self, split: str = "test") -> pandas.DataFrame:
        from as2lib.data import load_parts

        READ.add(self.name)
        if split not in self.run.data:
            raise ValueError(f"{self.name} has no scores on {split!r}")
        pairs = load_parts(tuple(self.run.data[split]), "all").to_pandas()
        generator = numpy.random.default_rng(sum(map(ord, self.name + split)))
        table = pairs[["question_id", "label"]].copy()
        table.insert(1, "position", pairs.groupby("question_id", sort=False).cumcount())
        strength = 0.1 + 0.25 * generator.random()
        noise = generator.random(len(pairs))
        heads = self.run.spec.get("mhs", {}).get("heads", 0)
        for head in range(heads):
            table[f"head_{head}"] = strength * pairs["label"] + (1 - strength) * generator.random(len(pairs))
        for layer in self.run.spec.get("cascade", {}).get("exits", ()):
            table[f"exit_{layer}"] = strength * pairs["label"] + (1 - strength) * generator.random(len(pairs))
        table.insert(3, "score", strength * pairs["label"] + (1 - strength) * noise)
        return table

    def log(self) -> list[dict]:
        READ.add(self.name)
        heads = self.run.spec.get("mhs", {}).get("heads")
        soft = [0.5] * heads if heads else 0.5
        return [{"step": step, "dev_MAP": 0.5 + step / 100, "soft": soft, "followed": 1.5} for step in (2, 4)]


@pytest.fixture
def invented(root, monkeypatch):
    """The tiny study; every run that is asked for has invented scores."""
    from as2lib import Study

    monkeypatch.setattr(Store, "find", lambda store, name, model=False: InventedRun(store.planned(name), store.study))
    monkeypatch.setattr("as2lib.study.study.Study.run", lambda study, name, model=False: study.store.find(name))
    return Study.load("tiny")


def run_notebook(name: str, study: str = "tiny", overrides: dict | None = None) -> dict:
    """What the code cells of a notebook leave behind, run in this process with other parameters."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", 4)
    space: dict = {"study": study, "overrides": overrides or {}}
    READ.clear()
    for cell in notebook.cells:
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", []):
            exec(compile(cell.source, f"{name}:{cell.id}", "exec"), space)
    assert not undeclared(space["study"], name)
    return space


def undeclared(study, name: str) -> set[str]:
    """The runs that a notebook has read and does not name, so that a study's graph may run it before they are made."""
    from as2lib.study.catalogue import notebooks

    if name.startswith("00"):  # it comes last
        return set()
    [notebook] = [one for one in notebooks(study) if one.name == name]
    return READ - set(plan(notebook.systems))


def recorded(root: Path, number: str) -> dict:
    return json.loads((root / "reports" / "tiny" / "metrics" / f"{number}.json").read_text(encoding="utf-8"))
