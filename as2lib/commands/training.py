"""`as2 train`: one model of one's own pairs, without any study; its folder appears whole."""

import shutil
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from as2lib import models
from as2lib.commands.named import LoadStudy, model_of, starting_encoder
from as2lib.data import sets
from as2lib.data.teacher_scores import TeacherScores
from as2lib.fit import objectives
from as2lib.models import LEARNING_RATES, NOTHING
from as2lib.paths import expanded, lock, require_new, whole_folder, work_folder
from as2lib.precision import computing_on
from as2lib.ranker import Ranker, only_orders

if TYPE_CHECKING:
    from datasets import Dataset

    from as2lib.data.encode import PairEncoder
    from as2lib.fit import Fit

STEPS_FROM_NOTHING = 600  # from nothing at most, unless a length is asked for: a first model in a minute


def train(
    source: str,
    out: Path,
    load_study: LoadStudy,
    model: str | None = None,
    teachers: Sequence[str] = (),
    teacher_scores: Sequence[str] = (),
    allow_shared_questions: bool = False,
    loss: str | None = None,
    learning_rate: float | None = None,
    max_length: int | None = None,
    **settings: Any,
) -> None:
    """Train a model, say how well it ranks beside word overlap, and leave its folder with a card.

    teachers, teacher_scores: rerankers, and files of what some said (`TeacherScores.read`).
    loss: default: ce, kd from one teacher, per_head from several.
    settings: epochs or steps, batch_size, evaluate_every, alpha, tau, seed and precision, as `fit.train` takes them;
        None: its default.
    """
    settings = {name: value for name, value in settings.items() if value is not None}
    if {"epochs", "steps"} <= settings.keys():
        raise ValueError("--steps: expected steps or epochs, got both")
    out = expanded(out)
    require_new(out)
    check_source(source)
    encoder_name = starting_encoder(model)
    for name in filter(only_orders, teachers):
        raise ValueError(f"--teacher {name}: expected a reranker, whose scores are log odds; its scores only order")
    taught = len(teachers) + len(teacher_scores)
    loss = loss or objectives.usual(taught)
    objectives.check(loss, taught)
    with lock(f"train-{sha256(str(out.resolve()).encode()).hexdigest()[:24]}", str(out)):
        require_new(out)  # another command may have made it meanwhile
        pairs = learnable(source, settings["seed"], allow_shared_questions)
        encoder, start = encoder_of(encoder_name, pairs["train"], max_length)
        settings["learning_rate"] = learning_rate or LEARNING_RATES[encoder_name == NOTHING]
        if encoder_name == NOTHING:
            import torch

            torch.set_num_threads(1)  # a small model gains nothing by more
            length = {"epochs", "steps"} & set(settings)
            if not length and 3 * len(pairs["train"]) > STEPS_FROM_NOTHING * settings.get("batch_size", 32):
                settings["steps"] = STEPS_FROM_NOTHING
        teachers = [str(model_of(name, load_study)) for name in teachers]
        for teacher in teachers:
            try:  # before anything is fitted
                models.load(teacher)
            except ValueError as error:  # it can't score pairs
                raise ValueError(f"--teacher {error}") from None
        scores = [TeacherScores.read(path) for path in teacher_scores]
        sources = [*teachers, *(teacher.of(pairs["train"]) for teacher in scores)]
        asked = [encoder_name, loss, teachers, teacher_scores, encoder.max_length, settings, str(out.resolve())]
        fit_folder = work_folder() / "trained" / f"{sha256(repr(asked).encode()).hexdigest()[:24]}.partial"
        result = fit_model(start, encoder, pairs, fit_folder, loss=loss, teachers=sources, **settings)
        with whole_folder(out) as folder:
            result.save(folder)
            dev_map = print_results(folder, pairs, teachers, scores)
            facts = {
                "trained on": f"{Path(source).name}, {len(pairs['train']):,} pairs",
                "loss": loss,
                "dev MAP": f"{dev_map:.2f} (answered questions, ties against the system, in float32)",
                "parameters": f"{result.facts['parameters']:,}",
                "tokens of a pair": encoder.max_length,
                "steps": f"{result.facts['best_step'] or 'all'} of {result.facts['steps']} (best on dev)",
                "seed": settings["seed"],
                "trained in": result.facts["precision"],
            }
            learnt_from = [*teachers, *(teacher.path.name for teacher in scores)]
            write_card(folder, out.resolve().name, [encoder_name, *learnt_from], facts)
        shutil.rmtree(fit_folder, ignore_errors=True)  # only now: where the save fails, the same command goes on
    print(f"written: {out}; now: as2 rank {out} QUESTION CANDIDATE …")


def check_source(source: str) -> None:
    """Raises where there are no such pairs, before anything is imported that reads them."""
    path = sets.on_disk(source)
    sets.resolve(source, None if path and path.is_file() else "train")


