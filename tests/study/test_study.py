"""What a study's file and its overrides say, and the keys that published runs are found by."""

import json
from pathlib import Path

import pytest
import yaml

from as2lib import Study
from as2lib.study.run import Row
from tests.study.conftest import tiny_params

KEYS = json.loads(Path(__file__).with_name("keys.json").read_text())  # study → run → key, a dozen of every kind


@pytest.mark.parametrize(
    ("key", "content", "message"),
    [
        ("distilation", {}, "distilation: Extra inputs are not permitted"),
        ("student", {"config": {"hidden_sise": 16}}, "student.config.hidden_sise.*: Input should be 'model_type', .*"),
        ("mhs", {"body": 2}, ".*mhs.body: expected all but one of 2 layers, got 2"),
        ("own", {"mine": {"teachers": ["teacher/electra"]}}, ".*own.mine.teachers: expected some of electra"),
        ("distillation", {"alpha": 2, "tau": 3}, "distillation.alpha: Input should be .*, got 2"),
        ("seeds", 0, "seeds: Input should be .*, got 0"),
    ],
)
def test_a_wrong_key_or_value_is_named_in_one_line(root, key, content, message):
    study = {"study": tiny_params(root) | {key: content}}
    (root / "params" / "tiny.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
    with pytest.raises(ValueError, match=rf"^tiny.yaml: {message}[^\n]*$"):
        Study.load("tiny")


def test_overrides_are_dotted_or_nested_and_give_a_variant(root):
    study = Study.load("tiny", {"fit.adapt.steps": 5, "distillation": {"tau": 2}})
    assert (study.fit.adapt.steps, study.distillation.alpha, study.distillation.tau) == (5, 0.5, 2)
    assert study.variant.startswith("tiny-")
    assert Study.load("tiny").variant == "tiny"
    assert Study.load("tiny", {"fit.precision": "bf16", "fit.adapt.precision": "float32"}).fit.adapt.precision != "bf16"
    assert Study.load(Study.load("tiny"), {"seeds": [1]}).seeds == [1]


def test_rows_of_systems_that_changed_settings_no_longer_have_are_taken_out_by_none():
    shallow = {"student": {"config": {"num_hidden_layers": 2}}, "mhs": {"body": 1}}
    with pytest.raises(ValueError, match="None"):
        Study.load("sample", shallow).systems  # noqa: B018
    assert "mhs/3h2" not in Study.load("sample", shallow | {"rows": {"mhs/3h2": None, "mhs/3h3": None}}).systems


def test_a_study_is_a_name_a_file_or_what_a_file_has_under_its_one_key(root):
    text = (root / "params" / "tiny.yaml").read_text().replace("learning_rate: 0.001", "learning_rate: 1e-3")
    keys = yaml.safe_load(text)["study"]  # as papermill reads it: 1e-3 is text
    assert keys["fit"]["adapt"]["learning_rate"] == "1e-3"
    assert Study.load(keys) == Study.load("tiny")
    changed = Study.load(keys | {"latency": None}, {"threads": 3})
    assert changed == Study.load("tiny", {"threads": 3})
    assert changed.variant != "tiny"
    assert Study.load(changed) is changed  # a cell that is run again
    (root / "params" / "tiny.yaml").write_text(yaml.safe_dump(keys))
    with pytest.raises(ValueError, match=r"^tiny.yaml: expected one key, study, [^\n]*$"):
        Study.load("tiny")


@pytest.mark.parametrize("loss", ["ce", "ranknet", "margin_mse", "listwise_kl", "my.own:loss"])
def test_what_learns_lists_or_margins_only_orders_candidates(loss):
    spec = {"loss": loss} | ({"unit": "question"} if loss == "listwise_kl" else {})
    orders_only = Row("mine", "mine", "", "fit", spec, {}).orders_only
    assert orders_only is (loss in ("ranknet", "margin_mse", "listwise_kl"))


@pytest.mark.parametrize("name", KEYS)
def test_published_runs_keep_their_keys(name, monkeypatch):
    monkeypatch.setattr("as2lib.hub.commit", lambda name, revision: None)
    study = Study.load(name)
    assert {run: study.store.identity(run)[:24] for run in KEYS[name]} == KEYS[name]
