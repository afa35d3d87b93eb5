"""Arguments and options that several commands have; and the study and the ranker that they name."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from as2lib.data.sets import note
from as2lib.papers import Study

RANKERS = "a folder, a hub name, bm25, word_overlap, cosine:NAME (a sentence encoder), or a run of a study"
StudyName = Annotated[str, Argument(help="a study's name, or its file")]
OfStudy = Annotated[str, Option("--study", help="whose runs are meant: a name, or a file")]
Changes = Annotated[list[str] | None, Option("--set", metavar="KEY=VALUE", help="such as fit.adapt.steps=10")]
Model = Annotated[str, Argument(help=RANKERS)]
Pairs = Annotated[str, Argument(help="a file, a folder of train, dev and test files, or a known set")]
Encoder = Annotated[str | None, Option(help='a hub name, a folder, or "nothing" (default: MiniLM)')]
Precision = Annotated[Literal["float32", "bf16", "auto"], Option(help="auto: bf16 where the machine has it")]
Backend = Annotated[Literal["torch", "onnx"] | None, Option(help="default: an export's, or torch")]
Device = Annotated[str | None, Option(help="cpu, cuda, cuda:1, … (default: the GPU where there is one)")]
BatchSize = Annotated[int | None, Option(min=1, max=2**16, help="pairs in a batch (default: by the machine)")]
MaxLength = Annotated[int | None, Option(min=5, max=2**15, help="tokens of a pair (default: the model's)")]
Drop = Annotated[float | None, Option(min=0, max=1, help="of a cascade: the share that each exit drops")]
OwnModel = Annotated[str | None, Option("--model", metavar="PACKAGE:CLASS", help="your own, of a folder")]
AsJson = Annotated[bool, Option("--json", help="print the table as JSON")]
Policy = Annotated[Literal["answered", "mixed", "all"], Option(help="which questions metrics count")]
Measures = Annotated[str, Option(help='by ir_measures, between blanks: "R@100 nDCG@10 Success@5"')]


def load_study(study: str, changes: list[str] | None = None) -> Study:
    """The study of a name or file, with what `--set` replaces."""
    overrides: dict[str, Any] = {}
    for change in changes or []:
        key, equals, value = change.partition("=")
        if not (key.strip(".") and equals):
            raise ValueError(f"--set: expected KEY=VALUE, such as threads=2 or fit.adapt.steps=10; got {change!r}")
        with suppress(ValueError, RecursionError):  # else it is a text
            value = json.loads(value)
        overrides[key] = value
    return Study.load(study, overrides)


def load_ranker(name: str, study: str, **settings: Any) -> Any:
    """The ranker of a name, of which a line says how it computes.  settings: of `Ranker.load`."""
    from as2lib.ranker import Ranker

    ranker = Ranker.load(model_of(name, study), **settings)
    note(f"{name} computes in {ranker.precision} on {ranker.device}")
    return ranker


def model_of(name: str, study: str) -> str | Path:
    """What `Ranker.load` is to load: a folder, first; that of a study's run; or the name.  Raises as `require_made`."""
    from as2lib.ranker import only_orders

    if os.path.isdir(name):  # of no name too long for a file either
        return Path(name)
    if only_orders(name) or name not in (loaded := load_study(study)).plan:
        return name
    require_made(loaded, name, model=True)
    return loaded.model(name)


def require_made(study: Study, name: str, model: bool) -> None:
    """Raises FileNotFoundError where fits are to be made before a run, or its model, is there: for hours, perhaps."""
    if any(study.plan[other].kind == "fit" for other in study.store.needed([name], model)):
        raise FileNotFoundError(f"{name}: no model of it is here; `as2 fit {study.name} {name}` trains what is missing")
