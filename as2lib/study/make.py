"""How each kind of run is made: its scores, a table a split, and its facts; `Store.make` gives them a place.

m pairs · k teachers · c = 2 classes
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy
import pandas
import torch
import transformers
from datasets import Dataset
from transformers import set_seed

from as2lib import models, plugins
from as2lib.data.encode import PairEncoder, load_encoder, word_tokenizer
from as2lib.data.pairs import fingerprint, leave_out, load_parts, require_apart
from as2lib.data.pretrained import open_tokenizer
from as2lib.data.teacher_scores import TeacherScores
from as2lib.data.vectors import embeddings
from as2lib.data.words import WordEncoder, words_of
from as2lib.fit import teacher_logits, train
from as2lib.metrics.probability import sigmoid
from as2lib.metrics.questions import Questions
from as2lib.models import cross_encoder, lexical
from as2lib.models import ensemble as ensembles
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.compare_aggregate import CompareAggregate
from as2lib.models.cosinet import Cosinet
from as2lib.models.embedding import SentenceEncoder
from as2lib.models.mean import MeanForSequenceClassification
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.paths import find_root, lock, whole_file
from as2lib.precision import computing_on, machine
from as2lib.ranker import Ranker
from as2lib.score import on_threads, parts_of, probability, score
from as2lib.study.run import Run
from as2lib.study.scores import Platt, calibration, combined, fitted

Store: TypeAlias = Any  # those of store.py, which stands above
StoredRun: TypeAlias = Any
Made = tuple[dict[str, pandas.DataFrame], dict[str, Any]]  # split → its scored pairs; facts
LOSS_ARGUMENTS = ("alpha", "tau", "settings", "unit", "schedule")
SIZE_FIELDS = (  # of an encoder's configuration
    "model_type hidden_size num_hidden_layers num_attention_heads intermediate_size embedding_size "
    "vocab_size max_position_embeddings"
).split()

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()  # of a model's one file, written in no time


def fit(store: Store, run: Run, folder: Path, progress: bool = False) -> Made:
    """Train a run: model/ and log.jsonl go to its folder, in which it goes on from its checkpoint."""
    spec, precision, parents = run.spec, run.computing["precision"], store.parents(run)
    training = {} if "words" in spec else {name: spec[name] for name in LOSS_ARGUMENTS if name in spec}
    training |= {"precision": precision, **spec["training"]}  # what is kept is scored in the study's
    pairs, dev = load_parts(run.data["train"], None if spec.get("unlabelled") else "answered"), None
    if "leave_out" in spec:
        pairs = leave_out(pairs, *spec["leave_out"])
    if not store.study.data.allow_shared_questions:
        asked = {" ".join(of): load_parts(of, "all") for role, of in run.data.items() if role in ("dev", "test")}
        require_apart({" ".join(run.data["train"]): pairs} | asked, "data", "or data.allow_shared_questions: true")
    if "dev" in run.data and training.get("evaluate_every"):
        dev = load_parts(run.data["dev"], "answered")
    else:  # the last weights are kept
        training["evaluate_every"] = None
    shuffle = run.seed if spec.get("shuffle") else None
    if shuffle is not None:
        pairs = pairs.select(shuffled_rows(pairs["question_id"][:], shuffle))
        dev = dev and dev.select(shuffled_rows(dev["question_id"][:], shuffle))
    with on_threads(run.computing["threads"]):
        platt = calibration(run, parents.get("teachers", ()))
        teachers = [logits_of(store, run, teacher, pairs, platt) for teacher in parents.get("teachers", ())]
        set_seed(run.seed)  # before the model is built: new weights come from it
        model, encoder = build(store, run)
        training |= {"encoder": encoder, "seed": run.seed, "allow_shared_questions": True}  # a study's file says
        result = train(pairs, model, spec["loss"], teachers, dev, folder=folder, progress=progress, **training)
        result.save(folder / "model")
        tables = last = score_tables(run, result.model, encoder, precision, shuffle)
        if result.last is not None:
            result.model.load_state_dict(result.last)
            last = score_tables(run, result.model, encoder, precision, shuffle)
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    facts = {**result.facts, "machine": gpu or machine()}
    facts |= ({"calibration": platt} if platt else {}) | ({} if "words" in spec else {"encoder": sizes_of(model)})
    return {split: table.assign(last=last[split]["score"]) for split, table in tables.items()}, facts


def ensemble(store: Store, run: Run, folder: Path, progress: bool = False) -> Made:
    """The members' scores combined: their mean, a mean with weights tuned on dev, or a logistic regression on dev."""
    members = store.parents(run)["members"]
    facts = fitted(run, members)
    return {split: combined(run, facts, members, split) for split in run.data}, facts


