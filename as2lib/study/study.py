"""`Study.load("sample")`: the one door to a study: its parameters, its systems, its plan and its runs."""

from collections.abc import Iterable
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml
from pydantic import ValidationError

from as2lib.data.sets import is_watched
from as2lib.paths import PARAMS, Loader, find_root, read_yaml
from as2lib.study import params, run
from as2lib.study.run import Notebook, Row, Run
from as2lib.study.store import Store, StoredRun

if TYPE_CHECKING:
    from as2lib.ranker import Ranker


class Study(params.Params):
    """A study: `Study.load("sample")`; its fields are the keys of its file (`params.Params`)."""

    @classmethod
    def load(cls, study: "str | Path | dict[str, Any] | Study", overrides: dict[str, Any] | None = None) -> Self:
        """The study of that name (`params/<name>.yaml`, the root found upwards) or file, with some keys replaced.

        study: also what stands under the file's key `study`, as papermill's `-f FILE` gives it to a notebook.
        overrides: nested as the file is, or with dotted keys, `{"fit.adapt.steps": 10}`; also over a study at hand.
        Raises ValueError, in one line, for an unknown key or a wrong value.
        """
        if not isinstance(overrides or {}, dict):
            raise ValueError(f"overrides: expected keys and values, by papermill's -y or -f, got {overrides!r:.60}")
        if isinstance(study, Study):
            if not overrides:
                return study
            where, keys = study.name, study.model_dump(exclude_unset=True)
        elif isinstance(study, dict):
            where = f"the parameters of {study.get('name')}"
            keys = yaml.load(yaml.safe_dump(study, sort_keys=False), Loader)  # in papermill's 1e-3 is text
        else:
            path = Path(study)
            if path.suffix not in (".yaml", ".yml"):  # anything else is a study's name
                path = params_file(f"{study}.yaml")
            if not path.exists():
                files = [file for folder in (find_root() / "params", PARAMS) for file in folder.glob("*.yaml")]
                known = ", ".join(sorted({file.stem for file in files} - {"local"}))
                raise FileNotFoundError(f"no study {str(study)!r}: {path.name} is not there; known: {known}")
            where, content = path.name, read_yaml(path)
            keys = content.get("study")
            if len(content) != 1 or not isinstance(keys, dict) or keys.get("name") != path.stem:
                expected = f'expected one key, study, with all others under it, among them name: "{path.stem}"'
                raise ValueError(f"{where}: {expected}; got {content!r:.60}")
        for key, value in (overrides or {}).items():
            for part in reversed(key.split(".")):
                value = {part: value}
            keys = merged(keys, value)
        try:
            return cls.model_validate(keys)
        except ValidationError as error:
            raise ValueError(f"{where}: {problems(error)}") from None

    def of(self, section: params.SectionName) -> Self:
        """The study as the rows of a paper's section are made, where `differs` in its file says so."""
        return self.load(self, self.differs.get(section))

    @cached_property
    def variant(self) -> str:
        """The study's name, and a hash behind it where its parameters are not what its file says."""
        path, content = params_file(f"{self.name}.yaml"), self.model_dump_json()
        if not path.exists() or Study.load(path).model_dump_json() == content:
            return self.name
        return f"{self.name}-{sha256(content.encode()).hexdigest()[:8]}"

    @property
    def folder(self) -> Path:
        """Where its pages, tables and numbers are."""
        return find_root() / "reports" / self.variant

    @cached_property
    def systems(self) -> dict[str, Row]:
        """Every system of the study by the name of its runs, in the order of the papers' tables."""
        systems = run.by_name(run.of_each_paper(self, "systems"))
        if unknown := [name for name, seeds in self.rows.items() if seeds is not None and name not in systems]:
            way_out = f"take it out of the file, or by overrides {{'rows': {{{unknown[0]!r}: None}}}}"
            raise ValueError(f"rows: expected systems of the study, got {unknown[0]!r}; {way_out}")
        return systems

    @cached_property
    def notebooks(self) -> list[Notebook]:
        """Those of the study in reading order, each with the systems that it reads; one, 00, of pairs of one's own."""
        others = run.of_each_paper(self, "notebooks")
        own = [notebook for notebook in others if notebook.name.startswith("00")]
        return own or [Notebook("00_overview", "What did the study find, and can I trust it?"), *others]

    @cached_property
    def plan(self) -> dict[str, Run]:
        """Every run of the study by name, parents before children."""
        return run.plan(self, self.systems.values())

    @cached_property
    def store(self) -> Store:
        return Store(self, self.plan)

    def add(self, systems: Iterable[Row]) -> None:
        """Plan the runs of further systems, such as those a notebook's reader makes up, by names of their own."""
        self.plan.update(run.plan(self, systems, self.plan))

    def run(self, name: str, model: bool = False) -> StoredRun:
        """The run of that name, made first where it is missing.  model: with its weights, whatever is published."""
        for missing in self.store.needed([name], model):
            self.store.make(missing, progress=is_watched())
        return self.store.find(name, model)

    def runs(self, system: str) -> list[StoredRun]:
        """The runs of a system, one for each seed of its row; those that are missing are made first.

        Of a row without seeds, and of what has none, those that others are made from.
        """
        names = [run.name for run in self.systems[system].runs(self)] if system in self.systems else []
        names = names or [name for name, planned in self.plan.items() if planned.system == system]
        if not names:
            raise KeyError(f"no system {system!r}; `as2 plan {self.name}` lists the runs")
        return [self.run(name) for name in names]

    def model(self, name: str) -> "str | Path":
        """What `Ranker.load` loads for a run, which is made first where it is missing: its folder, or a name."""
        planned = self.store.planned(name)
        if planned.kind == "lexical":
            return planned.spec["scorer"]
        if planned.kind != "fit":
            raise ValueError(f"{name}: expected a run with a model, got one that is made of other runs' scores")
        return self.run(name, model=True).model_folder

    def ranker(self, name: str, **settings: Any) -> "Ranker":
        """A ranker with the model of a run, which is made first where it is missing.  settings: of `Ranker.load`."""
        from as2lib.ranker import Ranker  # with numpy, which a plan does without

        return Ranker.load(self.model(name), **settings)


def merged(content: Any, changes: Any) -> Any:
    """Parameters with some of them replaced.  changes: nested as they are."""
    if not (isinstance(content, dict) and isinstance(changes, dict)):
        return changes
    return {**content, **{key: merged(content.get(key), value) for key, value in changes.items()}}


def problems(error: ValidationError) -> str:
    """What is wrong with some parameters, on one line: each key with its problem and its value."""
    lines = []
    for detail in error.errors():
        got = "" if detail["type"] == "value_error" else f", got {detail['input']!r:.60}"  # it names the value itself
        key, problem = ".".join(map(str, detail["loc"])), detail["msg"].removeprefix("Value error, ")
        lines.append(f"{key}: {problem}{got}".removeprefix(": "))
    return "; ".join(lines)


def params_file(name: str) -> Path:
    """A file of `params/` by its name: the root's, or else the one that comes with the library."""
    path = find_root() / "params" / name
    return path if path.exists() else PARAMS / name
