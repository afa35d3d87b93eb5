"""Models for other runtimes: written as graphs for ONNX Runtime and OpenVINO, or with one label for
sentence-transformers; and opened, as what is called and encoded for exactly as the model that they were made from.

m pairs · b of them in a batch · n tokens of the longest of these · d hidden units · k heads, or exits · c = 2 classes
"""

import json
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy
import torch
from torch import Tensor, nn

from as2lib.data.encode import PairEncoder, load_encoder, paired, rows_of
from as2lib.data.pretrained import EXPORTED, content, folder_of, read_config
from as2lib.metrics.pruning import Ratios
from as2lib.models.logits import Float32Linear, two_class_logits
from as2lib.models.sequential import Questions, Ranking, rank_by_exits
from as2lib.paths import expanded, whole_folder, work_folder
from as2lib.score import log_odds

if TYPE_CHECKING:
    from datasets import Dataset

    from as2lib.models.cascade import CascadeTransformer

PACKAGES = {"onnx": ("onnxruntime", "onnx", "onnxscript"), "openvino": ("openvino", "onnx", "onnxscript")}
ONE_LABEL = "sentence-transformers"
INT8 = "openvino"  # whose int8 is the fastest that we measured
CALIBRATION_PAIRS, CALIBRATION_BATCH = 320, 16
Batch = dict[str, Tensor]
Graph = Callable[[Mapping[str, numpy.ndarray]], list[numpy.ndarray]]


def export(
    name: str | Path,
    out: str | Path,
    to: str = "onnx",
    calibration: "Dataset | None" = None,
    max_length: int | None = None,
) -> Path:
    """Write a model for another runtime: `Ranker.load(out)`, or `sentence_transformers.CrossEncoder(out)`, opens it.

    name: a model's folder or hub name.  out: a new folder, which appears whole.
    to: "onnx", "openvino", or "sentence-transformers" (the same classifier with one label).
    calibration: training pairs, for OpenVINO's static int8; None: float32.
    max_length: tokens of a pair; default: what the tokenizer was saved with.
    Raises ValueError for a package that is not installed, a model of words, a folder that holds something, and a model
    with heads or exits that is to have one label.
    """
    from as2lib import models
    from as2lib.models.cross_encoder import one_label

    out, targets = expanded(out), (*PACKAGES, ONE_LABEL)
    if to not in targets or (calibration is not None and to != INT8):
        raise ValueError(f"expected one of {', '.join(targets)}, and {INT8} for int8; got {to!r}")
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out}: expected a new folder, got one with files in it; name another, such as {out / to}")
    require(to, *PACKAGES.get(to, ()), *(["nncf"] if calibration is not None else []))
    model = models.load(name).eval()
    encoder = paired(model, load_encoder(name, max_length))
    if not isinstance(encoder, PairEncoder):
        family = model.config.model_type
        raise ValueError(f"{name}: expected a model that reads tokens, got a {family}, which reads words")
    with whole_folder(out) as folder:
        if to == ONE_LABEL:
            (one_label(model) if model.config.num_labels == 2 else model).save_pretrained(folder)
        else:
            facts = {"to": to} | write_graphs(model, encoder, folder, to, calibration)
            model.config.save_pretrained(folder)
            (folder / EXPORTED).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        encoder.save(folder)
    return out


def require(what: Any, *packages: str) -> None:
    if missing := [package for package in packages if find_spec(package) is None]:
        raise ValueError(f'{what} needs {", ".join(missing)}: pip install ".[serve]" in a clone of the repository')


def read_facts(folder: Path) -> dict[str, Any] | None:
    """What an exported folder says of itself; None for any other folder."""
    path = folder / EXPORTED
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def find(name: str | Path, backend: str | None = None) -> Path:
    """An exported folder itself; or where a model was exported to in float32, once for its files as they are.

    backend: "onnx" or "openvino"; None: that which an exported folder was made for.
    Raises ValueError for another backend than a folder was exported for, and as `export`.
    """
    origin = folder_of(name)
    if (facts := read_facts(origin)) is not None:
        if backend not in (None, facts["to"]):
            raise ValueError(f"{name}: exported for {facts['to']}, got backend={backend!r}; export the model for that")
        return origin
    if backend not in PACKAGES:
        raise ValueError(f"backend: expected one of torch, {', '.join(PACKAGES)}; got {backend!r}")
    cached = work_folder() / "exports" / f"{content(name)[:24]}-{backend}"
    return cached if read_facts(cached) is not None else export(name, cached, backend)


