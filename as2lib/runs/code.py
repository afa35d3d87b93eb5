"""Which source makes a run: the fingerprint of its model, loss and fit, and what a module imports; runs nothing.

It is no part of an identity: a run made by other code is shown as such, and made again only when asked for.
"""

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from as2lib.intact import remembered
from as2lib.runs.run import Run

LIBRARY = Path(__file__).parents[1]
OBJECTIVES = "runs/fit/objectives.py"
FIT = ("runs/fit/*.py", "score.py", "metrics/ranking.py")  # metrics pick the step whose weights are kept
ON_TOKENS = (*FIT, "data/encode.py", "kernels/__init__.py", "kernels/first_token.py", "kernels/packed.py")
ON_TOKENS += ("models/first_token.py",)
ON_WORDS = (*FIT, "data/words.py", "data/embeddings.py", "kernels/__init__.py", "kernels/cosinet.py")
DERIVED = {"lexical": ("models/lexical.py",), "ensemble": ("models/ensemble.py",), "select": ()}
FOLLOWED = ("models", "losses")  # rooms whose modules are made of others that they import


def fingerprint(lineage: Sequence[Run], kernels: bool) -> str:
    """The SHA-256 of the modules that make a run: of their code, without comments and docstrings.

    lineage: the run, last, behind those whose weights it continues.  kernels: whether its fit computes with them.
    """
    run = lineage[-1]
    words = next((step.spec["words"]["type"] for step in lineage if "words" in step.spec), None)
    shape = next((name for name in ("mhs", "cascade") if any(name in step.spec for step in lineage)), "cross_encoder")
    return _fingerprint(run.kind, words or shape, run.spec.get("loss"), words is not None, kernels)


@cache  # what a process computes with is what it has imported
def _fingerprint(*made_by: Any) -> str:
    told = sha256()
    for file in files(*made_by):
        told.update(f"{file.relative_to(LIBRARY).as_posix()} {remembered(file, 'code', _code_sha256)}\n".encode())
    return told.hexdigest()


def files(kind: str, model: str, loss: str | None, on_words: bool, kernels: bool) -> list[Path]:
    """The modules that make a kind of run: its scorer; or the fit, the model and the loss that its spec names."""
    if kind in DERIVED:
        return [LIBRARY / name for name in DERIVED[kind]]
    patterns = [*(ON_WORDS if on_words else ON_TOKENS), f"models/{model}.py"]
    patterns += ["kernels/training.py"] if kernels and not on_words else []
    patterns += [f"losses/{name}.py" for name in remembered(LIBRARY / OBJECTIVES, "losses", _losses_of).get(loss, ())]
    found, left = set(), [file for pattern in patterns for file in LIBRARY.glob(pattern)]
    while left:
        file = left.pop()
        if file not in found:
            found.add(file)
            if file.parent.name in FOLLOWED:
                near = (LIBRARY / name for name in remembered(file, "imports", _imports_of))
                left += [other for other in near if other.parent.name in FOLLOWED and other.name != "__init__.py"]
    return sorted(found)


@cache
def imports(code: str) -> tuple[Path, ...]:
    """The library's files that some code imports, but for what only a type checker does."""
    names = set()
    for node in _that_runs(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    if "as2lib.Study" in names:  # imported when asked for
        names.add("as2lib.study")
    return tuple(file for name in sorted(names) for file in files_of(name))


def files_of(name: str) -> list[Path]:
    """The files of a module's packages and its own; none for a module that is not the library's."""
    package, *parts = name.split(".")
    if package != "as2lib":
        return []
    folders = [LIBRARY.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]
    found = [folder / "__init__.py" for folder in folders] + [folders[-1].with_suffix(".py")]
    return [file for file in found if file.exists()]


def _that_runs(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, but for what only a type checker reads."""
    if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _that_runs(child)


def _imports_of(file: str) -> list[str]:
    found = imports(Path(file).read_text(encoding="utf-8"))
    return sorted({path.relative_to(LIBRARY).as_posix() for path in found})


def _code_sha256(file: str) -> str:
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return sha256(ast.unparse(tree).encode()).hexdigest()


def _losses_of(file: str) -> dict[str, list[str]]:
    """The modules of `losses` that each entry of `OBJECTIVES` is made of, by what its functions name."""
    body = ast.parse(Path(file).read_text(encoding="utf-8")).body
    modules = {alias.name for node in body if isinstance(node, ast.ImportFrom) for alias in node.names}
    functions = {node.name: _names(node) for node in body if isinstance(node, ast.FunctionDef)}
    table = next(node.value for node in body if isinstance(node, ast.AnnAssign) and node.target.id == "OBJECTIVES")
    found = {}
    for key, value in zip(table.keys, table.values, strict=True):
        named = _names(value)
        named |= set().union(*(functions.get(name, set()) for name in named))
        found[key.value] = sorted(name for name in named & modules if (LIBRARY / "losses" / f"{name}.py").exists())
    return found


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
