"""What a study's file may say, read from top to bottom: its keys, their types, and how they fit together."""

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from as2lib.data.sets import apart_from

CONFIG_KEYS = (  # what a study may set of an encoder's configuration, of any family; the vocabulary is its own
    "model_type hidden_size num_hidden_layers num_attention_heads intermediate_size embedding_size hidden_act "
    "max_position_embeddings type_vocab_size initializer_range hidden_dropout_prob attention_probs_dropout_prob "
    "classifier_dropout classifier_dropout_prob"
).split()
STUDY_NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"  # of systems, too: it names files and folders


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _each_once(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise ValueError(f"expected each value once, got {values}")
    return values


Item = TypeVar("Item")
Points = Annotated[list[Item], AfterValidator(_each_once)]
Name = Annotated[str, Field(pattern=STUDY_NAME)]
Parts = Annotated[Points[Annotated[str, Field(min_length=1)]], BeforeValidator(_as_list)]  # `source:split`, or several
Seeds = Points[Annotated[int, Field(ge=0, lt=2**32)]]  # as numpy takes them
Rate = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(gt=0, lt=2**31)]
Width = Annotated[int, Field(gt=0, le=2**14, description="units of a layer")]
Drop = Annotated[float, Field(ge=0, lt=1)]
SectionName = Literal["cascade", "cosinet", "govern"]  # of a paper beside CERBERUS


class Strict(BaseModel):
    """Parameters that refuse what they don't know: a key, another type (yes for a number), infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Pairs(Strict):
    """The splits of one pair set; the parts of one follow each other."""

    train: Parts = Field(min_length=1)
    dev: Parts = []
    test: Parts = []


class Target(Pairs):
    dev: Parts = Field(min_length=1)
    test: Parts = Field(min_length=1)


class Data(Strict):
    target: Target = Field(description="what is ranked")
    transfer: Pairs | None = Field(None, description="what is learnt first; none: nothing is transferred")
    max_length: int = Field(gt=4, le=2**15, description="tokens of question and candidate together")
    describe: list[str] = Field([], description="further known sets whose statistics stand in 01_data")
    allow_shared_questions: bool = Field(False, description="whether train, dev and test may have questions in common")
    leave_out: Literal["shared_answers"] | None = Field(None, description="dev, test questions whose answer train has")

    @model_validator(mode="after")
    def _without_what_is_left_out(self) -> Self:
        if self.leave_out:
            dev = [apart_from(part, self.target.train) for part in self.target.dev]
            test = [apart_from(part, self.target.train) for part in self.target.test]
            object.__setattr__(self, "target", self.target.model_copy(update={"dev": dev, "test": test}))
        return self


class Training(Strict):
    """One fit's budget."""

    steps: Count | None = Field(None, description="optimizer steps")
    epochs: Count | None = Field(None, description="instead of steps: times that each training item is seen")
    learning_rate: Rate
    batch_size: Count | None = Field(None, description="pairs in a batch (list-wise losses: questions)")
    batch_tokens: Count | None = Field(None, description="tokens in a batch at most, padding included, instead")
    warmup: float = Field(0.1, ge=0, lt=1, description="share of the steps with a rising learning rate")
    ratio: float | None = Field(None, gt=1, description="slanted triangle: highest over lowest rate; none: down to 0")
    evaluate_every: Count | None = Field(None, description="steps between evaluations on dev; none: last weights")
    patience: Count | None = Field(None, description="evaluations without a better dev MAP before the fit stops")
    precision: Literal["float32", "bf16"] | None = Field(None, description="of the fit alone; default: the study's")

    @model_validator(mode="after")
    def _one_bound_and_length(self) -> Self:
        if (self.batch_size is None) == (self.batch_tokens is None):
            raise ValueError("expected either batch_size (pairs) or batch_tokens")
        if (self.steps is None) == (self.epochs is None):
            raise ValueError("expected either steps or epochs")
        return self


