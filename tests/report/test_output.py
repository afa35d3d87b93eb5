"""What a notebook shows is saved, and what a person found is on its page."""

import json

import pandas
import pytest

from as2lib import Study
from as2lib.report import figures
from as2lib.report.output import Report
from tests.report.test_figures import differences


@pytest.fixture
def report(root):
    return Report(Study.load("tiny"), "03_distillation", save=True)


def write_findings(root, *items, **names) -> None:
    (root / "params" / "findings").mkdir()
    content = {"names": names, "03_distillation": items}
    (root / "params" / "findings" / "tiny.yaml").write_text(json.dumps(content))


def systems(**columns) -> pandas.DataFrame:
    names = pandas.Index(["student/electra", "lexical/word_overlap"], name="run")
    return pandas.DataFrame({"MAP": [75.04, 60.0], "seeds": [2, 1], **columns}, index=names)


def test_a_table_is_saved_and_returned_as_what_jupyter_shows(report, root):
    html = report.show(systems(P=[1.5, 2.5]), "3.1", "The <systems>.", ["MAP"]).data
    assert "1.5" not in html  # of a column that is saved alone
    assert "The &lt;systems&gt;." in html
    assert "75.0" in html
    assert "75.0" in (root / "reports/tiny/tables/03_table_1.tex").read_text()
    saved = pandas.read_csv(root / "reports/tiny/tables/03_table_1.csv", index_col="run")
    pandas.testing.assert_frame_equal(saved, systems(P=[1.5, 2.5]))


@pytest.mark.parametrize(
    ("study", "beside", "column"),
    [
        ("wikiqa", "", "published MAP"),
        ("wikiqa", "IAS2", "published MAP (IAS2)"),
        ("selqa", "", "published MAP (WikiQA)"),
    ],
)
def test_what_is_published_on_another_set_than_the_target_has_its_name(root, study, beside, column):
    report = Report(Study.load("tiny", {"data.target.test": [f"{study}:test"]}), "03_distillation", save=True)
    table = report.show(systems(**{"published MAP": [74.0, None]}), "3.1", "Systems.", beside=beside).data
    assert f">{column}</th>" in table


def test_a_notebook_that_the_study_leaves_out_is_refused_before_anything_of_it_is_removed(root):
    kept = root / "reports/tiny/tables/08_table_1.csv"
    kept.parent.mkdir(parents=True)
    kept.touch()
    with pytest.raises(ValueError, match="08_cascade: left out of tiny"):
        Report(Study.load("tiny"), "08_cascade")
    assert kept.exists()


def test_a_figure_is_saved_and_shown_as_letters_and_lines(report, root):
    html = report.show(figures.forest(differences(), "Differences", "points"), "3.1", "Ours & theirs.").data
    assert "<svg" in html
    assert "Ours &amp; theirs." in html
    assert {path.name for path in (root / "reports/tiny/figures").iterdir()} == {"03_figure_1.png", "03_figure_1.svg"}


def test_findings_are_shown_and_a_false_one_in_red(report, root):
    assert "No findings have been written" in report.findings().data
    three = {"say": "Three <questions>.", "title": "It is {questions:.0f}", "holds": "questions == 3"}
    titles = [{"figure": f"3.{n}", "title": f"All {n}", "holds": f"questions == {n}"} for n in (3, 4)]
    write_findings(root, three, {"say": "Four.", "holds": "questions == 4"}, *titles)
    report.record(questions=3)
    html = report.findings().data
    assert '<p class="lead"><b>Three &lt;questions&gt;.</b></p>' in html
    assert '<li><span class="broken"><b>Four.</b> <b>(no longer follows' in html
    html = report.findings(figures.forest(differences(), "Differences"), "3.1", "Ours.").data
    assert html.index("It is 3</text>") < html.index("Figure 3.1.") < html.index("Four.")
    third, fourth = (report.show(figures.forest(differences(), "Differences"), f"3.{n}", "Ours.").data for n in (3, 4))
    assert "All 3</text>" in third
    assert "Differences</text>" in fourth
    assert "All" not in html


def test_findings_stop_no_notebook_that_was_changed(report, root):
    write_findings(root, {"say": "MHS has {mhs.low:.1f}.", "holds": "mhs.low > 0"}, mhs="mhs/3h1")
    report.record(pandas.DataFrame({"MAP": [75.0]}, index=["mhs/3h1"]))  # its interval is not recorded any more
    assert "params/findings/tiny.yaml: 03_distillation, finding 1: " in report.findings().data


def test_numbers_are_recorded_by_row_by_pair_and_by_name_and_measured_times_in_files_of_their_own(report, root):
    pairs = pandas.MultiIndex.from_tuples([("mhs/3h1", "base/electra")], names=["a", "b"])
    report.record(systems(), questions=3)
    report.record(pandas.DataFrame({"low": [-0.5], "high": [float("nan")]}, pairs), prefix="pooled: ")
    report.show(systems(), "3.1", "Times.", timing=True)
    report.record(systems(), timing=True)
    numbers = json.loads((root / "reports/tiny/metrics/03.json").read_text())
    assert numbers["student/electra"] == {"MAP": 75.04, "seeds": 2}
    assert numbers["pooled: mhs/3h1 − base/electra"] == {"low": -0.5}
    assert numbers["questions"] == 3
    assert (root / "reports/tiny/metrics/03.timing.json").exists()
    assert {path.name[10:] for path in (root / "reports/tiny/tables").iterdir()} == {".timing.csv", ".timing.tex"}


def test_a_notebook_that_is_run_by_hand_writes_nowhere(root):
    report = Report(Study.load("tiny"), "03_distillation")
    shown = report.show(systems(), "3.1", "Systems.").data
    shown += report.show(figures.forest(differences(), "a", "a"), "3.1", "Differences.").data
    assert "<a href" not in shown
    assert "75.0" in shown
    assert report.timed("speed", {}, lambda: [1.0])[0] == [1.0]
    assert not (root / "reports").exists()


def test_texts_of_a_stranger_are_shown_and_not_read_as_html(report):
    bad = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    table = pandas.DataFrame({bad: [bad]}, index=pandas.Index([bad], name=bad))
    shown = report.show(table, "3.1", bad, empty=bad).data
    shown += report.show(figures.forest(differences()[:1].set_axis([bad]), bad, bad), "3.1", bad).data
    assert "<script" not in shown
    assert "<img" not in shown
