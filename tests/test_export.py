import json
import sys

import numpy
import pytest
from datasets import Dataset
from transformers import AutoTokenizer

from as2lib.data.encode import PairEncoder
from as2lib.data.pretrained import EXPORTED, content
from as2lib.export import export
from as2lib.paths import find_root
from as2lib.ranker import Ranker
from tests.encoders import classifier
from tests.test_ranker import LISTS, QUESTIONS, pairs_of, saved

BACKENDS = {"onnx": "onnxruntime", "openvino": "openvino"}
pytestmark = pytest.mark.usefixtures("own_root")
LONG = ["the red is here " * 20, "a hill where the boat is red " * 20, "it"]


@pytest.fixture(params=BACKENDS)
def backend(request):
    pytest.importorskip(BACKENDS[request.param])
    pytest.importorskip("onnxscript")
    return request.param


def numbers(ranked):
    """All that a ranking says of each candidate: its position, score and parts."""
    return numpy.array([[one.position, one.score, *one.parts.values()] for one in ranked])


KINDS = [("electra", None), ("one label", None), ("mhs", None), ("cascade", None), ("cascade", 0.3), ("cascade", 0.6)]


@pytest.mark.parametrize(("kind", "alpha"), KINDS)
def test_an_exported_model_ranks_and_drops_as_its_original(tmp_path, backend, kind, alpha):
    folder = saved(kind, tmp_path / "model")
    out = export(folder, tmp_path / "out", backend)
    ours, theirs = Ranker.load(folder, alpha=alpha), Ranker.load(out, alpha=alpha)
    questions, lists = [*QUESTIONS, QUESTIONS[0] * 9, ""], [LISTS[0] + LONG, LISTS[1], LONG, ["", "red"]]
    for expected, ranked in zip(ours.rank(questions, lists), theirs.rank(questions, lists), strict=True):
        assert numbers(ranked) == pytest.approx(numbers(expected), abs=1e-6)


def test_sentence_transformers_opens_an_export_and_ranks_the_same(tmp_path):
    from sentence_transformers import CrossEncoder

    for kind in ("electra", "one label"):
        folder = saved(kind, tmp_path / kind)
        out = export(folder, tmp_path / f"{kind}-out", "sentence-transformers")
        ranked = Ranker.load(folder).rank(QUESTIONS[0], LISTS[0])
        theirs = CrossEncoder(str(out), device="cpu").rank(QUESTIONS[0], LISTS[0])
        assert [found["corpus_id"] for found in theirs] == [one.position for one in ranked]
        assert [found["score"] for found in theirs] == pytest.approx([one.score for one in ranked], abs=1e-6)
        again = Ranker.load(out).rank(QUESTIONS[0], LISTS[0])
        assert numbers(again) == pytest.approx(numbers(ranked), abs=1e-6)
    with pytest.raises(ValueError):
        export(saved("mhs", tmp_path / "mhs"), tmp_path / "no", "sentence-transformers")


def test_a_model_whose_files_changed_is_another_one(tmp_path):
    folder = saved("electra", tmp_path / "model")
    contents = [content(folder), content(folder)]
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "truncation_side": "left"}))
    contents.append(content(folder))
    classifier("electra", initializer_range=0.4).save_pretrained(folder)
    contents.append(content(folder))
    assert [contents.index(each) for each in contents] == [0, 0, 2, 3]


def test_what_cannot_be_exported_is_refused_before_a_folder_is_there(tmp_path, monkeypatch):
    folder, words = saved("electra", tmp_path / "model"), saved("cosinet", tmp_path / "words")
    to = "sentence-transformers"
    for model, out, target in ((folder, "new", "tensorrt"), (words, "new", to), (folder, "model", to)):
        with pytest.raises(ValueError):
            export(model, tmp_path / out, target)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # as where it is not installed
    with pytest.raises(ValueError, match="onnxruntime"):
        export(folder, tmp_path / "new", "onnx")
    assert not (tmp_path / "new").exists()
    (folder / EXPORTED).write_text('{"to": "onnx"}')
    with pytest.raises(ValueError, match="onnx"):
        Ranker.load(folder, backend="openvino")


def test_int8_is_calibrated_on_pairs_and_stays_near(tmp_path):
    pytest.importorskip("nncf")
    pytest.importorskip("openvino")
    folder = saved("electra", tmp_path / "model")
    pairs = Dataset.from_dict({"question_id": ["q"] * 40, "question": QUESTIONS * 20, "answer": LISTS[0] * 10})
    out = export(folder, tmp_path / "out", "openvino", calibration=pairs)
    ranker = Ranker.load(out)
    assert (ranker.precision, json.loads((out / EXPORTED).read_text())["precision"]) == ("int8", "int8")
    assert ranker.predict(pairs_of()) == pytest.approx(Ranker.load(folder).predict(pairs_of()), abs=0.1)


def test_an_exported_model_cuts_texts_as_its_tokenizer_does_and_is_exported_where_it_is_asked_for_once(
    tmp_path, backend
):
    folder = saved("electra", tmp_path / "model")
    words = AutoTokenizer.from_pretrained(folder)
    words.truncation_side = "left"
    PairEncoder(words, 11).save(folder)
    expected = numbers(Ranker.load(folder, backend="torch").rank(QUESTIONS[0], LONG))
    for theirs in (Ranker.load(export(folder, tmp_path / "out", backend)), Ranker.load(folder, backend=backend)):
        assert theirs.encoder.max_length == 11
        assert numbers(theirs.rank(QUESTIONS[0], LONG)) == pytest.approx(expected, abs=1e-6)
    with pytest.raises(ValueError):
        Ranker.load(tmp_path / "out", device="cuda")
    exports = find_root() / "work" / "exports"
    written = {path: path.stat().st_mtime_ns for path in exports.rglob("*")}
    Ranker.load(folder, backend=backend)
    assert {path: path.stat().st_mtime_ns for path in exports.rglob("*")} == written
