import json

import pandas
import pytest

from as2lib.papers import notebooks
from as2lib.report import Report, figures, provenance


@pytest.fixture
def report(trained_root, trained, tmp_path, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    return Report(trained.study, "02_teachers")


def table():
    systems = pandas.Index(["a_b", "50 % & more"], name="system")
    return pandas.DataFrame({"MAP": [51.234, None], "n": [3, 4]}, index=systems)


def test_a_table_is_saved_as_csv_and_latex_and_shown_with_its_number(report, tmp_path):
    shown = report.table(table(), 1, "Results", "Percent.").data
    folder = tmp_path / "reports" / "tiny" / "tables"
    assert (folder / "02_table_1.csv").read_text() == "system,MAP,n\na_b,51.234,3\n50 % & more,,4\n"
    latex = (folder / "02_table_1.tex").read_text()
    assert all(part in latex for part in ("\\toprule", "a\\_b", "50 \\% \\& more", "51.2", "–"))
    assert "Table 02.1: Results." in shown
    assert "51.2" in shown


def test_a_long_table_shows_its_first_rows_and_saves_all(report, tmp_path):
    shown = report.table(table(), 1, "Results", "Percent.", first=1).data
    folder = tmp_path / "reports" / "tiny" / "tables"
    assert "50 % &amp; more" not in shown
    assert "50 \\% \\& more" not in (folder / "02_table_1.tex").read_text()
    assert len((folder / "02_table_1.csv").read_text().splitlines()) == 3


def test_a_table_that_is_only_shown_leaves_no_file(report, tmp_path):
    report.table(table(), 2, "Example", "One question.", keep=False)
    assert not (tmp_path / "reports").exists()


def test_recorded_numbers_and_claims_are_kept_together(report, tmp_path):
    report.record(**{"x MAP": pandas.Series([1.5]).iloc[0], "n": 3, "one seed ±": float("nan")})
    report.say("one", "two")
    report.say("three")
    kept = json.loads((tmp_path / "reports/tiny/metrics/02.json").read_text())
    assert kept == {"x MAP": 1.5, "n": 3, "one seed ±": None, "claims": "one\ntwo\nthree"}
    assert report.findings("yes").data == "> yes\n\n- one\n- two\n- three"
    assert json.loads((tmp_path / "reports/tiny/metrics/02.json").read_text())["answer"] == "yes"


def test_measured_times_go_to_files_of_their_own(report, tmp_path):
    folder = tmp_path / "reports" / "tiny"
    report.table(table(), 1, "Time", "Seconds.", timing=True)
    report.table(table(), 2, "Size", "Bytes.")
    frame = pandas.DataFrame({"x": [1, 2], "y": [1, 3], "system": ["a", "a"]})
    report.figure(figures.lines(frame, "x", "y", "system", "Title", "x", "y"), 1, "Time", "Seconds.", timing=True)
    report.record(parameters=3)
    report.record(timing=True, seconds=1.5)
    report.say("it is small")
    report.say("it is fast", timing=True)
    expected = {f"{name}.{kind}" for name in ("02_table_1.timing", "02_table_2") for kind in ("csv", "tex")}
    expected |= {"02_figure_1.timing.png", "02_figure_1.timing.svg", "02.json", "02.timing.json"}
    assert {path.name for path in folder.rglob("*.*") if path.is_file()} == expected
    exact, timed = (json.loads((folder / "metrics" / name).read_text()) for name in ("02.json", "02.timing.json"))
    assert exact == {"parameters": 3, "claims": "it is small"}
    assert timed == {"seconds": 1.5, "claims": "it is fast"}
    assert report.findings("yes").data.endswith("- it is small\n- it is fast")


def test_what_was_timed_is_kept_with_its_machine_until_something_else_is_asked(report, tmp_path):
    first, where = report.timed(4, {"repeats": 2}, lambda: {"row": 1.5})
    assert report.timed(4, {"repeats": 2}, lambda: pytest.fail("measured again")) == (first, where)
    assert where.endswith("cores")
    assert report.timed(4, {"repeats": 3}, lambda: {"row": 2.5})[0] == {"row": 2.5}
    assert report.timed(5, {}, lambda: None)[0] is None  # nothing to measure here: nothing is kept
    kept = (tmp_path / "reports" / "tiny" / "runs" / "times").iterdir()
    assert [path.name for path in kept] == ["02_table_4.json"]


def test_a_footer_says_the_seeds_of_its_own_pages_fits_and_groups_what_other_code_made(report, trained, monkeypatch):
    study = trained.study
    page = next(one for one in notebooks(study) if one.name == "02_teachers")
    seeds = sorted({study.plan[name].seed for name in page.runs if study.plan[name].kind == "fit"})
    monkeypatch.setattr(type(study.store), "outdated", lambda store: ["a/b/seed-0", "a/c/seed-0", "d/seed-1"])
    said = provenance(study).data
    assert f"seeds of the fits read here {', '.join(map(str, seeds))} (" in said
    assert "than there is now**: a/ 2, d/ 1. " in said
    Report(study, "no notebook of the study")
    assert f"seeds {study.seeds} (ablations" in provenance(study).data