def ranker(store: Store, run: Run, folder: Path, progress: bool = False) -> Made:
    """What is taken as it is, a ranker that learns nothing, or a model or a table of others; facts: `parameters` where
    known, of a model the sizes that cost.
    """
    model, name = None, next(iter(run.encoders), "")
    if run.kind == "lexical":
        scores_of = getattr(lexical, run.spec["scorer"])
    elif run.scheme == "scores":
        scores_of = partial(of_table, name)
    elif run.scheme == "cosine":
        sentences = SentenceEncoder(name, computing_on())
        model, scores_of = sentences.model, lambda pairs: (1 + sentences.cosine(pairs)) / 2
    else:
        ready, precision = Ranker.load(name, max_length=run.spec["max_length"]), run.computing["precision"]
        model, scores_of = ready.model, lambda pairs: score(ready.model, pairs, ready.encoder, precision).score
    pairs_of = {split: load_parts(tuple(parts), "all") for split, parts in run.data.items()}
    tables = {split: table_of(pairs, scores_of(pairs)) for split, pairs in pairs_of.items()}
    if model is None:
        return tables, {"parameters": 0} if run.kind == "lexical" else {}  # of a file nobody knows them
    shape = {key: value for key in ("body", "heads") if isinstance(value := getattr(model.config, key, None), int)}
    parameters = sum(weights.numel() for weights in model.parameters())
    return tables, {"parameters": parameters, "encoder": sizes_of(model), "shape": shape}


def shuffled(store: Store, run: Run, folder: Path, progress: bool = False) -> Made:
    """A model's scores where each question's candidates come in a random order; rows stay in the original one."""
    [parent] = store.parents(run)["model"]
    model, encoder = models.load(parent.model_folder).to(computing_on()), load_encoder(parent.model_folder)
    computing = parent.run.computing
    with on_threads(computing["threads"]):
        tables = score_tables(run, model, encoder, computing["precision"], run.seed)
    return tables, {"parameters": parent.facts["parameters"]}


MAKERS = {"fit": fit, "ensemble": ensemble, "lexical": ranker, "ranker": ranker, "shuffled": shuffled}


# ---------------------------------------------------------------- the model of a fit before its first step


def build(store: Store, run: Run) -> tuple[Any, Any]:
    """The model before its first step, and what encodes its pairs."""
    spec, start = run.spec, store.parents(run).get("start")
    if "words" in spec:
        return _of_words(store, run)
    if start:
        folder = start[0].model_folder
        model = cross_encoder.build(folder, spec["layers"]) if "layers" in spec else models.load(folder)
        tokenizer = open_tokenizer(folder)
    elif run.encoders:
        [name] = run.encoders
        model, tokenizer = cross_encoder.build(name, spec["backbone"].get("layers")), open_tokenizer(name)
    else:
        tokenizer = word_tokenizer(_texts(run.data["vocabulary"], each=True), spec["max_length"])
        sizes = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        model = cross_encoder.build({**spec["backbone"]["config"], **sizes})
    if "reads" in spec:
        model = MeanForSequenceClassification.from_classifier(model)
    if "mhs" in spec:
        model = MHSForSequenceClassification.from_backbone(model, **spec["mhs"], seed=run.seed)
    elif "cascade" in spec and not isinstance(model, CascadeTransformer):
        whole = model.model if isinstance(model, MeanForSequenceClassification) else model
        model = CascadeTransformer.from_backbone(whole, **spec["cascade"])
    if "model" in spec:
        model = plugins.load(spec["model"])(model)
    if "attention" in spec:
        cross_encoder.set_attention(model, spec["attention"])
    if "dropout" in spec:
        cross_encoder.set_dropout(model, spec["dropout"])
    return model, PairEncoder(tokenizer, spec["max_length"])


def _of_words(store: Store, run: Run) -> tuple[Any, Any]:
    """A model over static word vectors."""
    shape = dict(run.spec["words"])
    network = {"cosinet": Cosinet, "compare_aggregate": CompareAggregate}[shape.pop("type")]
    words = sorted(set().union(*(_words(tuple(parts)) for parts in run.data.values())))
    vectors = embeddings(shape.pop("vectors"), store.ingredients(run)["vectors"], words)
    return network(vectors, **shape), WordEncoder(words, run.spec.get("unit"))


@lru_cache(maxsize=8)
def _words(parts: tuple[str, ...]) -> frozenset[str]:
    """Every word of some parts: splitting takes longer than a fit."""
    return frozenset(word for words in words_of(dict.fromkeys(_texts(parts))) for word in words)


def _texts(parts: Sequence[str], each: bool = False) -> list[str]:
    """All candidates, and each question once, or as often as it has candidates."""
    pairs = load_parts(parts, "all")
    questions = pairs["question"][:]
    return [*(questions if each else dict.fromkeys(questions)), *pairs["answer"][:]]


