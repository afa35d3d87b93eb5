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


def test_data_model_scores_comparison_and_figure_are_in_view(ran):
    space, _ = ran
    assert set(space["pairs"].column_names) >= {"question_id", "question", "answer", "label"}
    assert space["ranker"].model.config.heads == 3
    assert [ranked.score for ranked in space["ranking"]] == sorted((r.score for r in space["ranking"]), reverse=True)
    assert len(space["main"]) == 4
    assert (space["tests"]["low"] <= space["tests"]["high"]).all()
    assert len(space["shared"].columns) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {'loss = "ranknet"': 'loss = "ce"', "seed = 1": "seed = 2", 'measure = "MAP"': 'measure = "P@1"'},
        {'rival = "base/electra"': 'rival = "mhs/3h1"', '"transfer/student/seed-0"': '"base/electra/seed-0"'},
        {'loss = "ranknet"': "loss = lambda output, targets: -(output.logits[:, 1] * targets['labels']).mean()"},
    ],
    ids=["loss, seed and measure", "rival and encoder", "own loss"],
)
def test_encoder_loss_seed_rival_and_measure_of_an_experiment_may_be_changed(ran, changes):
    space, cells = ran
    place = next(place for place, source in enumerate(cells) if source.startswith("start = "))
    settings, fit, comparison = cells[place : place + 3]
    for before, after in changes.items():
        assert before in settings
        settings = settings.replace(before, after)
    own = dict(space)
    exec(settings, own)
    exec(fit.replace("steps=60", "steps=3"), own)
    exec(comparison, own)
    assert len(own["my_table"]) == len(own["test"])
    assert set(own["experiment"]["system"]) == {"mine", own["rival"]}
