"""Exported models rank as torch does; what needs OpenVINO or ONNX Runtime is skipped where they are not installed."""

import json
from pathlib import Path

import numpy
import pytest
import torch
from datasets import Dataset
from encoders import classifier

from as2lib import serve
from as2lib.data.batches import whole_questions
from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.ranker import Ranker
from as2lib.score import score
from as2lib.serve import export, runtime

WORDS = "who made the red boat it was built in a year by two men near that river".split()
QUESTION = numpy.repeat(numpy.arange(4), 8)
CLOSE = {"openvino": 0.95, "onnx": 0.99}  # correlation of int8 scores; onnxruntime's own quantizer had 0.98 here
KEPT = Path(__file__).parents[1] / "reports" / "bench.json"


@pytest.fixture(scope="module")
def texts():
    """Four questions of eight candidates of one to fourteen words."""
    drawn = numpy.random.default_rng(0)
    asked = [" ".join(drawn.choice(WORDS, 4)) for _ in range(4)]
    return [(asked[i], " ".join(drawn.choice(WORDS, drawn.integers(1, 15)))) for i in QUESTION]


@pytest.fixture(scope="module", autouse=True)
def traced_once():
    """A model is traced for one backend and precision, which takes seconds, and for the others not again."""
    trace, kept = export._trace, {}

    def once(graph, batch, path):
        key = (*graph.names, *graph.outputs, sum(float(weights.sum()) for weights in graph.parameters()))
        if key not in kept:
            trace(graph, batch, path)
            kept[key] = path.read_bytes()
        path.write_bytes(kept[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "_trace", once)
        yield


def with_large_units():
    """A classifier that has, as trained encoders do, a few units far larger than the others."""
    model = classifier("electra", type_vocab_size=2)
    for layer in model.electra.encoder.layer:
        layer.output.LayerNorm.weight.data[:2] *= 10
    return model


def saved(model, folder):
    model.save_pretrained(folder)
    encoder = PairEncoder(word_tokenizer(WORDS, 16), 16)
    encoder.save(folder)
    return model.eval(), encoder


def pair_set(texts):
    columns = {"question_id": QUESTION.astype(str), "question": [q for q, _ in texts], "answer": [a for _, a in texts]}
    return Dataset.from_dict(columns)


@pytest.mark.parametrize("backend", serve.BACKENDS)
@pytest.mark.parametrize("shape", ["cross-encoder", "mhs"])
def test_an_exported_model_scores_as_torch_does(root, tmp_path, texts, shape, backend):
    pytest.importorskip(serve.BACKENDS[backend][0])
    pytest.importorskip("onnxscript")
    model = with_large_units()
    if shape == "mhs":
        model = MHSForSequenceClassification.from_backbone(model, body=3, heads=3, perturb=0.1)
    model, encoder = saved(model, tmp_path / "model")
    expected = score(model, pair_set(texts), encoder).score
    ranker = Ranker.load(tmp_path / "model", backend=backend)
    assert numpy.abs(ranker.model.rank(texts, QUESTION).scores - expected).max() < 1e-4
    ranked = ranker.rank(texts[0][0], [candidate for _, candidate in texts[:8]])
    assert [one.position for one in ranked] == numpy.argsort(-expected[:8], kind="stable").tolist()
    with pytest.raises(ValueError, match="export it anew"):
        Ranker.load(next((root / "work" / "served").iterdir()), backend="torch")


@pytest.mark.parametrize("backend", serve.BACKENDS)
def test_an_exported_cascade_prunes_as_torch_does(root, tmp_path, texts, backend):
    pytest.importorskip(serve.BACKENDS[backend][0])
    pytest.importorskip("onnxscript")
    cascade = CascadeTransformer.from_backbone(classifier("electra", type_vocab_size=2), (2, 4))
    cascade, encoder = saved(cascade, tmp_path / "model")
    items = encoder.encode(pair_set(texts)).remove_columns("length").to_list()
    expected = cascade.rank(encoder.collate(items), 0.5, torch.from_numpy(QUESTION))
    out = export.export(tmp_path / "model", tmp_path / "out", backend, alpha=0.5)
    found = runtime.Served(out).rank(texts, QUESTION)
    assert numpy.abs(found.scores - numpy.concatenate([one.scores for one in expected])).max() < 1e-4
    assert (found.order == numpy.concatenate([one.order + 8 * i for i, one in enumerate(expected)])).all()


@pytest.mark.parametrize("backend", serve.BACKENDS)
def test_int8_ranks_mostly_as_float32_does(root, tmp_path, texts, backend):
    for package in (*serve.BACKENDS[backend], "onnxscript"):
        pytest.importorskip(package)
    model, encoder = saved(with_large_units(), tmp_path / "model")
    expected = score(model, pair_set(texts), encoder).score
    out = export.export(tmp_path / "model", tmp_path / "model" / backend, backend, calibration=pair_set(texts))
    ranker = Ranker.load(tmp_path / "model")  # finds the export in the folder
    assert (ranker.model.backend, ranker.precision) == (backend, "int8")
    assert numpy.corrcoef(ranker.model.rank(texts, QUESTION).scores, expected)[0, 1] > CLOSE[backend]
    assert json.loads((out / serve.FACTS).read_text())["precision"] == "int8"


def test_the_first_backend_that_is_installed_and_exported_ranks_by_default(tmp_path, monkeypatch):
    there = {"openvino", "onnxruntime"}
    monkeypatch.setattr(serve, "find_spec", lambda package: package in there or None)
    assert serve.find(tmp_path, None) is None
    for backend in reversed(serve.BACKENDS):
        (tmp_path / backend).mkdir()
        (tmp_path / backend / serve.FACTS).write_text(json.dumps({"backend": backend, "max_length": 16}))
        assert serve.find(tmp_path, None) == tmp_path / backend
    there.remove("openvino")
    assert serve.find(tmp_path, None) == tmp_path / "onnx"
    assert serve.find(tmp_path, "torch") is None


def test_the_order_of_backends_is_that_of_their_measured_speed():
    rows = {} if not KEPT.exists() else json.loads(KEPT.read_text()).get("serving", {}).get("rows", {})
    rates = {name: row["pairs a second"] for name, row in rows.items() if "MAP" in row}
    if not rates:
        pytest.skip("not measured: python -m bench serving --full")
    for model in ("cross-encoder", "MHS B5 3H1", "cascade"):
        by_backend = [max(rates[f"{model}: {one}, {p}"] for p in ("float32", "int8")) for one in serve.BACKENDS]
        assert by_backend == sorted(by_backend, reverse=True)
        assert by_backend[-1] > rates[f"{model}: torch, float32"]


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """A cascade of two stages whose logit is the number of tokens, and in the second stage minus that."""
    PairEncoder(word_tokenizer(WORDS, 16), 16).save(tmp_path)
    facts = {"backend": "openvino", "precision": "float32", "graphs": ["0", "1"], "alpha": 0.5, "max_length": 16}
    (tmp_path / serve.FACTS).write_text(json.dumps(facts | {"pad": 0, "inputs": ["input_ids", "attention_mask"]}))
    seen = []

    def stage(path, precision):
        def first(inputs):
            tokens = inputs["attention_mask"].sum(axis=1)
            seen.append((path.name, len(tokens)))
            logits = numpy.stack([numpy.zeros(len(tokens)), tokens if path.name == "0" else -tokens], axis=1)
            return [tokens, logits] if path.name == "0" else [logits]

        return first

    monkeypatch.setattr(runtime, "check", lambda backend: None)
    monkeypatch.setitem(runtime.OPEN, "openvino", stage)
    return runtime.Served(tmp_path), seen


def test_only_survivors_reach_the_next_stage_and_each_keeps_its_last_score(counted):
    served, seen = counted
    answers = [
        "red",
        "red boat",
        "red boat it",
        "red boat it was",
    ]  # 5 to 8 tokens with the question's one and three more
    found = served.rank([("who", answer) for answer in answers], numpy.zeros(4, dtype=int))
    assert seen == [("0", 4), ("1", 2)]
    assert found.order.tolist() == [2, 3, 1, 0]
    assert numpy.log(found.scores / (1 - found.scores)).round().tolist() == [5, 6, -7, -8]


def test_parts_of_many_pairs_end_between_questions(counted, monkeypatch):
    served, _ = counted
    pairs = [("who", " ".join(WORDS[: 1 + i % 5])) for i in range(12)]
    question = numpy.repeat(numpy.arange(3), 4)
    whole = served.rank(pairs, question)
    monkeypatch.setattr(runtime, "HELD", 1)
    assert [rows.tolist() for rows in whole_questions(question, 5)] == [list(range(8)), list(range(8, 12))]
    assert all((a == b).all() for a, b in zip(whole, served.rank(pairs, question), strict=True))


def test_an_unknown_backend_and_one_that_is_not_installed_are_named(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="expected one of torch, openvino, onnx; got 'tensorrt'"):
        Ranker.load(tmp_path, backend="tensorrt")
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r'onnx needs onnxruntime, .* pip install "as2lib\[serve\]"'):
        Ranker.load(tmp_path, backend="onnx")
