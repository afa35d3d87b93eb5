"""Notebooks over invented scores: studies of several shapes whose runs all have scores, and nothing is trained."""

import ast
import json
from pathlib import Path

import nbformat
import numpy
import pandas
import pytest

from as2lib import Study
from as2lib.data.pairs import load_parts
from as2lib.papers import notebooks
from as2lib.papers.frontier.systems import exited
from as2lib.runs import make
from as2lib.runs.store import Store
from tests.conftest import govern_section, write_pairs

ROOT = Path(__file__).parents[1]
FIT = {"steps": 4, "learning_rate": 1e-3, "batch_size": 8}
LONGER = ["teacher/electra", "teacher/roberta", "teacher/albert", "base/electra", "kd/electra", "mhs/3h1"]
LONGER += ["ensemble/distilled", "kd/electra-sum"]
EPOCHS = {"epochs": 2, "learning_rate": 2e-3, "batch_size": 2, "ratio": 32}


def whole(root, **changes):
    """The tiny study with a section for each paper, and a transfer set that can be a target."""
    for seed, split in enumerate(("dev", "test")):
        write_pairs(root / f"transfer-{split}.tsv", 18, seed + 9)  # with fewer, scipy counts each permutation
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
        "govern": govern_section(root, longer_fit={**FIT, "evaluate_every": 2}),
        "mhs.heads": [1, 2, 5],
        "significance.resamples": 99,
        "longer": {"rows": LONGER, "transfer": FIT, "adapt": FIT, "grid": {"alpha": [0.2], "tau": [1, 3]}},
        "kinds": {"rows": ["mhs/3h1", "kd/electra-sum"]},
    }
    return Study.load("tiny", {**sections, **changes})


def invent(study, perfect=lambda run: False):
    """Scores of every run, published: better than chance, and other ones for each head, exit and seed.

    perfect: whether a run has none but the labels for scores.
    """
    folder, index, pairs = study.store.published_folder, {}, {}
    for run in study.plan.values():
        generator, tables = numpy.random.default_rng(sum(map(ord, run.name))), []
        for split in {"dev", "test"} & set(run.data):
            parts = tuple(run.data[split])
            found = pairs.setdefault(parts, load_parts(parts, "all").to_pandas())
            columns = ["score"] + [f"head_{i}" for i in range(run.spec.get("mhs", {}).get("heads", 0))]
            if run.name.split("/seed-")[0] == exited(study):
                columns = ["score"] + [f"exit_{layer + 1}" for layer in range(study.mhs.body)]
            columns += [f"exit_{layer}" for layer in run.spec.get("cascade", {}).get("exits", [])]
            noise = 0.0 if perfect(run) else 0.7
            scores = 0.3 * found["label"].to_numpy() + noise * generator.random((len(columns), len(found)))
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


def run_all(study, patch):
    """Every notebook of a study, executed here, as (plan, what it read, what it said, the notebook with outputs)."""
    patch.setattr("as2lib.study.Study.load", classmethod(lambda cls, *_: study))
    patch.setattr("as2lib.study.Study.variant", property(lambda self: self.study))
    patch.setattr(make, "make_all", lambda store, names, **_: pytest.fail(f"would train {names}"))
    find, read = Store.find, set()
    patch.setattr(Store, "find", lambda *given: read.add(given[1]) or find(*given))
    planned, found = notebooks(study), []
    for one in [*planned[1:], planned[0]]:  # the overview reads what the others recorded
        read.clear()
        names, notebook = executed(one.name, patch)
        found.append((one, {*read}, "\n".join(names["report"].claims[False]), notebook))
    return found


def without_drawing(patch):
    """Figures are composed, and no file of them is drawn; test_pages draws each."""
    patch.setattr("as2lib.report.figures.as_svg", lambda *_: '<svg width="1pt"></svg>')
    patch.setattr("as2lib.report.figures.as_png", lambda *_: b"")


def executed(name, patch):
    """A notebook run here, on the study that `Study.load` was made to give: its names, and itself with outputs."""
    names, notebook = {}, nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = _outputs(cell.source, name, names, patch)
    return names, notebook


def _outputs(source, name, names, patch):
    """What a cell displays, and the value of its last line."""
    shown = []
    patch.setattr("IPython.display.display", lambda *values: shown.extend(values))
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        statements, last = [*statements, last], None
    exec(compile(ast.Module(statements, []), name, "exec"), names)
    value = eval(compile(ast.Expression(last.value), name, "eval"), names) if last else None
    kinds = {"HTML": "text/html", "Markdown": "text/markdown"}
    data = [{kinds[type(one).__name__]: one.data} for one in [*shown, value] if one is not None]
    return [nbformat.v4.new_output("display_data", data=one) for one in data]
