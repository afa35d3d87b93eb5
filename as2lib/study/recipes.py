"""The kinds of scorers, a class each: what builds one, what it costs, what identifies it; knows no paper.

Importing this brings in neither torch nor numpy, so that a study is planned at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import nan
from typing import TYPE_CHECKING, Any, ClassVar

from as2lib import plugins
from as2lib.fit import objectives
from as2lib.paths import file_sha256, find_root
from as2lib.study.operations import SPECIAL_TOKENS, Lengths, Work, of_pair, on_words

if TYPE_CHECKING:
    from as2lib.study.run import Run
    from as2lib.study.store import Store, Task
    from as2lib.study.study import Study

Parent = "str | Row | tuple[str | Row, int]"  # a system's name or a row, perhaps with a seed of its own
Parents = Mapping[str, "tuple[Parent, ...] | Callable[[int], tuple[Parent, ...]]"]
VECTORS_VERSION = 1  # of word vectors: raised when the same source and corpus would give other ones
TABLE_ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")  # of a teacher's scores
SIZE_FIELDS = (  # of an encoder's configuration
    "model_type hidden_size num_hidden_layers num_attention_heads intermediate_size embedding_size "
    "vocab_size max_position_embeddings"
).split()


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a row's runs have in common.

    kind: names what makes it.  version: raised when what the kind means changes.  family: what a reader calls it.
    data: role ("train", "dev", "test", "vocabulary") → `source:split` parts.
    parents: role ("start", whose weights it continues; "teachers"; "members"; "model") → what it is made from; or a
        function of the seed.
    """

    kind: ClassVar[str]
    version: ClassVar[int]
    family: ClassVar[str] = ""
    seeded: ClassVar[bool] = True
    part: ClassVar[tuple[str, ...]] = ()  # a key of `spec`, and the fields that stand under it
    orders_only: ClassVar[bool] = False  # whether its scores are no probabilities
    reads_order: ClassVar[bool] = False  # whether it reads the order of the candidates
    calibration: ClassVar[str | None] = None  # of what it is made from
    encoders: ClassVar[Sequence[str]] = ()  # pretrained, from which it starts or whose words it reads

    data: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parents: Parents = field(default_factory=dict)

    @property
    def spec(self) -> dict[str, Any]:
        """What identifies it beside data, parents and seed, as JSON values: the fields that are set."""
        spec = {name: value for name, value in vars(self).items() if value is not None}
        del spec["data"], spec["parents"]
        if self.part:
            key, *names = self.part
            spec[key] = {name: spec.pop(name) for name in names if name in spec}
        return spec

    def ingredients(self, store: "Store") -> dict[str, Any]:
        """What a run's identity hashes beside spec, data, parents and seed: weights, threads, precision, own code."""
        return {}

    def made_from(self, parents: Mapping[str, "tuple[Run, ...]"]) -> "Recipe":
        """The recipe as these parents let it be."""
        return self

    def work(self, study: "Study", run: "Run", words: Lengths) -> Work:
        """What a run computes to rank."""
        return Work(0.0)


# ---------------------------------------------------------------- derived from texts, or from other runs


@dataclass(frozen=True, kw_only=True)
class Lexical(Recipe):
    """A ranker that learns nothing.  scorer: a function of `models.lexical`."""

    kind, version, family, seeded = "lexical", 1, "trivial", False
    scorer: str

    @property
    def reads_order(self) -> bool:
        return self.scorer not in ("word_overlap", "bm25")


@dataclass(frozen=True, kw_only=True)
class Ranker(Recipe):
    """A ranker taken as it is, of which nothing is learnt here.

    source: "cosine:NAME", of a sentence encoder's embeddings; "cerberus:FILE", a state dict released with that paper;
    the file of a teacher's scores (`TABLE_ENDINGS`); or else a reranker, by its hub name or folder.
    """

    kind, version, family, seeded = "ranker", 1, "taken as it is", False
    backbone: ClassVar[str] = "google/electra-base-discriminator"  # of the released student
    source: str
    max_length: int

    @property
    def scheme(self) -> str:
        scheme, _, name = self.source.partition(":")
        if name and scheme in ("cosine", "cerberus"):
            return scheme
        return "scores" if self.source.endswith(TABLE_ENDINGS) else "reranker"

    @property
    def name(self) -> str:
        """Of its file, its folder or on the hub."""
        return self.source.partition(":")[2] if self.scheme in ("cosine", "cerberus") else self.source

    @property
    def orders_only(self) -> bool:
        return self.scheme == "cosine"

    @property
    def encoders(self) -> list[str]:
        return [self.name]

    def ingredients(self, store: "Store") -> dict[str, Any]:
        return {"weights": store.encoder_identity(self.name), "precision": store.study.precision}

    def work(self, study: "Study", run: "Run", words: Lengths) -> Work:
        if self.scheme == "scores":
            return Work(nan)  # nobody knows what made them
        facts = study.run(run.name).facts
        if self.scheme == "cosine":  # two texts apart, each with a token before and behind it
            question, candidate = (of_pair(facts["encoder"], length + 2, True) for length in words)
            return Work(candidate, question)
        return Work(of_pair(facts["encoder"], min(sum(words) + SPECIAL_TOKENS, self.max_length), **facts["shape"]))


