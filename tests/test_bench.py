import json
import re
import subprocess
from pathlib import Path

import numpy
import pytest
import yaml

import bench
from bench import __main__ as command
from bench import growth, memory, timing


def test_what_is_absent_is_not_run_with_the_reason_and_one_row_is_named_by_its_claim(monkeypatch):
    from bench import metrics

    def absent():
        raise bench.NotRun("pytrec_eval is not here")

    monkeypatch.setattr(metrics, "main", absent)
    found = command.run("metrics", full=False)
    assert (found["state"], found["reason"]) == ("not run", "pytrec_eval is not here")
    monkeypatch.setattr(metrics, "main", lambda: {"ratio": 12.0})
    assert command.run("metrics", full=False)["rows"] == {"metrics": {"ratio": 12.0, "device": command.device()}}


def test_a_claim_that_was_not_run_this_time_keeps_its_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command.write({"a": {"state": "run", "device": "cpu, 2 threads"}})
    path = command.write({"b": {"state": "not run"}})
    command.write({"a": {"state": "not run"}, "b": {"state": "failed"}})
    command.write({"a": {"state": "run", "device": "cpu, old", "rows": {"full": {"ratio": 2}, "short": {"ratio": 3}}}})
    command.write({"a": {"state": "run", "device": "cpu, new", "rows": {"short": {"ratio": 4, "device": "cpu, new"}}}})
    assert path.name == "bench.json"
    assert json.loads(path.read_text())["a"]["rows"] == {
        "full": {"ratio": 2, "device": "cpu, old"},
        "short": {"ratio": 4, "device": "cpu, new"},
    }
    found = json.loads(path.read_text())
    assert {name: claim["state"] for name, claim in found.items()} == {"a": "run", "b": "failed"}
    assert command.write({"a": {"state": "run", "device": "NVIDIA H100 80GB"}}).name == "bench-nvidia-h100-80gb.json"


def test_the_root_of_a_benchmark_has_its_studies_local_folders_and_vectors_and_nothing_else(root, tmp_path):
    (root / "params" / "local.yaml").write_text("local: {some/set: ../set}\n")
    own = command.own_root(tmp_path / "own")
    mapped = yaml.safe_load((own / "params" / "local.yaml").read_text())
    assert mapped == {"local": {"some/set": str((root / "../set").resolve())}}
    assert sorted(path.name for path in own.rglob("*")) == ["local.yaml", "params", "tiny.yaml", "vectors", "work"]
    assert (own / "work" / "vectors").resolve() == (root / "work" / "vectors").resolve()


def test_the_readme_quotes_what_was_measured():
    """A quote is a table row: what, `module`: row, the number with its unit, target."""
    unit_of = {"×": "ratio", "%": "saved %", "s": "seconds", "MiB": "MiB, projected to a million", "s cold": "cold"}
    unit_of |= {"s of a processor": "processor seconds", "ms": "ms", "pairs a second": "pairs a second"}
    root = Path(__file__).parents[1]
    path = "reports/bench.json"  # as committed, for `make bench` writes that of this machine
    committed = subprocess.run(["git", "show", f"HEAD:{path}"], cwd=root, capture_output=True, text=True)
    claims = json.loads(committed.stdout or (root / path).read_text())
    quotes = re.findall(r"\| `(\w+)`: (.+?) \| ([\d.]+) (.+?) \|", (root / "README.md").read_text(encoding="utf-8"))
    modules = {module for module, *_ in quotes}
    assert {"heads", "predicting", "finetuning", "cascade", "cosinet", "metrics", "distilling"} <= modules
    for module, row, number, unit in quotes:
        measured = claims[module]["rows"][row][unit_of[unit]]
        decimals = len(number.partition(".")[2])
        assert round(measured, decimals) == float(number), (module, row)


def test_functions_take_turns_and_the_warm_up_is_not_timed():
    calls = []
    found = timing.measure({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2)
    assert calls == ["a", "b"] * 3
    assert found["a"].seconds >= 0


def test_the_peak_of_a_function_is_seen_after_it_has_freed_it():
    watched = memory.watched(lambda: numpy.ones(30_000_000).sum())  # 229 MiB
    assert watched.result == 30_000_000
    assert watched.gib - memory.held() / 2**20 > 0.1


def test_an_exponent_is_that_of_the_largest_sizes():
    assert growth.exponent({1: 100.0, 10: 100.0, 100: 2.0, 1_000: 40.0, 10_000: 800.0}) == pytest.approx(1.30103)
    assert growth.exponent({size: 3.0 * size for size in (10, 20, 40)}) == pytest.approx(1)