# ---------------------------------------------------------------- what a fit learns from


def logits_of(store: Store, run: Run, teacher: StoredRun, pairs: Dataset, platt: Platt) -> numpy.ndarray:
    """What a teacher says of the pairs of a run: logits, (m, c) float32, calibrated where `platt` says.

    Those of a model are computed once, and kept in its folder.
    """
    if teacher.run.kind == "ensemble":
        members = store.parents(teacher.run)["members"]
        platt_of_members = calibration(teacher.run, members)
        of_members = [logits_of(store, run, member, pairs, platt_of_members) for member in members]
        if teacher.run.spec["combine"] == "logistic":
            log_odds = ensembles.weigh(teacher.facts, [probability(logits) for logits in of_members])
            return numpy.stack([numpy.zeros_like(log_odds), log_odds], axis=1).astype(numpy.float32)
        return ensembles.mean_logits(of_members, teacher.facts.get("weights"))
    if teacher.run.kind == "ranker":
        return teacher_logits(TeacherScores.read(find_root() / teacher.run.spec["source"]).of(pairs), pairs)
    precision = run.spec["training"].get("precision", run.computing["precision"])
    path = teacher.folder / "logits" / f"{fingerprint(pairs)[:24]}-{precision}.parquet"
    if not path.exists():
        with lock(f"{teacher.identity[:24]}-{path.stem}", f"what {teacher.name} says of {len(pairs):,} pairs"):
            if not path.exists():  # another student may have made them meanwhile
                logits = teacher_logits(teacher.model_folder, pairs, precision)
                columns = {f"logit_{i}": column for i, column in enumerate(logits.T)}
                with whole_file(path) as temporary:
                    pandas.DataFrame(columns).to_parquet(temporary, index=False, compression="snappy")
    logits = numpy.ascontiguousarray(pandas.read_parquet(path).to_numpy(dtype=numpy.float32))
    if teacher.name not in platt:
        return logits
    return ensembles.calibrated(platt[teacher.name], logits, pairs["question_id"][:])


# ---------------------------------------------------------------- what is scored


def of_table(source: str, pairs: Dataset) -> numpy.ndarray:
    """P(correct) of some pairs as a table of scores has it, (m,).  Raises ValueError for log odds it can't tell."""
    log_odds = TeacherScores.read(find_root() / source).of(pairs)
    if log_odds.max(initial=0) > 36:  # beyond which probabilities tie
        raise ValueError(f"{source}: expected P(correct), or log odds up to 36, got {log_odds.max():g}; scale them")
    return sigmoid(log_odds)


def score_tables(
    run: Run, model: torch.nn.Module, encoder: Any, precision: str, shuffle: int | None = None
) -> dict[str, pandas.DataFrame]:
    """Every pair of a run's dev and test, and its `score`, beside it that of each head (`head_0`) or exit (`exit_4`).

    shuffle: a seed: the model reads each question's candidates in a random order; rows stay in the original one.
    """
    tables, exits = {}, getattr(getattr(model, "config", None), "exits", ())
    for split in ("dev", "test"):
        if split in run.data:
            pairs = load_parts(run.data[split], "all")
            order = numpy.arange(len(pairs)) if shuffle is None else shuffled_rows(pairs["question_id"][:], shuffle)
            scores = score(model, pairs if shuffle is None else pairs.select(order), encoder, precision)
            parts = {} if shuffle is not None else parts_of(scores, exits)
            tables[split] = table_of(pairs, scores.score[numpy.argsort(order)], **parts)
    return tables


def table_of(pairs: Mapping[str, Any], score: Any, **columns: Any) -> pandas.DataFrame:
    """A row a pair: question_id, position, label, score, no text; and `last` (of the last weights), heads, exits."""
    table = pandas.DataFrame({"question_id": pairs["question_id"][:]})
    table["position"] = Questions.together(table["question_id"]).place.astype("int32")
    table["label"] = numpy.asarray(pairs["label"][:], dtype="int8")
    table["score"] = numpy.asarray(score, dtype="float64")
    return table.assign(**columns)


def shuffled_rows(question_id: list[str], seed: int) -> numpy.ndarray:
    """The rows of each question in a random order; questions stay where they are."""
    question = Questions.together(question_id).code
    return numpy.lexsort((numpy.random.default_rng(seed).random(len(question)), question))


def sizes_of(model: Any) -> dict[str, Any]:
    """What the costs of a transformer are counted by."""
    fields = model.config.to_dict()
    config = fields.get("backbone") or fields
    return {name: config[name] for name in SIZE_FIELDS if config.get(name) is not None}
