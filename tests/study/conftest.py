"""A tiny study whose systems are stubs: rankers that are not trained, their ensembles, and fits that only count."""

import random
from pathlib import Path

import pytest
import yaml

from as2lib import Study
from as2lib.study.run import Notebook, Row, by_name

WORDS = "red blue green north south river hill stone maple cedar lamp boat".split()
STEP = {"steps": 4, "learning_rate": 1e-3, "batch_size": 8}


def write_pairs(path: Path, questions: int = 30, seed: int = 0, unanswered: int = 0, where: str = "where") -> Path:
    """Questions about words: the correct one of four candidates repeats its word, and the last questions have none."""
    generator = random.Random(seed)
    lines = ["question_id\tquestion\tanswer\tlabel"]
    for number in range(questions):
        word, *others = generator.sample(WORDS, 5)
        if number < questions - unanswered:
            others[generator.randrange(4)] = word
        question = f"{path.stem}-{number}\t{where} is the {word} {number} ?"
        lines += [f"{question}\tthe {other} is here\t{int(other == word)}" for other in others]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def backbone(family: str, width: int, layers: int = 2) -> dict:
    config = {"model_type": family, "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": 2}
    config |= {"intermediate_size": 32, "max_position_embeddings": 40}
    return {"size": f"{layers} layers of {width}", "config": config}


def teachers(layers: int) -> dict:
    """A teacher a family; all but the first have a base model of their own."""
    each = {}
    for family in ("electra", "roberta", "albert"):
        each[family] = {"label": family.upper(), "stands_for": family, **backbone(family, 32, layers)}
        if family != "electra":
            each[family]["base"] = backbone(family, 16, layers)
    return each


def tiny_params(folder: Path, layers: int = 2) -> dict:
    return {
        "name": "tiny",
        "title": "a study for the tests",
        "data": {
            "target": {split: str(folder / f"{split}.tsv") for split in ("train", "dev", "test")},
            "transfer": {"train": str(folder / "transfer.tsv")},
            "max_length": 24,
            "allow_shared_questions": True,
        },
        "teachers": teachers(layers),
        "student": backbone("electra", 16, layers),
        "fit": {"transfer": STEP, "adapt": {**STEP, "evaluate_every": 2}, "direct": STEP},
        "distillation": {"alpha": 0.5, "tau": 3},
        "mhs": {"body": layers - 1},
        "seeds": [0, 1],
    }


def write_study(root: Path, **sections) -> Path:
    """A root with the tiny study and its pairs."""
    (root / "params").mkdir(parents=True)
    sizes = {"train": 20, "dev": 12, "test": 18, "transfer": 30}
    for seed, (split, questions) in enumerate(sizes.items(), 4):  # seeds by which splits share questions
        write_pairs(root / f"{split}.tsv", questions, seed, questions // 6)
    (root / "params" / "tiny.yaml").write_text(yaml.safe_dump({"study": tiny_params(root) | sections}, sort_keys=False))
    return root


def stub_systems(study) -> list[Row]:
    """Two rankers that are not trained, their tuned mean, and a teacher with its student."""
    pairs = {split: tuple(parts) for split, parts in study.data.target.model_dump().items()}
    scored = {split: pairs[split] for split in ("dev", "test")}
    pool = {"train": tuple(study.data.transfer.train)}
    spec = {"loss": "ce", "training": STEP, "max_length": 128}
    start = Row("transfer/electra", "transfer", "", "fit", spec, pool, seeds=(0,))
    rows = []
    for scorer, label in {"word_overlap": "word overlap", "reciprocal_rank": "order"}.items():
        rows.append(Row(f"lexical/{scorer}", label, "trivial", "lexical", {"scorer": scorer}, scored, seeds=(0,)))
    members, weighted = {"members": tuple(row.run for row in rows)}, {"combine": "weighted", "trials": 3}
    teacher = {**spec, "training": study.fit.adapt.model_dump(exclude_none=True)}
    taught = {"start": (start,), "teachers": ("teacher/electra",)}
    rows += [
        Row("ensemble/tuned", "tuned mean", "ensemble", "ensemble", weighted, scored, members),
        Row("teacher/electra", "ELECTRA large", "teacher", "fit", teacher, pairs, {"start": (start,)}),
        Row("student/electra", "one teacher", "student", "fit", {**spec, "loss": "kd"}, pairs, taught),
    ]
    return [row.of(study) for row in rows]


def graph_systems(study) -> list[Row]:
    """Those of the stubs that a graph of few jobs makes."""
    return [system for system in stub_systems(study) if system.run in ("lexical/word_overlap", "teacher/electra")]


def graph_notebooks(study) -> list[Notebook]:
    overlap, teacher = graph_systems(study)
    return [Notebook("00_overview", "?", (overlap, teacher)), Notebook("01_data", "?", (overlap,))]


def stub_fit(store, run, folder, progress=False) -> tuple[dict, dict]:
    """Stands in for a fit: scores that are better than chance, a model file and a log."""
    import pandas

    (folder / "model").mkdir(exist_ok=True)
    (folder / "model" / "model.safetensors").write_bytes(b"weights")
    (folder / "log.jsonl").write_text('{"step": 2, "loss": 0.5}\n')
    tables = {}
    for split in {"dev", "test"} & set(run.data):
        [part] = run.data[split]
        table = pandas.read_csv(part, sep="\t")[["question_id", "label"]]
        table.insert(1, "position", table.groupby("question_id", sort=False).cumcount())
        noise = random.Random(run.name)
        score, last = ([0.6 * label + noise.random() for label in table["label"]] for _ in range(2))
        tables[split] = table.assign(score=score, last=last)
    return tables, {"parameters": 100, "dev_MAP": 0.5, "precision": run.computing.get("precision", "float32")}


def make_all(store, names, model=False) -> list[str]:
    """Make what is missing of some runs; the names of those that were made."""
    return [name for name in store.needed(names, model) if store.make(name)]


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A fresh root with the tiny study, nothing made, and stubs for the papers' systems."""
    monkeypatch.setenv("AS2_ROOT", str(tmp_path / "root"))
    monkeypatch.setattr(Study, "systems", property(lambda study: by_name(stub_systems(study))))
    return write_study(tmp_path / "root")


@pytest.fixture
def fits(monkeypatch) -> list[str]:
    """The names of the fits that were made, by `stub_fit`."""
    from as2lib.study.make import MAKERS

    names: list[str] = []

    def fit(store, run, folder, progress):
        names.append(run.name)
        return stub_fit(store, run, folder)

    monkeypatch.setitem(MAKERS, "fit", fit)
    return names
