"""CERBERUS's parameters: distillation, heads, ensembles, its grid, and how its Table 5 is timed."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from as2lib.runs.params import FAMILIES, Alpha, Count, Parts, Points, Rate, Seeds, Strict, Tau, Training


class Distillation(Strict):
    alpha: Alpha
    tau: Tau


class Heads(Strict):
    body: int = Field(gt=0, description="layers that the heads share; each head has the base model's other layers")
    combine: Literal["probability", "logit"] = "probability"
    bodies: Points[Count] = Field([], description="further bodies to compare, beside those that the paper's scale to")
    heads: Points[Annotated[int, Field(gt=0, le=100)]] = Field([], description="further numbers of heads to compare")
    perturb: float = Field(0.02, ge=0, description="noise, in standard deviations, where heads would learn the same")


class Ensemble(Strict):
    trials: int = Field(100, gt=0, description="weights that Optuna tries on dev")


class Balances(Strict):
    """Weights of the hard loss, and temperatures.  Empty: the value that the study gives."""

    alpha: Points[Alpha] = Field([])
    tau: Points[Tau] = Field([])


class Grid(Balances):
    """Points tried for each fit of CERBERUS; the best on dev is kept.  Empty: the value that the study gives."""

    learning_rate: Points[Rate] = Field([])
    batch_size: Points[Count] = Field([])


class Longer(Strict):
    """Rows of Table 2 that are trained again at a larger budget, beside those of the study's own."""

    rows: list[str] = Field(min_length=1, description="by the names of their runs; what they are made from comes along")
    once: list[str] = Field([], description="further rows, of which the first seed alone is fitted")
    transfer: Training
    adapt: Training
    direct: Training | None = Field(None, description="of rows without a transfer step, such as direct/electra-base")
    transfer_fit: dict[Literal["electra", "roberta", "albert"], dict[str, Any]] = Field(
        {}, description="what differs from `transfer`, by family"
    )
    grid: Balances = Field(Balances(), description="kd/electra with each alpha, and with each tau, to compare on dev")
    without_dropout: bool = Field(False, description="kd/electra without dropout, too, to compare on dev")
    seeds: Seeds = Field([0], min_length=1)
    precision: Literal["float32", "bf16", "auto"] = "float32"
    kernels: bool = True

    @property
    def every(self) -> list[str]:
        """All rows, those of one seed last."""
        return [*self.rows, *self.once]

    @property
    def without_transfer(self) -> Training | None:
        """`direct`, where a row is fitted with it."""
        return self.direct if any(row.startswith("direct/") for row in self.every) else None


class Second(Strict):
    """Rows of Table 2 on a second target, from pretrained encoders as they are, where the transfer set is none."""

    rows: Points[str] = Field(min_length=1, description="by the names of their runs; what these need comes along")
    names: dict[Literal["electra", "roberta", "albert"], str] = Field(description="what the tables call each family")
    train: dict[Literal["electra", "roberta", "albert"], Parts] = Field(description="by family, each by its own")
    dev: Parts = Field(min_length=1)
    test: Parts = Field(min_length=1)
    fit: Training
    base_fit: Training | None = Field(None, description="of models of the base size; default: fit")
    note: str = Field("", description="how the budgets were found, said beside them")
    precision: Literal["float32", "bf16", "auto"] = "float32"
    kernels: bool = True

    @model_validator(mode="after")
    def _every_family(self) -> "Second":
        for key in ("names", "train"):
            if missing := [family for family in FAMILIES if not getattr(self, key).get(family)]:
                raise ValueError(f"{key}: expected each of {', '.join(FAMILIES)}; missing: {', '.join(missing)}")
        return self


class Kinds(Strict):
    """Students that are taught again, by teachers of different kinds: it wants Cosinet's section beside it."""

    rows: Points[str] = Field(min_length=1, description="by the names of their runs; with `longer`, some of its rows")
    seeds: Seeds = Field([0], min_length=1)


class Latency(Strict):
    """How CERBERUS Table 5 is timed; the paper: batches of 128 on a GPU."""

    batch: Count = Field(description="pairs in a batch")
    tokens: int = Field(128, gt=4, le=512, description="in a pair, without padding; the encoders have 512 positions")
    repeats: int = Field(gt=1, description="timed batches")
    rows: list[str] = Field(description="which rows are timed, by the names of their runs; the others: not run")