def learnable(source: str, seed: int, allow_shared_questions: bool) -> "dict[str, Dataset]":
    """Train, dev and test, all pairs."""
    from as2lib.data.pairs import load_splits, require_apart

    splits = load_splits(source, seed)
    if not allow_shared_questions:
        require_apart(splits, source, "give each split questions of its own, or --allow-shared-questions")
    for name, part in splits.items():
        if not any(part["label"][:]):
            raise ValueError(f"{source}: {name}: expected questions with a correct candidate, got none")
    print(f"data: {split_sizes(splits)}; learnt from: {len(splits['train']):,} pairs", flush=True)
    return splits


def split_sizes(splits: "dict[str, Dataset]") -> str:
    parts = [f"{name} {len(part.unique('question_id')):,}" for name, part in splits.items()]
    return f"{sum(map(len, splits.values())):,} pairs; questions: {', '.join(parts)}"


def encoder_of(name: str, train: "Dataset", max_length: int | None) -> "tuple[PairEncoder, Any]":
    """As `fit.start.encoder_of`; a line says how many pairs it cuts."""
    from as2lib.data.encode import cut_share
    from as2lib.fit.start import encoder_of, measured

    encoder, start = encoder_of(name, train, max_length)
    share = f"{cut_share(measured(train), encoder):.1%}"
    start_name = "a small encoder from nothing" if name == NOTHING else name
    print(f"model: {start_name}; {encoder.max_length} tokens a pair, which cuts {share} of them", flush=True)
    return encoder, start


def fit_model(
    start: Any, encoder: "PairEncoder", pairs: "dict[str, Dataset]", folder: Path, loss: str, **settings: Any
) -> "Fit":
    """The fit, from a model's start; a killed one goes on in its folder."""
    from as2lib import fit

    folder.mkdir(parents=True, exist_ok=True)
    rate, seed = settings["learning_rate"], settings["seed"]
    length = f"{settings['steps']} steps" if "steps" in settings else f"{settings.get('epochs', 3)} epochs"
    where = f"{settings['precision']} on {computing_on()}"
    print(f"training: loss {loss}, {length}, {where}, learning rate {rate:g}, seed {seed}", flush=True)
    result = fit.train(
        pairs["train"],
        start,
        loss,
        dev=pairs["dev"],
        encoder=encoder,
        folder=folder,
        progress=True,
        allow_shared_questions=True,  # that is seen to
        **settings,
    )
    result.checkpoint = None  # it goes with its folder
    if best_step := result.facts["best_step"]:
        print(f"kept: the weights of step {best_step}, the best on dev", flush=True)
    return result


def print_results(
    folder: Path, splits: "dict[str, Dataset]", teachers: Sequence[str] = (), scores: "Sequence[TeacherScores]" = ()
) -> float:
    """Print what a folder's model reaches, below word overlap and its teachers; returns its dev MAP, in percent."""
    from as2lib.commands.output import print_rows
    from as2lib.commands.scoring import counted_by, metrics_row, score_pairs

    rankers = {"word overlap": "word_overlap"} if find_spec("spacy") else {}  # of the extra [study]
    rankers |= {f"teacher {Path(teacher).name}": teacher for teacher in teachers}
    rankers["this model"] = folder
    maps: dict[str, dict[str, float]] = {"dev": {}, "test": {}}
    rows = []
    for split, split_maps in maps.items():
        pairs = splits[split]
        tables = {name: score_pairs(Ranker.load(source), pairs) for name, source in rankers.items()}
        for teacher in scores:
            if teacher.has(pairs):
                tables[f"teacher {teacher.path.name}"] = tables["this model"].assign(log_odds=teacher.of(pairs))
        for name, table in tables.items():
            rows.append(metrics_row(f"{split}: {name}", table))
            split_maps[name] = rows[-1]["MAP"]
    print_rows(rows, counted_by("answered"))
    for name, dev_map in maps["dev"].items():
        if name.startswith("teacher ") and dev_map < maps["dev"].get("word overlap", 0):
            sets.note(f"{name} ranks dev below word overlap: are its scores log odds, the higher the better?")
    return maps["dev"]["this model"]


def write_card(folder: Path, title: str, models: Sequence[str], facts: dict[str, Any]) -> None:
    """Write README.md: what a model is, what it learnt from, how to use it.  models: its encoder, then its teachers."""
    names = [Path(name).name if expanded(name).is_dir() else name for name in models]  # no folders from here
    facts = {"encoder": names[0], "teachers": ", ".join(names[1:]), **facts}
    rows = "\n".join(f"| {name} | {value} |" for name, value in facts.items() if value not in (None, ""))
    card = Template(Path(__file__).with_name("card.md").read_text(encoding="utf-8"))
    text = card.substitute(title=title, rows=rows)
    (folder / "README.md").write_text(text, encoding="utf-8", errors="replace")
