import pickle

import numpy
import pytest
from transformers import AutoTokenizer

from as2lib.data.encode import PairEncoder
from as2lib.data.pretrained import EXPORTED
from as2lib.export import export
from as2lib.paths import find_root
from as2lib.ranker import Ranker
from tests.test_ranker import LISTS, QUESTIONS, pairs_of, saved

pytestmark = pytest.mark.usefixtures("own_root")
LONG = ["the red is here " * 20, "a hill where the boat is red " * 20, "it"]


@pytest.fixture
def onnx():
    pytest.importorskip("onnxscript")


def numbers(ranked):
    """All that a ranking says of each candidate: its position, score and parts."""
    return numpy.array([[one.position, one.score, *one.parts.values()] for one in ranked])


@pytest.mark.parametrize("kind", ["electra", "one label", "mhs"])
def test_an_exported_model_ranks_as_its_original(tmp_path, onnx, kind):
    folder = saved(kind, tmp_path / "model")
    ours, theirs = Ranker.load(folder), Ranker.load(export(folder, tmp_path / "out"))
    questions, lists = [*QUESTIONS, QUESTIONS[0] * 9, ""], [LISTS[0] + LONG, LISTS[1], LONG, ["", "red"]]
    for expected, ranked in zip(ours.rank(questions, lists), theirs.rank(questions, lists), strict=True):
        assert numbers(ranked) == pytest.approx(numbers(expected), abs=1e-6)


def test_what_cannot_be_exported_is_refused_before_a_folder_is_there(tmp_path):
    folder, words, cascade = (saved(kind, tmp_path / kind) for kind in ("electra", "cosinet", "cascade"))
    for model, out in ((words, "new"), (cascade, "new"), (folder, "electra")):
        with pytest.raises(ValueError, match="expected"):
            export(model, tmp_path / out)
    assert not (tmp_path / "new").exists()
    (folder / EXPORTED).write_text("{}")
    for option in ({"backend": "torch"}, {"backend": "openvino"}, {"device": "cuda"}):
        with pytest.raises(ValueError, match="expected"):
            Ranker.load(folder, **option)


def test_int8_stays_near_telemetry_is_off_and_an_exported_ranker_is_pickled(tmp_path, onnx, monkeypatch):
    calls = []
    monkeypatch.setattr("onnxruntime.disable_telemetry_events", lambda: calls.append("off"))
    folder = saved("electra", tmp_path / "model")
    ranker, exact = Ranker.load(export(folder, tmp_path / "out", int8=True)), Ranker.load(folder).predict(pairs_of())
    assert ranker.precision == "int8"
    assert 0 < abs(ranker.predict(pairs_of()) - exact).max() < 0.1
    again = pickle.loads(pickle.dumps(ranker))
    assert calls == ["off", "off"]
    assert again.rank(QUESTIONS[0], LISTS[0]) == ranker.rank(QUESTIONS[0], LISTS[0])


def test_an_exported_model_cuts_texts_as_its_tokenizer_does_and_is_exported_where_it_is_asked_for_once(tmp_path, onnx):
    folder = saved("electra", tmp_path / "model")
    PairEncoder(AutoTokenizer.from_pretrained(folder, truncation_side="left"), 11).save(folder)
    expected = numbers(Ranker.load(folder, backend="torch").rank(QUESTIONS[0], LONG))
    for theirs in (Ranker.load(export(folder, tmp_path / "out")), Ranker.load(folder, backend="onnx")):
        assert theirs.encoder.max_length == 11
        assert numbers(theirs.rank(QUESTIONS[0], LONG)) == pytest.approx(expected, abs=1e-6)
    exports = find_root() / "work" / "exports"
    written = {path: path.stat().st_mtime_ns for path in exports.rglob("*")}
    Ranker.load(folder, backend="onnx")
    assert {path: path.stat().st_mtime_ns for path in exports.rglob("*")} == written
    words = AutoTokenizer.from_pretrained(folder, truncation_side="right")
    PairEncoder(words, 11).save(folder)  # a model whose files changed is another one
    assert numbers(Ranker.load(folder, backend="onnx").rank(QUESTIONS[0], LONG)) != pytest.approx(expected, abs=1e-6)
