"""A tiny study in a folder of its own: four small pair files, encoders of two layers, fits of a few steps."""

import os
import random
import sys
from functools import partial
from pathlib import Path

import pytest
import yaml

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported: models this small gain nothing by more

# Given out first, so that at the end of the tests no core waits for one of them.
LONGEST = "faults fit two_stages again cascade_tables pages serve every_notebook fresh_clone docs own world".split()
FIELDS = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 40}
WORDS = "red blue green north south river hill stone maple cedar lamp boat".split()


def write_pairs(path: Path, questions: int, seed: int) -> Path:
    """Questions about words; the correct candidate repeats the question's word, and one in six has none."""
    generator = random.Random(seed)
    lines = ["question_id\tquestion\tanswer\tlabel"]
    for number in range(questions):
        word = generator.choice(WORDS)
        correct = -1 if number % 6 == 5 else generator.randrange(4)
        for place in range(4):
            other = word if place == correct else generator.choice([w for w in WORDS if w != word])
            lines.append(f"{path.stem}-{number}\twhere is the {word} ?\tthe {other} is here\t{int(place == correct)}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def tiny_params(folder: Path) -> dict:
    def backbone(family: str, size: str) -> dict:
        width = 32 if size == "large" else 16
        config = {"model_type": family, "hidden_size": width, **FIELDS, "type_vocab_size": 2}
        config |= {"embedding_size": width} if family != "roberta" else {}
        return {"label": f"{family} {width}", "config": config}

    pairs = {split: str(folder / f"{split}.tsv") for split in ("train", "dev", "test")}
    training = {"steps": 6, "learning_rate": 1e-3, "batch_size": 8}
    return {
        "study": "tiny",
        "title": "a study for the tests",
        "data": {"target": pairs, "transfer": {"train": str(folder / "transfer.tsv")}, "max_length": 24}
        | {"allow_shared_questions": True},  # twelve words are asked for, in every split
        "backbones": {
            family: {"name": family} | {size: backbone(family, size) for size in ("large", "base")}
            for family in ("electra", "roberta", "albert")
        },
        "fit": {
            "transfer": training,
            "adapt": {**training, "evaluate_every": 2},
            "direct": {**training, "evaluate_every": 3},
        },
        "distillation": {"alpha": 0.5, "tau": 3},
        "mhs": {"body": 1},
        "seeds": [0, 1],
    }


def write_study(root: Path, **changes) -> Path:
    """The tiny study in a root; a section may be a function of the root, called when its pair files are there."""
    (root / "params").mkdir(parents=True)
    for seed, (split, questions) in enumerate({"train": 20, "dev": 12, "test": 18, "transfer": 30}.items()):
        write_pairs(root / f"{split}.tsv", questions, seed)
    sections = {key: value(root) if callable(value) else value for key, value in changes.items()}
    (root / "params" / "tiny.yaml").write_text(yaml.safe_dump(tiny_params(root) | sections, sort_keys=False))
    return root


def write_finished(root: Path, chosen, **changes) -> Path:
    """A root whose tiny study has made the runs that a function of it chose."""
    write_study(root, **{"seeds": [0]} | changes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AS2_ROOT", str(root))
        from as2lib import Study
        from as2lib.runs.make import make_all

        study = Study.load("tiny")
        make_all(study.store, chosen(study), progress=False)
    return root


def pytest_collection_modifyitems(items):
    order = {f"test_{name}": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


@pytest.fixture(autouse=True)
def own_modules(monkeypatch):
    """What a test put on the path of modules, or imported from its own folder, is not there for the next one."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "mypackage"]:
        del sys.modules[name]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A fresh root with the tiny study, nothing trained."""
    from as2lib.data.pairs import load_parts

    load_parts.cache_clear()  # a known name may be mapped to other files than in the test before
    monkeypatch.setenv("AS2_ROOT", str(tmp_path / "root"))
    return write_study(tmp_path / "root")


@pytest.fixture
def any_content(monkeypatch):
    """Known names may stand for other pairs than the published ones."""
    monkeypatch.setattr("as2lib.data.sources.FINGERPRINTS", {})


@pytest.fixture(scope="session")
def trained_root(tmp_path_factory):
    """A root whose tiny study has trained what one MHS needs; shared, so tests only read it."""
    made = ["mhs/3h1/seed-0", "ensemble/teachers/seed-0", "lexical/word_overlap", "lexical/overlap_then_rank"]
    return write_finished(tmp_path_factory.mktemp("trained") / "root", lambda study: made)


@pytest.fixture
def trained(trained_root, monkeypatch):
    """The store of the trained tiny study."""
    monkeypatch.setenv("AS2_ROOT", str(trained_root))
    from as2lib import Study

    return Study.load("tiny").store


def govern_section(root: Path, **changes) -> dict:
    """A section `govern` for the tiny study, with a pool of its own: questions and answers, nothing else."""
    pool = [line.split("\t")[1:3] for line in (root / "transfer.tsv").read_text(encoding="utf-8").splitlines()]
    (root / "pool.tsv").write_text("".join(f"{question}\t{answer}\n" for question, answer in pool), encoding="utf-8")
    fit = {"steps": 4, "learning_rate": 1e-3, "batch_size": 8}
    stages = {name: {**fit, "evaluate_every": 2} for name in ("teacher_fit", "unlabelled_fit", "labelled_fit")}
    given = {
        "unlabelled": str(root / "pool.tsv"),
        "start": "transfer",
        "teachers": [{"of": "electra-base"}, {"of": "roberta-large", "layers": 1}],
        "student": {"of": "electra-base"},
        "ablation": {"teacher": {"of": "electra-base"}, "student": {"of": "electra-base", "layers": 1}}
        | {"teachers": [1, 2], "fit": fit},
    }
    return given | stages | changes


@pytest.fixture(scope="session")
def voted_root(tmp_path_factory):
    """A root whose tiny study has a section `govern`, and has trained one seed of it; shared, so tests only read it."""

    def runs(study):
        from as2lib.papers.govern.plan import runs

        return [run.name for run in runs(study)]

    longer = {"epochs": 2, "learning_rate": 1e-3, "batch_size": 8, "evaluate_every": 4}
    section = partial(govern_section, longer_fit=longer)
    return write_finished(tmp_path_factory.mktemp("voted") / "root", runs, govern=section)


@pytest.fixture
def voted(voted_root, monkeypatch):
    """The store of the tiny study with its section `govern`."""
    monkeypatch.setenv("AS2_ROOT", str(voted_root))
    from as2lib import Study

    return Study.load("tiny").store