class Fit(Strict):
    transfer: Training | None = Field(None, description="the first step, on the transfer set, where there is one")
    adapt: Training = Field(description="on the target set")
    direct: Training | None = Field(None, description="on the target set with no transfer step before, beside those")
    repeats: Literal["adapt", "transfer"] = Field("adapt", description="the first step that each seed makes anew")
    dropout: Drop | None = Field(None, description="of the encoders in these fits; none: as they were pretrained")
    attention: Literal["sdpa", "eager"] = Field("sdpa", description="how these fits compute attention")
    precision: Literal["float32", "bf16"] | None = Field(None, description="of these fits; default: the study's")

    @model_validator(mode="after")
    def _in_one_precision(self) -> Self:
        for budget in (self.transfer, self.adapt, self.direct):
            if budget and self.precision and not budget.precision:
                object.__setattr__(budget, "precision", self.precision)
        return self


class Distillation(Strict):
    alpha: float = Field(ge=0, le=1, description="weight of the hard loss")
    tau: float = Field(gt=0, description="temperature")


class Heads(Strict):
    """The multi-headed student."""

    body: int = Field(gt=0, description="layers that the heads share; each head has the base model's other layers")
    combine: Literal["probability", "logit"] = "probability"
    bodies: Points[Count] = Field([], description="further bodies to compare, beside those that the paper's scale to")
    heads: Points[Annotated[int, Field(gt=0, le=100)]] = Field([], description="further numbers of heads to compare")
    perturb: float = Field(0.02, ge=0, description="noise, in standard deviations, where heads would learn the same")
    teachers_of_one_kind: Literal["first", "next"] = Field("first", description="seeds: the study's first, or in turn")


class Ensemble(Strict):
    trials: int = Field(100, gt=0, description="weights that Optuna tries on dev")


class Backbone(Strict):
    """An encoder: a hub name (or folder), or the fields of a configuration to start from nothing."""

    name: str | None = Field(None, min_length=1, description="a hub name, name@commit, or a folder")
    layers: int | None = Field(None, gt=0, description="keep only the first layers of `name`")
    config: dict[Literal[*CONFIG_KEYS], Any] | None = Field(None, description="values as transformers takes them")
    reads: Literal["first", "mean"] = Field("first", description="what its classifier reads: one token, or all")
    size: str = Field("", description="what tables say of it beside a name, such as 6 layers")
    transfer_fit: dict[str, Any] = Field({}, description="what differs from fit.transfer")
    adapt_fit: dict[str, Any] = Field({}, description="what differs from fit.adapt")
    direct_fit: dict[str, Any] = Field({}, description="what differs from fit.direct")

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        origins = [key for key in ("name", "config", "scores") if getattr(self, key, None) is not None]
        if len(origins) != 1:
            raise ValueError("expected name (a hub name, a folder), config, or, of a teacher, scores; the others null")
        return self


class Teacher(Backbone):
    """A large model that teaches, and what a base model of its kind is trained by."""

    label: str = Field(description="what tables call it: point-wise, ELECTRA")
    objective: Literal["pointwise", "listwise", "pairwise"] = Field("pointwise", description="loss of its adapt step")
    stands_for: Literal["electra", "roberta", "albert"] | None = Field(None, description="CERBERUS's one beside it")
    scores: str | None = Field(None, description="no encoder, but the file of what it says of every pair of the target")
    base: Backbone | None = Field(None, description="the base model of its kind; default: the student's encoder")


class Base(Backbone):
    """A further base model: by labels alone, and taught by the student's own teacher."""

    label: str = Field(description="what tables call it: MPNet of six layers")


class Latency(Strict):
    """How CERBERUS Table 5 is timed; the paper: batches of 128 on a GPU."""

    batch: Count = Field(description="pairs in a batch")
    tokens: int = Field(128, gt=4, le=512, description="in a pair, without padding; the encoders have 512 positions")
    repeats: int = Field(gt=1, description="timed batches")
    rows: list[str] = Field(description="which rows are timed, by the names of their runs; the others: not run")


class Cascade(Strict):
    """The Cascade Transformer, and its monolithic and sequential rivals."""

    encoder: str = Field(description="what it starts from, a key of `Params.encoders`, such as teacher/pointwise")
    exits: list[int] = Field(min_length=2, description="layers behind which there is a classifier")
    alphas: Points[Annotated[float, Field(gt=0, lt=1)]] = Field([0.3, 0.4, 0.5], min_length=1, description="drop ratio")
    grid: Points[Drop] = Field([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], min_length=1, description="those combined in the figure")
    transfer: Pairs | None = Field(None, description="set with many candidates, learnt first; default: data.transfer")
    targets: dict[Name, Pairs] = Field({}, description="further sets to adapt to beside data.target, by name")
    fit: Fit | None = Field(None, description="from the wide set on; default: the study's")
    ablations: bool = Field(True, description="whether other ways of training are tried")
    seeds: Seeds | None = Field(None, min_length=1, description="of its headline rows; default: the study's")


