"""`as2 init`: a study of one's own pairs, its encoders, sizes and budgets fitted to them and to this machine."""

import json
import math
import os
import re
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from as2lib import yaml_file
from as2lib.data import sources
from as2lib.data.own import Own, own_pairs
from as2lib.escape import NAME
from as2lib.papers import left_out, notebooks
from as2lib.paths import find_root, local_folder, params_file, written_whole
from as2lib.precision import computed_in
from as2lib.runs.beforehand import encoder_at_hand
from as2lib.runs.estimate import estimate, sizes
from as2lib.runs.params import FAMILIES, SIZES
from as2lib.study import Study

ENCODER = "sentence-transformers/all-MiniLM-L6-v2"  # the smallest that ranks well, where it can be had
NOTHING = "nothing"
QUICK = {"train": 200, "dev": 30, "test": 60}  # questions at most, where all is to end in two minutes
MANY = 10  # candidates a question from which on pruning them is worth a notebook
EMBEDDED = ["sample-transfer:train"]
TRANSFERS = (["wikiqa:train"], ["selqa:dev", "selqa:test"], ["trecqa:train"])
CORES = 2  # of `make study`, where CORES does not say another number
PROCESS_SECONDS, NOTEBOOK_SECONDS = 6.0, 9.0  # imports included
RUN_SECONDS = 2.0  # of a run beside its steps: what it reads and writes
LONG = 60  # minutes from which on fewer seeds, then fewer epochs have to do
BUDGETS = ((3, 4), (1, 4), (1, 2), (1, 1))  # seeds, and times that each of one's own pairs is seen
RATES = (3e-5, 4e-5, 6e-5)  # of the three teachers, where they are one encoder


def init(options: Namespace) -> None:
    """Write params/<name>.yaml for someone's pairs; print what was assumed and how long the study takes."""
    name = options.called or study_name(options.pairs)
    if not re.fullmatch(NAME, name):
        raise ValueError(f"--name {name}: expected letters, digits, - and _, at most 64, the first one a letter")
    path = find_root() / "params" / f"{name}.yaml"
    if path.exists() and not options.force:
        raise ValueError(f"params/{name}.yaml is there already: --force writes it anew, --name OTHER another one")
    folder, most = find_root() / "data" / name, QUICK if options.quick else None
    own = own_pairs(options.pairs, folder, given_columns(options.columns), most)
    for seeds, epochs in BUDGETS:  # the first that is short enough here, else the shortest
        content, assumed = content_of(name, own, options.encoder, options.quick, seeds, epochs)
        write(path, content, [])
        study = Study.load(path)
        if minutes(study) <= LONG:
            break
    lines = [f"{options.pairs}: " + counts(own), *own.said, *assumed, *said_of(study)]
    write(path, content, lines)
    print("\n".join(lines))
    away = "" if Path.cwd().resolve() == find_root() else f" (in {find_root()})"
    print(f"written: params/{name}.yaml{away}; change what you like, then: make study STUDY={name}")


def study_name(source: str) -> str:
    """A study's name from that of a file, a folder or a hub set: `My Data.tsv` → my-data."""
    path = Path(source.partition("@")[0])
    stem = path.stem if path.suffix[1:].lower() in sources.SUFFIXES else path.resolve().name
    name = re.sub(r"^[^a-z]+", "", re.sub(r"[^a-z0-9_]+", "-", stem.lower()))[:64].rstrip("-")
    if not name or name == "local":
        raise ValueError(f"{source}: no name for a study can be made of it; say --name")
    return name


def given_columns(text: str | None) -> dict[str, str] | None:
    """`question=q,label=gold` as ours → theirs."""
    return dict(one.partition("=")[::2] for one in text.split(",")) if text else None


def counts(own: Own) -> str:
    rows = sum(len(split.rows) for split in own.splits.values())
    of = ", ".join(f"{name} {split.questions:,} ({split.answered:,} answered)" for name, split in own.splits.items())
    return f"{rows:,} pairs; questions: {of}"


