"""Models for other runtimes: written as graphs for ONNX Runtime and OpenVINO, or with one label for
sentence-transformers; and opened, as what is called and encoded for exactly as the model that they were made from.

m pairs · b of them in a batch · n tokens of the longest of these · d hidden units · k heads, or exits · c = 2 classes
"""

import hashlib
import json
import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
import torch
from torch import Tensor, nn

from as2lib import models
from as2lib.data.encode import PairEncoder, by_length, load_encoder, rows_of
from as2lib.metrics.pruning import Ratios
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.cross_encoder import Float32Linear, one_label, paired, two_class_logits
from as2lib.models.sequential import Questions, Ranking, rank_by_exits
from as2lib.paths import file_sha256, model_origin, work_folder
from as2lib.score import log_odds

if TYPE_CHECKING:
    from datasets import Dataset

PACKAGES = {"onnx": ("onnxruntime", "onnx", "onnxscript"), "openvino": ("openvino", "onnx", "onnxscript")}
INSTALL = 'pip install ".[serve]" in a clone of the repository'
ONE_LABEL = "sentence-transformers"
TARGETS = (*PACKAGES, ONE_LABEL)
TOKENIZER = ("tokenizer*", "vocab*", "merges.txt", "*.model", "special_tokens_map.json", "added_tokens.json")
FACTS = "export.json"  # in an exported folder: what it is, and the hash of what it was made from
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

    name: a model's folder or hub name.  out: a new folder.
    to: "onnx", "openvino", or "sentence-transformers" (the same classifier with one label).
    calibration: training pairs, for static int8; None: float32.
    max_length: tokens of a pair; default: what the tokenizer was saved with.
    Returns `out`.
    Raises ValueError for another runtime, a package that is not installed, a model of words, a folder that holds
    something, and a model with heads or exits that is to have one label.
    """
    require(to, *(["nncf"] if calibration is not None else []))
    out = Path(out).expanduser()
    require_free(out, to)
    model = models.load(name).eval()
    encoder = paired(model, load_encoder(name, max_length))
    if not isinstance(encoder, PairEncoder):
        raise ValueError(
            f"{name}: expected a model that reads tokens, got a {model.config.model_type}, which reads words"
        )
    facts = {"to": to, "source": source_hash(folder_of(name)), "precision": "float32"}
    if to == ONE_LABEL:
        if calibration is not None:
            raise ValueError(f"int8: expected one of {', '.join(PACKAGES)}, got {ONE_LABEL}")
        model = one_label(model) if model.config.num_labels == 2 else model
        out.mkdir(parents=True, exist_ok=True)
        model.save_pretrained(out)
    else:
        out.mkdir(parents=True, exist_ok=True)
        facts |= write_graphs(model, encoder, out, to, calibration)
        model.config.save_pretrained(out)
    encoder.save(out)
    (out / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return out


def require(backend: str, *packages: str) -> None:
    """Raises ValueError for a runtime that is not known, or for a package that is not installed."""
    if backend not in TARGETS:
        raise ValueError(f"expected one of {', '.join(TARGETS)}; got {backend!r}")
    missing = [package for package in (*PACKAGES.get(backend, ()), *packages) if find_spec(package) is None]
    if missing:
        raise ValueError(f"{backend} needs {', '.join(missing)}, not installed: {INSTALL}")


def require_free(out: Path, to: str) -> None:
    """Raises ValueError where a folder holds anything: an export lies alone."""
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out}: expected a new folder, got one with files in it; name another, such as {out / to}")


# ---------------------------------------------------------------- what was made from what


def read_facts(folder: Path) -> dict[str, Any] | None:
    """What an exported folder says of itself; None for any other folder."""
    path = folder / FACTS
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def weight_files(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin")])


def source_hash(folder: Path) -> str:
    """The SHA-256 of a model's weights and configuration, and of its tokenizer, which says how pairs are read."""
    digest = hashlib.sha256()
    tokenizer = sorted({path for pattern in TOKENIZER for path in folder.glob(pattern)})
    for path in [folder / "config.json", *weight_files(folder), *tokenizer]:
        digest.update(f"{path.name} {file_sha256(path)}\n".encode())
    return digest.hexdigest()


