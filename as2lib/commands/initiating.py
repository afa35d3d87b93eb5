"""`as2 init`: a study of one's own pairs, a template with its values filled in."""

import os
import re
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import yaml

from as2lib.commands.named import starting_encoder
from as2lib.commands.training import check_source, encoder_of, split_sizes
from as2lib.data import sets
from as2lib.models import DEFAULT_ENCODER, LEARNING_RATES, NOTHING
from as2lib.papers import Study
from as2lib.papers.taken import model_at_hand
from as2lib.paths import expanded, find_root, read_yaml, whole_file
from as2lib.study.params import STUDY_NAME

if TYPE_CHECKING:
    from datasets import Dataset

LARGER = "sentence-transformers/all-mpnet-base-v2"  # what teachers start from beside the default encoder, if at hand
TEMPLATE = Path(__file__).with_name("own.yaml")
QUICK_QUESTIONS = {"train": 200, "dev": 30, "test": 60}  # questions at most, where all is to end in minutes
QUICK_STEPS, EPOCHS, BATCH = 20, 3, 32
MADE_BY_STUDY = ("vocab_size", "pad_token_id")  # fields of a configuration


def init(source: str, name: str | None = None, encoder: str | None = None, quick: bool = False) -> None:
    """Write params/<name>.yaml, and the splits that it reads to data/<name>/; say what was assumed.

    Raises ValueError where a study, or other data, has that name; nothing is written then.
    """
    root = find_root()
    if name is None:  # My Data.tsv → my-data
        path = Path(source.partition("@")[0])
        stem = path.stem if path.suffix[1:].lower() in sets.SUFFIXES else path.resolve().name
        name = re.sub(r"^[^a-z]+", "", re.sub(r"[^a-z0-9_]+", "-", stem.lower()))[:64].rstrip("-")
    if not re.fullmatch(STUDY_NAME, name) or name == "local":
        raise ValueError(f"--name: expected letters, digits, - and _, at most 64, the first one a letter; got {name}")
    file, folder = root / "params" / f"{name}.yaml", root / "data" / name
    for path in (file, folder):
        if path.exists():
            raise ValueError(f"{path}: expected none, since it is written; give the study another --name")
    check_source(source)
    encoder_name = starting_encoder(encoder)

    from as2lib.data.pairs import draw_questions, filter_questions, load_splits, require_apart, save_pairs

    splits = load_splits(source)
    require_apart(splits, source)
    if quick:
        splits = {split: draw_questions(part, QUICK_QUESTIONS[split]) for split, part in splits.items()}
    for split, part in splits.items():
        if not any(part["label"][:]):
            raise ValueError(f"{source}: {split}: expected questions with a correct candidate, got none")
    print(f"{Path(source).name}: {split_sizes(splits)}")
    values = values_of(filter_questions(splits["train"], "answered"), encoder_name, quick)
    values |= {split: f"data/{name}/{split}.jsonl" for split in splits}
    values |= {"study": yaml_value(name), "title": yaml_value(f"{name}: pairs of one's own")}
    with whole_file(file) as temporary:
        temporary.write_text(Template(TEMPLATE.read_text(encoding="utf-8")).substitute(values), encoding="utf-8")
        runs = len(Study.load(read_yaml(temporary)["study"]).plan)  # checked, before it has its name
        for split, part in splits.items():
            save_pairs(part, folder / f"{split}.jsonl")
    command = f"make study STUDY={name}" if (root / "Snakefile").exists() else f"as2 fit {name}"
    print(f"budget: {values['steps']} steps a fit; {runs} runs, which `as2 plan {name}` lists")
    print(f"written: {file}; change what you like, then: {command}")


def values_of(pairs: "Dataset", encoder_name: str, quick: bool) -> dict[str, Any]:
    """What stands in the template, of training pairs and of what teachers and students are cut from."""
    from as2lib.models import cross_encoder
    from as2lib.models.cross_encoder import BACKBONES

    encoder, config = encoder_of(encoder_name, pairs, None)
    if encoder_name != NOTHING:
        config = cross_encoder.configuration(encoder_name).to_dict()
    depth = config.get("num_hidden_layers", 0)
    if config["model_type"] not in BACKBONES or depth < 2:
        expected = f"two layers or more of {', '.join(BACKBONES)}, which students with heads are cut from"
        raise ValueError(f"--encoder {encoder_name}: expected {expected}; got {depth} of {config['model_type']}")
    larger = encoder_name == DEFAULT_ENCODER and model_at_hand(LARGER)
    layers = depth if larger else max(2, round(depth * 2 / 3))
    steps = QUICK_STEPS if quick else EPOCHS * -(-len(pairs) // BATCH)
    if encoder_name == NOTHING:
        config = {key: value for key, value in config.items() if key not in MADE_BY_STUDY}
        config["max_position_embeddings"] = encoder.max_length + 32
        fields = {key: yaml_value(value) for key, value in config.items()}
        teacher = "config:" + "".join(f"\n        {key}: {value}" for key, value in fields.items())
        fields["num_hidden_layers"] = layers
        student = "config:" + "".join(f"\n      {key}: {value}" for key, value in fields.items())
    else:
        place = (
            os.path.relpath(expanded(encoder_name), find_root()) if expanded(encoder_name).is_dir() else encoder_name
        )
        teacher = f"name: {yaml_value(LARGER if larger else place)}"
        student = f"name: {yaml_value(place)}\n    layers: {layers}"
        depth = cross_encoder.configuration(LARGER).num_hidden_layers if larger else depth
    return {
        "teacher": teacher,
        "student": student,
        "cosine": f"\n    cosine: cosine:{encoder_name}" if encoder_name == DEFAULT_ENCODER else "",
        "depth": depth,
        "layers": layers,
        "body": layers - 1,
        "max_length": max(16, encoder.max_length),
        "steps": steps,
        "every": -(-steps // EPOCHS),
        "rate": yaml_value(LEARNING_RATES[encoder_name == NOTHING]),
        "seeds": [0] if quick else [0, 1, 2],
    }


def yaml_value(value: Any) -> str:
    """A value as YAML writes it on one line."""
    return yaml.safe_dump(value, width=10_000).splitlines()[0]
