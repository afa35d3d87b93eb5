"""Ranks pairs with an exported model; needs numpy, `tokenizers` and the backend, and imports no torch.

m pairs · b of them in a batch · n tokens of the longest of these · d hidden units
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy
from tokenizers import Encoding, Tokenizer

from as2lib.data.batches import by_length, whole_questions
from as2lib.metrics.pruning import Pruned, Ratios, prune
from as2lib.serve import FACTS, check

BATCH_TOKENS = 2048  # of a batch, padding included, as `as2lib.score` takes on a processor
HELD = 1024  # pairs of a cascade whose hidden states are held at once
ENCODED = 16_384  # pairs of another model whose tokens are
Graph = Callable[[Mapping[str, numpy.ndarray]], list[numpy.ndarray]]


class Served:
    """An exported model: `Served(folder).rank(pairs, question)`."""

    def __init__(self, folder: str | Path, precision: str = "float32"):
        """precision: "float32", or "bf16" for what is not int8, on processors that multiply it (OpenVINO alone)."""
        folder = Path(folder)
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        self.facts, self.backend, self.precision = facts, facts["backend"], facts["precision"]
        check(self.backend)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(facts["max_length"], strategy="longest_first")
        self.stages = [OPEN[self.backend](folder / name, precision) for name in facts["graphs"]]

    def rank(self, pairs: Sequence[tuple[str, str]], question: numpy.ndarray, alpha: Ratios | None = None) -> Pruned:
        """P(correct) of pairs (question, candidate), and their order in each question.

        question: (m,) codes from 0, the rows of a question together.  alpha: the share that each stage of a cascade but
        the last drops, as `metrics.pruning`; default: what it was exported with.  Scores of a cascade are those of the
        last stage that saw the pair.
        """
        alpha, found = self.facts["alpha"] if alpha is None else alpha, []
        for rows in whole_questions(question, HELD if len(self.stages) > 1 else ENCODED):
            score = self._scoring([pairs[row] for row in rows])
            part = prune(score, len(self.stages), question[rows] - question[rows[0]], alpha)
            found.append((part.scores, part.last, part.order + rows[0]))
        margins, last, order = (numpy.concatenate(column) for column in zip(*found, strict=True))
        return Pruned(1.0 / (1.0 + numpy.exp(-margins)), last, order)

    def _scoring(self, pairs: list[tuple[str, str]]) -> Callable[[int, numpy.ndarray], numpy.ndarray]:
        """What `prune` asks for: the logit of P(correct) at a stage of the rows that are left."""
        encoded = self.tokenizer.encode_batch(pairs)
        batches = by_length(numpy.array([len(one.ids) for one in encoded]), BATCH_TOKENS)
        held = {number: (rows, self._padded([encoded[row] for row in rows])) for number, rows in enumerate(batches)}

        def score(stage: int, left: numpy.ndarray) -> numpy.ndarray:
            margins = numpy.empty(len(pairs))
            for number, (rows, inputs) in list(held.items()):
                stays = numpy.isin(rows, left)
                if not stays.all():
                    rows, inputs = rows[stays], {name: values[stays] for name, values in inputs.items()}
                if not len(rows):
                    del held[number]
                    continue
                *hidden, logits = self.stages[stage](inputs)
                wide = logits.astype(numpy.float64)
                margins[rows] = wide[:, 1] - wide[:, 0]
                if hidden:
                    held[number] = rows, {"hidden": hidden[0], "attention_mask": inputs["attention_mask"]}
            return margins[left]

        return score

    def _padded(self, encoded: list[Encoding]) -> dict[str, numpy.ndarray]:
        lengths = numpy.array([len(one.ids) for one in encoded])
        mask = numpy.arange(lengths.max()) < lengths[:, None]  # (b, n)
        columns = {"input_ids": ("ids", self.facts["pad"]), "token_type_ids": ("type_ids", 0)}
        batch = {"attention_mask": mask.astype(numpy.int64)}
        for name in self.facts["inputs"]:
            if name in columns:
                source, padding = columns[name]
                batch[name] = numpy.full(mask.shape, padding, dtype=numpy.int64)
                batch[name][mask] = numpy.concatenate([getattr(one, source) for one in encoded])
        return batch


def _openvino(path: Path, precision: str) -> Graph:
    import openvino

    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": {"float32": "f32", "bf16": "bf16"}[precision],
    }
    compiled = openvino.Core().compile_model(path, "CPU", settings)
    return lambda inputs: list(compiled.infer_new_request(dict(inputs)).values())  # a request a call: threads may share


def _onnx(path: Path, precision: str) -> Graph:
    import onnxruntime

    if precision != "float32":
        raise ValueError(f"precision: expected float32 with ONNX Runtime, got {precision}; OpenVINO computes in bf16")
    options = onnxruntime.SessionOptions()
    if hasattr(os, "sched_getaffinity"):
        options.intra_op_num_threads = len(os.sched_getaffinity(0))  # by itself it takes all cores of the machine
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, dict(inputs))


OPEN: dict[str, Callable[[Path, str], Graph]] = {"openvino": _openvino, "onnx": _onnx}
