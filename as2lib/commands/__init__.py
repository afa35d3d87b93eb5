"""What the commands of `as2` do, a module a task; `as2lib.cli` says what each takes."""

from as2lib import lazy

MODULES = "errors initiating named output scoring studying training trec".split()
__getattr__, __dir__, __all__ = lazy.names(__name__, {}, MODULES)  # a command imports what it needs