@dataclass(frozen=True, kw_only=True)
class Ensemble(Recipe):
    """Its members' scores combined: "mean", "weighted" by so many `trials` on dev, or "logistic", fitted on dev."""

    kind, version, family = "ensemble", 2, "ensemble"
    combine: str = "mean"
    trials: int | None = None
    calibration: str | None = None

    def made_from(self, parents: Mapping[str, "tuple[Run, ...]"]) -> "Ensemble":
        """Members whose scores only order candidates are calibrated first."""
        orders_only = any(member.recipe.orders_only for member in parents["members"])
        return replace(self, calibration="platt") if orders_only else self

    def work(self, study: "Study", run: "Run", words: Lengths) -> Work:
        parts = [member.recipe.work(study, member, words) for member in run.parents["members"]]
        return Work(sum(part.candidate for part in parts), sum(part.question for part in parts))


@dataclass(frozen=True, kw_only=True)
class Shuffled(Recipe):
    """Another run's model over lists in a random order."""

    kind, version = "shuffled", 1

    def work(self, study: "Study", run: "Run", words: Lengths) -> Work:
        [model] = run.parents["model"]
        return model.recipe.work(study, model, words)


# ---------------------------------------------------------------- fits


@dataclass(frozen=True, kw_only=True)
class Fit(Recipe):
    """A trained model.

    loss: a name, or the path of one's own.  training: how long and how fast, as `fit.train` takes it.
    unit: what stays together in a batch, "pair" or "question"; None: as the loss needs.
    leave_out: [n, folds]: learns from the other folds of the questions.  unlabelled: learns from a pool without labels.
    shuffle: learns from lists, and scores them, in a random order that the seed decides.
    """

    kind, version = "fit", 2
    loss: str = "ce"
    training: Mapping[str, Any]
    unit: str | None = None
    leave_out: Sequence[int] | None = None
    unlabelled: bool | None = None
    shuffle: bool | None = None
    model: ClassVar[str | None] = None  # the path of one's own
    needs_vocabulary: ClassVar[bool] = False  # whether its words are those of the study's texts
    arguments: ClassVar[Mapping[str, Any]] = {}  # what `fit.train` takes beside pairs, loss and budget

    @property
    def orders_only(self) -> bool:
        return (self.unit or objectives.unit(self.loss)) == "question"

    def ingredients(self, store: "Store") -> dict[str, Any]:
        computing = {"threads": store.study.threads, "precision": store.study.precision}
        own = {path: plugins.source(path) for path in (self.loss, self.model) if plugins.is_path(path)}
        return computing | ({"own": own} if own else {})

    def facts(self, model: Any) -> dict[str, Any]:
        """What a run says of its model, which is not kept with its scores."""
        return {}


