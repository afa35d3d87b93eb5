import subprocess
import sys
from collections import Counter

import numpy
import pandas

from as2lib import Study
from as2lib.runs.make import make, make_all
from as2lib.runs.store import Store


def test_a_finished_run_is_not_made_again(trained):
    before = (trained.folder("base/electra/seed-0"), trained.folder("mhs/3h1/seed-0") / "done.json")
    time = before[1].stat().st_mtime_ns
    assert make(trained, "mhs/3h1/seed-0") is False
    make_all(trained, ["mhs/3h1/seed-0"], progress=False)
    assert before[1].stat().st_mtime_ns == time


def test_an_ensemble_is_the_mean_of_its_members(trained):
    ensemble = trained.study.run("ensemble/teachers/seed-0").scores("test")
    teachers = [trained.study.run(f"teacher/{family}/seed-0") for family in ("electra", "roberta", "albert")]
    members = [teacher.scores("test") for teacher in teachers]
    numpy.testing.assert_allclose(ensemble["score"], numpy.mean([m["score"] for m in members], axis=0), atol=1e-15)
    pandas.testing.assert_series_equal(ensemble["label"], members[0]["label"])
    facts = trained.study.run("ensemble/teachers/seed-0").facts
    assert facts["parameters"] == sum(teacher.facts["parameters"] for teacher in teachers)


def test_what_a_line_says_of_the_other_runs_is_looked_up_once(root, monkeypatch):
    """So a study of many runs looks at each as often as one of few."""
    store, looks, find = Store(Study.load("tiny")), Counter(), Store.find
    monkeypatch.setattr(
        Store, "find", lambda self, name, *a, **more: looks.update([name]) or find(self, name, *a, **more)
    )
    make_all(store, ["lexical/word_overlap", "lexical/reciprocal_rank"], False, lambda line: None)
    others = [name for name in store.plan if not name.startswith("lexical/")]
    assert [looks[name] for name in others] == [1] * len(others)


def test_two_processes_make_a_run_once(root):
    code = "import os; from as2lib import Study; from as2lib.runs.make import make; other = os.fork()\n"
    code += "print(make(Study.load('tiny').store, 'lexical/word_overlap'), flush=True)\n"
    code += "assert not other or os.wait()[1] == 0"
    found = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert sorted(line for line in found.stdout.splitlines() if line in ("True", "False")) == ["False", "True"]
