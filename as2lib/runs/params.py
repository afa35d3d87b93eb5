"""What every paper's parameters are made of: pair sets, encoders, budgets and tests; unknown keys are refused."""

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from as2lib.runs.run import Run
    from as2lib.study import Study

FAMILIES = ("electra", "roberta", "albert")  # the teachers' places in the papers; the first one is the student's own
SIZES = ("large", "base")


TOO_LONG = "data.max_length: expected at most {} tokens, which {} has positions for (max_position_embeddings), got {}"
APART = "give each split questions of its own"
ALLOW_SHARED = f"{APART}, or allow it: data.allow_shared_questions: true"


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _each_once(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise ValueError(f"expected each value once, got {values}")
    return values


One = TypeVar("One")
Points = Annotated[list[One], AfterValidator(_each_once)]
Parts = Annotated[Points[Annotated[str, Field(min_length=1)]], BeforeValidator(_as_list)]  # `source`, `source:split`, …
Seeds = Points[Annotated[int, Field(ge=0, lt=2**32)]]  # as numpy takes them
Alpha = Annotated[float, Field(ge=0, le=1, description="weight of the hard loss")]
Tau = Annotated[float, Field(gt=0, description="temperature")]
Rate = Annotated[float, Field(gt=0, le=1, description="learning rate")]
Count = Annotated[int, Field(gt=0, lt=2**31)]
Width = Annotated[int, Field(gt=0, le=2**14)]  # of a layer: a larger one fits in no memory
Drop = Annotated[float, Field(ge=0, lt=1)]


class Strict(BaseModel):
    """Parameters that refuse what they don't know: a key, another type (yes for a number), infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, content: Any) -> Any:
        for key in content if isinstance(content, dict) else ():
            if key not in cls.model_fields:
                near = get_close_matches(str(key), cls.model_fields, n=1)
                meant = f"did you mean {near[0]}?" if near else f"expected some of {', '.join(cls.model_fields)}"
                raise PydanticCustomError("unknown", "unknown key; {meant}", {"key": str(key), "meant": meant})
        return content


def said(error: ValidationError) -> str:
    """What is wrong with some parameters, on one line: each key with its problem."""
    found = []
    for one in error.errors():
        key = ".".join(map(str, (*one["loc"], *([one["ctx"]["key"]] if one["type"] == "unknown" else ()))))
        problem = one["msg"].removeprefix("Value error, ")
        found.append(f"{key}: {problem}" if key else problem)
    return " ".join("; ".join(found).split())  # a key, too, may hold a line break


class Pairs(Strict):
    """The splits of one pair set; the parts of one follow each other."""

    train: Parts = Field(min_length=1)
    dev: Parts = []
    test: Parts = []


class Data(Strict):
    target: Pairs
    transfer: Pairs
    max_length: int = Field(gt=4, le=2**15, description="tokens of question and answer together")
    describe: list[str] = Field([], description="further known sources whose statistics stand in 01_data")
    allow_shared_questions: bool = Field(False, description="whether train, dev and test may have questions in common")


class Fits(Strict):
    """What a section's fits may have otherwise than its study."""

    seeds: Seeds | None = Field(None, min_length=1, description="of its headline rows; default: the study's")
    precision: Literal["float32", "bf16", "auto"] | None = Field(None, description="default: the study's")
    kernels: bool | None = Field(None, description="default: the study's")

    def repeats(self, study: "Study") -> list[int]:
        """The seeds of its headline rows."""
        return self.seeds or study.seeds

    def applied(self, run: "Run") -> "Run":
        """The run, computed as this section says."""
        return replace(run, precision=self.precision, kernels=self.kernels)


class Training(Strict):
    """One fit's budget."""

    steps: Count | None = Field(None, description="optimizer steps")
    epochs: Count | None = Field(None, description="instead of steps: times that each training item is seen")
    learning_rate: Rate
    batch_size: Count | None = Field(None, description="pairs in a batch")
    batch_tokens: Count | None = Field(None, description="tokens in a batch at most, padding included, instead")
    warmup: float = Field(0.1, ge=0, lt=1, description="share of the steps with a rising learning rate")
    ratio: float | None = Field(None, gt=1, description="slanted triangle: highest over lowest rate; none: down to 0")
    evaluate_every: Count | None = Field(None, description="steps between evaluations on dev; none: last weights")
    patience: Count = Field(50, description="evaluations without a better dev MAP before the fit stops")

    @model_validator(mode="after")
    def _one_bound_and_length(self) -> "Training":
        if (self.batch_size is None) == (self.batch_tokens is None):
            raise ValueError("expected either batch_size (pairs) or batch_tokens")
        if (self.steps is None) == (self.epochs is None):
            raise ValueError("expected either steps or epochs")
        if self.epochs and not self.batch_size:
            raise ValueError("epochs: expected batch_size with it")
        return self

    @property
    def length(self) -> str:
        """As a label says it: "2,400 steps", "3 epochs"."""
        return f"{self.steps:,} steps" if self.steps else f"{self.epochs} epoch{'s' * (self.epochs > 1)}"

    def said(self) -> str:
        """As a caption says it: "2,400 steps of 8 pairs at a rate of 5e-05, last weights", "1 epoch …"."""
        length = self.length + " in steps" * (not self.steps)
        batch = f"{self.batch_size} pairs" if self.batch_size else f"at most {self.batch_tokens:,} tokens"
        kept = "best weights on dev" if self.evaluate_every else "last weights"
        return f"{length} of {batch} at a rate of {self.learning_rate:g}, {kept}"


class Configuration(Strict):
    """The fields of an encoder's configuration that a study may set; its vocabulary and its classes are the study's.

    Families share them: a field that one doesn't read stays unused.
    """

    model_type: Literal["electra", "roberta", "albert", "bert", "deberta-v2"]
    hidden_size: Width
    num_hidden_layers: Annotated[int, Field(gt=0, le=256)]
    num_attention_heads: Width
    intermediate_size: Width | None = None
    embedding_size: Width | None = None
    max_position_embeddings: Annotated[int, Field(gt=0, le=2**17)] = 512
    type_vocab_size: Annotated[int, Field(ge=0, le=1024)] = 2
    hidden_act: Literal["gelu", "gelu_new", "gelu_fast", "relu", "silu", "swish", "tanh"] = "gelu"
    initializer_range: Annotated[float, Field(ge=0)] = 0.02
    layer_norm_eps: Annotated[float, Field(gt=0)] = 1e-12
    hidden_dropout_prob: Drop = 0.0
    attention_probs_dropout_prob: Drop = 0.0
    classifier_dropout: Drop | None = None
    classifier_dropout_prob: Drop = 0.0
    num_hidden_groups: Count = 1
    inner_group_num: Count = 1
    relative_attention: bool = False
    max_relative_positions: int = -1
    position_biased_input: bool = True
    pos_att_type: list[Literal["c2p", "p2c"]] | None = None

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> "Configuration":
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"num_attention_heads: expected a divisor of hidden_size, {self.hidden_size}; "
                f"got {self.num_attention_heads}"
            )
        return self


