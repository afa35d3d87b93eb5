"""What every paper's parameters are made of: pair sets, encoders, budgets and tests; unknown keys are refused."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

FAMILIES = ("electra", "roberta", "albert")  # the teachers' places in the papers; the first one is the student's own
SIZES = ("large", "base")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Parts = Annotated[list[str], BeforeValidator(_as_list)]  # `source`, `source:split`, or a list of these


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Pairs(Strict):
    """The splits of one pair set; the parts of one follow each other."""

    train: Parts
    dev: Parts = []
    test: Parts = []


class Data(Strict):
    target: Pairs
    transfer: Pairs
    max_length: int = Field(gt=4, description="tokens of question and answer together")
    describe: list[str] = Field([], description="further known sources whose statistics stand in 01_data")


class Training(Strict):
    """One fit's budget."""

    steps: int | None = Field(None, gt=0, description="optimizer steps")
    epochs: int | None = Field(None, gt=0, description="instead of steps: times that each training item is seen")
    learning_rate: float = Field(gt=0)
    batch_size: int | None = Field(None, gt=0, description="pairs in a batch")
    batch_tokens: int | None = Field(None, gt=0, description="tokens in a batch at most, padding included, instead")
    warmup: float = Field(0.1, ge=0, lt=1, description="share of the steps with a rising learning rate")
    ratio: float | None = Field(None, gt=1, description="slanted triangle: highest over lowest rate; none: down to 0")
    evaluate_every: int | None = Field(None, gt=0, description="steps between evaluations on dev; none: last weights")
    patience: int = Field(50, gt=0, description="evaluations without a better dev MAP before the fit stops")

    @model_validator(mode="after")
    def _one_bound(self) -> "Training":
        if (self.batch_size is None) == (self.batch_tokens is None):
            raise ValueError("expected either batch_size (pairs) or batch_tokens")
        return self

    @model_validator(mode="after")
    def _one_length(self) -> "Training":
        if (self.steps is None) == (self.epochs is None):
            raise ValueError("expected either steps or epochs")
        if self.epochs and not self.batch_size:
            raise ValueError("epochs: expected batch_size with it")
        return self


class Backbone(Strict):
    """An encoder: a hub name (or folder), or the fields of a configuration to start from nothing."""

    name: str | None = None
    layers: int | None = Field(None, gt=0, description="keep only the first layers of `name`")
    config: dict[str, Any] | None = None
    label: str = Field(description="what it is, in the tables")
    transfer: Pairs | None = Field(None, description="its own transfer set; default: data.transfer")
    transfer_fit: dict[str, Any] = Field({}, description="what differs from fit.transfer")
    adapt_fit: dict[str, Any] = Field({}, description="what differs from fit.adapt and fit.direct")

    @model_validator(mode="after")
    def _one_origin(self) -> "Backbone":
        if (self.name is None) == (self.config is None):
            raise ValueError("expected either name (a hub name or a folder) or config (to start from nothing)")
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


class Significance(Strict):
    alpha: float = Field(0.01, gt=0, lt=1, description="a corrected p below it counts")
    margin: float = Field(0.02, gt=0, description="two systems within it, in AP, count as equal")
    resamples: int = Field(2000, gt=0)
