"""`as2 init`: a study of one's own pairs: a file that reads from top to bottom, its budgets fitted to them."""

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from as2lib.commands.named import NOTHING, starting_encoder
from as2lib.commands.training import counts, require_apart, sample_of
from as2lib.data import sets
from as2lib.data.pairs import draw_questions, filter_questions, leaks, load_pairs, load_splits, save_pairs
from as2lib.paths import PACKAGE, find_root, whole_file
from as2lib.study import Study
from as2lib.study.params import NAME, read

if TYPE_CHECKING:
    from datasets import Dataset

QUICK = {"train": 200, "dev": 30, "test": 60}  # questions at most, where all is to end in minutes
MANY = 10  # candidates a question from which on pruning them is worth a notebook
EPOCHS, BATCH = 4, 32
OBJECTIVES = {"pointwise": "point-wise", "listwise": "list-wise", "pairwise": "pair-wise"}  # of teachers, labelled
ABOVE = {  # what stands above a section of the file
    "data": "Pair sets as a file, or as source:split.",
    "teachers": "In order; the first is the student's own.  base: the base model of its kind, if not the student.",
    "student": "The encoder from which students, heads and the untaught base start.",
    "fit": "steps of batch_size pairs; warmup: their share with a rising rate; evaluate_every: steps between looks at\n"
    "# dev, whose best weights are kept; patience: looks without a better dev MAP before a fit stops.",
    "distillation": "alpha: weight of the hard loss; tau: temperature.",
    "mhs": "The student with heads.  body: layers that they share.",
    "seeds": "Of the headline rows; grid_seeds are those of ablations.",
    "latency": "Table 5 of CERBERUS: what is timed.",
    "cascade": "The Cascade Transformer.  exits: layers behind which there is a classifier.",
    "cosinet": "The models without a transformer.",
}
OWN = """
# Systems of your own stand beside the papers', in 03 and 11: name a loss (or package.module:function), teachers, both.
# own:
#   mine:
#     loss: ranknet
#   taught:
#     loss: kd
#     teachers: [{teacher}]
"""


def init(
    source: str, name: str | None = None, encoder: str | None = None, quick: bool = False, force: bool = False
) -> None:
    """Write params/<name>.yaml, and the splits that it reads where there are none; say what was assumed.

    source: a file, a folder of train, dev and test files, or a known set.  encoder: what teachers and students are cut
    from: a hub name, a folder, or "nothing".  quick: a study that ends in minutes.
    Raises ValueError where a study, or other data, has that name, but for `force`; nothing is written then.
    """
    root = find_root()
    name = name or study_name(source)
    if not re.fullmatch(NAME, name) or name == "local":
        raise ValueError(f"--name {name}: expected letters, digits, - and _, at most 64, the first one a letter")
    file, folder = root / "params" / f"{name}.yaml", root / "data" / name
    if file.exists() and not force:
        raise ValueError(f"params/{name}.yaml is there already: --force writes it anew, --name OTHER another one")
    encoder_name = place_of(starting_encoder(encoder, "--encoder"))
    why = "small ones from nothing" if encoder_name == NOTHING else encoder_name
    splits = load_splits(source)
    require_apart(source, splits)
    drawn = {split: draw_questions(part, QUICK[split]) for split, part in splits.items()} if quick else splits
    for split, part in drawn.items():
        if not any(part["label"][:]):
            raise ValueError(f"{source}: {split}: expected questions with a correct candidate, got none")
    parts = parts_as_they_are(source)
    new = parts is None or any(len(drawn[split]) < len(splits[split]) for split in splits)
    if new:
        parts = {split: f"data/{name}/{split}.jsonl" for split in drawn}
        require_no_input(folder, source, force)
    content = content_of(name, drawn, parts, encoder_name, quick)
    study = Study.of_notebook(content)  # checked, before anything is written
    planned = len(study.plan)
    if new:
        for split, part in drawn.items():
            save_pairs(part, folder / f"{split}.jsonl")
    lines = assumed(source, drawn, why, content)
    write(file, content, [f"Made by `as2 init {Path(source).name}`; params/sample.yaml says more of each key.", *lines])
    print("\n".join(lines))
    print(f"{planned} runs; `as2 plan {name}` lists them")
    place = "" if Path.cwd().resolve() == root else f" (in {root})"
    command = f"make study STUDY={name}" if (root / "Snakefile").exists() else f"as2 fit {name}"
    print(f"written: params/{name}.yaml{place}; change what you like, then: {command}")


def study_name(source: str) -> str:
    """A study's name from that of a file, a folder or a known set: `My Data.tsv` → my-data."""
    path = Path(source.partition("@")[0])
    stem = path.stem if path.suffix[1:].lower() in sets.SUFFIXES else path.resolve().name
    name = re.sub(r"^[^a-z]+", "", re.sub(r"[^a-z0-9_]+", "-", stem.lower()))[:64].rstrip("-")
    if not name or name == "local":
        raise ValueError(f"{source}: no name for a study can be made of it; say --name")
    return name


