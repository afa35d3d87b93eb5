"""The Cascade Transformer's section of a study's file."""

from typing import Literal

from pydantic import Field, model_validator

from as2lib.runs.params import Drop, Pairs, Points, Strict, Training


class CascadeFit(Strict):
    transfer: Training
    adapt: Training


class Cascade(Strict):
    """The Cascade Transformer, its monolithic and sequential rivals, and what is tried of them."""

    family: Literal["electra", "roberta", "albert"] = Field(description="whose encoder it starts from")
    size: Literal["large", "base"] = "base"
    exits: list[int] = Field(min_length=2, description="layers behind which there is a classifier")
    alphas: Points[Drop] = Field([0.3, 0.4, 0.5], min_length=1, description="drop ratios in the tables")
    grid: Points[Drop] = Field(
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], min_length=1, description="drop ratios that are combined in the figure"
    )
    transfer: Pairs | None = Field(None, description="set with many candidates, learnt first; default: data.transfer")
    fit: CascadeFit
    ablations: bool = Field(True, description="whether other ways of training are tried")

    @model_validator(mode="after")
    def _increasing(self) -> "Cascade":
        if sorted(set(self.exits)) != self.exits or self.exits[0] < 1:
            raise ValueError(f"exits: expected increasing layers from 1, got {self.exits}")
        return self