def content_of(
    name: str, own: Own, encoder: str | None, quick: bool, seeds: int, epochs: int
) -> tuple[dict[str, Any], list[str]]:
    """What the study's file holds, and what was assumed for it, a line each."""
    encoder, why = chosen_encoder(encoder, quick)
    content = shipped("sample" if encoder == NOTHING else "wikiqa")
    parts = {split: found.part.removeprefix(f"{find_root()}{os.sep}") for split, found in own.splits.items()}
    transfer, taught = transfer_set(own, encoder, quick)
    what = "small encoders from nothing" if encoder == NOTHING else Path(encoder).name
    content |= {"study": name, "title": f"{own.name}: {own.splits['test'].answered:,} answered test questions, {what}"}
    content["data"] = {"target": parts, "transfer": {"train": transfer or parts["train"]}}
    content["data"]["max_length"] = tokens_of(own, quick)
    content |= {"seeds": list(range(1 if quick else seeds)), "grid_seeds": [0]}
    pairs = own.splits["train"].learnt
    steps = {"transfer": content["fit"]["transfer"]["steps"] if encoder == NOTHING else 300}
    steps |= dict.fromkeys(("adapt", "direct"), min(600, max(60, epochs * math.ceil(pairs / 32))))
    if encoder != NOTHING:
        _from_encoder(content, encoder)
    else:
        for family in content["backbones"].values():
            for size in SIZES:
                family[size]["config"]["max_position_embeddings"] = content["data"]["max_length"] + 32
    if in_short := quick and encoder == NOTHING:
        steps = _in_short(content)
    sections(content, own, encoder, quick)
    for fit, count in steps.items():
        content["fit"][fit] |= {"steps": count, "evaluate_every": math.ceil(count / (1 if in_short else 3))}
    said = ", ".join(f"{fit} {count}" for fit, count in steps.items())
    times = steps["adapt"] * content["fit"]["adapt"]["batch_size"] / pairs
    budget = f"{len(content['seeds'])} seed{'s' * (len(content['seeds']) > 1)}; {said} steps"
    seen = f"each of your {pairs:,} training pairs is seen about {times:.1f} times"
    return content, [f"encoders: {why}", f"learnt first: {taught}", f"budget: {budget}; {seen}"]


def chosen_encoder(asked: str | None, quick: bool) -> tuple[str, str]:
    """The encoder that teachers and students are cut from, or "nothing"; and why this one."""
    if asked == NOTHING or (quick and not asked):
        return NOTHING, "small ones from nothing, as in the sample" + (
            "" if asked else "; --encoder NAME starts from one"
        )
    if asked:
        if not (encoder_at_hand(asked) or sources.hub_answers()):
            raise FileNotFoundError(f"--encoder {asked}: not on this machine, and the hub does not answer")
        return asked, f"{asked}, as asked"
    if encoder_at_hand(ENCODER) or sources.hub_answers():
        return ENCODER, f"{ENCODER}, all its layers for teachers, two thirds of them for students"
    return NOTHING, f"small ones from nothing, for {ENCODER} is not on this machine and the hub does not answer"


def transfer_set(own: Own, encoder: str, quick: bool) -> tuple[list[str], str]:
    """What is learnt before the target: a public set at hand that is another one; else the embedded one, or none."""
    from as2lib.data.pairs import load_parts

    ids = {name for split in own.splits.values() for name in split.rows["question_id"]}
    texts = set(own.splits["test"].rows["question"])
    for parts in [*([] if quick else TRANSFERS), *([EMBEDDED] if encoder == NOTHING else [])]:
        name = parts[0].partition(":")[0]
        if parts != EMBEDDED and local_folder(sources.HUB_SETS[name].name) is None:
            continue
        pairs = load_parts(tuple(parts), "all")
        if not (ids.isdisjoint(pairs["question_id"]) and texts.isdisjoint(pairs["question"])):
            continue
        if parts == EMBEDDED:
            return parts, "the embedded corpus, for no public set is used; data.transfer names another"
        return parts, f"{' and '.join(parts)}, at hand; data.transfer names another set"
    return [], "your own training set, for no other set is at hand; data.transfer names another"


def tokens_of(own: Own, quick: bool) -> int:
    """Tokens of a pair that hold nineteen pairs in twenty, in steps of 16: a word is 1.3 tokens at most."""
    rows = own.splits["train"].rows
    words = (rows["question"] + " " + rows["answer"]).map(lambda text: len(text.split()))
    wanted = 1.3 * words.quantile(0.95, "lower") + 3
    return min(48 if quick else 128, max(32, 16 * math.ceil(wanted / 16)))