def place_of(encoder: str) -> str:
    """An encoder as the file names it: a folder from the root, where it is inside, else by its whole path."""
    folder, root = Path(encoder).expanduser().resolve(), find_root()
    if encoder == NOTHING or not folder.is_dir():
        return encoder
    return folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder)


# ---------------------------------------------------------------- data


def parts_as_they_are(source: str) -> dict[str, str] | None:
    """The parts of a source that has train, dev and test itself; None where splits are to be made."""
    path = sets.on_disk(source)
    if path and path.is_file():
        return None
    for split in sets.SPLITS:
        try:
            sets.resolve(source, split)
        except sets.NoSplit:
            return None
    if path is None:
        return {split: f"{source}:{split}" for split in sets.SPLITS}
    path, root = path.resolve(), find_root()
    place = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    return {split: f"{place}:{split}" for split in sets.SPLITS}


def require_no_input(folder: Path, source: str, force: bool) -> None:
    """Raises ValueError where splits would be written over somebody's files: the source's own, or a study's."""
    path = sets.on_disk(source)
    written = [folder / f"{split}.jsonl" for split in sets.SPLITS]
    inputs = {path.resolve(), *(file.resolve() for file in path.glob("*"))} if path else set()
    if inputs.intersection(file.resolve() for file in written):
        raise ValueError(f"{source}: its files are those that would be written, in {folder}; say --name OTHER")
    present = [file for file in written if file.exists()]
    if present and not force:
        raise ValueError(f"{present[0]} is there already: --force writes it anew, --name OTHER another one")


def transfer_set(splits: "dict[str, Dataset]", encoder: str) -> str | None:
    """What encoders from nothing learn first: the embedded corpus, where it shares no question with one's own."""
    if encoder != NOTHING:
        return None
    corpus = load_pairs("sample-transfer", "train", "all")
    apart = not any(leaks(part, corpus).questions for part in splits.values())
    return "sample-transfer:train" if apart else None


# ---------------------------------------------------------------- what the file says


def content_of(
    name: str, splits: "dict[str, Dataset]", parts: dict[str, str], encoder: str, quick: bool
) -> dict[str, Any]:
    """The keys of the study's file, in the order in which they are read."""
    from as2lib.data.encode import fitting_length, word_tokenizer
    from as2lib.models import cross_encoder
    from as2lib.models.mhs import BACKBONES

    learnt = filter_questions(splits["train"], "answered")
    some = sample_of(learnt)
    if encoder == NOTHING:
        tokenizer, config = word_tokenizer([*some["question"][:], *some["answer"][:]], 512), None
    else:
        tokenizer, config = cross_encoder.tokenizer(encoder), cross_encoder.configuration(encoder)
        depth = getattr(config, "num_hidden_layers", 0)
        if config.model_type not in BACKBONES or depth < 2:
            expected = f"expected two layers or more of {', '.join(BACKBONES)}, which students with heads are cut from"
            raise ValueError(f"--encoder {encoder}: {expected}; got {depth} of {config.model_type}")
    length = fitting_length(some, tokenizer, config)
    length = max(16, min(length, 48) if quick else length)
    first = transfer_set(splits, encoder)
    answered = len(filter_questions(splits["test"], "answered").unique("question_id"))
    short = "small encoders from nothing" if encoder == NOTHING else Path(encoder.partition("@")[0]).name
    data: dict[str, Any] = {"target": parts}
    if first:
        data["transfer"] = {"train": first}
    data["max_length"] = length
    encoders, body = from_nothing(length) if encoder == NOTHING else from_encoder(encoder, depth)
    content = {
        "study": name,
        "title": f"{name}: {answered:,} answered test questions, {short}",
        "data": data,
        **encoders,
        "fit": budget(len(learnt), encoder, first is not None, quick),
        "distillation": {"alpha": 0.5, "tau": 3},
        "mhs": {"body": body, "perturb": 0.02},
        "ensemble": {"trials": 20 if quick else 100},
        "seeds": [0] if quick else [0, 1, 2],
        "grid_seeds": [0],
        "threads": 1,
        "precision": "float32",
    }
    if not quick:
        content["latency"] = {"batch": 2, "tokens": 128, "repeats": 2, "rows": ["base/electra", "mhs/3h1"]}
        if len(splits["test"]) >= MANY * len(splits["test"].unique("question_id")):
            content["cascade"] = cascade(parts, encoder, body + 1)
        content["cosinet"] = cosinet(encoder)
    return content


def from_nothing(length: int) -> tuple[dict[str, Any], int]:
    """The sample study's teachers and student, small and without weights; and the layers that heads share."""
    sample = read(PACKAGE / "params" / "sample.yaml")
    teachers, student = sample["teachers"], sample["student"]
    bases = [teacher["base"] for teacher in teachers.values() if "base" in teacher]
    for encoder in (*teachers.values(), *bases, student):
        encoder["config"]["max_position_embeddings"] = length + 32
        encoder.pop("transfer_fit", None)
    return {"teachers": teachers, "student": student}, sample["mhs"]["body"]


