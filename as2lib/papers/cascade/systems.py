"""The catalogue of the Cascade Transformer paper: what ranks, what tables call it, and how a cascade can be trained."""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from as2lib.study import Study

TRIVIAL_LABEL = "WO+RR (trivial baseline)"
PAPER_EXITS = (4, 6, 8, 10, 12)
EXIT = "CT, exit at layer {}"  # a row of Table 2; nothing is dropped before it


class Scheme(NamedTuple):
    """A way to rank a question's candidates, and its label.

    method: MT, a monolithic model; SR, such models in sequence; CT, the cascade.  layers: of the model, or of the exit
    that has the last word.  alpha: which share of the candidates each exit before it drops; None for MT.
    """

    method: str
    layers: int
    alpha: float | None = None

    def __str__(self) -> str:
        number = f"{self.layers} layer{'s' * (self.layers != 1)}"
        name = {"MT": f"MT of {number}", "SR": "SR", "CT": f"CT to layer {self.layers}"}[self.method]
        return name if self.alpha is None else f"{name}, alpha {self.alpha:g}"


def trivial_on(where: str) -> str:
    """The run of the trivial baseline on a set: "wide", "target" or the name of one of `cascade.targets`."""
    return "lexical/overlap_then_rank" if where == "target" else f"{where}/overlap_then_rank"


def behind(study: "Study", where: str) -> dict[str, list[str]]:
    """Row of Table 2 (where: "target") or Table 3 ("wide") → the prefixes of the runs that it is made from."""
    models, cascade = {n: f"monolith/{n}/{where}" for n in study.cascade.exits}, [f"cascade/{where}"]
    found = {TRIVIAL_LABEL: [trivial_on(where)], **{EXIT.format(n): cascade for n in models}}
    for row in schemes(study):
        found[str(row)] = {"MT": [models[row.layers]], "SR": [*models.values()], "CT": cascade}[row.method]
    return found


def schemes(study: "Study") -> list[Scheme]:
    """The rows of Table 3."""
    exits, alphas = study.cascade.exits, study.cascade.alphas
    rows = [Scheme("MT", layers) for layers in exits]
    rows += [Scheme("SR", exits[-1], alpha) for alpha in alphas]
    rows += [Scheme("CT", layers, 0.0) for layers in exits]
    return rows + [Scheme("CT", exits[-1], alpha) for alpha in alphas]


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
