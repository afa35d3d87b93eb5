import json

from as2lib import Study
from as2lib.cli import main
from as2lib.report import check


def test_what_check_writes_is_what_it_expects(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
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
