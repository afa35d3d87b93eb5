"""The Cascade Transformer's section of a study's file."""

import re
from typing import Literal

from pydantic import Field, model_validator

from as2lib.runs.params import Drop, Fits, Pairs, Points, Strict, Training


class CascadeFit(Strict):
    transfer: Training
    joint: Training | None = Field(
        None, description="transfer of a cascade, of whose exits one learns in each step; default: that of the others"
    )
    adapt: Training


class Cascade(Fits):
    """The Cascade Transformer, its monolithic and sequential rivals, and what is tried of them."""

    family: Literal["electra", "roberta", "albert"] = Field(description="whose encoder it starts from")
    size: Literal["large", "base"] = "base"
    exits: list[int] = Field(min_length=2, description="layers behind which there is a classifier")
    alphas: Points[Drop] = Field([0.3, 0.4, 0.5], min_length=1, description="drop ratios in the tables")
    grid: Points[Drop] = Field(
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], min_length=1, description="drop ratios that are combined in the figure"
    )
    transfer: Pairs | None = Field(None, description="set with many candidates, learnt first; default: data.transfer")
    targets: dict[str, Pairs] = Field({}, description="further sets to adapt to beside data.target, by name")
    fit: CascadeFit
    mean: list[int] = Field(
        [], description="exits whose independent model reads the mean of its tokens, as exits do, not the first"
    )
    note: str = Field("", description="how the budgets were found, said beside them")
    ablations: bool = Field(True, description="whether other ways of training are tried")

    @model_validator(mode="after")
    def _consistent(self) -> "Cascade":
        for name, pairs in self.targets.items():
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", name) or name in ("wide", "target"):
                raise ValueError(f'targets: expected names of letters and digits but "wide" and "target", got {name!r}')
            if not pairs.test:
                raise ValueError(f"targets.{name}: expected train, test and, where something is chosen on it, dev")
        if sorted(set(self.exits)) != self.exits or self.exits[0] < 1:
            raise ValueError(f"exits: expected increasing layers from 1, got {self.exits}")
        if not set(self.mean) <= set(self.exits):
            raise ValueError(f"mean: expected some of the exits {self.exits}, got {self.mean}")
        return self
