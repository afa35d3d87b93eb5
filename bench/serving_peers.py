"""sentence-transformers' CrossEncoder in a process of its own: `serving` asks on stdin, a line a question, in JSON.

Needs nothing of this project: the package's own backends ask for versions that ours does without.
"""

import json
import os
import sys
import time
from pathlib import Path


def load(which: str, folder: str, scratch: Path) -> dict[str, tuple]:
    """By name: a CrossEncoder, and the MiB of its file.  which: "torch", or "backends" with the int8 it advises."""
    import sentence_transformers
    from sentence_transformers import CrossEncoder

    version = f"sentence-transformers {sentence_transformers.__version__}"
    if which == "torch":
        size = file_size(Path(folder), "*.safetensors")
        return {f"{version}: torch, float32": (CrossEncoder(folder, device="cpu"), size)}
    import onnxruntime

    models, options = {}, onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # OpenVINO counts the cores that the process may use, ONNX Runtime all
    for backend, suffix in (("onnx", "onnx"), ("openvino", "bin")):
        kept, settings = scratch / backend, {"session_options": options} if backend == "onnx" else {}
        model = CrossEncoder(folder, backend=backend, device="cpu", model_kwargs={"export": True, **settings})
        model.save_pretrained(str(kept))
        models[f"{version}: {backend}, float32"] = (model, file_size(kept, f"**/*model.{suffix}"))
        try:
            name = quantized(model, backend, kept)
            small = CrossEncoder(str(kept), backend=backend, device="cpu", model_kwargs={"file_name": name, **settings})
            stem = Path(name).stem
            models[f"{version}: {backend}, {HOW[backend]}"] = (small, file_size(kept, f"**/{stem}.{suffix}"))
        except Exception as error:
            print(f"{backend} int8: {error}", file=sys.stderr)
    return models


HOW = {"onnx": "dynamic int8 (avx2)", "openvino": "static int8"}


def quantized(model, backend: str, kept: Path) -> str:
    from sentence_transformers import backend as backends

    if backend == "onnx":
        backends.export_dynamic_quantized_onnx_model(model, "avx2", str(kept))
        return str(next((kept / "onnx").glob("model_q*_avx2.onnx")).relative_to(kept))  # qint8 or quint8
    backends.export_static_quantized_openvino_model(model, None, str(kept))
    return "openvino/openvino_model_qint8_quantized.xml"


def file_size(folder: Path, pattern: str) -> float:
    return sum(path.stat().st_size for path in folder.glob(pattern)) / 2**20


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print goes to stderr
    models = load(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    print(json.dumps({name: size for name, (_, size) in models.items()}), file=answers, flush=True)
    for line in sys.stdin:
        name, pairs, repeats = json.loads(line)
        start = time.process_time()
        for _ in range(repeats):
            logits = models[name][0].predict([tuple(pair) for pair in pairs], show_progress_bar=False)
        seconds = (time.process_time() - start) / repeats
        print(json.dumps([[float(row[1] - row[0]) for row in logits], seconds]), file=answers, flush=True)
