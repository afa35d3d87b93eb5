"""`as2 train`: one model of one's own pairs, without any study; its folder appears whole."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib import plugins
from as2lib.commands.named import NOTHING, LoadStudy, load_ranker, model_folder, starting_encoder
from as2lib.data import sets
from as2lib.paths import PACKAGE, work_folder

if TYPE_CHECKING:
    from datasets import Dataset

    from as2lib.data.encode import PairEncoder
    from as2lib.fit import Fit

RATES = {True: 5e-4, False: 4e-5}  # the highest learning rate, by whether a model starts from nothing
STEPS = 400  # from nothing at most, unless epochs are asked for: a first model in a minute
SAMPLE = 20_000  # pairs by which the length of all is told
BY_ORDER = "ties by order"
# The names in `fit.LOSSES` by how many teachers they learn from: to refuse one before torch is imported.
LOSSES = {
    "no teacher": "ce ce_per_head bce listwise_kl ranknet",
    "one teacher": "kd",
    "one teacher or more": "kd_sum kd_round_robin per_head margin_mse mean_ensemble govern govern_ca ca_mkd "
    "ca_mkd_without_ce teacher_a_head govern_a_head",
}


def train(
    source: str,
    out: Path,
    load_study: LoadStudy,
    model: str | None = None,
    teachers: Sequence[str] = (),
    loss: str | None = None,
    epochs: int | None = None,
    learning_rate: float | None = None,
    batch_size: int | None = None,
    max_length: int | None = None,
    negatives: str | None = None,
    keep: int = 4,
    one_label: bool = False,
    allow_shared_questions: bool = False,
    seed: int = 0,
    precision: str = "float32",
) -> None:
    """Train a model, say how well it ranks beside word overlap, and leave its folder with a card.

    source: a file, a folder of train, dev and test files, or a known set; splits that are missing are taken from train.
    model: what it starts from, as `starting_encoder` has it.  teachers: models of one or two labels, by any name.
    loss: a name in `fit.LOSSES` or package.module:function; default: ce, kd from one teacher, per_head from several.
    max_length: tokens of a pair; default: what holds 99 of 100 pairs.
    negatives: a first ranker; each question keeps its correct candidates and the `keep` others that it ranks highest.
    The other arguments are those of `fit.train`, and their errors.
    """
    loss = loss or {0: "ce", 1: "kd"}.get(len(teachers), "per_head")
    check_loss(loss, len(teachers))
    check_source(source)
    require_free(out)
    encoder_name = starting_encoder(model)
    with only_one(out):
        import torch

        from as2lib.commands import scoring
        from as2lib.commands.card import short_name, write_card
        from as2lib.data.pairs import filter_questions, load_splits, require_apart
        from as2lib.fit import objectives

        if one_label and objectives.heads(loss):
            raise ValueError(f"--one-label: expected a loss of one output, {loss} trains a head for each teacher")
        settings = {
            "loss": loss,
            "teachers": [str(model_folder(name, load_study)) for name in teachers],
            "epochs": epochs,
            "learning_rate": learning_rate or RATES[encoder_name == NOTHING],
            "batch_size": batch_size,
            "seed": seed,
            "precision": precision,
        }
        splits = load_splits(source, seed)
        if not allow_shared_questions:
            require_apart(splits, source, "give each split questions of its own, or --allow-shared-questions")
        pairs = {name: filter_questions(part, "answered") for name, part in splits.items()}
        for name, part in pairs.items():
            if len(part) == 0:
                raise ValueError(f"{source}: {name}: expected questions with a correct candidate, got none")
        print(f"data: {counts(splits)}; learnt from: those with a correct candidate", flush=True)
        if negatives is not None:
            before = len(pairs["train"])
            table = scoring.score_pairs(load_ranker(negatives, load_study), pairs["train"], quiet=False)
            pairs["train"] = hardest(pairs["train"], scoring.ranked_by(table), keep)
            negatives = f"the {keep} that {short_name(negatives)} ranks highest"
            line = f"{len(pairs['train']):,} of {before:,} training pairs are kept"
            print(f"negatives: {negatives}; {line}", flush=True)
        encoder, start = encoder_of(encoder_name, pairs["train"], max_length)
        if encoder_name == NOTHING and epochs is None and 3 * len(pairs["train"]) > STEPS * (batch_size or 32):
            settings |= {"steps": STEPS, "evaluate_every": STEPS // 4}
        if encoder_name == NOTHING:
            torch.set_num_threads(1)  # so small a model gains nothing by more, and loses where cores are shared
        result = fit_model(start, encoder, pairs, out, **settings)
        if one_label:
            from as2lib.models.cross_encoder import one_label as with_one_label

            result.model = with_one_label(result.model)
        problem, dev_map = None, None
        with whole_folder(out) as folder:
            result.save(folder)
            try:
                dev_map = f"{100 * print_results(folder, splits):.2f}"
            except Exception as error:  # of any kind: libraries read the folder; what was trained stays
                problem = " ".join(str(error).split())
            facts = {
                "encoder": encoder_name,
                "trained on": f"{Path(source).name}, {len(pairs['train']):,} pairs",
                "loss": loss,
                "teachers": ", ".join(map(short_name, teachers)),
                "negatives": negatives,
                "dev MAP": dev_map and f"{dev_map} (answered questions, {scoring.AGAINST}, scored in float32)",
                "parameters": f"{result.facts['parameters']:,}",
                "tokens of a pair": encoder.max_length,
                "steps": f"{result.facts['best_step'] or 'all'} of {result.facts['steps']} (best on dev), seed {seed}",
                "trained in": result.facts["precision"],
            }
            base = None if encoder_name == NOTHING else encoder_name
            write_card(folder, out.resolve().name, "A ranker for answer sentence selection.", facts, base)
    if problem:
        raise ValueError(f"{out}: the trained weights are there, but their folder does not open: {problem}")
    print(f"written: {out}; now: as2 rank {out} QUESTION CANDIDATE …")


def check_loss(loss: str, teachers: int) -> None:
    """Raises ValueError for a loss that is not known, or that can't learn from so many teachers."""
    if plugins.is_path(loss):
        return
    expected = next((count for count, names in LOSSES.items() if loss in names.split()), None)
    if expected is None:
        names = " ".join(LOSSES.values()).split()
        near = get_close_matches(loss, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"--loss: expected one of {', '.join(names)}, or package.module:function; got {loss!r}{hint}")
    if (expected == "no teacher") != (teachers == 0) or (expected == "one teacher" and teachers > 1):
        raise ValueError(f"--loss {loss}: expected {expected}, got {teachers} (--teacher)")


