import json
import time

import pandas
import pytest
import yaml

from as2lib import Study
from as2lib.__main__ import main
from as2lib.commands import at_work
from as2lib.data import sources
from as2lib.papers.cerberus.tables import sentence_steps
from as2lib.report import Report, provenance


@pytest.mark.parametrize("command", [["fit", "tiny", "--quiet"], ["study", "tiny"]])
def test_a_study_without_its_data_stops_before_the_first_fit_and_asks_the_hub_once(root, monkeypatch, capsys, command):
    asked = []
    (root / "Snakefile").touch()
    monkeypatch.setattr(sources, "hub_answers", lambda: asked.append("hub"))
    path = root / "params" / "tiny.yaml"
    content = yaml.safe_load(path.read_text())
    content["data"]["target"]["train"] = "example/set@main:train"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    assert main(command) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "tiny needs example/set: not on this machine, and the hub does not answer; map each to a folder" in said[0]
    assert asked == ["hub"]
    assert not list((root / "work").rglob("done.json"))


def test_what_is_at_work_is_named(trained):
    name = next(name for name in trained.plan if trained.find(name) is None)
    mark = trained.folder(name).with_name(f"{trained.folder(name).name}.partial") / "spec.json"
    mark.parent.mkdir(parents=True)
    mark.write_text("{}")
    assert at_work(trained, time.time() - 60).endswith(f"runs done, at work on {name}")
    assert at_work(trained, time.time() + 60).endswith("runs done, starting, or at a notebook")
    mark.unlink()
    mark.parent.rmdir()


def test_a_notebook_with_overrides_says_what_was_overridden_first_and_leaves_a_manifest(root, monkeypatch):
    shown = []
    monkeypatch.setattr("as2lib.report.output.display", lambda one: shown.append(one.data))
    study = Study.of_notebook({"study": "tiny", "overrides": {"fit.adapt.steps": 4}})
    report = Report(study, "02_teachers")
    assert shown[0].startswith("**Not as its file says:** `fit.adapt.steps` 4 (its file: 6).")
    assert "`fit.adapt.steps` 4 (its file: 6)" in provenance(study).data
    manifest = json.loads((report.folder / "manifest.json").read_text())
    assert manifest["overridden"] == {"fit.adapt.steps": [6, 4]}
    assert report.folder.name.startswith("tiny-")
    shown.clear()
    Report(Study.of_notebook({"study": "tiny", "overrides": {}}), "02_teachers")
    assert shown == []


def test_a_notebook_given_every_key_of_a_file_runs_what_the_file_says(root):
    path = root / "params" / "tiny.yaml"
    content = path.read_text().replace("learning_rate: 0.001", "learning_rate: 1e-3")
    given = yaml.safe_load(content)  # as papermill reads it: 1e-3 is text
    assert given["fit"]["adapt"]["learning_rate"] == "1e-3"
    assert Study.of_notebook({**given, "overrides": {}}) == Study.load("tiny")
    given["fit"]["adapt"]["steps"] = 5
    assert Study.of_notebook(given).overridden() == {"fit.adapt.steps": (6, 5)}
    given["seeds"] = []
    with pytest.raises(ValueError, match=r"the parameters of tiny: seeds: List should have at least 1 item"):
        Study.of_notebook(given)


def test_systems_below_the_trivial_ranker_are_said_to_be_below(root):
    study = Study.load("tiny")
    steps = pandas.DataFrame({"difference": [-9.0, 2.0], "p Holm": [1e-4, 0.5]}, ["base − WO+RR", "large − base"])
    said = "The first system is below the second in base − WO+RR (Holm-corrected p < 0.01); undecided: large − base."
    assert sentence_steps(study, steps) == said
    assert "0 of" not in sentence_steps(study, steps.assign(**{"p Holm": 0.5}))
