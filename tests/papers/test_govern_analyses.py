from types import SimpleNamespace

import nbformat
import numpy
import pandas
import pytest
from scipy import stats

from as2lib.metrics.threshold import pair_pr_auc
from as2lib.papers.govern import analyses
from tests.papers.conftest import ROOT


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
    assert (table[["low", "questions high"]].to_numpy() <= table[["questions low", "high"]].to_numpy()).all()
    areas = {name: numpy.mean([pair_pr_auc(**each.scores().iloc[:, 1:]) for each in of]) for name, of in runs.items()}
    numpy.testing.assert_allclose(table["difference"], [100 * (areas[a] - areas[b]) for a, b in pairs])
    turned = SimpleNamespace(runs=lambda name: runs[name][::-1], govern=study.govern)
    numpy.testing.assert_allclose(analyses.compare(turned, pairs), table)  # no seed counts for the others


@pytest.fixture
def page():
    """What the cell of notebook 10 defines that checks the proof."""
    cells = {cell.id: cell.source for cell in nbformat.read(ROOT / "notebooks" / "10_govern.ipynb", 4).cells}
    space: dict = {"numpy": numpy, "pandas": pandas, "binom": stats.binom}
    exec(cells["premise"], space)
    return space


def test_the_premise_of_governs_proof_is_that_worked_by_hand(page):
    premise = page["premise"]
    # pair 0, label 1: two of three above 1/2, but the mean .4 below.  pair 1, label 0: one far above, two just below.
    # pair 2, label 0: the mean .4 is right, two of three are wrong
    label = [1, 0, 0]
    teachers = [[0.55, 0.49, 0.6], [0.55, 0.49, 0.6], [0.1, 0.9, 0.0]]
    shares = premise(label, teachers)
    assert shares.vote == (1 + 0.5) / 2  # label 1: right; label 0: pair 1 right, pair 2 wrong
    assert shares["mean"] == (0 + 0.5) / 2
    assert shares["vote alone"] == (1 + 0.5) / 2
    assert shares["mean alone"] == (0 + 0.5) / 2
    assert shares.teacher == pytest.approx((2 / 3 + (2 / 3 + 1 / 3) / 2) / 2)
    assert shares.drawn == 0
    # votes are seen from the student, and a drawn one is decided by the mean
    shares = premise([1, 0], [[0.9, 0.6], [0.4, 0.3]])
    assert shares.drawn == 1
    assert shares.vote == shares["mean"] == 1
    label, teachers = [1, 0], [[0.7, 0.3]]
    assert premise(label, teachers).vote == 1
    assert premise(label, teachers, [0.8, 0.2]).vote == 0


def test_independent_teachers_reach_what_condorcet_says_and_copies_gain_nothing(page):
    premise, condorcet = page["premise"], page["condorcet"]
    assert condorcet(1, 0.7) == pytest.approx(0.7)
    assert condorcet(3, 0.7) == pytest.approx(0.343 + 3 * 0.49 * 0.3)
    assert condorcet(2, 0.7) == pytest.approx(0.49 + 0.21)  # a draw counts one half
    generator = numpy.random.default_rng(0)
    label = generator.integers(0, 2, 20_000)
    teachers = numpy.where(generator.random((5, len(label))) < 0.7, label, 1 - label) * 0.2 + 0.4
    shares = premise(label, teachers)
    assert shares.correlation == pytest.approx(0, abs=0.02)
    assert shares.vote == pytest.approx(shares.condorcet, abs=0.01)
    copies = premise(label, [teachers[0]] * 5)
    assert (copies.correlation, copies.vote) == (pytest.approx(1), copies.teacher)
