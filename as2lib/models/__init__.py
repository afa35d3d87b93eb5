"""Models that score pairs; a model knows no loss.  Importing this costs nothing, and makes them known to transformers.

After `import as2lib`, `AutoConfig` and `AutoModelForSequenceClassification` open their folders.
"""

import sys
from functools import partial
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CONFIGS = {  # model type → where its configuration is; that module registers it and its model
    "mhs": ("as2lib.models.mhs", "MHSConfig"),
    "cascade": ("as2lib.models.cascade", "CascadeConfig"),
    "mhs_cascade": ("as2lib.models.mhs_cascade", "MHSCascadeConfig"),
    "cosinet": ("as2lib.models.cosinet", "CosinetConfig"),
    "compare_aggregate": ("as2lib.models.compare_aggregate", "CompareAggregateConfig"),
}


def load(name: str | Path) -> "PreTrainedModel":
    """Any model of this library from a folder that `save_pretrained` left, or by its name on the hub.

    Every tensor has to be there.  Raises what `cross_encoder.loaded` raises.
    """
    from as2lib.models import cross_encoder
    from as2lib.models.pushing import upload_with_card
    from as2lib.paths import model_origin

    model = cross_encoder.loaded(*model_origin(name))
    if not type(model).__module__.startswith(__name__):  # a plain transformer: ours know how themselves
        model._upload_modified_files = partial(upload_with_card, model)
    return model


def announce() -> None:
    """Tell transformers of our model types; their modules are imported when a folder of theirs is opened."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    for model_type, (module, name) in CONFIGS.items():
        if module not in sys.modules:
            CONFIG_MAPPING.register(model_type, _later(module, name))


def _later(module: str, name: str) -> type:
    """What stands for a configuration class until it is asked to make a configuration."""

    class Later:
        def __new__(cls, *args: Any, **fields: Any) -> Any:
            return getattr(import_module(module), name)(*args, **fields)

        @classmethod
        def from_dict(cls, *args: Any, **options: Any) -> Any:
            return getattr(import_module(module), name).from_dict(*args, **options)

    Later.__name__, Later.__module__ = name, module
    return Later


class WhenTransformersComes(MetaPathFinder):
    """Announces our models as soon as transformers' auto classes are imported, and is gone.

    Registering at once would import transformers, and torch with it: seconds, which `as2 plan` does without.
    """

    MODULE = "transformers.models.auto.configuration_auto"

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The auto classes' own spec, which announces our models once it is executed; None for any other module."""
        if name != self.MODULE:
            return None
        sys.meta_path.remove(self)
        found = find_spec(name)
        execute = found.loader.exec_module

        def execute_and_announce(module: Any) -> None:
            execute(module)
            announce()

        found.loader.exec_module = execute_and_announce
        return found