@dataclass(frozen=True, kw_only=True)
class Words(Fit):
    """A model over static word vectors: `type` "cosinet" or "compare_aggregate".

    vectors: their source, as `data.vectors.embeddings` takes it.  The other fields are the model's.
    """

    family = "no transformer"
    part = ("words", "type", "vectors", "hidden", "dropout", "rank_rnn", "bidirectional", "related")
    type: str
    vectors: Mapping[str, Any]
    hidden: int
    dropout: float = 0.0
    rank_rnn: str | None = None
    bidirectional: bool = False
    related: bool | None = None

    @property
    def spec(self) -> dict[str, Any]:
        spec = super().spec
        return spec | {"words": {**spec["words"], "rank_rnn": self.rank_rnn}}  # None, too

    @property
    def reads_order(self) -> bool:
        return self.rank_rnn is not None

    @property
    def encoders(self) -> list[str]:
        return [self.vectors["name"]] if self.vectors["source"] == "encoder" else []

    @property
    def needs_vocabulary(self) -> bool:
        return self.vectors["source"] == "ppmi"

    def ingredients(self, store: "Store") -> dict[str, Any]:
        vectors: dict[str, Any] = {"version": VECTORS_VERSION}
        if self.encoders:
            vectors["weights"] = store.encoder_identity(self.vectors["name"])
        elif "name" in self.vectors:
            vectors["sha256"] = file_sha256(find_root() / self.vectors["name"])
        return super().ingredients(store) | {"vectors": vectors}

    def build(self, task: "Task") -> tuple[Any, Any]:
        """The model before its first step, and what encodes its pairs."""
        from as2lib.data.vectors import embeddings
        from as2lib.data.words import WordEncoder
        from as2lib.models.compare_aggregate import CompareAggregate
        from as2lib.models.cosinet import Cosinet

        words = set().union(*(_words(tuple(parts)) for parts in self.data.values()))
        texts = _texts(self.data["vocabulary"]) if "vocabulary" in self.data else []
        identity = task.store.ingredients(task.run.name)["vectors"]
        vectors = embeddings(self.vectors, identity, words, texts)
        network = {"cosinet": Cosinet, "compare_aggregate": CompareAggregate}[self.type]
        shape = {name: value for name, value in self.spec["words"].items() if name not in ("type", "vectors")}
        return network(vectors, **shape), WordEncoder(vectors.words, self.unit)

    def work(self, study: "Study", run: "Run", words: Lengths) -> Work:
        return on_words(self.spec["words"], words)


@dataclass(frozen=True, kw_only=True)
class Encoder(Fit):
    """A cross-encoder.

    backbone: what it starts from, {"name", "layers"} or {"config"}; None: from its parent "start", of which `layers`
    keeps the first.  reads: "mean" of all tokens in place of the first.  model: the path of a function that changes it.
    dropout, attention: of its encoder; None: as it comes.  schedule: which exit of a cascade learns in a step.
    alpha, tau, settings: of the loss.  calibration: "platt" of teachers whose scores only order candidates.
    """

    family = "one encoder"
    shape: ClassVar[Mapping[str, int]] = {}  # of heads
    max_length: int
    backbone: Mapping[str, Any] | None = None
    layers: int | None = None
    reads: str | None = None
    model: str | None = None
    dropout: float | None = None
    attention: str | None = None
    schedule: str | None = None
    alpha: float | None = None
    tau: float | None = None
    settings: Mapping[str, Any] | None = None
    calibration: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        names = ["alpha", "tau", "settings", "unit", "schedule"]
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @property
    def encoders(self) -> list[str]:
        return [self.backbone["name"]] if "name" in (self.backbone or {}) else []

    @property
    def every_token(self) -> bool:
        """Whether a classifier reads every token of the last layer."""
        return self.reads is not None

    @property
    def needs_vocabulary(self) -> bool:
        return "config" in (self.backbone or {})

    def ingredients(self, store: "Store") -> dict[str, Any]:
        weights = [store.encoder_identity(name) for name in self.encoders]
        return super().ingredients(store) | ({"weights": weights[0]} if weights else {})

    def build(self, task: "Task") -> tuple[Any, Any]:
        """The model before its first step, and what encodes its pairs."""
        from as2lib import models
        from as2lib.data.encode import PairEncoder
        from as2lib.data.pretrained import open_tokenizer
        from as2lib.models import cross_encoder
        from as2lib.models.mean import MeanForSequenceClassification
        from as2lib.study.store import require_known_tensors

        if "start" in task.parents:
            folder = task.parents["start"][0].model_folder
            model = cross_encoder.build(folder, self.layers) if self.layers else models.load(folder)
            tokenizer = open_tokenizer(folder)
        elif self.encoders:
            [name] = self.encoders
            require_known_tensors(name)
            model = cross_encoder.build(name, self.backbone.get("layers"))
            tokenizer = open_tokenizer(name)
        else:
            tokenizer = _vocabulary(self.data["vocabulary"], self.max_length)
            sizes = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
            model = cross_encoder.build({**self.backbone["config"], **sizes})
        if self.reads:
            model = MeanForSequenceClassification.from_classifier(model)
        model = self.shaped(model, task.run.seed)
        if self.model:
            model = plugins.load(self.model)(model)
        if self.attention:
            cross_encoder.set_attention(model, self.attention)
        if self.dropout is not None:
            cross_encoder.set_dropout(model, self.dropout)
        return model, PairEncoder(tokenizer, self.max_length)

    def shaped(self, model: Any, seed: int) -> Any:
        """The model that the encoder's becomes."""
        return model

    def facts(self, model: Any) -> dict[str, Any]:
        return {"encoder": sizes_of(model)}

    def work(self, study: "Study", run: "Run", words: Lengths) -> Work:
        tokens = min(sum(words) + SPECIAL_TOKENS, study.data.max_length)  # of a pair of mean words
        every_token = any(step.recipe.every_token for step in run.lineage())
        return Work(of_pair(configuration(study, run), tokens, every_token, **self.shape))


