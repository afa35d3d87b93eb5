"""Notebooks over runs that nobody trained: each reads only runs of its list."""

from pathlib import Path

import nbformat
import numpy
import pytest

from as2lib import Study
from as2lib.data.pairs import load_parts
from as2lib.papers import notebooks
from as2lib.runs import make
from as2lib.runs.store import Finished

ROOT = Path(__file__).parents[1]


class Untrained(Finished):
    """A run whose scores are drawn at random."""

    def scores(self, split="test"):
        table = load_parts(tuple(self.run.data[split]), "all").to_pandas()
        drawn = numpy.random.default_rng(len(self.name)).random((4, len(table)))
        names = ["score", "head_0", "head_1", "head_2"]
        position = table.groupby("question_id", sort=False).cumcount()
        return table.assign(position=position, **dict(zip(names, drawn, strict=True)))

    def log(self):
        return []


@pytest.mark.parametrize("number", ["01", "02", "03", "06", "07"])
def test_a_notebook_reads_only_runs_of_its_list(number, root, monkeypatch):
    splits = {split: str(root / f"{split}.tsv") for split in ("train", "dev", "test")}
    study = Study.load("tiny", {"data.transfer": splits, "significance.resamples": 20})
    listed = next(notebook for notebook in notebooks(study) if notebook.name.startswith(number))
    read = set()

    def below(store, prefix):
        read.update(store.below(prefix))
        return [Untrained(store.plan[name], "", {"parameters": 1}, root) for name in store.below(prefix)]

    monkeypatch.setattr(make, "made_below", below)
    cells = nbformat.read(ROOT / "notebooks" / f"{listed.name}.ipynb", as_version=4).cells
    scope = {"study": study, "overrides": {}}
    for cell in cells:
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", []):
            exec(cell.source, scope)
    assert read
    assert read <= set(listed.runs)
