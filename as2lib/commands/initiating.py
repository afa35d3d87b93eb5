"""`as2 init`: a study of one's own pairs, a template with its values filled in."""

import json
import os
import re
from pathlib import Path
from string import Template
from typing import Annotated, Any

from typer import Option

from as2lib.commands.options import Encoder, Pairs
from as2lib.commands.training import splits_of
from as2lib.models import DEFAULT_ENCODER, LEARNING_RATES, NOTHING
from as2lib.papers import Study
from as2lib.papers.taken import at_hand
from as2lib.paths import find_root, read_yaml, whole_file
from as2lib.study.params import STUDY_NAME

LARGER = "sentence-transformers/all-mpnet-base-v2"  # what teachers start from beside the default encoder, if at hand
QUICK_QUESTIONS = {"train": 200, "dev": 30, "test": 60}  # questions at most, where all is to end in minutes
QUICK_STEPS, EPOCHS, BATCH = 20, 3, 32


def init(
    pairs: Pairs,
    name: Annotated[str | None, Option(help="of the study (default: that of the file or folder)")] = None,
    encoder: Encoder = None,
    quick: Annotated[bool, Option("--quick", help="small, one that ends in minutes")] = False,
) -> None:
    """A study of your own pairs: writes params/<name>.yaml."""
    from as2lib.data.pairs import draw_questions, filter_questions, label_blind_order, order_warning

    root = find_root()
    name = name or Path(pairs.partition("@")[0]).stem
    if not re.fullmatch(STUDY_NAME, name) or name == "local":
        raise ValueError(f"--name: expected letters, digits, - and _, at most 64, the first one a letter; got {name}")
    file, folder = root / "params" / f"{name}.yaml", root / "data" / name
    for path in (file, folder):
        if path.exists():
            raise ValueError(f"{path}: expected none, since it is written; give the study another --name")
    splits = splits_of(pairs, seed=0, allow_shared_questions=False)
    if any(order_warning(split, part) for split, part in splits.items()):
        splits = {name: part.select(label_blind_order(part.with_format("arrow")[:])) for name, part in splits.items()}
        print("the study's files have each question's candidates in an order that does not give the labels away")
    if quick:
        splits = {split: draw_questions(part, QUICK_QUESTIONS[split]) for split, part in splits.items()}
    values = values_of(filter_questions(splits["train"], "answered"), encoder or DEFAULT_ENCODER, quick)
    values |= {"study": name, **{split: f"data/{name}/{split}.jsonl" for split in splits}}
    template = Template(Path(__file__).with_name("own.yaml").read_text(encoding="utf-8"))
    with whole_file(file) as temporary:
        temporary.write_text(template.substitute(values), encoding="utf-8")
        runs = len(Study.load(read_yaml(temporary)["study"]).plan)  # checked, before it has its name
        folder.mkdir(parents=True)
        for split, part in splits.items():
            part.to_json(folder / f"{split}.jsonl", force_ascii=False)
    command = f"make study STUDY={name}" if (root / "Snakefile").exists() else f"as2 fit {name}"
    print(f"budget: {values['steps']} steps a fit; {runs} runs, which `as2 plan {name}` lists")
    print(f"written: {file}; change what you like, then: {command}")


def values_of(pairs: Any, name: str, quick: bool) -> dict[str, Any]:
    """What stands in the template, of training pairs and of what teachers and students are cut from."""
    from as2lib.fit.loop import encoder_of
    from as2lib.models import cross_encoder

    encoder, start = encoder_of(name, pairs, None)
    config = start if name == NOTHING else cross_encoder.configuration(name).to_dict()
    depth = config.get("num_hidden_layers", 0)
    if config["model_type"] not in cross_encoder.BACKBONES or depth < 2:
        expected = f"two layers or more of {', '.join(cross_encoder.BACKBONES)}, which students are cut from"
        raise ValueError(f"--encoder {name}: expected {expected}; got {depth} of {config['model_type']}")
    has_larger = name == DEFAULT_ENCODER and at_hand(LARGER)
    layers = depth if has_larger else max(2, round(depth * 2 / 3))
    if name == NOTHING:
        config = {key: value for key, value in config.items() if key not in ("vocab_size", "pad_token_id")}
        config["max_position_embeddings"] = encoder.max_length + 32
        teacher = f"config: {json.dumps(config)}"
        student = f"config: {json.dumps(config | {'num_hidden_layers': layers})}"
    else:
        teacher = f"name: {json.dumps(os.path.relpath(name, find_root()) if os.path.isdir(name) else name)}"
        student = f"{teacher}\n    layers: {layers}"
    if has_larger:
        teacher, depth = f"name: {LARGER}", cross_encoder.configuration(LARGER).num_hidden_layers
    steps = QUICK_STEPS if quick else EPOCHS * -(-len(pairs) // BATCH)
    return {
        "teacher": teacher,
        "student": student,
        "depth": depth,
        "layers": layers,
        "body": layers - 1,
        "max_length": max(16, encoder.max_length),
        "steps": steps,
        "every": -(-steps // EPOCHS),
        "rate": LEARNING_RATES[name == NOTHING],
        "seeds": [0] if quick else [0, 1, 2],
    }
