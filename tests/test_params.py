import json

import pytest

from as2lib import Study
from as2lib.paths import find_root


def test_a_study_loads_by_name_by_path_and_as_itself(root):
    assert Study.load("tiny") == Study.load(root / "params" / "tiny.yaml")
    study = Study.load("tiny")
    assert Study.load(study) is study


def test_overrides_replace_nested_and_dotted_keys_and_give_reports_a_name_of_their_own(root):
    study = Study.load("tiny", {"fit.adapt.steps": 3, "distillation": {"tau": 5}})
    assert study.fit.adapt.steps == 3
    assert study.fit.adapt.batch_size == 8
    assert (study.distillation.alpha, study.distillation.tau) == (0.5, 5)
    assert Study.load("tiny").variant == "tiny"
    changed = Study.load("tiny", {"fit.adapt.steps": 3})
    assert changed.variant.startswith("tiny-")
    assert changed.variant != Study.load("tiny", {"fit.adapt.steps": 4}).variant


def test_numbers_in_exponent_form_are_numbers(root):
    path = root / "params" / "tiny.yaml"
    path.write_text(path.read_text().replace("learning_rate: 0.001", "learning_rate: 1e-3"))
    assert Study.load("tiny").fit.transfer.learning_rate == 0.001


def test_the_root_is_found_upwards(tmp_path, monkeypatch):
    monkeypatch.delenv("AS2_ROOT", raising=False)
    for folder in ("params", "as2lib", "notebooks/deep"):
        (tmp_path / folder).mkdir(parents=True)
    assert find_root(tmp_path / "notebooks" / "deep") == tmp_path


@pytest.mark.parametrize("name", ["sample", "wikiqa"])
def test_the_projects_own_studies_load_and_are_short(name, monkeypatch):
    monkeypatch.delenv("AS2_ROOT", raising=False)
    study = Study.load(name)
    assert study.study == name
    assert len(study.seeds) >= 3
    text = (find_root() / "params" / f"{name}.yaml").read_text()
    assert len(text.splitlines()) <= 100
    assert next(line for line in text.splitlines() if not line.startswith("#")) == f"study: {name}"


@pytest.mark.parametrize("name", ["x$(touch PWNED)", "a b", "2024", "-x", "a;b", "é", "a" * 65, "a\nb"])
def test_a_study_whose_name_could_be_a_command_a_number_or_two_words_is_refused(root, name):
    content = (root / "params" / "tiny.yaml").read_text().replace("study: tiny", f"study: {json.dumps(name)}")
    (root / "params" / f"{name}.yaml").write_text(content)
    with pytest.raises(ValueError, match="expected a name of letters, digits, - and _"):
        Study.load(name)
    with pytest.raises(ValueError, match="study: String should match pattern"):
        Study.load("tiny", {"study": name})