def check_source(source: str) -> None:
    """Raises where there are no such pairs, before anything is imported that reads them."""
    path = sets.on_disk(source)
    sets.resolve(source, None if path and path.is_file() else "train")


def encoder_of(name: str, train: "Dataset", max_length: int | None) -> "tuple[PairEncoder, Any]":
    """What encodes the pairs, and what a model starts from: a name, or the configuration of a small new one."""
    from as2lib.data.encode import PairEncoder, cut_share, fitting_length, load_encoder, word_tokenizer
    from as2lib.models import cross_encoder

    sample = sample_of(train)
    start: Any = name
    if name == NOTHING:
        from as2lib.study.params import read

        texts = [*train["question"][:], *train["answer"][:]]
        length = max_length or fitting_length(sample, word_tokenizer(texts, 512))
        encoder = PairEncoder(word_tokenizer(texts, length), length)
        start = read(PACKAGE / "params" / "sample.yaml")["teachers"]["electra"]["config"]
        start |= {"vocab_size": len(encoder.tokenizer), "pad_token_id": encoder.tokenizer.pad_token_id}
        start["max_position_embeddings"] = length
    else:
        encoder = load_encoder(name, max_length)
        if not isinstance(encoder, PairEncoder):
            raise ValueError(f"--model {name}: expected a transformer, got a model that reads words")
        if max_length is None:
            config = cross_encoder.configuration(name)
            encoder = PairEncoder(encoder.tokenizer, fitting_length(sample, encoder.tokenizer, config))
    share = f"{cut_share(sample, encoder):.1%}"
    start_name = "a small encoder from nothing" if name == NOTHING else name
    print(f"model: {start_name}; {encoder.max_length} tokens a pair, which cuts {share} of them", flush=True)
    return encoder, start


def fit_model(
    start: Any, encoder: "PairEncoder", pairs: "dict[str, Dataset]", out: Path, loss: str, **settings: Any
) -> "Fit":
    """The fit itself, in a folder of its own under `work/`, so that a killed one goes on where it was.

    start: a name, or a configuration.  settings: of `fit.train`.
    """
    from transformers import set_seed

    from as2lib import fit
    from as2lib.data.pairs import fingerprint
    from as2lib.data.pretrained import content
    from as2lib.fit import checkpoint, objectives
    from as2lib.models import cross_encoder
    from as2lib.models.mhs import MHSForSequenceClassification

    set_seed(settings["seed"])  # before the model is built: new weights come from it
    module = cross_encoder.build(start)
    if objectives.heads(loss):
        depth = getattr(module.config, "num_hidden_layers", 0)
        if depth < 2:
            raise ValueError(f"--model {start}: expected two layers or more, of which heads share all but one")
        module = MHSForSequenceClassification.from_backbone(module, depth - 1, len(settings["teachers"]))
    asked = [  # by content: what changed under its name is another fit
        checkpoint.source_of(loss),
        checkpoint.start_of(module),
        encoder.fingerprint(pairs["train"]),
        fingerprint(pairs["dev"]),
        [content(teacher) for teacher in settings["teachers"]],
        settings,
        str(out.resolve()),
    ]
    folder = work_folder() / "trained" / f"{sha256(repr(asked).encode()).hexdigest()[:24]}.partial"
    folder.mkdir(parents=True, exist_ok=True)
    rate, seed, length = settings["learning_rate"], settings["seed"], settings.get("steps") or settings["epochs"] or 3
    length = f"{length} {'steps' if 'steps' in settings else 'epochs'}"
    print(f"training: loss {loss}, {length}, {settings['precision']}, learning rate {rate:g}, seed {seed}", flush=True)
    looks_on = sys.stderr.isatty()
    result = fit.train(
        pairs["train"],
        module,
        loss,
        dev=pairs["dev"],
        encoder=encoder,
        folder=folder,
        progress=looks_on,
        callbacks=[] if looks_on else [print_entry],
        allow_shared_questions=True,  # that is seen to
        **settings,
    )
    shutil.rmtree(folder)
    return result


