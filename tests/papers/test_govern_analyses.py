from types import SimpleNamespace

import numpy
import pandas

from as2lib.papers.govern import analyses


def seeds(generator):
    """Three runs of one system, which hardly differ."""
    question, label = numpy.repeat(range(30), 3), (generator.random(90) < 0.4).astype(int)
    plain = generator.random(90) + 0.5 * label
    for seed in range(3):
        score = plain + 0.01 * generator.random(90)
        table = pandas.DataFrame({"question_id": question, "label": label, "score": score})
        yield SimpleNamespace(run=SimpleNamespace(seed=seed), scores=lambda table=table: table)


def test_no_interval_is_narrower_than_that_over_questions(monkeypatch):
    generator = numpy.random.default_rng(0)
    runs = {f"system {number}": list(seeds(generator)) for number in range(8)}
    pairs = [("system 0", name) for name in runs if name != "system 0"]
    monkeypatch.setattr(analyses, "run_here", lambda study, pairs: pairs)
    study = SimpleNamespace(runs=runs.get, govern=SimpleNamespace(precisions=[0.9]))
    table = analyses.compare(study, pairs)
    assert (table["low"] <= table["questions low"]).all()
    assert (table["high"] >= table["questions high"]).all()