def require_current(folder: Path) -> None:
    """Raises ValueError where an export lies with, or in a folder of, weights that it was not made from."""
    facts = read_facts(folder)
    places = [folder.parent] if folder.name in TARGETS else []
    if facts["to"] != ONE_LABEL:  # which has weights of its own
        places.append(folder)
    for place in places:
        if weight_files(place) and source_hash(place) != facts["source"]:
            raise ValueError(
                f"{folder / FACTS}: exported from other weights than are in {place} now; remove what was exported, "
                f"and run: as2 export {place} {folder} --to {facts['to']}"
            )


def find(name: str | Path, backend: str | None = None) -> Path | None:
    """The exported folder that ranks for a model; None where torch does.

    backend: "torch", "onnx" or "openvino"; None: that of an exported folder, torch for any other model.
    A model that has no export in its folder (as `<folder>/onnx`) is exported in float32, once, to `work/exports/`.
    Raises ValueError for another backend than a folder was exported to, for an export that is out of date, and as
    `export`.
    """
    if backend not in (None, "torch", *PACKAGES):
        raise ValueError(f"backend: expected one of torch, {', '.join(PACKAGES)}; got {backend!r}")
    origin, _ = model_origin(name)
    folder = Path(origin) if Path(origin).is_dir() else None
    facts = None if folder is None else read_facts(folder)
    if facts is not None:
        if backend == "torch" and weight_files(folder):
            return None
        require_current(folder)
        runtime = "torch" if facts["to"] == ONE_LABEL else facts["to"]
        if backend not in (None, runtime):
            raise ValueError(f"{name}: exported for {runtime}, got backend={backend!r}; export the model for that")
        return None if runtime == "torch" else folder
    if backend in (None, "torch"):
        return None
    if folder is not None and read_facts(folder / backend) is not None:
        require_current(folder / backend)
        return folder / backend
    cached = work_folder() / "exports" / f"{source_hash(folder_of(name))[:24]}-{backend}"
    return cached if read_facts(cached) is not None else export(name, cached, backend)


def folder_of(name: str | Path) -> Path:
    """Where the files of a model are; those of a hub name are downloaded first.

    Raises ValueError where they can't be.
    """
    origin, revision = model_origin(name)
    if Path(origin).is_dir():
        return Path(origin)
    from huggingface_hub import snapshot_download

    patterns = ["*.json", "*.txt", "*.model", "*.safetensors", "pytorch_model*.bin"]
    try:
        return Path(snapshot_download(str(origin), revision=revision, allow_patterns=patterns))
    except Exception as error:  # of any kind: no network, no such name, not allowed
        problem = str(error).strip().partition("\n")[0]
        raise ValueError(f"{name}: expected a model's folder or its name on the hub: {problem}") from None


# ---------------------------------------------------------------- opening


class Exported:
    """A model of another runtime, called as a model of torch is: a batch of tokens in, logits out.

    exits: of a cascade, the layers behind which there is one.
    probabilities: whether its score is P(correct), as of the model that it was made from.
    """

    device = torch.device("cpu")

    def __init__(self, folder: str | Path, precision: str = "float32"):
        """precision: "float32", or "bf16" for what is not int8 (OpenVINO, on processors that multiply it)."""
        folder = Path(folder)
        self.facts = read_facts(folder)
        backend = self.facts["to"]
        if find_spec(PACKAGES[backend][0]) is None:
            raise ValueError(f"{folder}: needs {PACKAGES[backend][0]}, not installed: {INSTALL}")
        self.precision = "int8" if self.facts["precision"] == "int8" else precision
        self.exits: list[int] = self.facts["exits"]
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.probabilities: bool = config.get("probabilities", True)
        self.graphs = [OPEN[backend](folder / graph, precision) for graph in self.facts["graphs"]]

    def __call__(self, **batch: Tensor) -> dict[str, Tensor]:
        """What the model that it was made from returns, as a dictionary."""
        inputs = {name: batch[name].numpy() for name in self.facts["inputs"]}
        if not self.exits:
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
        length = arrays["attention_mask"].sum(axis=1)
        groups = []
        for rows in by_length(length, batch_tokens) if batch_tokens else [numpy.arange(len(length))]:
            groups.append((rows, {name: values[rows, : length[rows].max()] for name, values in arrays.items()}))

        def advance(stage: int, inputs: Mapping[str, numpy.ndarray]) -> tuple[numpy.ndarray, dict[str, numpy.ndarray]]:
            *hidden, logits = self.graphs[stage](inputs)
            following = {"hidden": hidden[0], "attention_mask": inputs["attention_mask"]} if hidden else {}
            return log_odds(logits), following

        return rank_by_exits(groups, advance, len(self.graphs), alpha, question_index)