def from_encoder(encoder: str, depth: int) -> tuple[dict[str, Any], int]:
    """A teacher for each objective, of all layers; a student of two thirds of them; the layers that heads share."""
    layers = max(2, round(depth * 2 / 3))
    teachers = {
        objective: {"label": label, "objective": objective, "name": encoder, "size": f"{depth} layers"}
        for objective, label in OBJECTIVES.items()
    }
    return {
        "teachers": teachers,
        "student": {"name": encoder, "layers": layers, "size": f"{layers} layers"},
    }, layers - 1


def budget(pairs: int, encoder: str, transfers: bool, quick: bool) -> dict[str, Any]:
    """The fits: each pair is seen some `EPOCHS` times, within bounds."""
    steps = 20 if quick else min(600, max(60, EPOCHS * math.ceil(pairs / BATCH)))
    rates = {"transfer": 5e-4, "adapt": 5e-4, "direct": 1e-3} if encoder == NOTHING else {"adapt": 4e-5, "direct": 4e-5}
    lengths = {"transfer": 40 if quick else 600, "adapt": steps, "direct": steps}
    fits = {}
    for name, rate in rates.items():
        if name == "transfer" and not transfers:
            continue
        fits[name] = {
            "steps": lengths[name],
            "learning_rate": rate,
            "batch_size": 16 if quick else BATCH,
            "warmup": 0.1,
            "evaluate_every": lengths[name] if quick else math.ceil(lengths[name] / 4),
            "patience": 50,
        }
    if not transfers:
        del fits["direct"]  # it would be the same fit
    return fits


def cascade(parts: dict[str, str], encoder: str, depth: int) -> dict[str, Any]:
    """The Cascade Transformer's section, whose wide set is one's own."""
    rate = 5e-4 if encoder == NOTHING else 5e-5
    fit = {"steps": 100, "learning_rate": rate, "batch_tokens": 600, "warmup": 0.1}
    adapt = {"steps": 50, "learning_rate": rate / 2, "batch_tokens": 600, "warmup": 0.1}
    section = {"encoder": "base/roberta" if encoder == NOTHING else "student"}
    section |= {"exits": list(range(1, depth + 1)), "transfer": parts, "fit": {"transfer": fit, "adapt": adapt}}
    return section


def cosinet(encoder: str) -> dict[str, Any]:
    """The section of the models over word vectors: of the encoder, or of the study's own text."""
    vectors = {"source": "ppmi", "dimensions": 64}
    if encoder != NOTHING:
        vectors = {"source": "encoder", "name": encoder, "dimensions": 300}
    fit = {"epochs": 3, "learning_rate": 4e-3, "batch_size": 64, "warmup": 0.1, "ratio": 32}
    lists = {"epochs": 3, "learning_rate": 3e-3, "batch_size": 8, "warmup": 0.1, "ratio": 32}
    section = {"vectors": vectors, "hidden": 64 if encoder == NOTHING else 300, "dropout": 0.1}
    return section | {"pointwise": fit, "listwise": lists, "seeds": [0], "ca_seeds": [0]}


def assumed(source: str, splits: "dict[str, Dataset]", why: str, content: dict[str, Any]) -> list[str]:
    """What was recognised and chosen, a line each."""
    first = content["data"].get("transfer", {}).get("train", "nothing; data.transfer names a set")
    steps = ", ".join(f"{name} {fit['steps']}" for name, fit in content["fit"].items())
    seeds = len(content["seeds"])
    return [
        f"{Path(source).name}: {counts(splits)}",
        f"encoders: {why}; {content['data']['max_length']} tokens a pair",
        f"learnt first: {first}",
        f"budget: {seeds} seed{'s' * (seeds > 1)}; {steps} steps",
    ]


# ---------------------------------------------------------------- the file


class _Dumper(yaml.SafeDumper):
    """A key a line, lists of plain values on one line, and nothing by reference."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_list(self, values: list[Any]) -> yaml.Node:
        plain = all(isinstance(value, str | int | float) for value in values)
        return self.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=plain)


_Dumper.add_representer(list, _Dumper.represent_list)


def write(file: Path, content: dict[str, Any], lines: list[str]) -> None:
    """A study's file, whole: what was assumed above it, a line above each section, a blank line between them."""
    text = "".join(f"# {' '.join(line.split())}\n" for line in lines)
    for key, value in content.items():
        if key in ABOVE:
            text += f"\n# {ABOVE[key]}\n"
        elif isinstance(value, dict):
            text += "\n"
        text += yaml.dump({key: value}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    with whole_file(file) as temporary:
        temporary.write_text(text + OWN.format(teacher=next(iter(content["teachers"]))), encoding="utf-8")
