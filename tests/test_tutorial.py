"""The tutorial in a kernel of Jupyter, on a tiny study and a cold cache, as whoever runs and saves it."""

import json
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TUTORIAL = Path(__file__).parents[1] / "notebooks" / "tutorial.ipynb"


def test_the_tutorial_runs_in_a_kernel_and_is_saved_without_progress(root):
    notebook = nbformat.read(TUTORIAL, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    cells[1].source = cells[1].source.replace('"sample"', '"tiny"')
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(root)}}).execute()
    written = json.dumps([cell.outputs for cell in cells])
    assert "\\r" not in written
    assert "run/s" not in written
    scores = [float(line.split()[0]) for line in cells[5].outputs[0]["text"].splitlines()]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert "image/png" in cells[6].outputs[-1]["data"]
