"""The runs of the Cosinet paper: both encoders, point-wise, list-wise and below each rank RNN; what order is worth."""

from typing import TYPE_CHECKING

from as2lib.runs.run import Notebook, Run, names, roles

if TYPE_CHECKING:
    from as2lib.study import Study

# Row of Table 4 → (encoder, unit of a batch, rank RNN, bidirectional)
SHAPES = {
    "point": ("pair", None, False),
    "list": ("question", None, False),
    "rnn": ("question", "rnn", False),
    "birnn": ("question", "rnn", True),
    "lstm": ("question", "lstm", False),
    "bilstm": ("question", "lstm", True),
}
ENCODERS = {"cosinet": "cosinet", "ca": "compare_aggregate"}
SHUFFLED = ("cosinet/point", "cosinet/list", "cosinet/rnn", "cosinet/birnn", "ca/birnn")  # does order matter?


def runs(study: "Study") -> list[Run]:
    """Every run of this paper, parents before children; none where the study has no section for it."""
    return [*rows(study), *unrelated(study), *shuffled(study)] if study.cosinet else []


def notebooks(study: "Study") -> list[Notebook]:
    """Notebook 09, with the names of the runs that it reads."""
    if not study.cosinet:
        return []
    lexical = [f"lexical/{scorer}" for scorer in ("reciprocal_rank", "word_overlap", "overlap_then_rank")]
    above = [f"{prefix}/seed-{seed}" for prefix in ("base/electra", "mhs/3h1") for seed in study.seeds]
    return [
        Notebook(
            "09_cosinet",
            "How far does a million parameters go?",
            "Cosinet Tables 2–6",
            [*lexical, *above, *names(runs(study))],
        )
    ]


def rows(study: "Study") -> list[Run]:
    """Cosinet Table 4: twelve rows."""
    return [
        row(study, encoder, shape, seed) for encoder in ENCODERS for shape in SHAPES for seed in seeds(study, encoder)
    ]


def unrelated(study: "Study") -> list[Run]:
    """What relatedness is worth: Cosinet without it, list-wise and with the BiRNN."""
    return [
        row(study, "cosinet", shape, seed, related=False) for shape in ("list", "birnn") for seed in study.grid_seeds
    ]


def row(study: "Study", encoder: str, shape: str, seed: int, related: bool = True) -> Run:
    """One cell of Table 4, `cosinet/birnn/seed-0`; without relatedness, `cosinet/birnn-unrelated/seed-0`."""
    settings, (unit, rank_rnn, bidirectional) = study.cosinet, SHAPES[shape]
    listwise = settings.ca_listwise or settings.listwise if encoder == "ca" else settings.listwise
    training = settings.pointwise if unit == "pair" else listwise
    vectors = settings.vectors.model_dump(exclude_none=True)
    model = {"type": ENCODERS[encoder], "hidden": settings.hidden, "dropout": settings.dropout}
    model |= {} if related else {"related": False}
    spec = {
        "loss": "bce" if unit == "pair" else "listwise_kl",
        "unit": unit,
        "words": {"vectors": vectors, **model, "rank_rnn": rank_rnn, "bidirectional": bidirectional},
        "training": training.model_dump(exclude_none=True),
    }
    data = roles(study.data.target)
    if vectors["source"] == "ppmi":
        data["vocabulary"] = [*study.data.transfer.train, *study.data.target.train]
    name = shape if related else f"{shape}-unrelated"
    return Run(f"{encoder}/{name}/seed-{seed}", "fit", spec, data, seed, encoder)


def shuffled(study: "Study") -> list[Run]:
    """The same models where the candidates come in a random order: what they lose is what the order told them."""
    runs, test = [], {"test": study.data.target.test}
    for prefix in SHUFFLED:
        encoder = prefix.split("/")[0]
        for seed in seeds(study, encoder):
            name = f"{prefix}/seed-{seed}"
            runs.append(Run(f"shuffled/{name}", "shuffled", {}, test, seed, encoder, {"model": [name]}))
    return runs


def seeds(study: "Study", encoder: str) -> list[int]:
    """Compare-Aggregate may have fewer: it takes several times as long."""
    return study.cosinet.ca_seeds or study.cosinet.seeds if encoder == "ca" else study.cosinet.seeds