def _open_openvino(path: Path, precision: str) -> Graph:
    import openvino

    hint = {"float32": "f32", "bf16": "bf16"}[precision]
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": hint}
    compiled = openvino.Core().compile_model(path, "CPU", settings)

    def graph(inputs: Mapping[str, numpy.ndarray]) -> list[numpy.ndarray]:
        request = compiled.create_infer_request()  # one a call: threads may share the model
        return list(request.infer(dict(inputs)).values())

    return graph


def _open_onnx(path: Path, precision: str) -> Graph:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if hasattr(os, "sched_getaffinity"):
        options.intra_op_num_threads = len(os.sched_getaffinity(0))  # by itself it takes all cores of the machine
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, dict(inputs))


OPEN: dict[str, Callable[[Path, str], Graph]] = {"openvino": _open_openvino, "onnx": _open_onnx}
PRECISIONS = {"openvino": ("float32", "bf16"), "onnx": ("float32",), "torch": ("float32", "bf16")}


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
    """The layers of a cascade from one exit to the next: hidden states for the next stage, and the exit's logits."""

    def __init__(self, cascade: CascadeTransformer, number: int, inputs: list[str]):
        super().__init__()
        self.cascade, self.number = cascade, number
        self.inputs = ["hidden", "attention_mask"] if number else inputs
        self.outputs = ["logits"] if number == len(cascade.exits) - 1 else ["encoded", "logits"]

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        inputs = dict(zip(self.inputs, tensors, strict=True))
        real, hidden = inputs["attention_mask"], inputs.get("hidden")
        if hidden is None:
            hidden = self.cascade._embed(inputs["input_ids"], inputs.get("token_type_ids"))
        hidden = self.cascade._layers_up_to(
            self.number, hidden, self.cascade._attention_mask(hidden, real)
        )  # (b, n, d)
        logits = self.cascade.exits[self.number](hidden, real)
        return (hidden, logits) if len(self.outputs) == 2 else (logits,)


def write_graphs(
    model: nn.Module, encoder: PairEncoder, out: Path, to: str, calibration: "Dataset | None"
) -> dict[str, Any]:
    """A graph of a model, or one for each stage of a cascade; returns what `Exported` needs to know of them."""
    for name, layer in list(model.named_modules()):  # exported graphs know no autocast
        if isinstance(layer, Float32Linear):
            model.set_submodule(name, _plain(layer))
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if encoder.has_token_types else [])]
    exits = list(model.config.exits) if isinstance(model, CascadeTransformer) else []
    graphs = [Stage(model, number, inputs) for number in range(len(exits))] or [Whole(model, inputs)]
    batches = [_example()] if calibration is None else list(_batches(calibration, encoder))
    names = []
    for number, graph in enumerate(graphs):
        names.append(f"{f'stage-{number}' if exits else 'model'}.{SUFFIX[to]}")
        with torch.no_grad(), tempfile.TemporaryDirectory() as scratch:
            plain = Path(scratch) / "plain.onnx"
            _trace(graph, batches[0], plain)
            WRITE[to](plain, out / names[-1], None if calibration is None else batches)
            if "encoded" in graph.outputs:  # what the next stage reads
                batches = [{**batch, "hidden": graph(*_tensors(graph, batch))[0]} for batch in batches]
    precision = "float32" if calibration is None else "int8"
    return {"precision": precision, "graphs": names, "inputs": inputs, "outputs": graphs[-1].outputs, "exits": exits}


def _plain(layer: nn.Linear) -> nn.Linear:
    plain = nn.Linear(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
    plain.weight, plain.bias = layer.weight, layer.bias
    return plain


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
                _tensors(graph, batch),
                path,
                input_names=graph.inputs,
                output_names=graph.outputs,
                dynamic_shapes=(tuple(free for _ in graph.inputs),),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
    finally:
        logging.disable(before)


def _tensors(graph: Whole | Stage, batch: Batch) -> tuple[Tensor, ...]:
    return tuple(batch[name] for name in graph.inputs)


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


SUFFIX = {"openvino": "xml", "onnx": "onnx"}
WRITE = {"openvino": _write_openvino, "onnx": _write_onnx}
