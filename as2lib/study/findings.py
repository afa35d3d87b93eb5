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
`say` is filled in as `str.format` does it; so is `title`, which may say it shorter, above the figure that shows it.
With `figure: "3.1"` in place of `say`, `title` is that figure's alone.
`holds`, and what stands in braces, is Python's grammar as simpleeval reads it, with `abs`, `min` and `max`.
"""

import re
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from as2lib.paths import read_yaml
from as2lib.study.store import read_json
from as2lib.study.study import Study, params_file

NAMES_KEY = "names"  # the key of a findings file that is no notebook
TEXTS_PREFIX = "texts: "  # begins the name of what is recorded only where the texts of the pair sets are at hand


class Finding(NamedTuple):
    text: str  # with its numbers
    holds: bool
    title: str = ""  # of the figure that shows it

    @property
    def lead(self) -> str:
        """Its first sentence, which is what one remembers."""
        return re.split(r"(?<=[.!?])\s+", self.text, maxsplit=1)[0]


def of_notebook(study: Study, notebook: str, recorded: dict | None = None, figure: str | None = "") -> list[Finding]:
    """The findings of a notebook, in the order in which they were written; none where nobody wrote any.

    recorded: the numbers that it recorded; default: those of its page.
    figure: its number, such as "3.1", for its title in place of findings; None: findings and all titles.
    Raises FileNotFoundError where the notebook has recorded no numbers, and ValueError that names a finding which
    can't be read, or whose numbers are not recorded.
    """
    authored = findings_file(study)
    if not authored.get(notebook):
        return []
    recorded = read_json(metrics_file(study, notebook)) if recorded is None else recorded
    names = numbers_by_name(recorded, authored.get(NAMES_KEY, {}))
    has_texts, findings = any(name.startswith(TEXTS_PREFIX) for name in recorded), []
    for place, item in enumerate(authored[notebook], 1):
        try:
            if figure in (None, item.get("figure", "")) and (has_texts or TEXTS_PREFIX not in str(item)):
                title = filled(item.get("title", ""), names)
                text = title if "figure" in item else filled(item["say"], names)
                findings.append(Finding(text, bool(evaluated(item["holds"], names)), title))
        except Exception as error:  # whatever an expression raises
            where = f"params/findings/{study.name}.yaml: {notebook}, finding {place}"
            raise ValueError(f"{where}: expected say and holds over numbers, got {item!r:.60}: {error}") from None
    return findings


def broken(study: Study) -> list[str]:
    """A line for each finding or title that no longer follows from recorded numbers, and each name of no notebook."""
    pages = {notebook.name for notebook in study.notebooks}
    lines = [f"{name}: findings of no page" for name in findings_file(study).keys() - pages - {NAMES_KEY}]
    for name in pages:
        if metrics_file(study, name).exists():
            broken = [finding.text for finding in of_notebook(study, name, figure=None) if not finding.holds]
            lines += [f"{name}: no longer follows from the numbers: {text}" for text in broken]
    return sorted(lines)


def findings_file(study: Study) -> dict[str, Any]:
    """Notebook → its findings as they were written, and `names`; empty where the study has no such file."""
    path = params_file(f"findings/{study.name}.yaml")
    return read_yaml(path) if path.exists() else {}


def metrics_file(study: Study, notebook: str) -> Path:
    return study.folder / "metrics" / f"{notebook[:2]}.json"


def numbers_by_name(recorded: dict[str, Any], short_names: dict[str, str]) -> dict[str, Any]:
    """Recorded numbers under their names, and under short ones: `mhs`, `mhs − base`, `pooled: mhs − base`; and `d`."""
    short, names = {run: name for name, run in short_names.items()}, {}
    for name, value in recorded.items():
        prefix, colon, runs = name.rpartition(": ")
        names[name] = names[prefix + colon + " − ".join(short.get(run, run) for run in runs.split(" − "))] = value
    return names | {"d": names}


def evaluated(expression: str, names: dict[str, Any]) -> Any:
    """What an expression over recorded numbers is: `mhs.MAP` and `mhs["MAP"]` are the same."""
    from simpleeval import SimpleEval

    functions = {"abs": abs, "min": min, "max": max}
    return SimpleEval(names=names, functions=functions).eval(" ".join(expression.split()))


def filled(text: str, names: dict[str, Any]) -> str:
    """A text on one line with its numbers filled in, of which a minus is typographic, and zero has no sign."""
    line = ""
    for said, expression, spec, _ in Formatter().parse(" ".join(text.split())):
        number = format(evaluated(expression, names), spec) if expression else ""
        line += said + (number.replace("-", "−") if number.strip("+-0.%") else number.lstrip("+-"))
    return line
