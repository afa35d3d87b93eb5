"""The tutorial runs on a tiny study, and what it invites its reader to change may be changed."""

from pathlib import Path

import nbformat
import pytest
import yaml

from tests.study.conftest import tiny_params, write_pairs

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "tutorial.ipynb"
SPLITS = {"train": 12, "dev": 6, "test": 12, "transfer": 12}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("tutorial")


@pytest.fixture(scope="module")
def ran(root):
    """What the cells leave behind, and their code by the object that it makes."""
    (root / "params").mkdir()
    for seed, (split, questions) in enumerate(SPLITS.items()):
        write_pairs(root / f"{split}.tsv", questions, seed)
    (root / "params" / "tiny.yaml").write_text(yaml.safe_dump(tiny_params(root), sort_keys=False))
    cells = [cell for cell in nbformat.read(NOTEBOOK, 4).cells if cell.cell_type == "code"]
    space: dict = {"study": "tiny", "overrides": {}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AS2_ROOT", str(root))
        for cell in cells:
            if "parameters" not in cell.metadata.get("tags", []):
                exec(compile(cell.source, cell.id, "exec"), space)
    return space, [cell.source for cell in cells]


def test_data_model_scores_comparison_and_figure_are_in_view(ran):
    space, _ = ran
    assert set(space["pairs"].column_names) >= {"question_id", "question", "answer", "label"}
    assert space["ranker"].model.config.heads == 3
    assert [ranked.score for ranked in space["ranking"]] == sorted((r.score for r in space["ranking"]), reverse=True)
    assert len(space["main"]) == 4
    assert (space["tests"]["low"] <= space["tests"]["high"]).all()
    assert len(space["shared"].columns) == 3


@pytest.mark.parametrize("count", [1, 7])
def test_its_question_and_candidates_may_be_changed(ran, count):
    space, cells = ran
    cell = next(source for source in cells if source.startswith("question = "))
    edited = cell[: cell.index("question = ")] + f"question = 'who ?'\ncandidates = ['red hill'] * {count}\n"
    edited += "table = " + cell[cell.rindex("pandas.DataFrame") :]
    exec(edited, space)
    assert len(space["table"]) == count


def test_other_systems_may_be_compared(ran):
    space, cells = ran
    for start in ("names = ", "rivals = "):
        cell = next(source for source in cells if source.startswith(start))
        exec(cell.replace('"base/electra", ', ""), space)
    assert len(space["tests"]) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {'loss = "ranknet"': 'loss = "ce"', "seed = 1": "seed = 2", 'measure = "MAP"': 'measure = "P@1"'},
        {'rival = "base/electra"': 'rival = "mhs/3h1"', '"transfer/student/seed-0"': '"base/electra/seed-0"'},
        {'loss = "ranknet"': "loss = lambda output, targets: -(output.logits[:, 1] * targets['labels']).mean()"},
    ],
    ids=["loss, seed and measure", "rival and encoder", "own loss"],
)
def test_encoder_loss_seed_rival_and_measure_of_an_experiment_may_be_changed(ran, root, monkeypatch, changes):
    space, cells = ran
    monkeypatch.setenv("AS2_ROOT", str(root))
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
