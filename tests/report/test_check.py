import json

from as2lib import Study
from as2lib.cli import main
from as2lib.report import check


def test_what_check_writes_is_what_it_expects(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    monkeypatch.setattr("as2lib.study.store.Store.index", {"lexical/word_overlap": {}})
    metrics = tmp_path / "reports" / "selqa" / "metrics" / "03.json"
    metrics.parent.mkdir(parents=True)
    metrics.write_text(json.dumps({"mhs/3h1": {"MAP": 76.77123, "seeds": 3}}))
    study = Study.load("selqa")
    check.write_expected(study)
    assert check.moved(study) == []
    metrics.write_text(json.dumps({"mhs/3h1": {"MAP": 76.9, "seeds": 2}}))
    assert [line.partition(":")[0] for line in check.moved(study)] == ["03", "03"]
    main(["check", "selqa", "--write"])
    assert "params/expected/selqa.json" in capsys.readouterr().out
    assert check.moved(study) == []
    metrics.write_text(json.dumps({"mhs/3h1": {"MAP": 76.9, "seeds": 2}, "texts: in train: dev": {"questions": 0}}))
    check.write_expected(study)
    metrics.write_text(json.dumps({"mhs/3h1": {"MAP": 76.9, "seeds": 2}}))  # where the texts are not at hand
    assert check.moved(study) == []
    metrics.write_text(json.dumps({"mhs/3h1": {"MAP": 76.9, "seeds": 2}, "texts: in train: dev": {"questions": 1}}))
    assert len(check.moved(study)) == 1
    metrics.write_text("<<<<<<< HEAD\n{}\n")
    assert main(["check", "selqa"]) != 0
    assert "reports/selqa/metrics/03.json" in capsys.readouterr().err
    assert metrics.read_text() == "<<<<<<< HEAD\n{}\n"


def test_expected_numbers_of_a_study_that_is_trained_anew_are_left_to_a_person(capsys):
    before = check.expected_file(Study.load("sample")).read_bytes()
    assert main(["check", "sample", "--write"]) == 2
    assert "published" in capsys.readouterr().err.splitlines()[-1]
    assert check.expected_file(Study.load("sample")).read_bytes() == before
