"""The tutorial runs on a tiny study, and what it invites its reader to change may be changed."""

from pathlib import Path

import nbformat
import pytest

from tests.study.conftest import write_study

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "tutorial.ipynb"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What the cells leave behind, and their code; the root of their study stays."""
    root = write_study(tmp_path_factory.mktemp("tutorial") / "study")
    cells = [cell for cell in nbformat.read(NOTEBOOK, 4).cells if cell.cell_type == "code"]
    space: dict = {"study": "tiny", "overrides": {}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AS2_ROOT", str(root))
        for cell in cells:
            if "parameters" not in cell.metadata.get("tags", []):
                exec(compile(cell.source, cell.id, "exec"), space)
        yield space, [cell.source for cell in cells]


LABELS_ALONE = {"len(study.teachers)": "0", '[f"teacher/{name}" for name in study.teachers]': "[]"}


@pytest.mark.parametrize(
    "changes",
    [
        {"alpha = 0.1": "alpha = 0.9", "study.seeds[0]": "study.seeds[-1]", 'measure = "MAP"': 'measure = "P@1"'},
        {"rival = of.mhs": 'rival = "base/electra"', '"transfer/student/seed-0"': '"base/electra/seed-0"'},
        LABELS_ALONE | {'loss = "per_head"': 'loss = "ranknet"'},
        LABELS_ALONE
        | {'loss = "per_head"': "loss = lambda output, targets: -(output.logits[:, 1] * targets['labels']).mean()"},
    ],
)
def test_what_an_experiment_says_may_be_changed(ran, changes):
    own = rerun(ran, changes)
    assert len(own["my_table"]) == len(own["test"])
    assert set(own["experiment"]["system"]) == {"mine", own["rival"]}


def test_an_experiment_that_changes_nothing_is_the_studys_row(ran):
    own = rerun(ran, {"alpha = 0.1": "alpha = study.distillation.alpha"})
    assert own["my_difference"].iloc[0][["difference", "wins", "losses"]].tolist() == [0, 0, 0]
    assert own["my_difference"].iloc[0]["questions high"] == 0


def rerun(ran, changes):
    """What the experiment's cells leave behind once its settings are changed."""
    space, cells = ran
    place = next(place for place, source in enumerate(cells) if source.startswith("start = "))
    settings, *others = cells[place : place + 4]
    for before, after in changes.items():
        assert before in settings
        settings = settings.replace(before, after)
    own = dict(space)
    for source in (settings, *others):
        exec(source, own)
    return own