@dataclass(frozen=True, kw_only=True)
class Heads(Encoder):
    """A multiple-heads student: `heads` of the encoder's last layers on a `body` of the others.

    combine: "probability" or "logit".  perturb: noise between heads that would learn the same; None: there is none.
    """

    family = "heads"
    part = ("mhs", "body", "heads", "combine", "perturb")
    body: int
    heads: int
    combine: str
    perturb: float | None = None

    def shaped(self, model: Any, seed: int) -> Any:
        from as2lib.models.mhs import MHSForSequenceClassification

        return MHSForSequenceClassification.from_backbone(model, **self.spec["mhs"], seed=seed)

    @property
    def shape(self) -> dict[str, int]:
        return {"body": self.body, "heads": self.heads}


@dataclass(frozen=True, kw_only=True)
class Cascade(Encoder):
    """A cascade: an encoder with a classifier behind each of the layers `exits`.

    stop_gradient, pooling: as `models.cascade` has them; None: as the paper.
    """

    family = "cascade"
    part = ("cascade", "exits", "stop_gradient", "pooling")
    every_token = True
    exits: Sequence[int]
    stop_gradient: bool | None = None
    pooling: str | None = None

    def ingredients(self, store: "Store") -> dict[str, Any]:
        return super().ingredients(store) | {"classifiers": "glorot"}  # what they start with: models/cascade.py

    def shaped(self, model: Any, seed: int) -> Any:
        from as2lib.models.cascade import CascadeTransformer
        from as2lib.models.mean import MeanForSequenceClassification

        if isinstance(model, CascadeTransformer):
            return model
        whole = model.model if isinstance(model, MeanForSequenceClassification) else model
        return CascadeTransformer.from_backbone(whole, **self.spec["cascade"])


def sizes_of(model: Any) -> dict[str, Any]:
    """What the costs of a transformer are counted by."""
    fields = model.config.to_dict()
    config = fields.get("backbone") or fields
    return {name: config[name] for name in SIZE_FIELDS if config.get(name) is not None}


def configuration(study: "Study", run: "Run") -> dict[str, Any]:
    """Of a run's encoder, as its fit recorded it, with the layers that the run keeps of it."""
    recipes = [step.recipe for step in run.lineage()]
    backbone = recipes[0].backbone
    config = backbone.get("config") or study.run(run.name).facts["encoder"]
    layers = backbone.get("layers") or config["num_hidden_layers"]
    for recipe in recipes:
        layers = recipe.layers or layers
    return {**config, "num_hidden_layers": layers}


# ---------------------------------------------------------------- texts, which the fits of a process share


@lru_cache(maxsize=4)
def _vocabulary(parts: tuple[str, ...], max_length: int) -> Any:
    """The tokenizer of an encoder that starts from nothing."""
    from as2lib.data.encode import word_tokenizer

    return word_tokenizer(_texts(parts, each=True), max_length)


@lru_cache(maxsize=8)
def _words(parts: tuple[str, ...]) -> frozenset[str]:
    """Every word of some parts: splitting takes longer than a fit."""
    from as2lib.data.words import words_of

    return frozenset(word for words in words_of(dict.fromkeys(_texts(parts))) for word in words)


def _texts(parts: Sequence[str], each: bool = False) -> list[str]:
    """All candidates, and each question once, or as often as it has candidates."""
    from as2lib.data.pairs import load_parts

    pairs = load_parts(parts, "all")
    questions = pairs["question"][:]
    return [*(questions if each else dict.fromkeys(questions)), *pairs["answer"][:]]