def print_entry(entry: dict[str, Any], model: Any) -> None:
    """A line of what the fit's log says, where no bar is shown."""
    dev = f", dev MAP {100 * entry['dev_MAP']:.1f}" if "dev_MAP" in entry else ""
    print(f"step {entry['step']}: loss {entry['total']:.4f}{dev}", flush=True)


def print_results(folder: Path, splits: "dict[str, Dataset]") -> float:
    """Print what the model in a folder reaches on dev and test, beside word overlap; returns its dev MAP.

    It is scored as `as2 score` scores it, in float32, whatever it was trained in.
    """
    from as2lib.commands.scoring import print_metrics, score_pairs
    from as2lib.metrics.ranking import summary
    from as2lib.models import lexical
    from as2lib.ranker import Ranker

    ranker, dev_map = Ranker.load(folder), 0.0
    for split in ("dev", "test"):
        table = score_pairs(ranker, splits[split])
        if split == "dev":
            dev_map = summary(table["question_id"], table["label"], table["log_odds"])["MAP"]
        trivial = table.assign(log_odds=lexical.overlap_then_rank(splits[split]))
        print_metrics(f"{split}: word overlap, then order", trivial, "answered", ties=BY_ORDER)
        print_metrics(f"{split}: this model", table, "answered")
    return dev_map


# ---------------------------------------------------------------- pairs


def counts(splits: "dict[str, Dataset]") -> str:
    """How many pairs and questions the splits have."""
    parts = [f"{name} {len(part.unique('question_id')):,}" for name, part in splits.items()]
    return f"{sum(map(len, splits.values())):,} pairs; questions: {', '.join(parts)}"


def hardest(pairs: "Dataset", score: Any, keep: int) -> "Dataset":
    """The correct candidates of each question, and the `keep` incorrect ones that a first ranker puts highest.

    score: (m,) of that ranker; of equal ones the first rows are kept.  Rows stay in their order.
    """
    import pandas as pd

    table = pd.DataFrame({"question": pairs["question_id"][:], "label": pairs["label"][:], "score": [*score]})
    incorrect = table[table["label"] == 0].sort_values("score", ascending=False, kind="stable")
    kept = incorrect[incorrect.groupby("question").cumcount() < keep]
    return pairs.select(sorted([*kept.index, *table.index[table["label"] == 1]]))


def sample_of(pairs: "Dataset") -> "Dataset":
    """Some pairs from all over a set."""
    return pairs.select(range(0, len(pairs), 1 + len(pairs) // SAMPLE))


# ---------------------------------------------------------------- folders


@contextmanager
def only_one(out: Path) -> Iterator[None]:
    """Hold the right to write a folder; ValueError where it is not free, or another command is making it."""
    require_free(out)
    from as2lib.locks import take

    lock = take(f"train-{sha256(str(out.resolve()).encode()).hexdigest()[:24]}")
    if lock is None:
        raise ValueError(f"--out {out}: another `as2 train` is making it; wait for that, or name another folder")
    try:
        require_free(out)
        yield
    finally:
        lock.release()


def require_free(out: Path) -> None:
    """Raises ValueError where a folder can't be made: there is something of that name."""
    if out.is_dir() and any(out.iterdir()):
        raise ValueError(f"--out {out}: expected a new folder, got one with files in it; name another, or remove it")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out}: expected a new folder, got a file")
    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(f"--out {out}: its folder is not there; make it, or name another")


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A folder beside `out` to write to, renamed in the end: it appears whole or not at all."""
    out = out.expanduser().resolve()
    partial = out.with_name(f".{out.name}.{os.getpid()}")
    partial.mkdir(parents=True)
    try:
        yield partial
        os.replace(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
