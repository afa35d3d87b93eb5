"""Writes a model as graphs for another runtime: one, or one a stage of a cascade; int8 is calibrated on pairs.

b pairs in a batch · n tokens · d hidden units · c = 2 classes
"""

import json
import logging
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import torch
from datasets import Dataset
from torch import Tensor, nn

from as2lib import models
from as2lib.data.encode import PairEncoder, load_encoder, rows_of
from as2lib.kernels.first_token import reading_first_token
from as2lib.metrics.pruning import Ratios, drop_ratios
from as2lib.models.cascade import CascadeTransformer
from as2lib.serve import BACKENDS, FACTS, check

CALIBRATED_ON, BATCH = 320, 16  # pairs, and how many of them at once
Batch = dict[str, Tensor]


class Whole(nn.Module):
    """A model from the tokens to its logits; a student's heads are combined."""

    def __init__(self, model: nn.Module, names: list[str]):
        super().__init__()
        self.model, self.names, self.outputs = model, names, ["logits"]

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.model(**dict(zip(self.names, inputs, strict=True))).logits  # (b, c)


class Stage(nn.Module):
    """The layers of a cascade from one exit to the next: hidden states for the next stage, and the exit's logits."""

    def __init__(self, cascade: CascadeTransformer, number: int, names: list[str]):
        super().__init__()
        self.cascade, self.number = cascade, number
        self.names = ["hidden", "attention_mask"] if number else names
        self.outputs = ["logits"] if number == len(cascade.exits) - 1 else ["encoded", "logits"]

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        given = dict(zip(self.names, inputs, strict=True))
        real = given.pop("attention_mask")
        hidden = given["hidden"] if self.number else self.cascade._embed(**given)
        hidden = self.cascade._between(self.number, hidden, self.cascade._attention_mask(hidden, real))  # (b, n, d)
        logits = self.cascade.exits[self.number](hidden, real)
        return (hidden, logits) if len(self.outputs) == 2 else logits


