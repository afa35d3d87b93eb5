"""`as2 export`: a model's folder as another tool reads it."""

from pathlib import Path
from typing import TYPE_CHECKING

from as2lib.commands.named import LoadStudy, is_run, model_of
from as2lib.commands.output import require_free
from as2lib.paths import whole_folder

if TYPE_CHECKING:
    from datasets import Dataset


def export(
    name: str,
    load_study: LoadStudy,
    out: Path | None,
    to: str,
    int8: bool = False,
    pairs: str | None = None,
    max_length: int | None = None,
) -> None:
    """Write a model for another runtime, into a folder that appears whole."""
    from as2lib.export import export as write

    if int8 and to != "openvino":
        raise ValueError(f"--int8: expected --to openvino, got {to}")
    if out is None and not Path(name).expanduser().is_dir():
        raise ValueError(f"{name}: expected the folder to write to as well, since the model is no folder here")
    out = out or Path(name).expanduser() / to  # where `Ranker.load` looks for it
    require_free(out)
    calibration = calibration_pairs(name, load_study, pairs) if int8 else None
    folder = model_of(name, load_study)
    with whole_folder(out) as partial:
        write(folder, partial, to, calibration, max_length)
        size = sum(path.stat().st_size for path in partial.iterdir() if path.is_file()) / 2**20
    opened = "sentence_transformers.CrossEncoder" if to == "sentence-transformers" else "Ranker.load"
    print(f"written to {out}, {size:.1f} MiB; open it: {opened}({str(out)!r})")


def calibration_pairs(name: str, load_study: LoadStudy, pairs: str | None) -> "Dataset":
    """What int8 is calibrated on: the pairs that are named, or the training pairs of a study's run."""
    from as2lib.commands.scoring import read_pairs
    from as2lib.data.pairs import load_parts

    if pairs is not None:
        return read_pairs(pairs, None if Path(pairs).is_file() else "train")
    if not Path(name).expanduser().is_dir() and is_run(study := load_study(), name):
        return load_parts(study.store.planned(name).data["train"], "all")
    raise ValueError(f"{name}: expected --pairs, training pairs to calibrate int8 with; got none")