def positions(config: dict[str, Any]) -> int | None:
    """Tokens that an encoder's sequences may have, by the fields of its configuration; None where any number."""
    if config.get("max_position_embeddings") is None or not config.get("position_biased_input", True):
        return None
    # These count positions from behind the padding token's number, which is 0 in the vocabularies of a study.
    behind = config["model_type"] in ("roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet")
    return config["max_position_embeddings"] - (behind and 1 + (config.get("pad_token_id") or 0))


def _checked(config: dict[str, Any]) -> dict[str, Any]:
    Configuration.model_validate(config)
    return config


class Backbone(Strict):
    """An encoder: a hub name (or folder), or the fields of a configuration to start from nothing."""

    name: str | None = Field(None, min_length=1)
    layers: int | None = Field(None, gt=0, description="keep only the first layers of `name`")
    config: Annotated[dict[str, Any], AfterValidator(_checked)] | None = None
    label: str = Field(description="what it is, in the tables")
    transfer: Pairs | None = Field(None, description="its own transfer set; default: data.transfer")
    transfer_fit: dict[str, Any] = Field({}, description="what differs from fit.transfer")
    adapt_fit: dict[str, Any] = Field({}, description="what differs from fit.adapt and fit.direct")

    @model_validator(mode="after")
    def _one_origin(self) -> "Backbone":
        if (self.name is None) == (self.config is None):
            raise ValueError("expected either name (a hub name or a folder) or config (to start from nothing)")
        if self.layers and self.config:
            raise ValueError("layers: expected with name; of a config, num_hidden_layers says how many")
        return self

    @property
    def depth(self) -> int | None:
        """Layers; None where only the hub knows."""
        return self.layers or (self.config or {}).get("num_hidden_layers")


class Family(Strict):
    name: str = Field(description="what the tables call both sizes")
    large: Backbone
    base: Backbone


class Fit(Strict):
    transfer: Training
    adapt: Training
    direct: Training


class Own(Strict):
    """A system of one's own: what is passed stands in a module of one's own, by its import path."""

    loss: str = Field("ce", description="a loss of `runs.fit.objectives`, or package.module:function")
    model: str | None = Field(None, description="package.module:function that makes the model from the encoder's")
    settings: dict[str, Any] = Field({}, description="further arguments of the loss")
    family: Literal["electra", "roberta", "albert"] | None = Field(None, description="default: the first")
    size: Literal["base", "large"] = "base"
    teachers: list[Literal["electra", "roberta", "albert"]] = Field([], description="families whose large models teach")


class Significance(Strict):
    alpha: float = Field(0.01, gt=0, lt=1, description="a corrected p below it counts")
    margin: float = Field(0.02, gt=0, description="two systems within it, in AP, count as equal")
    resamples: int = Field(2000, gt=0)
