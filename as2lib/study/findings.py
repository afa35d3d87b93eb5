"""What a person found in a study's numbers: authored text whose numbers are filled in, and whose condition is checked.

params/findings/<study>.yaml: notebook → a list of `say` and `holds`.  Between braces, and in `holds`, stand the names
that the notebook recorded ("mhs/3h1 MAP", "mhs/3h1 − base/electra low"), numbers, + − * / between blanks, comparisons,
and/or/not.  A recorded row's name alone means its difference, or else its MAP.
"""

import ast
import json
import math
import operator
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.paths import find_root

if TYPE_CHECKING:
    from as2lib.study.study import Study

ALONE = ("difference", "MAP")  # what a recorded row's name means without a column
FIELD = re.compile(r"\{([^{}]+)\}")
FORMAT = re.compile(r"[+ ]?,?(\.\d+)?[dfgeE%]?")
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass(frozen=True)
class Finding:
    """text: what it says, numbers filled in.  condition: of its numbers.  holds: whether that is true."""

    text: str
    condition: str
    holds: bool


def of_notebook(study: "Study", notebook: str, numbers: dict[str, Any] | None = None) -> list[Finding]:
    """The findings of a notebook, in the order in which they were written; none where nobody wrote any.

    numbers: what the notebook recorded; default: its `metrics/NN.json`.
    Raises ValueError that names the file and the key of what can't be read, or is not recorded.
    """
    authored = read(study).get(notebook, [])
    if not authored:
        return []
    if numbers is None:
        numbers = recorded(study, notebook)
    values = flat(numbers)
    findings = []
    for place, item in enumerate(authored, 1):
        where = f"{_file(study).name}: {notebook}, finding {place}"
        text = FIELD.sub(lambda match, where=where: _filled(match[1], values, where), item["say"])
        holds = value(item["holds"], values, where) is True
        findings.append(Finding(" ".join(text.split()), item["holds"], holds))
    return findings


def broken(study: "Study") -> list[str]:
    """A line for each finding, of the notebooks that have recorded numbers, that no longer follows from them."""
    lines = []
    for notebook in read(study):
        if _metrics(study, notebook).exists():
            false = [finding.text for finding in of_notebook(study, notebook) if not finding.holds]
            lines += [f"{notebook}: no longer follows from the numbers: {text}" for text in false]
    return lines


def read(study: "Study") -> dict[str, list[dict[str, str]]]:
    """Notebook → its findings as they were written; empty where the study has no such file.

    Raises ValueError that names the file where it holds anything else.
    """
    from as2lib.study.params import read as read_yaml

    path = _file(study)
    if not path.exists():
        return {}
    content = read_yaml(path)
    for notebook, items in content.items():
        for place, item in enumerate(items if isinstance(items, list) else [items], 1):
            texts = isinstance(item, dict) and set(item) == {"say", "holds"}
            if not isinstance(items, list) or not texts or not all(isinstance(text, str) for text in item.values()):
                raise ValueError(f"{path.name}: {notebook}, finding {place}: expected say and holds, got {item!r:.60}")
    return content


def recorded(study: "Study", notebook: str) -> dict[str, Any]:
    """What a notebook recorded.  Raises FileNotFoundError that names the notebook where that has not been run."""
    path = _metrics(study, notebook)
    if not path.exists():
        raise FileNotFoundError(f"{path.name} of {study.study}: {notebook} has recorded no numbers yet; run it first")
    return json.loads(path.read_text(encoding="utf-8"))


def flat(numbers: dict[str, Any]) -> dict[str, float]:
    """Name → number: of a row each column as "name column", and the name alone as `ALONE` says; NaN where undefined."""
    values: dict[str, float] = {}
    for name, content in numbers.items():
        row = content if isinstance(content, dict) else {"": content}
        columns = {
            column: math.nan if number is None else number
            for column, number in row.items()
            if not isinstance(number, str)
        }
        values |= {f"{name} {column}".strip(): number for column, number in columns.items()}
        alone = next((column for column in ALONE if column in columns), None)
        if alone:
            values[name] = columns[alone]
    return values


def value(expression: str, values: dict[str, float], where: str = "holds") -> float | bool:
    """What an expression over recorded numbers gives: a number, or whether a comparison holds.

    Raises ValueError, that says where, for a name that is not recorded and for anything but arithmetic and comparisons.
    """
    names: dict[str, float] = {}

    def placeholder(match: re.Match) -> str:
        name = match[0] if match[0] in values else match[0].replace(" - ", " − ")
        names[f"n{len(names)}_"] = values[name]
        return f" n{len(names) - 1}_ "

    text = _names(values).sub(placeholder, expression) if values else expression
    text = text.replace("−", "-").replace("≤", "<=").replace("≥", ">=")
    if unknown := _first_unknown(text):
        near = get_close_matches(unknown, values, n=3, cutoff=0.4)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise ValueError(f"{where}: {unknown!r} is not among the numbers that the notebook recorded{hint}")
    try:
        return _evaluated(ast.parse(text.strip(), mode="eval").body, names)
    except (SyntaxError, KeyError, TypeError):
        raise ValueError(f"{where}: expected numbers, + − * / and comparisons, got {expression!r}") from None


def _evaluated(node: ast.AST, values: dict[str, float]) -> Any:
    """The value of a syntax tree of numbers and operators; KeyError for any other node."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](_evaluated(node.operand, values))
    if isinstance(node, ast.BinOp):
        left, right = _evaluated(node.left, values), _evaluated(node.right, values)
        if isinstance(node.op, ast.Div) and right == 0:
            return math.nan
        return OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.BoolOp):
        parts = [_evaluated(part, values) for part in node.values]
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    if isinstance(node, ast.Compare):
        sides = [_evaluated(side, values) for side in (node.left, *node.comparators)]
        steps = zip(node.ops, sides[:-1], sides[1:], strict=True)
        return all(OPERATORS[type(step)](left, right) for step, left, right in steps)
    raise KeyError(type(node).__name__)


def _names(values: dict[str, float]) -> re.Pattern:
    """Any recorded name where it stands by itself, the longest first; a minus may be written - or −."""
    alternatives = [re.escape(name).replace("−", "[−-]") for name in sorted(values, key=len, reverse=True)]
    return re.compile(rf"(?<![\w/])(?:{'|'.join(alternatives)})(?![\w/]|-\w)")


def _first_unknown(text: str) -> str | None:
    """The first word of an expression that is no number, no operator and no placeholder of a name."""
    for word in re.split(r"[\s()<>=+*,!]+", text):
        if re.search(r"[^\W\d]", word) and not re.fullmatch(r"-*(n\d+_|and|or|not|[\d.]+[eE](-?\d+)?)", word):
            return word
    return None


def _filled(content: str, values: dict[str, float], where: str) -> str:
    """A number as text: "expression" or "expression:format"."""
    expression, colon, form = content.rpartition(":")
    if not colon or not FORMAT.fullmatch(form):
        expression, form = content, ".1f"
    number = value(expression, values, where)
    if isinstance(number, float) and not math.isfinite(number):
        return "–"
    text = format(int(number) if form.endswith("d") else number, form)
    if not re.search(r"[1-9]", text):
        text = text.lstrip("+-")  # a zero has no sign
    return text.replace("-", "−")


def _file(study: "Study") -> Path:
    from as2lib.study.study import params_file

    return params_file(f"findings/{study.study}.yaml")


def _metrics(study: "Study", notebook: str) -> Path:
    return find_root() / "reports" / study.variant / "metrics" / f"{notebook[:2]}.json"
