"""Names that a package has before their modules are imported: `import as2lib` brings neither torch nor pandas in."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def names(package: str, modules: Mapping[str, str], rooms: Sequence[str] = ()) -> tuple[Callable, Callable, list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package (PEP 562).

    modules: a module's name, from the package's own → the names that are taken from it, between blanks.
    rooms: modules and packages within it that are imported when they are asked for.
    """
    home = {name: module for module, taken in modules.items() for name in taken.split()}

    def getter(name: str) -> Any:
        if name in home:
            return getattr(import_module(home[name], package), name)
        if name in rooms:
            return import_module(f".{name}", package)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return getter, lambda: sorted({*home, *rooms, *vars(sys.modules[package])}), [*home, *rooms]
