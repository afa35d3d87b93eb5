"""What a person found in a study's numbers: authored text whose numbers are filled in, and whose condition is checked.

params/findings/<study>.yaml has `names` (a short name → a run's name) and, by notebook, a list of `say` and `holds`:

    names:
      mhs: mhs/3h1
      base: base/pointwise
    03_distillation:
      - say: MHS has MAP {mhs.MAP:.1f}, {d["mhs − base"].difference:+.1f} points from its base.
        holds: d["mhs − base"].low < 0 < d["mhs − base"].high and mhs["p Holm"] > 0.05

`d` has everything that the notebook recorded, by its name; short names and recorded names without blanks stand alone.
A finding over what only texts tell (`d["texts: …"]`) is left out where they are not at hand.
`say` is filled in by `str.format`; so is `title`, which may say it shorter, above the figure that shows it.  `holds` is
Python's grammar as simpleeval reads it, with `abs`, `min` and `max`.
"""

import math
import re
from pathlib import Path
from typing import Any, NamedTuple

from as2lib.keys import read_yaml
from as2lib.study import catalogue
from as2lib.study.store import read_json
from as2lib.study.study import Study, params_file

NAMES_KEY = "names"  # the key of a findings file that is no notebook
TEXTS_PREFIX = "texts: "  # begins the name of what is recorded only where the texts of the pair sets are at hand
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
FUNCTIONS = {"abs": abs, "min": min, "max": max}


class Finding(NamedTuple):
    text: str  # with its numbers
    holds: bool
    title: str = ""  # of the figure that shows it

    @property
    def lead(self) -> str:
        """Its first sentence, which is what one remembers."""
        return SENTENCE_END.split(self.text, maxsplit=1)[0]


class Number(float):
    """A number that a text shows with a typographic minus, as a dash where it is undefined, and zero without a sign."""

    def __format__(self, spec: str) -> str:
        text = super().__format__(spec)
        return "–" if math.isnan(self) else text.replace("-", "−") if text.strip("+-0.%") else text.lstrip("+-")


class Numbers(dict):
    """Recorded numbers by name, as an attribute or a key: `row.MAP`, `d["mhs − base"]["p Holm"]`."""

    def __missing__(self, key: str) -> Any:
        name = key.strip("\"'").replace(" - ", " − ")  # `str.format` passes quotes on
        if name in self:
            return self[name]
        raise ValueError(f"{name!r} is not among the numbers that the notebook recorded")

    __getattr__ = dict.__getitem__


def of_notebook(study: Study, notebook: str, recorded: dict[str, Any] | None = None) -> list[Finding]:
    """The findings of a notebook, in the order in which they were written; none where nobody wrote any.

    recorded: the numbers that it recorded; default: those of its page.
    Raises FileNotFoundError where the notebook has recorded no numbers, and ValueError that names a finding which
    can't be read, or whose numbers are not recorded.
    """
    authored = findings_file(study)
    if not authored.get(notebook):
        return []
    path = _metrics(study, notebook)
    if recorded is None and not path.exists():
        raise FileNotFoundError(f"{path.name} of {study.name}: {notebook} has recorded no numbers yet; run it first")
    numbers = numbers_by_name(read_json(path) if recorded is None else recorded, authored.get(NAMES_KEY, {}))
    has_texts, findings = any(name.startswith(TEXTS_PREFIX) for name in numbers), []
    for place, item in enumerate(authored[notebook], 1):
        try:
            say, holds = item["say"], item["holds"]
            if has_texts or TEXTS_PREFIX not in say + holds:
                text = " ".join(say.format_map(numbers).split())
                finding = Finding(text, condition(holds, numbers))
                findings.append(finding._replace(title=item.get("title", "").format_map(numbers)))
        except (ValueError, TypeError, KeyError, ZeroDivisionError) as error:
            where = f"params/findings/{study.name}.yaml: {notebook}, finding {place}"
            raise ValueError(f"{where}: expected say and holds over numbers, got {item!r:.60}: {error}") from None
    return findings


def broken(study: Study) -> list[str]:
    """A line for each finding that no longer follows from the numbers, of the notebooks that have recorded any, and for
    findings that stand under the name of no notebook, which no page shows.
    """
    pages = [notebook.name for notebook in catalogue.notebooks(study)]
    authored = findings_file(study).keys() - {NAMES_KEY}
    recorded = [name for name in pages if name in authored and _metrics(study, name).exists()]
    unknown = [f"{name}: findings of no page" for name in sorted(authored - {*pages})]
    return unknown + [
        f"{notebook}: no longer follows from the numbers: {finding.text}"
        for notebook in recorded
        for finding in of_notebook(study, notebook)
        if not finding.holds
    ]


def findings_file(study: Study) -> dict[str, Any]:
    """Notebook → its findings as they were written, and `names`; empty where the study has no such file."""
    path = params_file(f"findings/{study.name}.yaml")
    return read_yaml(path) if path.exists() else {}


def numbers_by_name(numbers: dict[str, Any], short_names: dict[str, str]) -> Numbers:
    """Recorded numbers under their names, and under short ones: `mhs`, `mhs − base`, `pooled: mhs − base`; and `d`."""
    short = {run: name for name, run in short_names.items()}
    space = Numbers()
    for name, content in numbers.items():
        prefix, colon, runs = name.rpartition(": ")
        value = _value(content)
        space[name] = value
        space[prefix + colon + " − ".join(short.get(run, run) for run in runs.split(" − "))] = value
    return Numbers(space, d=space)


def condition(expression: str, space: Numbers) -> bool:
    """Whether a condition over recorded numbers holds.  Raises ValueError for what is none, and for unknown names."""
    from simpleeval import InvalidExpression, SimpleEval

    try:
        value = SimpleEval(names=space, functions=FUNCTIONS).eval(" ".join(expression.split()))
    except (InvalidExpression, SyntaxError, TypeError) as error:
        raise ValueError(f"expected a condition over numbers, got {expression!r}: {error}") from None
    if not isinstance(value, bool):
        raise ValueError(f"expected a condition, true or false, got {expression!r}")
    return value


def _value(content: Any) -> Any:
    if isinstance(content, dict):
        return Numbers({name: _value(item) for name, item in content.items()})
    return Number(math.nan if content is None else content) if isinstance(content, float | None) else content


def _metrics(study: Study, notebook: str) -> Path:
    return study.folder / "metrics" / f"{notebook[:2]}.json"
