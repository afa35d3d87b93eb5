"""A run of kind "fit": the model that its spec asks for, what its teachers say, and what it leaves; `fit.train` trains.

m pairs · k teachers · c = 2 classes
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy
import pandas
import torch
import transformers
from datasets import Dataset
from transformers import set_seed

from as2lib import models, plugins
from as2lib.data.encode import PairEncoder, load_encoder, word_tokenizer
from as2lib.data.pairs import leave_out, load_parts
from as2lib.data.pretrained import require_at_hand
from as2lib.data.vectors import embeddings
from as2lib.data.words import WordEncoder, words_of
from as2lib.fit import teacher_logits, train
from as2lib.locks import lock
from as2lib.metrics.questions import Questions
from as2lib.models import cross_encoder, ensemble
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.compare_aggregate import CompareAggregate
from as2lib.models.cosinet import Cosinet
from as2lib.models.mean import MeanForSequenceClassification
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.precision import computing_on, machine
from as2lib.score import on_threads, parts_of, probability, score
from as2lib.study.derived import calibration
from as2lib.study.run import Run
from as2lib.study.store import StoredRun, Task, require_known_tensors, write_parquet, write_scores

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()  # of a model's one file, written in no time

WORD_MODELS = {"cosinet": Cosinet, "compare_aggregate": CompareAggregate}
OF_LOSS = ("alpha", "tau", "settings", "unit", "schedule")  # of a spec, as `fit.train` takes them
SIZES = (  # of an encoder's configuration: what its costs are counted by
    "model_type hidden_size num_hidden_layers num_attention_heads intermediate_size embedding_size "
    "vocab_size max_position_embeddings"
).split()


def fit(task: Task) -> dict[str, Any]:
    """Train a run into its folder: model/, scores/, log.jsonl; returns its facts.  Goes on from its checkpoint."""
    run, study = task.run, task.store.study
    precision, training = study.precision, run.spec["training"]
    for name in run.encoders():
        require_at_hand(name)
    pairs, dev = training_pairs(run), None
    if "dev" in run.data and training.get("evaluate_every"):
        dev = load_parts(run.data["dev"], "answered")
    else:  # the last weights are kept
        training = {**training, "evaluate_every": None}
    shuffle = run.seed if run.spec.get("shuffle") else None
    if shuffle is not None:
        pairs = pairs.select(shuffled_rows(pairs["question_id"][:], shuffle))
        dev = dev and dev.select(shuffled_rows(dev["question_id"][:], shuffle))
    with on_threads(study.threads):
        platt = calibration(task.run.spec, task.parents.get("teachers", ()))
        teachers = [logits_of(task, teacher, pairs, platt) for teacher in task.parents.get("teachers", ())]
        set_seed(run.seed)  # before the model is built: new weights come from it
        model, encoder = start(task)
        if "attention" in run.spec:
            cross_encoder.set_attention(model, run.spec["attention"])
        if "dropout" in run.spec:
            cross_encoder.set_dropout(model, run.spec["dropout"])
        result = train(
            pairs,
            model,
            run.spec["loss"],
            teachers,
            dev,
            encoder=encoder,
            seed=run.seed,
            precision=precision,
            folder=task.folder,
            progress=task.progress,
            allow_shared_questions=True,  # a study's file says
            **{name: run.spec[name] for name in OF_LOSS if name in run.spec and "words" not in run.spec},
            **training,
        )
        result.save(task.folder / "model")
        parts = {split: run.data[split] for split in ("dev", "test") if split in run.data}
        tables = {split: score_table(result.model, encoder, parts[split], precision, shuffle) for split in parts}
        last = tables
        if result.last is not None:
            result.model.load_state_dict(result.last)
            last = {split: score_table(result.model, encoder, parts[split], precision, shuffle) for split in parts}
        for split, (pairs, columns) in tables.items():
            write_scores(task.folder / f"scores/{split}.parquet", pairs, **columns, last=last[split][1]["score"])
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    facts = {**result.facts, "machine": gpu or machine()}
    if platt:
        facts["calibration"] = platt
    if "words" not in run.spec:
        config = model.config.to_dict()
        encoder_config = config.get("backbone") or config
        facts["encoder"] = {name: encoder_config[name] for name in SIZES if encoder_config.get(name) is not None}
    return facts


# ---------------------------------------------------------------- what a run learns from


def training_pairs(run: Run) -> Dataset:
    """A pool without labels; all folds of the questions but one; or the answered questions."""
    if run.spec.get("unlabelled"):
        return load_parts(run.data["train"], None)
    pairs = load_parts(run.data["train"], "answered")
    return leave_out(pairs, *run.spec["leave_out"]) if "leave_out" in run.spec else pairs


def logits_of(task: Task, teacher: StoredRun, pairs: Dataset, platt: dict[str, dict[str, Any]]) -> numpy.ndarray:
    """What a student is told by a teacher: its logits over its pairs, (m, c) float32, calibrated where `platt` says.

    Those of an ensemble come from its members'; those of a model are computed once, and kept in its folder.
    """
    store = task.store
    if teacher.run.kind == "ensemble":
        members = [store.find(run.name) for run in teacher.run.parents["members"]]
        platt_of_members = calibration(teacher.run.spec, members)
        of_members = [logits_of(task, member, pairs, platt_of_members) for member in members]
        if teacher.run.spec["combine"] == "logistic":
            log_odds = ensemble.weigh(teacher.facts, [probability(logits) for logits in of_members])
            return numpy.stack([numpy.zeros_like(log_odds), log_odds], axis=1).astype(numpy.float32)
        return ensemble.mean_logits(of_members, teacher.facts.get("weights"))
    path = teacher.folder / "logits" / f"{store.learnt_from(task.run)}.parquet"
    if not path.exists():
        with lock(f"{teacher.identity[:24]}-{path.stem}", f"what {teacher.name} says of {len(pairs):,} pairs"):
            if not path.exists():  # another student may have made them meanwhile
                logits = teacher_logits(teacher.model_folder, pairs, store.study.precision)
                write_parquet(path, pandas.DataFrame({f"logit_{i}": column for i, column in enumerate(logits.T)}))
    logits = numpy.ascontiguousarray(pandas.read_parquet(path).to_numpy(dtype=numpy.float32))
    if teacher.name not in platt:
        return logits
    return ensemble.calibrated(platt[teacher.name], logits, pairs["question_id"][:])


# ---------------------------------------------------------------- what a run starts from


def first_encoder(run: Run) -> str | None:
    """The pretrained encoder that a fit starts from, itself or by the run whose weights it continues."""
    while "start" in run.parents:
        [run] = run.parents["start"]
    return run.spec.get("backbone", {}).get("name")


def start(task: Task) -> tuple[torch.nn.Module, PairEncoder | WordEncoder]:
    """The model before its first step, and what encodes its pairs."""
    run = task.run
    if "words" in run.spec:
        return _on_words(task)
    if "start" in run.parents:
        folder, layers = task.parents["start"][0].model_folder, run.spec.get("layers")
        model = cross_encoder.build(folder, layers) if layers else models.load(folder)
        tokenizer = cross_encoder.tokenizer(folder)
    elif name := run.spec["backbone"].get("name"):
        require_known_tensors(name)
        model = cross_encoder.build(name, run.spec["backbone"].get("layers"))
        tokenizer = cross_encoder.tokenizer(name)
    else:
        tokenizer = _vocabulary(run.data["vocabulary"], run.spec["max_length"])
        sizes = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        model = cross_encoder.build({**run.spec["backbone"]["config"], **sizes})
    if "reads" in run.spec:
        model = MeanForSequenceClassification.from_classifier(model)
    if (shape := run.spec.get("cascade")) and not isinstance(model, CascadeTransformer):
        whole = model.model if isinstance(model, MeanForSequenceClassification) else model
        model = CascadeTransformer.from_backbone(whole, **shape)
    if shape := run.spec.get("mhs"):
        model = MHSForSequenceClassification.from_backbone(model, **shape, seed=run.seed)
    if path := run.spec.get("model"):  # one of the user's own
        model = plugins.load(path)(model)
    return model, PairEncoder(tokenizer, run.spec["max_length"])


@lru_cache(maxsize=4)
def _vocabulary(parts: tuple[str, ...], max_length: int) -> Any:
    """The tokenizer of an encoder that starts from nothing, which the fits of a job share."""
    return word_tokenizer(_texts(parts, each=True), max_length)


def _on_words(task: Task) -> tuple[torch.nn.Module, WordEncoder]:
    """A model over static vectors, learnt from the run's vocabulary, or pretrained."""
    run = task.run
    shape = dict(run.spec["words"])
    source, model = shape.pop("vectors"), WORD_MODELS[shape.pop("type")]
    words = set().union(*(_words(tuple(parts)) for parts in run.data.values()))
    texts = _texts(run.data["vocabulary"]) if "vocabulary" in run.data else []
    vectors = embeddings(source, task.store.ingredients(run.name)["vectors"], words, texts)
    return model(vectors, **shape), WordEncoder(vectors.words, run.spec["unit"])