# ---------------------------------------------------------------- opening


class Exported:
    """A model of another runtime, called as a model of torch is: a batch of tokens in, logits out."""

    device = torch.device("cpu")

    def __init__(self, folder: Path, precision: str = "float32", device: str | None = None):
        self.facts = read_facts(folder)
        backend = self.facts["to"]
        require(folder, PACKAGES[backend][0])
        if device not in (None, "cpu"):
            raise ValueError(f"device: expected cpu, where exported models compute, got {device!r}")
        if precision not in ("float32", "auto"):
            raise ValueError(f"precision: expected float32, in which an exported model computes, got {precision!r}")
        self.precision: str = self.facts["precision"]  # float32 or int8
        self.config = SimpleNamespace(**read_config(folder))
        self.graphs = [OPEN[backend](folder / graph) for graph in self.facts["graphs"]]

    def __call__(self, **batch: Tensor) -> dict[str, Tensor]:
        inputs = {name: batch[name].numpy() for name in self.facts["inputs"]}
        if not self.facts["exits"]:
            outputs = self.graphs[0](inputs)
            return {name: torch.from_numpy(values) for name, values in zip(self.facts["outputs"], outputs, strict=True)}
        exit_logits = []
        for graph in self.graphs:
            *hidden, logits = graph(inputs)
            exit_logits.append(torch.from_numpy(logits))
            inputs = {"hidden": hidden[0] if hidden else None, "attention_mask": inputs["attention_mask"]}
        return {"logits": exit_logits[-1], "exit_logits": torch.stack(exit_logits, dim=1)}

    def rank(
        self, batch: Batch, alpha: Ratios, question_index: Questions = None, batch_tokens: int | None = None
    ) -> Ranking | list[Ranking]:
        """As `CascadeTransformer.rank`, of an exported cascade."""
        arrays = {name: batch[name].numpy() for name in self.facts["inputs"]}

        def advance(stage: int, inputs: Mapping[str, numpy.ndarray]) -> tuple[numpy.ndarray, dict[str, numpy.ndarray]]:
            *hidden, logits = self.graphs[stage](inputs)
            following = {"hidden": hidden[0], "attention_mask": inputs["attention_mask"]} if hidden else {}
            return log_odds(logits), following

        return rank_by_exits(arrays, advance, len(self.graphs), alpha, question_index, batch_tokens)


def _open_openvino(path: Path) -> Graph:
    import openvino

    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(path, "CPU", settings)

    def graph(inputs: Mapping[str, numpy.ndarray]) -> list[numpy.ndarray]:
        request = compiled.create_infer_request()  # one a call: threads may share the model
        return list(request.infer(dict(inputs)).values())

    return graph


def _open_onnx(path: Path) -> Graph:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if hasattr(os, "sched_getaffinity"):
        options.intra_op_num_threads = len(os.sched_getaffinity(0))  # by itself it takes all cores of the machine
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, dict(inputs))


OPEN: dict[str, Callable[[Path], Graph]] = {"openvino": _open_openvino, "onnx": _open_onnx}


# ---------------------------------------------------------------- writing


class Whole(nn.Module):
    """A model from the tokens to its logits, and to those of its heads."""

    def __init__(self, model: nn.Module, inputs: list[str]):
        super().__init__()
        self.model, self.inputs = model, inputs
        self.outputs = ["logits", "head_logits"] if hasattr(model, "heads") else ["logits"]

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        output = self.model(**dict(zip(self.inputs, tensors, strict=True)))
        logits = two_class_logits(output.logits)  # (b, c)
        return (logits, output.head_logits) if len(self.outputs) == 2 else (logits,)  # (b, k, c)