def _in_short(content: dict[str, Any]) -> dict[str, int]:
    """Leave of the sample's fits what takes two minutes; the steps of each."""
    for family in content["backbones"].values():
        for size in SIZES:
            family[size].pop("transfer_fit", None)
    content["significance"]["resamples"] = 500
    content["ensemble"] = {"trials": 20}
    content["mhs"] |= {"heads": [], "bodies": []}
    for fit in content["fit"].values():
        fit["batch_size"] = 16
    return {"transfer": 40, "adapt": 20, "direct": 20}


def _from_encoder(content: dict[str, Any], encoder: str) -> None:
    """Three teachers that differ by their learning rate, all layers of an encoder; students of two thirds of them."""
    depth, short = sizes({"name": encoder})[0], Path(encoder.partition("@")[0]).name
    less = max(2, round(depth * 2 / 3))
    for letter, family, rate in zip("ABC", FAMILIES, RATES, strict=True):
        fit = {"learning_rate": rate}
        own = {"transfer_fit": fit, "adapt_fit": fit}
        large = {"name": encoder, "label": f"{depth} layers, rate {rate:g}", **own}
        base = {"name": encoder, "layers": less, "label": f"{less} layers, rate {rate:g}", **own}
        content["backbones"][family] = {"name": f"{short} {letter}", "large": large, "base": base}
    content["mhs"]["body"] = less - 1
    content["precision"] = computed_in("auto")
    content.pop("kernels", None)


def sections(content: dict[str, Any], own: Own, encoder: str, quick: bool) -> None:
    """Leave the papers' sections in for which there are data and time."""
    # GOVERN wants a pool of questions without labels; the others are WikiQA's: its second target, its larger budget
    content |= dict.fromkeys(("govern", "second", "longer", "kinds"))
    if quick:
        content |= dict.fromkeys(("cascade", "cosinet", "latency"))
        return
    content["latency"] = shipped("sample")["latency"]
    content["cosinet"] |= {"seeds": content["seeds"], "ca_seeds": [0]}
    test = own.splits["test"]
    if encoder != NOTHING:
        content["cosinet"]["vectors"]["name"] = encoder
    if encoder != NOTHING or len(test.rows) < MANY * test.questions:
        content["cascade"] = None
    else:
        exits = list(range(1, content["mhs"]["body"] + 2))
        content["cascade"] |= {"transfer": content["data"]["target"], "exits": exits}


def minutes(study: Study) -> float:
    """How long the study takes from nothing here, about: fits and notebooks, side by side where cores allow."""
    side_by_side = max(1, min(CORES, os.cpu_count() or 1) // study.threads)
    around = PROCESS_SECONDS * len(study.store.groups) + NOTEBOOK_SECONDS * len(notebooks(study))
    seconds = sum(estimate(study.store, name) for name in study.plan) + (RUN_SECONDS * len(study.plan) + around)
    return seconds / side_by_side / 60


def said_of(study: Study) -> list[str]:
    told, cores = max(1.0, minutes(study)), min(CORES, os.cpu_count() or 1)
    length = f"{told:.0f} minute{'s' * (round(told) > 1)}" if told < 90 else f"{told / 60:.1f} hours"
    return [
        f"notebooks: {', '.join(one.name[:2] for one in notebooks(study))}{left_out(study)}",
        f"time: about {length} on {cores} quiet cores of this machine, {len(study.plan)} runs",
    ]


def write(path: Path, content: dict[str, Any], lines: Iterable[str]) -> None:
    """The file, with what was assumed above it."""
    above = ["Made by `as2 init`; params/sample.yaml says what each key means.", *lines]
    kept = {key: value for key, value in content.items() if value is not None}
    plain = json.loads(json.dumps(kept))  # without aliases: what stands twice is written twice
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None)
    with written_whole(path) as temporary:
        temporary.write_text("".join(f"# {line}\n" for line in above) + text, encoding="utf-8")


def shipped(name: str) -> dict[str, Any]:
    """A study that comes with the sources."""
    return yaml_file.read(params_file(f"{name}.yaml"))