class Vectors(Strict):
    """Static word vectors: of a text file, of single words in a sentence encoder, or random, which tell words apart."""

    source: Literal["file", "encoder", "random"]
    name: str | None = Field(None, min_length=1, description="the file, or the encoder's hub name or folder")
    dimensions: Width = 300


class Cosinet(Strict):
    """The Cosinet paper's models; list-wise batches count questions, point-wise ones pairs."""

    vectors: Vectors
    hidden: Width = Field(300, description="filters of a convolution")
    dropout: Drop = Field(0.0, description="on the pair vectors, before the rank RNN")
    pointwise: Training
    listwise: Training
    seeds: Seeds = Field(min_length=1)
    ca_seeds: Seeds | None = Field(None, min_length=1, description="of Compare-Aggregate; default: seeds")


class Encoder(Strict):
    """An encoder of the GOVERN paper: one of the study's backbones, or a hub name of its own."""

    of: str | None = Field(None, description="one of the study's: student, teacher/NAME or base/NAME")
    name: str | None = None
    layers: int | None = Field(None, gt=0, description="keep only its first layers")

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if not (self.of or self.name):
            raise ValueError("expected either of (an encoder of the study) or name (a hub name or a folder)")
        return self

    def backbone(self, study: "Params") -> Backbone:
        """What it starts from, where it does not continue from a transfer step."""
        backbone = study.encoder(self.of) if self.of else Backbone(name=self.name, size=self.name.rsplit("/", 1)[-1])
        if self.layers is None:
            return backbone
        config = backbone.config and {**backbone.config, "num_hidden_layers": self.layers}
        changes = {"config": config, "layers": None if config else self.layers, "size": f"{self.layers} layers"}
        return backbone.model_copy(update=changes)


class Ablation(Strict):
    """GOVERN's section 4.6: teachers of one size, each on nine of ten folds, and students a third of their depth."""

    teacher: Encoder
    student: Encoder
    worse: Encoder | None = Field(None, description="the much worse teacher of Table 4; default: one like the student")
    teachers: Points[Annotated[int, Field(ge=1, le=10)]] = Field(min_length=1, description="how many, in Figure 2")
    fit: Training | None = Field(None, description="of the students; default: fit.adapt")


class Govern(Strict):
    """GOVERN: distillation without labels, then with them."""

    unlabelled: Parts = Field(min_length=1, description="pair sets whose labels are not read")
    start: Literal["transfer", "backbone"] = Field(description="continue from the transfer step, or not")
    transfer: Pairs | None = Field(None, description="of a transfer step of its own, which leaves the pool unseen")
    teachers: list[Encoder] = Field(min_length=1, description="of growing size")
    student: Encoder
    teacher_fit: Training | None = Field(None, description="of a teacher; default of all three: fit.adapt")
    unlabelled_fit: Training | None = Field(None, description="of a student, on the pool")
    labelled_fit: Training | None = Field(None, description="of a student that goes on with labels")
    ablation: Ablation | None = Field(None, description="Figure 2, Table 4 and heads; none: not run")
    precisions: list[Rate] = Field([0.9], min_length=1, description="R@P is given at each")
    seeds: Seeds | None = Field(None, min_length=1, description="of its headline rows; default: the study's")


class Own(Strict):
    """A system of one's own."""

    label: str | None = Field(None, description="what tables call it; default: its name")
    loss: str = Field("ce", description="a loss by its name, or package.module:function")
    model: str | None = Field(None, description="package.module:function that makes the model from the encoder's")
    settings: dict[str, Any] = Field({}, description="further arguments of the loss")
    start: str = Field("student", description="its encoder, a key of `Params.encoders`")
    teachers: list[str] = Field([], description="those of the study that teach it, by their names")


