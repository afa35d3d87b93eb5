"""Models for ONNX Runtime: one encoder, or a student with heads, written as a graph; and opened, as what is called and
encoded for exactly as the model that they were made from.
"""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from as2lib import models
from as2lib.data.encode import PairEncoder, load_encoder, paired
from as2lib.data.pretrained import EXPORTED, read_config
from as2lib.models.logits import Float32Linear
from as2lib.paths import expanded, require_new, whole_file

GRAPH = "model.onnx"


def export(name: str | Path, out: str | Path, int8: bool = False, max_length: int | None = None) -> Path:
    """Write a model for ONNX Runtime, which `Ranker.load(out)` opens.

    name: a model's folder or hub name.  out: a new folder, which appears whole.
    int8: whether weights are int8, and what they are multiplied with is rounded to int8 as it comes.
    max_length: tokens of a pair; default: what the tokenizer was saved with.
    Raises ValueError for a cascade, a model of words, and a folder with files in it.
    """
    out = expanded(out)
    require_new(out)
    model = models.load(name)
    encoder = paired(model, load_encoder(name, max_length))
    if not isinstance(encoder, PairEncoder) or hasattr(model.config, "exits"):
        raise ValueError(f"{name}: expected one encoder or a student with heads, got a {model.config.model_type}")
    for layer in model.eval().modules():  # graphs know no autocast
        if isinstance(layer, Float32Linear):
            layer.__class__ = nn.Linear
    mask = torch.ones(3, 11, dtype=torch.int64)  # sizes that are no other dimension of the model, and padding
    mask[1, 7:] = 0
    batch = {"input_ids": 5 * mask, "attention_mask": mask}
    if encoder.has_token_types:
        batch["token_type_ids"] = torch.zeros_like(mask)
    options: dict[str, Any] = {"dynamo": True, "external_data": False, "verbose": False}
    options["output_names"] = ["logits", "head_logits"] if hasattr(model, "heads") else ["logits"]
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}  # any number of pairs and tokens
    with whole_file(out) as folder, torch.no_grad():
        model.config.save_pretrained(folder)
        encoder.save(folder)
        torch.onnx.export(model, (), folder / GRAPH, kwargs=batch, dynamic_shapes=dict.fromkeys(batch, free), **options)
        if int8:
            from onnxruntime.quantization import QuantType, quantize_dynamic

            quantize_dynamic(folder / GRAPH, folder / GRAPH, weight_type=QuantType.QInt8)
        (folder / EXPORTED).write_text(json.dumps({"precision": "int8" if int8 else "float32"}) + "\n")
    return out


class Exported(nn.Module):
    """A model of ONNX Runtime, called as one of torch is: a batch of tokens in, logits out.

    precision: "float32" or "int8", in which it was exported.
    """

    device = torch.device("cpu")

    def __init__(self, folder: Path):
        import onnxruntime

        super().__init__()
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()  # by itself it takes all cores of the machine
        self.session = onnxruntime.InferenceSession(folder / GRAPH, options, providers=["CPUExecutionProvider"])
        self.folder = folder
        self.precision: str = json.loads((folder / EXPORTED).read_text(encoding="utf-8"))["precision"]
        self.config = SimpleNamespace(**read_config(folder))

    def __reduce__(self) -> tuple[type, tuple[Path]]:
        return Exported, (self.folder,)  # pickled by its place: a session has threads and memory of its own

    def forward(self, **batch: Tensor) -> dict[str, Tensor]:
        inputs = {port.name: batch[port.name].numpy() for port in self.session.get_inputs()}
        names = [port.name for port in self.session.get_outputs()]
        return dict(zip(names, map(torch.from_numpy, self.session.run(names, inputs)), strict=True))
