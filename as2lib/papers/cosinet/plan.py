"""The runs of the Cosinet paper: both encoders, point-wise, list-wise and below each rank RNN; what order is worth."""

from typing import TYPE_CHECKING

from as2lib.papers.cosinet.systems import ENCODERS, MODELS, SHAPES, SHUFFLED, UNRELATED, systems
from as2lib.runs.run import Notebook, Run, of_systems, roles, vocabulary

if TYPE_CHECKING:
    from as2lib.study import Study


def runs(study: "Study") -> list[Run]:
    """Every run of this paper, parents before children; none where the study has no section for it."""
    if not study.cosinet:
        return []
    cosinet = study.cosinet.seeds
    seeds = {"cosinet": cosinet, "ca": study.cosinet.ca_seeds or cosinet}  # fewer: it takes several times as long
    table_four = [row(study, model.prefix, seed) for model in MODELS for seed in seeds[model.prefix.split("/")[0]]]
    unrelated = [row(study, prefix, seed, related=False) for prefix in UNRELATED for seed in study.grid_seeds]
    shuffles = [shuffled(study, prefix, seed) for prefix in SHUFFLED for seed in seeds[prefix.split("/")[0]]]
    return [*table_four, *unrelated, *shuffles]


def notebooks(study: "Study") -> list[Notebook]:
    """Notebook 09, which reads the runs of every system of the catalogue."""
    if not study.cosinet:
        return []
    read = of_systems(study, systems(study))
    return [Notebook("09_cosinet", "How far does a million parameters go?", "Cosinet Tables 2–6", read)]


def row(study: "Study", prefix: str, seed: int, related: bool = True) -> Run:
    """One cell of Table 4, `cosinet/birnn/seed-0`; without relatedness, `cosinet/birnn-unrelated/seed-0`."""
    encoder, shape = prefix.split("/")
    settings, (_, unit, rank_rnn, bidirectional) = study.cosinet, SHAPES[shape]
    listwise = settings.ca_listwise or settings.listwise if encoder == "ca" else settings.listwise
    training = settings.pointwise if unit == "pair" else listwise
    vectors = settings.vectors.model_dump(exclude_none=True)
    words = {"vectors": vectors, "type": ENCODERS[encoder][-1], "hidden": settings.hidden, "dropout": settings.dropout}
    words |= {"rank_rnn": rank_rnn, "bidirectional": bidirectional} | ({} if related else {"related": False})
    loss = "bce" if unit == "pair" else "listwise_kl"
    spec = {"loss": loss, "unit": unit, "words": words, "training": training.model_dump(exclude_none=True)}
    data = roles(study.data.target)
    if vectors["source"] == "ppmi":
        data["vocabulary"] = vocabulary(study)
    return Run(f"{prefix}{'' if related else '-unrelated'}/seed-{seed}", "fit", spec, data, seed, encoder)


def shuffled(study: "Study", prefix: str, seed: int) -> Run:
    """The same model where the candidates come in a random order: what it loses is what the order told it."""
    name, test = f"{prefix}/seed-{seed}", {"test": study.data.target.test}
    return Run(f"shuffled/{name}", "shuffled", {}, test, seed, prefix.split("/")[0], {"model": [name]})