class Params(Strict):
    """A study's file: one target set, one full budget."""

    name: Name = Field(description="the file's, too")
    title: str
    data: Data
    teachers: dict[Name, Teacher] = Field(min_length=1, description="in order; the first is the student's own")
    student: Backbone = Field(description="the encoder from which students, heads and the labels-only student start")
    bases: dict[Name, Base] = Field({}, description="further base models by name, of other families than it")
    fit: Fit
    distillation: Distillation
    mhs: Heads
    ensemble: Ensemble = Ensemble()
    seeds: Seeds = Field(min_length=1, description="of the headline rows")
    grid_seeds: Seeds = Field(default_factory=lambda keys: keys["seeds"][:1], min_length=1, description="of ablations")
    threads: int = Field(1, gt=0, le=512, description="of a fit; results differ between counts")
    precision: Literal["float32", "bf16"] = Field("float32", description="of an encoder; its classifier has float32")
    gpu: bool = Field(False, description="whether each of its fits wants a GPU, which a cluster's jobs then ask for")
    latency: Latency | None = Field(None, description="none: no Table 5 of CERBERUS")
    cascade: Cascade | None = Field(None, description="none: no Cascade Transformer, and no notebook of it")
    cosinet: Cosinet | None = Field(None, description="none: no Cosinet, and no notebook of it")
    govern: Govern | None = Field(None, description="none: no GOVERN, and no notebook of it")
    differs: dict[SectionName, dict[str, Any]] = Field({}, description="what its rows are made with instead, nested")
    rows: dict[str, Seeds | None] = Field({}, description="systems with other seeds; []: not run; None: as all")
    corrected: Literal["headline", "primary"] = Field("headline", description="comparisons that Holm corrects")
    across: Points[Name] = Field([], description="other studies, of other targets, that 13_across sets beside this one")
    rankers: dict[str, str] = Field({}, description="taken as they are, by what tables call them: run.Scorer")
    own: dict[Name, Own] = Field({}, description="systems of one's own by their names, beside the papers'")

    @property
    def own_teacher(self) -> str:
        """The name of the student's own teacher, the first; `base/<own teacher>` is the labels-only student."""
        return next(iter(self.teachers))

    @property
    def encoders(self) -> dict[str, Backbone]:
        """The study's encoders: "student", "teacher/<name>", and "base/<name>" of `bases` and a teacher's own base."""
        encoders = {"student": self.student, **{f"base/{name}": base for name, base in self.bases.items()}}
        for name, teacher in self.teachers.items():
            if not teacher.scores:
                encoders[f"teacher/{name}"] = teacher
            if teacher.base:
                encoders[f"base/{name}"] = teacher.base
        return encoders

    def encoder(self, key: str) -> Backbone:
        """One of `encoders`.  Raises ValueError that lists them."""
        if key not in self.encoders:
            raise ValueError(f"{self.name}: expected an encoder of the study, {', '.join(self.encoders)}; got {key!r}")
        return self.encoders[key]

    def base_of(self, teacher: str) -> str:
        """The key of the base model of a teacher's kind: its own, or the student's."""
        return f"base/{teacher}" if self.teachers[teacher].base else "student"

    @property
    def wide(self) -> Pairs:
        """The pair set with many candidates on which the cascade is trained first, and where pruning matters."""
        return self.cascade.transfer or self.data.transfer

    @model_validator(mode="after")
    def _sections_fit(self) -> Self:
        if (self.data.transfer is None) != (self.fit.transfer is None):
            raise ValueError("fit.transfer: expected with data.transfer, and not without it")
        depth = self.student.layers or (self.student.config or {}).get("num_hidden_layers")  # else the hub knows it
        if depth is not None and self.mhs.body + 1 != depth:
            raise ValueError(f"mhs.body: expected all but one of {depth!r} layers, got {self.mhs.body}")
        if self.teachers[self.own_teacher].scores:
            raise ValueError(f"teachers.{self.own_teacher}: expected an encoder: the first is the student's own")
        for name, own in self.own.items():
            if unknown := [teacher for teacher in own.teachers if teacher not in self.teachers]:
                raise ValueError(f"own.{name}.teachers: expected some of {', '.join(self.teachers)}; got {unknown[0]}")
        if self.cascade and not (self.wide and self.wide.dev and self.wide.test):
            raise ValueError("cascade.transfer: expected train, dev and test")
        train, dev, test = map(set, (self.data.target.train, self.data.target.dev, self.data.target.test))
        if (train & dev or train & test or dev & test) and not self.data.allow_shared_questions:
            raise ValueError("data.target: expected other pairs in each split, or data.allow_shared_questions: true")
        return self
