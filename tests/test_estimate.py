import json
from pathlib import Path

import pytest

from as2lib import Study
from as2lib.paths import local_folder
from as2lib.runs.estimate import KNOWN, encoder_weights, estimate, sizes

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", KNOWN)
def test_known_sizes_are_those_of_the_configuration_at_hand(name, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(ROOT))
    if (folder := local_folder(name)) is None:
        pytest.skip(f"params/local.yaml maps {name} to no folder")
    config = json.loads((folder / "config.json").read_text())
    expected = (config["num_hidden_layers"], config["hidden_size"], config["intermediate_size"])
    assert sizes({"name": name}) == sizes({"config": config}) == expected


def test_four_layers_of_minilm_take_7_million_multiplications_a_token(monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(ROOT))
    store, width = Study.load("wikiqa").store, 384
    layer = 4 * width**2 + 2 * width * 1536  # four projections and the two dense layers of the feed-forward part
    assert encoder_weights(store, store.planned("mhs/3h1/seed-0")) == 4 * layer == 7_077_888


def test_an_encoder_of_no_known_size_is_refused(root):
    with pytest.raises(ValueError, match="example/encoder: its size is not known here; add it to KNOWN"):
        sizes({"name": "example/encoder"})


def test_a_fit_planned_in_epochs_takes_as_long_as_its_steps(root):
    budget = {"batch_size": 32, "learning_rate": 1e-3}
    named = ({"epochs": 2, "steps": None}, {"steps": 540})
    seconds = [
        estimate(Study.load("tiny", {"fit.adapt": budget | length}).store, "base/electra/seed-0") for length in named
    ]
    assert seconds[0] == seconds[1] > 0
