"""`as2 train`: one cross-encoder or multiple-heads student from pairs of one's own, without any study."""

import json
import math
import os
import shutil
from argparse import Namespace
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from as2lib.commands import print_metrics
from as2lib.data.own import Own, own_pairs
from as2lib.init import NOTHING, chosen_encoder, given_columns, shipped, study_name, tokens_of
from as2lib.intact import file_sha256
from as2lib.paths import find_root, work_folder
from as2lib.precision import computed_in
from as2lib.runs.beforehand import require_apart
from as2lib.runs.finished import Finished
from as2lib.runs.identity import data_identity, weights_identity
from as2lib.runs.params import APART, Training
from as2lib.runs.run import Job, Run
from as2lib.runs.store import KERNELS

BALANCE = {"alpha": 0.5, "tau": 3}  # CERBERUS's weight of the hard loss and temperature, as in every study here
EPOCHS = 3
RATES = {True: 5e-4, False: 4e-5}  # highest learning rate, by whether the model starts from nothing
BATCH = 32


def train(options: Namespace) -> None:
    """Train one model, say how well it ranks beside word overlap, and leave its folder."""
    if (options.out / "config.json").exists():
        raise ValueError(f"--out {options.out}: a model is there already; name another folder, or remove it")
    teachers = [teacher(folder) for folder in options.teacher]
    encoder, why = chosen_encoder(options.model, quick=False)
    name = study_name(options.pairs)
    own = own_pairs(options.pairs, find_root() / "data" / name, given_columns(options.columns))
    if not options.allow_shared_questions:
        splits = {split: (found.part,) for split, found in own.splits.items()}
        require_apart(splits, f"{APART}, or allow it: --allow-shared-questions")
    job = job_of(own, encoder, teachers, options)
    heads = f"{len(teachers)} heads, one a teacher" if len(teachers) > 1 else f"{len(teachers) or 'no'} teacher"
    steps, threads = job.run.spec["training"]["steps"], f"{job.threads} thread{'s' * (job.threads > 1)}"
    training = f"training: {steps} steps of {BATCH} pairs, {job.precision}, {threads}"
    print(*own.said, f"model: {why}; {heads}", training, sep="\n", flush=True)
    made = made_in(job)
    for split in ("dev", "test"):
        trivial, found = scores(job, made, split)
        print_metrics(f"{split}: word overlap", trivial, "answered")
        print_metrics(f"{split}: this model", found, "answered")
    shutil.copytree(made / "model", options.out, dirs_exist_ok=True)
    shutil.rmtree(made)
    print(f"written: {options.out}; now: as2 rank {options.out} QUESTION CANDIDATE …")


def teacher(folder: Path) -> Finished:
    """A model folder as a run that teaches.  Raises FileNotFoundError where it is none."""
    if not (folder / "config.json").exists():
        raise FileNotFoundError(
            f"--teacher {folder}: expected a model folder (with config.json), as `as2 train` leaves one"
        )
    its = (path for path in sorted(folder.iterdir()) if path.suffix in (".json", ".safetensors"))
    files = {path.name: file_sha256(path) for path in its}
    run = Run(folder.name, "fit", {"max_length": None}, {}, 0, "")
    return Finished(run, _digest(files), {}, folder)


def job_of(own: Own, encoder: str, teachers: Sequence[Finished], options: Namespace) -> Job:
    """The fit: cross entropy without a teacher, distillation from one, a head for each of several."""
    nothing, data = encoder == NOTHING, {split: [found.part] for split, found in own.splits.items()}
    steps = max(1, math.ceil(own.splits["train"].learnt * (options.epochs or EPOCHS) / BATCH))
    training = Training(
        steps=steps,
        batch_size=BATCH,
        learning_rate=options.learning_rate or RATES[nothing],
        evaluate_every=max(1, steps // 4),
    )
    spec: dict[str, Any] = {"loss": "ce", "max_length": tokens_of(own, False), "backbone": {"name": encoder}}
    spec["training"] = training.model_dump(exclude_none=True)
    if nothing:
        config = shipped("sample")["backbones"]["electra"]["large"]["config"]
        spec["backbone"] = {"config": {**config, "max_position_embeddings": spec["max_length"] + 32}}
        data["vocabulary"] = data["train"]
    if teachers:
        spec |= {"loss": "kd" if len(teachers) == 1 else "per_head", **BALANCE}
    if len(teachers) > 1:
        spec["mhs"] = {"body": layers(spec["backbone"]) - 1, "heads": len(teachers), "combine": "probability"}
    run = Run(options.out.name, "fit", spec, data, options.seed, "", {"teachers": [one.name for one in teachers]})
    made_from = {"spec": spec, "seed": options.seed, "teachers": [one.identity for one in teachers], "kernels": KERNELS}
    made_from["data"] = {role: [data_identity(part) for part in parts] for role, parts in data.items()}
    made_from["weights"] = None if nothing else weights_identity(encoder)
    threads = 1 if nothing else os.cpu_count() or 1  # small models gain nothing by more
    precision = computed_in(options.precision)
    made_from |= {"threads": threads, "precision": precision}
    return Job(run, _digest(made_from), {"teachers": list(teachers)}, [run], "", threads, precision, True, own.name)


def layers(backbone: dict[str, Any]) -> int:
    """How many layers an encoder has.  Raises ValueError for what is no plain encoder."""
    from as2lib.models import cross_encoder

    config = backbone["config"] if "config" in backbone else cross_encoder.configuration(backbone["name"]).to_dict()
    if config.get("num_hidden_layers", 0) < 2:
        raise ValueError(
            f"--model {backbone.get('name')}: expected an encoder of two layers or more, to share all but one"
        )
    return config["num_hidden_layers"]


def made_in(job: Job) -> Path:
    """Train in a folder of the fit's own, so that an interrupted one goes on."""
    from as2lib.runs.fit import train as fit

    folder = work_folder() / "trained" / f"{job.identity[:24]}.partial"
    folder.mkdir(parents=True, exist_ok=True)
    fit(job, folder, progress=True)
    return folder


def scores(job: Job, folder: Path, split: str) -> tuple[Any, Any]:
    """What word overlap gives on a split, ties by the order, and what the model gave."""
    import pandas

    from as2lib.data.pairs import load_parts
    from as2lib.models import lexical

    found = pandas.read_parquet(folder / "scores" / f"{split}.parquet")
    pairs = load_parts(tuple(job.run.data[split]), "all")
    return found.assign(score=lexical.overlap_then_rank(pairs)), found


def _digest(made_from: Any) -> str:
    return sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()
