"""Every notebook on studies of several shapes, over invented scores: nothing is trained."""

import json
import re
from pathlib import Path

import matplotlib
import nbformat
import numpy
import pandas
import pytest

from as2lib import Study
from as2lib.data.pairs import load_parts
from as2lib.papers import notebooks
from as2lib.runs import make
from as2lib.runs.store import Store
from tests.conftest import govern_section, write_pairs

matplotlib.use("agg")
ROOT = Path(__file__).parents[1]
FIT = {"steps": 4, "learning_rate": 1e-3, "batch_size": 8}
EPOCHS = {"epochs": 2, "learning_rate": 2e-3, "batch_size": 2, "ratio": 32}


def whole(root, **changes):
    """The tiny study with a section for each paper, and a transfer set that can be a target."""
    for seed, split in enumerate(("dev", "test")):
        write_pairs(root / f"transfer-{split}.tsv", 14, seed + 9)
    transfer = {"train": str(root / "transfer.tsv")}
    transfer |= {split: str(root / f"transfer-{split}.tsv") for split in ("dev", "test")}
    cascade = {"family": "electra", "exits": [1, 2], "alphas": [0.3, 0.5], "transfer": transfer}
    sections = {
        "data.transfer": transfer,
        "cascade": {**cascade, "fit": {"transfer": FIT, "adapt": FIT}},
        "cosinet": {
            "vectors": {"source": "ppmi", "dimensions": 8},
            "hidden": 6,
            "seeds": [0, 1],
            "pointwise": EPOCHS | {"batch_size": 8},
            "listwise": EPOCHS,
        },
        "govern": govern_section(root),
        "mhs.heads": [1, 2, 5],
    }
    return Study.load("tiny", {**sections, **changes})


def invent(study):
    """Scores of every run, published: better than chance, and other ones for each head, exit and seed."""
    folder, index, pairs = study.store.published_folder, {}, {}
    for run in study.plan.values():
        generator, tables = numpy.random.default_rng(sum(map(ord, run.name))), []
        for split in {"dev", "test"} & set(run.data):
            parts = tuple(run.data[split])
            found = pairs.setdefault(parts, load_parts(parts, "all").to_pandas())
            columns = ["score"] + [f"head_{i}" for i in range(run.spec.get("mhs", {}).get("heads", 0))]
            columns += [f"exit_{layer}" for layer in run.spec.get("cascade", {}).get("exits", [])]
            scores = 0.3 * found["label"].to_numpy() + 0.7 * generator.random((len(columns), len(found)))
            position = found.groupby("question_id", sort=False).cumcount()
            table = found[["question_id", "label"]].assign(position=position, split=split)
            tables.append(table.assign(**dict(zip(columns, scores, strict=True))))
        facts = {"parameters": 1000 + len(run.name), "dev_MAP": 0.5, "seconds": 1.0, "precision": "float32"}
        index[run.name] = {"identity": study.store.identity(run.name), "facts": facts}
        if tables:
            path = folder / f"{run.name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pandas.concat(tables, ignore_index=True).to_parquet(path)
    (folder / "index.json").write_text(json.dumps(index))


SHAPES = {
    "whole": {},
    "one seed": {"seeds": [0], "cosinet.seeds": [0], "mhs.heads": []},
    "no ablations": {"cascade.ablations": False, "govern.ablation": None, "data.transfer": {"train": "transfer.tsv"}},
}


@pytest.fixture(params=SHAPES, ids=lambda name: name.replace(" ", "-"))
def study(request, root, monkeypatch):
    found = whole(root, **SHAPES[request.param])
    monkeypatch.setattr("as2lib.study.Study.variant", property(lambda self: self.study))
    monkeypatch.setattr(make, "make_all", lambda store, names, **_: pytest.fail(f"would train {names}"))
    invent(found)
    return found


def code(name):
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def test_every_notebook_runs_reads_only_runs_on_its_list_and_says_no_nan(study, monkeypatch):
    monkeypatch.setattr("as2lib.study.Study.load", classmethod(lambda cls, *_: study))
    find, read = Store.find, set()
    monkeypatch.setattr(Store, "find", lambda *given: read.add(given[1]) or find(*given))
    for planned in notebooks(study):
        read.clear()
        names = {}
        for source in code(planned.name):
            exec(compile(source, planned.name, "exec"), names)
        assert read <= set(planned.runs), f"{planned.name} reads {sorted(read - set(planned.runs))}"
        said = "\n".join(names["report"].claims[False])
        assert not re.search(r"\bnan\b", said), f"{planned.name}: {said}"
