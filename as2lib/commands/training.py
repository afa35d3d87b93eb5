"""`as2 train`: one model of one's own pairs, without any study; its folder appears whole."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Annotated, Any

from typer import Option

from as2lib.commands.options import Encoder, OfStudy, Pairs, Precision, model_of
from as2lib.data.sets import note
from as2lib.paths import require_new, whole_file

STEPS_FROM_NOTHING = 600  # from nothing at most, unless a length is asked for: a first model in a minute
FIT_OPTIONS = "epochs steps evaluate_every learning_rate batch_size max_length alpha tau seed".split()  # of `fit.train`


def train(
    pairs: Pairs,
    out: Annotated[Path, Option(help="where the model's folder goes")],
    model: Encoder = None,
    teacher: Annotated[list[str] | None, Option(help="any reranker; of several each has a head")] = None,
    loss: Annotated[str | None, Option(help="ce, ranknet, listwise_kl, kd, … or my.module:function")] = None,
    teacher_scores: Annotated[list[str] | None, Option(help="a table of what a teacher said")] = None,
    alpha: Annotated[float | None, Option(min=0, max=1, help="weight of labels beside teachers; default: 0.5")] = None,
    tau: Annotated[float | None, Option(help="temperature of distillation (default: 3)")] = None,
    epochs: Annotated[int | None, Option(min=1, help="passes over the pairs (default: 3)")] = None,
    steps: Annotated[int | None, Option(min=1, help="batches, instead of epochs")] = None,
    evaluate_every: Annotated[int | None, Option(min=1, help="steps between looks at dev; default: a tenth")] = None,
    learning_rate: Annotated[float | None, Option(min=1e-12, help="4e-5; from nothing: 5e-4")] = None,
    batch_size: Annotated[int | None, Option(min=1, help="pairs in a batch (default: 32)")] = None,
    max_length: Annotated[int | None, Option(min=5, help="tokens; default: what holds 99 %")] = None,
    allow_shared_questions: Annotated[bool, Option("--allow-shared-questions", help="with dev or test")] = False,
    seed: Annotated[int, Option(min=0, max=2**32 - 1, help="of the fit, and of the split of a single file")] = 0,
    precision: Precision = "float32",
    study: OfStudy = "sample",
) -> None:
    """One model of your own pairs.  Its dev MAP is what `as2 score` gives, in float32."""
    settings = {name: value for name, value in locals().items() if name in FIT_OPTIONS and value is not None}
    import torch

    from as2lib import fit
    from as2lib.data.encode import cut_share
    from as2lib.data.teacher_scores import TeacherScores
    from as2lib.fit import objectives
    from as2lib.fit.loop import measured
    from as2lib.models import DEFAULT_ENCODER, NOTHING
    from as2lib.precision import computed_in, computing_on
    from as2lib.ranker import only_orders

    out = out.resolve()
    require_new(out)
    teachers, tables, model = teacher or [], teacher_scores or [], model or DEFAULT_ENCODER
    for name in filter(only_orders, teachers):
        raise ValueError(f"--teacher {name}: expected a reranker, whose scores are log odds; its scores only order")
    loss = objectives.checked(loss, len(teachers) + len(tables))
    if not objectives.declared(loss).balanced and {"alpha", "tau"} & settings.keys():
        raise ValueError(f"--alpha, --tau: expected a loss that weighs labels and teachers, such as kd; got {loss}")
    splits = splits_of(pairs, seed, allow_shared_questions)
    settings["precision"] = computed_in(precision)
    if model == NOTHING:
        torch.set_num_threads(1)  # a small model gains nothing by more
        if not (epochs or steps) and 3 * len(splits["train"]) > STEPS_FROM_NOTHING * (batch_size or 32):
            settings["steps"] = STEPS_FROM_NOTHING
    teachers = [str(model_of(name, study)) for name in teachers]
    scores = [TeacherScores.read(path) for path in tables]
    line = ", ".join(f"{name} {value}" for name, value in settings.items())
    what = "a small encoder from nothing" if model == NOTHING else model
    print(f"training {what} on {computing_on()}: loss {loss}, {line}", flush=True)
    log_odds = [teacher.of(splits["train"]) for teacher in scores]
    folder = out.with_name(f"{out.name}.partial")
    options = settings | {"folder": folder, "allow_shared_questions": True, "progress": True}  # that is seen to
    result = fit.train(splits["train"], model, loss, [*teachers, *log_odds], splits["dev"], **options)
    share = cut_share(measured(splits["train"]), result.encoder)
    print(f"{result.encoder.max_length} tokens a pair, which cuts {share:.1%} of them", flush=True)
    with whole_file(out) as temporary:
        result.save(temporary)
        dev_map = print_results(temporary, splits, teachers, scores)
        facts = {
            "encoder": base_name(what),
            "teachers": ", ".join(map(base_name, [*(teacher or []), *tables])) or "none",
            "trained on": f"{Path(pairs).name}, {len(splits['train']):,} pairs",
            "loss": loss,
            **settings,
            **{name: fact for name, fact in result.facts.items() if name != "seconds"},  # the same bytes again
            "max_length": result.encoder.max_length,
            "dev_MAP": f"{dev_map:.2f} (answered questions, ties against the system, in float32)",
        }
        card = Template(Path(__file__).with_name("card.md").read_text(encoding="utf-8"))
        text = card.substitute(title=out.name, rows="\n".join(f"| {name} | {value} |" for name, value in facts.items()))
        (temporary / "README.md").write_text(text, encoding="utf-8", errors="replace")
    shutil.rmtree(folder)  # only now: where the save fails, the same command goes on
    print(f"written: {out}; now: as2 rank {out} QUESTION CANDIDATE …")


def splits_of(source: str, seed: int, allow_shared_questions: bool) -> dict[str, Any]:
    """Train, dev and test, all pairs.  Raises ValueError where one has no question with a correct candidate."""
    from as2lib.data.pairs import load_splits, require_apart

    splits = load_splits(source, seed)
    if not allow_shared_questions:
        require_apart(splits, source, "give each split questions of its own, or --allow-shared-questions")
    for name, part in splits.items():
        if not any(part["label"][:]):
            raise ValueError(f"{source}: {name}: expected questions with a correct candidate, got none")
    sizes = ", ".join(f"{name} {len(part.unique('question_id')):,}" for name, part in splits.items())
    pairs = f"{sum(map(len, splits.values())):,} pairs; questions: {sizes}"
    print(f"data: {pairs}; learnt from: {len(splits['train']):,} pairs", flush=True)
    return splits


def print_results(folder: Path, splits: dict[str, Any], teachers: list[str], scores: list[Any]) -> float:
    """Print what a folder's model reaches, below word overlap and its teachers; returns its dev MAP, in percent."""
    from as2lib.commands.tables import metrics_row, print_rows, score_pairs
    from as2lib.ranker import Ranker

    rankers = {"word overlap": "word_overlap"} if find_spec("spacy") else {}  # of the extra [study]
    rankers |= {f"teacher {Path(teacher).name}": teacher for teacher in teachers}
    rankers["this model"] = folder
    rows = {}
    for split in ("dev", "test"):
        pairs = splits[split]
        tables = {name: score_pairs(Ranker.load(source), pairs) for name, source in rankers.items()}
        for teacher in (teacher for teacher in scores if teacher.has(pairs)):
            tables[f"teacher {teacher.path.name}"] = tables["this model"].assign(log_odds=teacher.of(pairs))
        rows |= {(split, name): metrics_row(f"{split}: {name}", table) for name, table in tables.items()}
    print_rows([*rows.values()], "policy answered, ties against the system")
    floor = rows.get(("dev", "word overlap"), {"MAP": 0})["MAP"]
    for (split, name), row in rows.items():
        if split == "dev" and name.startswith("teacher ") and row["MAP"] < floor:
            note(f"{name} ranks dev below word overlap: are its scores log odds, the higher the better?")
    return rows["dev", "this model"]["MAP"]


def base_name(name: str) -> str:
    """The name of a model or a file, without the folders of this machine."""
    return Path(name).name if os.path.exists(name) else name
