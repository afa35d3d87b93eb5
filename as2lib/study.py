"""`Study.load("sample")`: the one door to a study, its parameters (`params/<study>.yaml`), its plan and its runs."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cached_property
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError, model_validator

from as2lib import imported, papers, yaml_file
from as2lib.data import sources
from as2lib.escape import NAME
from as2lib.papers.cascade.params import Cascade
from as2lib.papers.cerberus.params import Distillation, Ensemble, Grid, Heads, Kinds, Latency, Longer, Second
from as2lib.papers.cosinet.params import Cosinet
from as2lib.papers.govern.params import Govern
from as2lib.paths import known_studies, params_file
from as2lib.runs import make, params
from as2lib.runs.finished import Finished
from as2lib.runs.run import Run
from as2lib.runs.store import Store

if TYPE_CHECKING:
    from as2lib.ranker import Ranker

STUDY_FILES = {".yaml", ".yml"}  # suffixes: anything else is a study's name


class Study(params.Strict):
    """A study: `Study.load("sample")`, its runs, and the scores they left.

    Raises ValueError, in one line a key, where the file has an unknown key or a wrong value.
    """

    study: str = Field(pattern=NAME)
    title: str
    data: params.Data
    backbones: dict[Literal["electra", "roberta", "albert"], params.Family]
    fit: params.Fit
    distillation: Distillation
    mhs: Heads
    ensemble: Ensemble = Ensemble()
    grid: Grid = Grid()
    cascade: Cascade | None = Field(None, description="of the Cascade Transformer's notebook; none: left out")
    seeds: params.Seeds = Field(min_length=1)
    grid_seeds: params.Seeds = Field(min_length=1, description="those of ablations; default: the first of seeds")
    threads: int = Field(1, gt=0, le=512)
    kernels: bool = Field(
        True, description="fits compute what `as2lib.kernels` computes faster; false: as the models say"
    )
    precision: Literal["float32", "bf16", "auto"] = "float32"
    significance: params.Significance = params.Significance()
    latency: Latency | None = None
    longer: Longer | None = Field(None, description="CERBERUS's headline rows again, at a larger budget")
    second: Second | None = Field(None, description="CERBERUS's Table 2 on a second target, with nothing transferred")
    kinds: Kinds | None = Field(None, description="CERBERUS's students of teachers that differ by kind; none: left out")
    own: dict[str, params.Own] = Field({}, description="systems of one's own by their names, beside the papers'")
    cosinet: Cosinet | None = Field(None, description="none: the study has no Cosinet runs and no notebook of them")
    govern: Govern | None = Field(None, description="the GOVERN paper; none: it has no runs and no notebook")

    @model_validator(mode="before")
    @classmethod
    def _first_seed(cls, content: Any) -> Any:
        if isinstance(content, dict) and isinstance(content.get("seeds"), list):
            return {"grid_seeds": content["seeds"][:1], **content}
        return content

    @model_validator(mode="after")
    def _fits_together(self) -> "Study":
        missing = [family for family in params.FAMILIES if family not in self.backbones]
        if missing:
            raise ValueError(f"backbones: expected {', '.join(params.FAMILIES)}; missing: {', '.join(missing)}")
        if not (self.data.target.dev and self.data.target.test):
            raise ValueError("data.target: expected train, dev and test")
        if unknown := [seed for seed in self.grid_seeds if seed not in self.seeds]:
            raise ValueError(f"grid_seeds: expected some of seeds, {self.seeds}; got {unknown}")
        depth = self.backbones[params.FAMILIES[0]].base.depth
        if depth is not None and self.mhs.body != depth - 1:
            raise ValueError(f"mhs.body: expected {depth - 1}, all layers but one, got {self.mhs.body}")
        if depth is not None and not all(1 <= body < depth for body in self.mhs.bodies):
            raise ValueError(f"mhs.bodies: expected 1 to {depth - 1} of the base model's layers, got {self.mhs.bodies}")
        if self.kinds and not self.cosinet:
            raise ValueError("kinds: expected a section cosinet beside it, whose models teach; got none")
        if self.cascade and not (self.wide.dev and self.wide.test):
            raise ValueError("cascade.transfer: expected train, dev and test")
        if self.cascade:
            depth = getattr(self.backbones[self.cascade.family], self.cascade.size).depth
            if depth is not None and self.cascade.exits[-1] > depth:
                raise ValueError(f"cascade.exits: expected layers from 1 to {depth}, got {self.cascade.exits}")
        return self

    @model_validator(mode="after")
    def _encoders_fit(self) -> "Study":
        for key, backbone in self._encoders.items():
            for name, steps in (("transfer_fit", ["transfer"]), ("adapt_fit", ["adapt", "direct"])):
                for step in steps:
                    whole = getattr(self.fit, step).model_dump(exclude_none=True) | getattr(backbone, name)
                    try:
                        params.Training.model_validate(whole)
                    except ValidationError as error:
                        raise ValueError(f"{key}.{name}: with fit.{step}: {params.said(error)}") from None
            longest = params.positions(backbone.config) if backbone.config else None
            if longest is not None and self.data.max_length > longest:
                raise ValueError(params.TOO_LONG.format(longest, key, self.data.max_length))
        for encoder in self.govern.encoders if self.govern else ():
            depth = self._encoders[f"backbones.{encoder.of.replace('-', '.')}"].depth if encoder.of else None
            if depth is not None and (encoder.layers or 1) > depth:
                raise ValueError(f"govern: expected at most the {depth} layers of {encoder.of}, got {encoder.layers}")
        return self

    @model_validator(mode="after")
    def _splits_differ(self) -> "Study":
        if self.data.allow_shared_questions:
            return self
        named = {"data.target": self.data.target, "data.transfer": self.data.transfer}
        named |= {f"{key}.transfer": one.transfer for key, one in self._encoders.items() if one.transfer}
        named |= {"cascade.transfer": self.cascade.transfer} if self.cascade and self.cascade.transfer else {}
        named |= {f"cascade.targets.{name}": one for name, one in self.cascade.targets.items()} if self.cascade else {}
        for family in self.second.train if self.second else ():
            named[f"second.train.{family}"] = params.Pairs(
                train=self.second.train[family], dev=self.second.dev, test=self.second.test
            )
        for key, pairs in named.items():
            splits = {split: {sources.canonical(part) for part in parts} for split, parts in pairs if parts}
            for first, second in combinations(splits, 2):
                if both := splits[first] & splits[second]:
                    raise ValueError(f"{key}: {first} and {second} are both {both.pop()}; {params.ALLOW_SHARED}")
        return self

    @property
    def _encoders(self) -> dict[str, params.Backbone]:
        """The backbones by their keys in the file."""
        families = self.backbones.items()
        return {f"backbones.{name}.{size}": getattr(family, size) for name, family in families for size in params.SIZES}

    @classmethod
    def load(cls, study: "str | Path | Study", overrides: dict[str, Any] | None = None) -> "Study":
        """The study of that name (`params/<name>.yaml`, the root found upwards) or file, with some keys replaced.

        overrides: nested as the file is, or with dotted keys: `{"fit.adapt.steps": 10}`.
        """
        if isinstance(study, Study):
            return study
        path = Path(study)
        if path.suffix not in STUDY_FILES:
            path = params_file(f"{study}.yaml")
        if not path.exists():
            known = known_studies()
            near = get_close_matches(path.stem, known, n=1)
            guess = f"did you mean {near[0]}? " if near else ""
            raise FileNotFoundError(
                f"no study {str(study)!r}: {path.name} is not there; {guess}known: {', '.join(known)}"
            )
        if not re.fullmatch(NAME, path.stem):
            wanted = "letters, digits, - and _, at most 64, the first one a letter"
            raise ValueError(
                f"study: expected a name of {wanted}; got {path.stem!r}: rename the file and its key study"
            )
        content = yaml_file.read(path)
        if content.get("study") != path.stem:
            raise ValueError(f"{path.name}: study: expected {path.stem}, the file's name, got {content.get('study')!r}")
        return cls._checked(path.name, content, overrides)

    @classmethod
    def of_notebook(cls, given: dict[str, Any]) -> "Study":
        """The study that a notebook's variables say: `study`, a name or a file, with `overrides`.

        Where they hold every key of a study's file, as `papermill -f params/x.yaml` sets them, it is what they say.
        """
        if isinstance(given["study"], str) and {"data", "backbones"} <= set(given):
            content = {key: _as_numbers(given[key]) for key in cls.model_fields if key in given}
            return cls._checked(f"the parameters of {given['study']}", content, given.get("overrides"))
        return cls.load(given["study"], given.get("overrides"))

    @classmethod
    def _checked(cls, where: str, content: dict[str, Any], overrides: dict[str, Any] | None) -> "Study":
        for key, value in (overrides or {}).items():
            content = _merge(content, _nested(key, value))
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise ValueError(f"{where}: {params.said(error)}") from None

    @property
    def wide(self) -> params.Pairs:
        """The pair set with many candidates on which the cascade is trained first, and where pruning matters."""
        return self.cascade.transfer or self.data.transfer

    @property
    def variant(self) -> str:
        """The study's name, and a hash behind it where its parameters are not what its file says."""
        if not self.overridden():
            return self.study
        return f"{self.study}-{sha256(self.model_dump_json().encode()).hexdigest()[:8]}"

    def overridden(self) -> dict[str, tuple[Any, Any]]:
        """Dotted key → (what the study's file says, what holds here), where they differ; empty without a file."""
        path = params_file(f"{self.study}.yaml")
        if not path.exists() or (file := Study.load(path)) == self:
            return {}
        before, now = (dict(_flat("", study.model_dump())) for study in (file, self))
        keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]
        return {key: (before.get(key), now.get(key)) for key in keys}

    def label(self, family: str, size: str) -> str:
        """What tables call a model, such as ELECTRA base (4 layers of 48)."""
        return f"{self.backbones[family].name} {size} ({getattr(self.backbones[family], size).label})"

    @cached_property
    def plan(self) -> dict[str, Run]:
        """Every run of the study by name, in an order in which they can be made."""
        return papers.plan(self)

    @cached_property
    def store(self) -> Store:
        """Where the runs are found."""
        return Store(self)

    def run(self, name: str, model: bool = False) -> Finished:
        """The finished run of that name; trained first, with a progress bar, where it is missing.

        model: also where only its published scores are here.
        """
        if (found := self.store.find(name, model)) is None:
            make.make_all(self.store, [name], model=model)
            found = self.store.find(name, model)
        return found

    def runs(self, prefix: str) -> list[Finished]:
        """The finished runs below `prefix`, in the plan's order (one a seed); those missing are trained first."""
        names = self.store.below(prefix)
        if missing := [name for name in names if self.store.find(name) is None]:
            make.make_all(self.store, missing)
        return [self.store.find(name) for name in names]

    def ranker(self, name: str, precision: str = "float32", alpha: Any = None) -> "Ranker":
        """A ranker with the model of a run, or of an ensemble's members; trained first where it is missing.

        alpha: of a cascade, as `Ranker` takes it.
        """
        from as2lib.ranker import Ranker

        run = self.store.planned(name)
        if run.kind == "lexical":
            return Ranker.load(run.spec["scorer"], precision=precision, alpha=alpha)
        found = self.run(name, model=True)
        if own := run.spec.get("model"):
            imported.load(own)  # its module registers the class
        if run.kind == "ensemble":
            members = [self.ranker(member, precision) for member in run.parents["members"]]
            return Ranker.ensemble(members, found.facts.get("weights"), found.facts.get("intercept"))
        return Ranker.load(found.model_folder, precision=precision, alpha=alpha)


def _as_numbers(value: Any) -> Any:
    """What `yaml_file` would have read, of what another loader of YAML 1.1 did: 1e-3 is a number."""
    if isinstance(value, dict):
        return {key: _as_numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_numbers(one) for one in value]
    return float(value) if isinstance(value, str) and yaml_file.NUMBER.match(value) else value


def _flat(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield key, value
        return
    for name, one in value.items():
        yield from _flat(f"{key}.{name}".lstrip("."), one)


def _nested(key: str, value: Any) -> dict[str, Any]:
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


def _merge(base: Any, change: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(change, dict)):
        return change
    return {**base, **{key: _merge(base.get(key), value) for key, value in change.items()}}
