"""The catalogue of the Cascade Transformer paper: what ranks, what tables call it, and how a cascade can be trained."""

from typing import TYPE_CHECKING, Any, NamedTuple

from as2lib.runs.params import Pairs

if TYPE_CHECKING:
    from as2lib.study import Study

TRIVIAL_LABEL = "WO+RR (trivial baseline)"
PAPER_EXITS = (4, 6, 8, 10, 12)


class Scheme(NamedTuple):
    """A way to rank a question's candidates, and its label.

    method: MT, a monolithic model; SR, such models in sequence; CT, the cascade.  layers: of the model, or of the exit
    that has the last word.  alpha: which share of the candidates each exit before it drops; None for MT and in Table 2.
    """

    method: str
    layers: int
    alpha: float | None = None

    def __str__(self) -> str:
        if self.method == "MT":
            return f"MT of {self.layers} layer{'s' * (self.layers != 1)}"
        if self.alpha is None:
            return f"CT, exit at layer {self.layers}"
        return f"{'SR' if self.method == 'SR' else f'CT to layer {self.layers}'}, alpha {self.alpha:g}"

    def prefixes(self, study: "Study", where: str) -> list[str]:
        """Those of the runs that it is made from, on one of `sets`; of SR, the models in a row."""
        if self.method == "CT":
            return [f"cascade/{where}"]
        depths = [self.layers] if self.method == "MT" else [n for n in study.cascade.exits if n <= self.layers]
        return [f"monolith/{n}/{where}" for n in depths]


def sets(study: "Study") -> dict[str, Pairs]:
    """The sets by name: the one with many candidates, the target, and those of `cascade.targets`."""
    return {"wide": study.wide, "target": study.data.target, **study.cascade.targets}


def trivial_on(where: str) -> str:
    """The run of the trivial baseline on one of `sets`."""
    return "lexical/overlap_then_rank" if where == "target" else f"{where}/overlap_then_rank"


def behind(study: "Study", where: str) -> dict[str, list[str]]:
    """Row of the table of a set → the prefixes of the runs that it is made from."""
    return {TRIVIAL_LABEL: [trivial_on(where)]} | {
        str(row): row.prefixes(study, where) for row in schemes(study, where)
    }


def schemes(study: "Study", where: str = "wide") -> list[Scheme]:
    """The rows of Table 3; of Table 2 on a target, where nothing is dropped."""
    exits, alphas = study.cascade.exits, study.cascade.alphas
    models = [Scheme("MT", layers) for layers in exits]
    if where != "wide":
        return models + [Scheme("CT", layers) for layers in exits]
    ends = [Scheme("CT", layers, 0.0) for layers in exits]
    sequences, cascades = ([Scheme(method, exits[-1], alpha) for alpha in alphas] for method in ("SR", "CT"))
    return [*models, *sequences, *ends, *cascades]


class Recipe(NamedTuple):
    """A way to train a cascade: its runs' prefix, its label, what it changes of their spec and of their `cascade`."""

    prefix: str
    label: str
    spec: dict[str, Any]
    shape: dict[str, Any]


RECIPES = {  # sections 4.3 and 4.3.1
    "": Recipe("cascade", "as the paper: exits drawn uniformly, gradient to the embeddings, mean of tokens", {}, {}),
    "round_robin": Recipe("cascade-round_robin", "exits in turn", {"schedule": "round_robin"}, {}),
    "early": Recipe("cascade-early", "early exits more often at first", {"schedule": "early"}, {}),
    "stopped": Recipe("cascade-stopped", "gradient stopped at the previous exit", {}, {"stop_gradient": True}),
    "first": Recipe("cascade-first", "first token instead of the mean", {}, {"pooling": "first"}),
}


def recipes(study: "Study") -> dict[str, Recipe]:
    """The paper's way first, then those that the study tries beside it."""
    return RECIPES if study.cascade.ablations else {"": RECIPES[""]}


def sentences_budgets(study: "Study") -> list[str]:
    """What a cascade has beside the models of one depth, where they differ; the study's note."""
    fits, mean, said = study.cascade.fit, study.cascade.mean, []
    if fits.joint is not None:
        said.append(
            f"On the wide set the cascade, one of whose exits learns a step, had {fits.joint.said()}; every other "
            f"model {fits.transfer.said()}."
        )
    if mean:
        if set(mean) == set(study.cascade.exits):
            depths, others = "every depth", "TANDA, which the paper's are, the first token"
        else:
            depths, others = f"depth {', '.join(map(str, mean))}", "the others the first token"
        said.append(f"MT of {depths} read the mean of their tokens, as exits do; {others}.")
    return [*said, *filter(None, [study.cascade.note])]