@lru_cache(maxsize=8)
def _words(parts: tuple[str, ...]) -> frozenset[str]:
    """Every word of some parts; the fits of a job share them, and splitting takes longer than a fit."""
    return frozenset(word for words in words_of(dict.fromkeys(_texts(parts))) for word in words)


def _texts(parts: Sequence[str], each: bool = False) -> list[str]:
    """All candidates, and each question once, or as often as it has candidates."""
    pairs = load_parts(parts, "all")
    questions = pairs["question"][:]
    return [*(questions if each else dict.fromkeys(questions)), *pairs["answer"][:]]


# ---------------------------------------------------------------- what a run leaves


def score_table(
    model: torch.nn.Module, encoder: Any, parts: Sequence[str], precision: str, shuffle: int | None = None
) -> tuple[Dataset, dict[str, numpy.ndarray]]:
    """Every pair of a split, and its `score`, beside it that of each head (`head_0`) or exit (`exit_4`).

    shuffle: a seed: the model reads each question's candidates in a random order; rows stay in the original one.
    """
    pairs = load_parts(parts, "all")
    if shuffle is not None:
        order = shuffled_rows(pairs["question_id"][:], shuffle)
        scores = score(model, pairs.select(order), encoder, precision)
        return pairs, {"score": scores.score[numpy.argsort(order)]}
    scores = score(model, pairs, encoder, precision)
    exits = getattr(getattr(model, "config", None), "exits", ())
    return pairs, {"score": scores.score, **parts_of(scores.head_logits, scores.exit_logits, exits)}


def score_shuffled(task: Task) -> dict[str, Any]:
    """A model's scores where each question's candidates come in a random order; rows stay in the original one."""
    parent = task.parents["model"][0]
    model, encoder = models.load(parent.model_folder).to(computing_on()), load_encoder(parent.model_folder)
    with on_threads(task.store.study.threads):
        precision = task.store.study.precision
        pairs, columns = score_table(model, encoder, task.run.data["test"], precision, task.run.seed)
        write_scores(task.folder / "scores" / "test.parquet", pairs, **columns)
    return {"parameters": parent.facts["parameters"]}


def shuffled_rows(question_id: list[str], seed: int) -> numpy.ndarray:
    """The rows of each question in a random order; questions stay where they are."""
    question = Questions.together(question_id).code
    return numpy.lexsort((numpy.random.default_rng(seed).random(len(question)), question))
