"""The card (`README.md`) of a model folder: what it is, what it learnt from, how to use it; no clock, no folders."""

from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelCardData

from as2lib import escape
from as2lib.data.sources import split_part
from as2lib.paths import find_root
from as2lib.runs.run import Job

TEMPLATE = Path(__file__).with_suffix(".md")


def model_card(title: str, what: str, facts: dict[str, Any], base_model: str | None = None, plain: bool = True) -> str:
    """A model card, its metadata included, as Markdown.

    title: of the model.  what: a sentence that says what it is.  facts: the rows of its table (Markdown), without those
    that are empty.
    base_model: the encoder it was made from; only a hub name goes into the metadata.
    plain: whether plain transformers reads its pairs too, with a tokenizer.
    """
    hub_name = None if base_model is None or is_folder(base_model) else base_model.partition("@")[0]
    tags = ["answer-sentence-selection"]
    data = ModelCardData(library_name="transformers", pipeline_tag="text-ranking", tags=tags, base_model=hub_name)
    rows = "\n".join(f"| {name} | {value} |" for name, value in facts.items() if value)
    texts = {"title": escape.markdown(title), "what": what, "rows": rows, "plain": plain}
    return str(ModelCard.from_template(data, str(TEMPLATE), **texts)) + "\n"


def run_card(job: Job, facts: dict[str, Any]) -> str:
    """The card of a run's model.  facts: what its `done.json` keeps."""
    run, dev = job.run, facts.get("dev_MAP")
    backbone = job.lineage[0].spec.get("backbone", {})
    parts = ", then ".join(" + ".join(map(part_name, step.data["train"])) for step in job.lineage)
    rows = {
        "encoder": encoder(backbone),
        "trained on": f"{escape.code(job.pairs)}, its training questions" if job.pairs else parts,
        "loss": ", ".join([run.spec["loss"], *(f"{k} {run.spec[k]}" for k in ("alpha", "tau") if k in run.spec)]),
        "teachers": ", ".join(f"`{name}`" for name in run.parents.get("teachers", [])),
        "dev MAP": "" if dev is None else f"{100 * dev:.1f} (answered questions, ties against the system)",
        "parameters": f"{facts['parameters']:,}",
        "tokens of a pair": run.spec.get("max_length"),
        "precision": facts["precision"],
        "run": job.study and f"`{run.name}` of the study `{job.study}`, identity `{job.identity[:24]}`",
    }
    return model_card(run.name, describe(run.spec.get("mhs")), rows, backbone.get("name"), "words" not in run.spec)


def describe(shape: dict[str, Any] | None) -> str:
    """What a model is, in a sentence.  shape: body, heads and combine of a multiple-heads student, None for others."""
    if shape is None:
        return "A ranker for answer sentence selection."
    body, heads, how = shape["body"], shape["heads"], shape.get("combine", "probability")
    student = "A multiple-heads student (CERBERUS, Matsubara et al. 2022) for answer sentence selection"
    return f"{student}: {body} shared layers and {heads} ranking heads, averaged by {how}."


def encoder(backbone: dict[str, Any]) -> str:
    """What a run's backbone is: a name, or a configuration that started from nothing; "" for a model without one."""
    if name := backbone.get("name"):
        cut = f", its first {backbone['layers']} layers" if "layers" in backbone else ""
        return f"{escape.code(Path(name).name if is_folder(name) else name)}{cut}"
    if not backbone:
        return ""
    config = backbone["config"]
    kind = escape.markdown(config["model_type"])
    return f"{kind}, from nothing: {config['num_hidden_layers']} layers of {config['hidden_size']}"


def part_name(part: str) -> str:
    """A `source:split` without the folders of this machine."""
    source, split = split_part(part)
    source = Path(source).name if Path(source).expanduser().is_absolute() else source
    return escape.code(f"{source}:{split}" if split else source)


def is_folder(name: str | Path) -> bool:
    """Whether a backbone's name is a folder, absolute or from the project's root, and not a hub name."""
    return (find_root() / name).is_dir()
