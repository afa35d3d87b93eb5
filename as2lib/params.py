"""What a reader may change: the typed schema of `params/<study>.yaml`, unknown keys refused; knows no model."""

import re
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from as2lib.paths import find_root

FAMILIES = ("electra", "roberta", "albert")  # the teachers' places in the papers; the first one is the student's own
SIZES = ("large", "base")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Pairs(Strict):
    """The splits of one pair set; each is `source`, `source:split`, or a list of these, one after the other."""

    train: list[str]
    dev: list[str] = []
    test: list[str] = []

    @field_validator("train", "dev", "test", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


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


class CascadeFit(Strict):
    transfer: Training
    adapt: Training


class Distillation(Strict):
    alpha: float = Field(ge=0, le=1, description="weight of the hard loss")
    tau: float = Field(gt=0, description="temperature")


class Heads(Strict):
    body: int = Field(gt=0, description="layers that the heads share; each head has the base model's other layers")
    combine: Literal["probability", "logit"] = "probability"
    bodies: list[int] = Field([], description="further bodies to compare, beside those that the paper's scale to")
    heads: list[int] = Field([], description="further numbers of heads to compare")
    perturb: float = Field(0.02, ge=0, description="noise, in standard deviations, where heads would learn the same")


class Ensemble(Strict):
    trials: int = Field(100, gt=0, description="weights that Optuna tries on dev")


class Grid(Strict):
    """Points tried for each fit of CERBERUS; the best on dev is kept.  Empty: the value that the study gives."""

    alpha: list[float] = []
    tau: list[float] = []
    learning_rate: list[float] = []
    batch_size: list[int] = []


class Cascade(Strict):
    """The Cascade Transformer, its monolithic and sequential rivals, and what is tried of them."""

    family: Literal["electra", "roberta", "albert"] = Field(description="whose encoder it starts from")
    size: Literal["large", "base"] = "base"
    exits: list[int] = Field(min_length=2, description="layers behind which there is a classifier")
    alphas: list[float] = Field([0.3, 0.4, 0.5], min_length=1, description="drop ratios in the tables")
    grid: list[float] = Field([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], description="drop ratios that are combined in the figure")
    transfer: Pairs | None = Field(None, description="set with many candidates, learnt first; default: data.transfer")
    fit: CascadeFit
    ablations: bool = Field(True, description="whether other ways of training are tried")

    @model_validator(mode="after")
    def _increasing(self) -> "Cascade":
        if sorted(set(self.exits)) != self.exits or self.exits[0] < 1:
            raise ValueError(f"exits: expected increasing layers from 1, got {self.exits}")
        return self


class Vectors(Strict):
    """Static word vectors: of a text file, of single words in a sentence encoder, or of the study's own text."""

    source: Literal["file", "encoder", "ppmi"]
    name: str | None = Field(None, description="the file, or the encoder's hub name or folder")
    dimensions: int = Field(300, gt=0)

    @model_validator(mode="after")
    def _named(self) -> "Vectors":
        if (self.name is None) != (self.source == "ppmi"):
            raise ValueError("expected a name for file and encoder, and none for ppmi")
        return self


class Cosinet(Strict):
    """The Cosinet paper's models; list-wise batches count questions, point-wise ones pairs."""

    vectors: Vectors
    hidden: int = Field(300, gt=0, description="filters of a convolution")
    dropout: float = Field(0.0, ge=0, lt=1, description="on the pair vectors")
    pointwise: Training
    listwise: Training
    seeds: list[int] = Field(min_length=1)
    ca_seeds: list[int] | None = Field(None, min_length=1, description="of Compare-Aggregate; default: seeds")
    ca_listwise: Training | None = Field(None, description="of Compare-Aggregate; default: listwise")


class Significance(Strict):
    alpha: float = Field(0.01, gt=0, lt=1, description="a corrected p below it counts")
    margin: float = Field(0.02, gt=0, description="two systems within it, in AP, count as equal")
    resamples: int = Field(2000, gt=0)


class Latency(Strict):
    """How CERBERUS Table 5 is timed; the paper: batches of 128 on a GPU."""

    batch: int = Field(gt=0, description="pairs in a batch")
    tokens: int = Field(128, gt=0, description="in a pair, without padding")
    repeats: int = Field(gt=1, description="timed batches")
    rows: list[str] = Field(description="which rows are timed, by the names of their runs; the others: not run")


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
        kept = f"{self.layers} layers" if self.layers else ""
        if self.of is None:
            return Backbone(name=self.name, layers=self.layers, label=kept)
        family, size = self.of.split("-")
        backbone = getattr(study.backbones[family], size)
        if self.layers is None:
            return backbone
        config = backbone.config and {**backbone.config, "num_hidden_layers": self.layers}
        return backbone.model_copy(update={"layers": backbone.name and self.layers, "config": config, "label": kept})

    def label(self, study: "Study") -> str:
        """What tables call it: its family's name says how it was transferred, its own name where it was not."""
        backbone = self.backbone(study)
        continued = self.of is not None and study.govern.start == "transfer"
        if continued or backbone.name is None:
            family, size = self.of.split("-")
            name = f"{study.backbones[family].name} {size}"
        else:
            name = backbone.name.rsplit("/", 1)[-1]
        return f"{name} ({backbone.label})" if backbone.label else name


class Ablation(Strict):
    """GOVERN's section 4.6: teachers of one size, each on nine of ten folds, and students a third of their depth."""

    teacher: Encoder
    student: Encoder
    teachers: list[int] = Field(description="the points of Figure 2: numbers of teachers, 1 to 10")
    fit: Training

    @field_validator("teachers")
    @classmethod
    def _one_to_ten(cls, value: list[int]) -> list[int]:
        if not value or not set(value) <= set(range(1, 11)):
            raise ValueError(f"expected numbers of teachers from 1 to 10, got {value}")
        return sorted(set(value))


class Govern(Strict):
    """GOVERN: distillation without labels, then with them."""

    unlabelled: list[str] = Field(min_length=1, description="pair sets whose labels are not read")
    start: Literal["transfer", "backbone"] = Field(description="continue from the transfer step, or not")
    teachers: list[Encoder] = Field(min_length=1, description="of growing size")
    student: Encoder
    teacher_fit: Training
    unlabelled_fit: Training
    labelled_fit: Training
    ablation: Ablation | None = Field(None, description="Figure 2, Table 4 and the heads; none: not run")
    precisions: list[Annotated[float, Field(gt=0, le=1)]] = Field([0.9], description="R@P is given at each")

    @field_validator("unlabelled", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _only_backbones_have_a_transfer_step(self) -> "Govern":
        encoders = [*self.teachers, self.student]
        if self.start == "transfer" and any(encoder.of is None for encoder in encoders):
            raise ValueError("govern.start: expected backbone where an encoder has a name of its own, got transfer")
        return self


class Study(Strict):
    """A study: `Study.load("sample")`, its runs, and the scores they left.

    Raises ValueError, in one line a key, where the file has an unknown key or a wrong value.
    """

    study: str
    title: str
    data: Data
    backbones: dict[Literal["electra", "roberta", "albert"], Family]
    fit: Fit
    distillation: Distillation
    mhs: Heads
    ensemble: Ensemble = Ensemble()
    grid: Grid = Grid()
    cascade: Cascade | None = Field(None, description="of the Cascade Transformer's notebook; none: left out")
    seeds: list[int] = Field(min_length=1)
    grid_seeds: list[int] = Field(min_length=1, description="those of ablations; default: the first of seeds")
    threads: int = Field(1, gt=0)
    kernels: bool = Field(
        True, description="fits compute what `as2lib.kernels` computes faster; false: as the models say"
    )
    precision: Literal["float32", "bf16", "auto"] = "float32"
    significance: Significance = Significance()
    latency: Latency | None = None
    cosinet: Cosinet | None = Field(None, description="none: the study has no Cosinet runs and no notebook of them")
    govern: Govern | None = Field(None, description="the GOVERN paper; none: it has no runs and no notebook")

    @model_validator(mode="before")
    @classmethod
    def _first_seed(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get("seeds"):
            return {"grid_seeds": content["seeds"][:1], **content}
        return content

    @model_validator(mode="after")
    def _fits_together(self) -> "Study":
        missing = [family for family in FAMILIES if family not in self.backbones]
        if missing:
            raise ValueError(f"backbones: expected {', '.join(FAMILIES)}; missing: {', '.join(missing)}")
        if not (self.data.target.dev and self.data.target.test):
            raise ValueError("data.target: expected train, dev and test")
        if unknown := [seed for seed in self.grid_seeds if seed not in self.seeds]:
            raise ValueError(f"grid_seeds: expected some of seeds, {self.seeds}; got {unknown}")
        depth = self.backbones[FAMILIES[0]].base.depth
        if depth is not None and self.mhs.body != depth - 1:
            raise ValueError(f"mhs.body: expected {depth - 1}, all layers but one, got {self.mhs.body}")
        if depth is not None and not all(1 <= body < depth for body in self.mhs.bodies):
            raise ValueError(f"mhs.bodies: expected 1 to {depth - 1} of the base model's layers, got {self.mhs.bodies}")
        if self.cascade and not (self.wide.dev and self.wide.test):
            raise ValueError("cascade.transfer: expected train, dev and test")
        return self

    @classmethod
    def load(cls, study: "str | Path | Study", overrides: dict[str, Any] | None = None) -> "Study":
        """The study of that name (`params/<name>.yaml`, the root found upwards) or file, with some keys replaced.

        overrides: nested as the file is, or with dotted keys: `{"fit.adapt.steps": 10}`.
        """
        if isinstance(study, Study):
            return study
        path = Path(study)
        if path.suffix not in {".yaml", ".yml"}:
            path = find_root() / "params" / f"{study}.yaml"
        if not path.exists():
            known = sorted(p.stem for p in (find_root() / "params").glob("*.yaml") if p.stem != "local")
            raise FileNotFoundError(f"no study {study!r}: {path.name} is not there; known: {', '.join(known)}")
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
        if content.get("study") != path.stem:
            raise ValueError(f"{path.name}: study: expected {path.stem}, the file's name, got {content.get('study')!r}")
        for key, value in (overrides or {}).items():
            content = _merge(content, _nested(key, value))
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            lines = [f"{'.'.join(map(str, e['loc'])) or 'study'}: {e['msg']}" for e in error.errors()]
            raise ValueError(f"{path.name}: " + "; ".join(lines)) from None

    @property
    def wide(self) -> Pairs:
        """The pair set with many candidates on which the cascade is trained first, and where pruning matters."""
        return self.cascade.transfer or self.data.transfer

    @property
    def variant(self) -> str:
        """The study's name, and a hash behind it where its parameters are not what its file says."""
        path = find_root() / "params" / f"{self.study}.yaml"
        if not path.exists() or Study.load(path) == self:
            return self.study
        return f"{self.study}-{sha256(self.model_dump_json().encode()).hexdigest()[:8]}"

    def label(self, family: str, size: str) -> str:
        """What tables call a model, such as ELECTRA base (4 layers of 48)."""
        return f"{self.backbones[family].name} {size} ({getattr(self.backbones[family], size).label})"

    def plan(self) -> dict:
        """Every run of the study by name, in an order in which they can be made."""
        from as2lib.plan import plan

        return plan(self)

    def run(self, name: str, model: bool = False):
        """The finished run of that name; trained first, with a progress bar, where it is missing.

        model: also where only its published scores are here.
        """
        from as2lib.store import Store

        return Store(self).run(name, model)

    def runs(self, prefix: str) -> list:
        """The finished runs `prefix/seed-…`, one a seed."""
        from as2lib.store import Store

        return Store(self).runs(prefix)


class _Loader(yaml.SafeLoader):
    """YAML 1.1 reads 1e-3 as text; this reads it as the number it is."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\d+(?:\.\d*)?|\.\d+)[eE][-+]?\d+$"),
    list("-+0123456789."),
)


def _nested(key: str, value: Any) -> dict[str, Any]:
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


def _merge(base: Any, change: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(change, dict)):
        return change
    return {**base, **{key: _merge(base.get(key), value) for key, value in change.items()}}