def export(
    folder: str | Path,
    out: str | Path,
    to: str = "openvino",
    calibration: Dataset | None = None,
    alpha: Ratios = 0.3,
    max_length: int | None = None,
) -> Path:
    """Write the model in `folder` to `out`, for `Ranker.load(out)`: graphs, tokenizer, and how to read them.

    to: "openvino" or "onnx".  calibration: training pairs, for static int8; None: float32.
    alpha: the share that each stage of a cascade but the last drops, unless the ranker is told otherwise.
    The last layer computes the first token alone where a classifier reads no other (see `kernels.first_token`).
    max_length: tokens of a pair; default: what the tokenizer was saved with.
    Raises ValueError for a model of words, an unknown backend, or a package that is not installed.
    """
    check(to, "onnx", "onnxscript", *BACKENDS.get(to, ())[: 1 if calibration is None else 2])
    model, encoder, out = models.load(folder).eval(), load_encoder(folder, max_length), Path(out)
    if not isinstance(encoder, PairEncoder):
        raise ValueError(f"expected a cross-encoder, an MHS or a cascade; {folder} is a {model.config.model_type}")
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if encoder.has_token_types else [])]
    graphs: list[Whole | Stage] = [Whole(model, names)]
    if isinstance(model, CascadeTransformer):
        drop_ratios(alpha, len(model.exits))
        graphs = [Stage(model, number, names) for number in range(len(model.exits))]
    out.mkdir(parents=True, exist_ok=True)
    facts = {"backend": to, "precision": "float32" if calibration is None else "int8", "model": model.config.model_type}
    facts |= {"alpha": alpha if len(graphs) > 1 else 0.0, "inputs": names, "max_length": encoder.max_length}
    facts |= {"pad": encoder.tokenizer.pad_token_id, "graphs": []}
    batches = _examples() if calibration is None else list(_batches(calibration, encoder))
    for number, graph in enumerate(graphs):
        with torch.inference_mode(False), torch.no_grad(), reading_first_token(model):
            name = f"stage-{number}.{'xml' if to == 'openvino' else 'onnx'}"
            with tempfile.TemporaryDirectory() as scratch:
                plain = Path(scratch) / "plain.onnx"
                _trace(graph, batches[0], plain)
                WRITE[to](plain, out / name, None if calibration is None else batches)
            facts["graphs"].append(name)
            if len(graph.outputs) == 2:  # what the next stage reads
                batches = [{**batch, "hidden": graph(*_inputs(graph, batch))[0]} for batch in batches]
    encoder.save(out)
    (out / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return out


def _trace(graph: Whole | Stage, batch: Batch, path: Path) -> None:
    """An ONNX file of any number of pairs and tokens."""
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # torch tells of packages for images that it did not find
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                graph,
                _inputs(graph, batch),
                path,
                input_names=graph.names,
                output_names=graph.outputs,
                dynamic_shapes=(tuple(free for _ in graph.names),),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
    finally:
        logging.disable(before)


def _inputs(graph: Whole | Stage, batch: Batch) -> tuple[Tensor, ...]:
    return tuple(batch[name] for name in graph.names)


def _examples() -> list[Batch]:
    """A batch to trace with, of sizes that are no other dimension of the model, and with padding."""
    mask = torch.ones(3, 11, dtype=torch.int64)
    mask[1, 7:] = 0
    return [{"input_ids": 5 * mask, "attention_mask": mask, "token_type_ids": torch.zeros_like(mask)}]


def _batches(pairs: Dataset, encoder: PairEncoder) -> Iterator[Batch]:
    """Pairs from all over a set, in batches of like length."""
    chosen = pairs.select(numpy.unique(numpy.linspace(0, len(pairs) - 1, CALIBRATED_ON).astype(int)))
    items = encoder.encode(chosen)
    order = numpy.argsort(items.with_format("numpy")["length"][:], kind="stable")
    for start in range(0, len(order), BATCH):
        yield encoder.collate(rows_of(items.with_format("arrow"), order[start : start + BATCH].tolist()))


def _write_openvino(plain: Path, path: Path, batches: list[Batch] | None) -> None:
    import openvino

    model = openvino.convert_model(plain)
    if batches:
        model = _int8(model, [port.any_name for port in model.inputs], batches)
    openvino.save_model(model, path, compress_to_fp16=False)


def _write_onnx(plain: Path, path: Path, batches: list[Batch] | None) -> None:
    if not batches:
        path.write_bytes(plain.read_bytes())
        return
    import nncf
    import onnx
    from nncf.quantization.advanced_parameters import AdvancedQuantizationParameters, OverflowFix

    model = onnx.load(plain)
    weights = {tensor.name for tensor in model.graph.initializer}
    # attention's products of two activations stay in float32: they take little of the time
    attention = [n.name for n in model.graph.node if n.op_type == "MatMul" and not weights.intersection(n.input)]
    # sums of two 8-bit products overflow on processors without VNNI: weights have 7 bits
    how = AdvancedQuantizationParameters(overflow_fix=OverflowFix.ENABLE, disable_bias_correction=True)
    names = [value.name for value in model.graph.input]
    ignored = nncf.IgnoredScope(names=attention)
    onnx.save(_int8(model, names, batches, ignored_scope=ignored, advanced_parameters=how), path)


def _int8(model: Any, names: list[str], batches: list[Batch], **settings: Any) -> Any:
    """Static int8 of what products read; what they give is float32.

    A few units of an encoder are many times as large as the others, and would take most of the 8 bits: first their
    scale moves into the weights (SmoothQuant), which onnxruntime's own quantizer does not do.
    """
    import nncf

    items = nncf.Dataset([{name: batch[name].numpy() for name in names} for batch in batches])
    kind = nncf.ModelType.TRANSFORMER
    return nncf.quantize(model, items, model_type=kind, subset_size=len(batches), **settings)


WRITE = {"openvino": _write_openvino, "onnx": _write_onnx}
