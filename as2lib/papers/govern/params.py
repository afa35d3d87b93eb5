"""GOVERN's section of a study's file."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from as2lib.runs.params import FAMILIES, SIZES, Backbone, Fits, Pairs, Parts, Strict, Training

if TYPE_CHECKING:
    from as2lib.study import Study


class Encoder(Strict):
    """An encoder of the GOVERN paper: one of the study's backbones, or a hub name of its own."""

    of: str | None = Field(None, description="a backbone, as family-size, such as electra-large")
    name: str | None = None
    layers: int | None = Field(None, gt=0, description="keep only its first layers")

    @model_validator(mode="after")
    def _one_origin(self) -> "Encoder":
        known = [f"{family}-{size}" for family in FAMILIES for size in SIZES]
        if (self.of is None) == (self.name is None) or (self.of or known[0]) not in known:
            raise ValueError(f"expected either of ({', '.join(known)}) or name, a hub name; got {self.of}, {self.name}")
        return self

    def backbone(self, study: "Study") -> Backbone:
        """What it starts from, where it does not continue from a transfer step."""
        if self.of is None:
            found = Backbone(name=self.name, label="")
        else:
            family, size = self.of.split("-")
            found = getattr(study.backbones[family], size)
        if self.layers is None:
            return found
        config = found.config and {**found.config, "num_hidden_layers": self.layers}
        layers, label = found.name and self.layers, f"{self.layers} layers"
        return found.model_copy(update={"layers": layers, "config": config, "label": label})

    def label(self, study: "Study") -> str:
        """What tables call it: its family's name says how it was transferred, its own name where it was otherwise."""
        backbone, given = self.backbone(study), study.govern
        if self.of and ((given.start == "transfer" and not given.transfer) or backbone.name is None):
            family, size = self.of.split("-")
            name = f"{study.backbones[family].name} {size}"
        else:
            name = backbone.name.rsplit("/", 1)[-1]
        return f"{name} ({backbone.label})" if backbone.label else name


class Ablation(Strict):
    """GOVERN's section 4.6: teachers of one size, each on nine of ten folds, and students a third of their depth."""

    teacher: Encoder
    student: Encoder
    worse: Encoder | None = Field(None, description="the much worse teacher of Table 4; default: one like the student")
    teachers: Annotated[list[Annotated[int, Field(ge=1, le=10)]], AfterValidator(lambda n: sorted({*n}))] = Field(
        min_length=1, description="the points of Figure 2: numbers of teachers, 1 to 10"
    )
    fit: Training


class Govern(Fits):
    """GOVERN: distillation without labels, then with them."""

    unlabelled: Parts = Field(min_length=1, description="pair sets whose labels are not read")
    start: Literal["transfer", "backbone"] = Field(description="continue from the transfer step, or not")
    transfer: Pairs | None = Field(None, description="of a transfer step of its own, which leaves the pool unseen")
    transfer_fit: Training | None = Field(None, description="of that step; default: fit.transfer")
    teachers: list[Encoder] = Field(min_length=1, description="of growing size")
    student: Encoder
    teacher_fit: Training
    unlabelled_fit: Training
    longer_fit: Training | None = Field(None, description="of the students of the mean and of GOVERN once more")
    labelled_fit: Training
    ablation: Ablation | None = Field(None, description="Figure 2, Table 4 and heads; none: not run")
    precisions: list[Annotated[float, Field(gt=0, le=1)]] = Field(
        [0.9], min_length=1, description="R@P is given at each"
    )

    @property
    def encoders(self) -> list[Encoder]:
        ablation = self.ablation and [self.ablation.teacher, self.ablation.student, self.ablation.worse]
        return [one for one in (*self.teachers, self.student, *(ablation or ())) if one]

    @model_validator(mode="after")
    def _only_backbones_have_a_transfer_step(self) -> "Govern":
        if self.start == "transfer" and any(encoder.of is None for encoder in (*self.teachers, self.student)):
            raise ValueError("govern.start: expected backbone where an encoder has a name of its own, got transfer")
        if self.start == "backbone" and (self.transfer or self.transfer_fit):
            raise ValueError("govern.start: expected transfer beside a transfer set or fit of its own, got backbone")
        return self