class Stage(nn.Module):
    """The layers of a cascade from one exit to the next: hidden states for what follows, and the exit's logits."""

    def __init__(self, cascade: "CascadeTransformer", number: int, inputs: list[str]):
        super().__init__()
        self.cascade, self.number = cascade, number
        self.inputs = ["hidden", "attention_mask"] if number else inputs
        self.outputs = ["logits"] if number == len(cascade.exits) - 1 else ["encoded", "logits"]

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        hidden, logits = self.cascade.stage(self.number, dict(zip(self.inputs, tensors, strict=True)))
        return (hidden, logits) if len(self.outputs) == 2 else (logits,)


def write_graphs(
    model: nn.Module, encoder: PairEncoder, out: Path, to: str, calibration: "Dataset | None"
) -> dict[str, Any]:
    """A graph of a model, or one for each stage of a cascade; returns what `Exported` reads of them."""
    for layer in model.modules():  # exported graphs know no autocast
        if isinstance(layer, Float32Linear):
            layer.__class__ = nn.Linear
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if encoder.has_token_types else [])]
    exits = list(getattr(model.config, "exits", ()))
    graphs = [Stage(model, number, inputs) for number in range(len(exits))] or [Whole(model, inputs)]
    batches = [_example()] if calibration is None else list(_batches(calibration, encoder))
    names = []
    for number, graph in enumerate(graphs):
        names.append(f"{f'stage-{number}' if exits else 'model'}.{'onnx' if to == 'onnx' else 'xml'}")
        with torch.no_grad(), tempfile.TemporaryDirectory() as scratch:
            plain = Path(scratch) / "plain.onnx"
            _trace(graph, batches[0], plain)
            if to == "onnx":
                shutil.copyfile(plain, out / names[-1])
            else:
                _write_openvino(plain, out / names[-1], None if calibration is None else batches)
            if "encoded" in graph.outputs:  # what the next stage reads
                batches = [{**batch, "hidden": graph(*(batch[name] for name in graph.inputs))[0]} for batch in batches]
    precision = "float32" if calibration is None else "int8"
    return {"precision": precision, "graphs": names, "inputs": inputs, "outputs": graphs[-1].outputs, "exits": exits}


def _trace(graph: Whole | Stage, batch: Batch, path: Path) -> None:
    """An ONNX file of any number of pairs and tokens.  Raises ValueError where torch can't make one of the model."""
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # torch tells of packages for images that it did not find
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                graph,
                tuple(batch[name] for name in graph.inputs),
                path,
                input_names=graph.inputs,
                output_names=graph.outputs,
                dynamic_shapes=(tuple(free for _ in graph.inputs),),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
    except Exception as error:  # of any kind: torch traces the model's own code
        problem = str(error).strip().partition("\n")[0]
        raise ValueError(f"a model of this family can't be exported, torch says: {problem}") from None
    finally:
        logging.disable(before)


def _example() -> Batch:
    """A batch to trace with, of sizes that are no other dimension of the model, and with padding."""
    mask = torch.ones(3, 11, dtype=torch.int64)
    mask[1, 7:] = 0
    return {"input_ids": 5 * mask, "attention_mask": mask, "token_type_ids": torch.zeros_like(mask)}


def _batches(pairs: "Dataset", encoder: PairEncoder) -> Iterator[Batch]:
    """Pairs from all over a set, in batches of like length."""
    rows = numpy.unique(numpy.linspace(0, len(pairs) - 1, CALIBRATION_PAIRS).astype(int))
    items = encoder.encode(pairs.select(rows))
    order = numpy.argsort(items.with_format("numpy")["length"][:], kind="stable")
    for start in range(0, len(order), CALIBRATION_BATCH):
        yield encoder.collate(rows_of(items.with_format("arrow"), order[start : start + CALIBRATION_BATCH].tolist()))


def _write_openvino(plain: Path, path: Path, batches: list[Batch] | None) -> None:
    """An OpenVINO graph; with batches in static int8 of what products read, while what they give is float32.

    A few units of an encoder are many times as large as the others, and would take most of the 8 bits: NNCF first moves
    their scale into the weights (SmoothQuant).
    """
    import openvino

    model = openvino.convert_model(plain)
    if batches:
        import nncf

        names = [port.any_name for port in model.inputs]
        items = nncf.Dataset([{name: batch[name].numpy() for name in names} for batch in batches])
        model = nncf.quantize(model, items, model_type=nncf.ModelType.TRANSFORMER, subset_size=len(batches))
    openvino.save_model(model, path, compress_to_fp16=False)
