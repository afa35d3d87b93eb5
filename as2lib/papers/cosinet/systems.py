"""The systems of the Cosinet paper: two encoders of words, six ways to learn from a list, and what order is worth."""

from functools import partial
from typing import TYPE_CHECKING

from as2lib.papers.building import splits, vocabulary
from as2lib.papers.cerberus.systems import roles
from as2lib.study.run import Notebook, Run, System

if TYPE_CHECKING:
    from as2lib.study import Study

# Row of Table 4 → (its label behind the encoder's, unit of a batch, rank RNN, bidirectional)
SHAPES = {
    "point": ("", "pair", None, False),
    "list": (" list-wise", "question", None, False),
    "rnn": (" + RNN", "question", "rnn", False),
    "birnn": (" + BiRNN", "question", "rnn", True),
    "lstm": (" + LSTM", "question", "lstm", False),
    "bilstm": (" + BiLSTM", "question", "lstm", True),
}
ENCODERS = {"cosinet": ("Cosinet", "cosinet"), "ca": ("Compare-Aggregate", "compare_aggregate")}  # label, model
UNRELATED = ("cosinet/list", "cosinet/birnn")  # also fitted without relatedness
SHUFFLED = ("cosinet/point", "cosinet/list", "cosinet/rnn", "cosinet/birnn", "ca/birnn")  # does order matter?
# Controls of the order: models that are also trained on lists in a random order.
ORDERLESS = ("cosinet/birnn", "ca/birnn")
FIRST = "cosinet/birnn"  # a cheap ranker before an expensive one, MHS
# A model, and the same without a piece: the list-wise loss, relatedness, the rank RNN, its direction, gate and encoder.
PIECES = [
    ("cosinet/list", "cosinet/point"),
    ("cosinet/list", "cosinet/list-unrelated"),
    ("cosinet/birnn", "cosinet/birnn-unrelated"),
    ("cosinet/birnn", "cosinet/list"),
    ("cosinet/birnn", "cosinet/rnn"),
    ("ca/birnn", "ca/list"),
    ("ca/birnn", "ca/rnn"),
    ("cosinet/lstm", "cosinet/rnn"),
    ("ca/lstm", "ca/rnn"),
    ("cosinet/birnn", "ca/birnn"),
]


def systems(study: "Study") -> list[System]:
    """Every system of this paper; none where the study has no section for it."""
    if not study.cosinet:
        return []
    return [*table4(study), *unrelated(study), *shuffled(study), *orderless(study)]


def notebooks(study: "Study") -> list[Notebook]:
    if not study.cosinet:
        return []
    question = "How far does a million parameters go?"
    trivial = [system for name, system in study.systems.items() if name.startswith("lexical/")]
    others = [*fine_tuned(study), study.systems[roles(study).mhs]]
    return [Notebook("09_cosinet", question, "Cosinet, Tables 2 to 6", (*trivial, *systems(study), *others))]


def fine_tuned(study: "Study") -> list[System]:
    """The student's encoder after a transfer step and, where that is run, without: what the paper's BERT is."""
    base = roles(study).base
    names = [base, f"direct/{base}"]
    return [study.systems[name] for name in names if name in study.systems and study.systems[name].seeds]


def table4(study: "Study") -> list[System]:
    """The twelve models of Table 4."""
    return [
        System(f"{encoder}/{shape}", label + SHAPES[shape][0], encoder, partial(fit, study, encoder, shape), seeds)
        for encoder, (label, _) in ENCODERS.items()
        for shape in SHAPES
        if (seeds := seeds_of(study, encoder))
    ]


def unrelated(study: "Study") -> list[System]:
    """Cosinet without its relatedness features, one seed each."""
    labels = {system.run: system.label for system in table4(study)}
    return [
        System(
            f"{run}-unrelated",
            f"{labels[run]}, no relatedness",
            encoder,
            partial(fit, study, encoder, shape, related=False),
            tuple(study.grid_seeds),
        )
        for run in UNRELATED
        for encoder, shape in [run.split("/")]
    ]


def shuffled(study: "Study") -> list[System]:
    """The same trained models where the candidates come in a random order: what they lose is what order told them."""
    labels = {system.run: system.label for system in table4(study)}
    return [
        System(
            f"shuffled/{run}",
            f"{labels[run]}, random order",
            encoder,
            partial(over_shuffled, study, encoder, shape),
            seeds_of(study, encoder),
        )
        for run in SHUFFLED
        for encoder, shape in [run.split("/")]
    ]


def orderless(study: "Study") -> list[System]:
    """Models that read lists, trained and scored on lists in a random order: what they can do without the order."""
    labels = {system.run: system.label for system in table4(study)}
    return [
        System(
            f"{run}-shuffled",
            f"{labels[run]}, trained on random orders",
            encoder,
            partial(fit, study, encoder, shape, shuffle=True),
            seeds_of(study, encoder),
        )
        for run in ORDERLESS
        for encoder, shape in [run.split("/")]
    ]


def seeds_of(study: "Study", encoder: str) -> tuple[int, ...]:
    """Compare-Aggregate may have fewer: it takes several times as long."""
    return tuple((encoder == "ca" and study.cosinet.ca_seeds) or study.cosinet.seeds)


def fit(study: "Study", encoder: str, shape: str, seed: int, related: bool = True, shuffle: bool = False) -> Run:
    """One cell of Table 4, `cosinet/birnn/seed-0`; without relatedness, `cosinet/birnn-unrelated/seed-0`.

    shuffle: train, dev and test lists are in a random order, which the seed decides: `cosinet/birnn-shuffled/seed-0`.
    """
    settings = study.cosinet
    _, unit, rank_rnn, bidirectional = SHAPES[shape]
    training = settings.pointwise if unit == "pair" else settings.listwise
    vectors = settings.vectors.model_dump(exclude_none=True)
    words = {
        "vectors": vectors,
        "type": ENCODERS[encoder][1],
        "hidden": settings.hidden,
        "dropout": settings.dropout,
        "rank_rnn": rank_rnn,
        "bidirectional": bidirectional,
    }
    if not related:
        words["related"] = False
    loss = "bce" if unit == "pair" else "listwise_kl"
    spec = {"loss": loss, "unit": unit, "words": words, "training": training.model_dump(exclude_none=True)}
    data = splits(study.data.target)
    if vectors["source"] == "ppmi":
        data["vocabulary"] = vocabulary(study)
    if shuffle:
        spec["shuffle"] = True
    variant = f"{shape}{'' if related else '-unrelated'}{'-shuffled' if shuffle else ''}"
    name = f"{encoder}/{variant}/seed-{seed}"
    return Run(name, "fit", spec, data, seed, encoder)


def over_shuffled(study: "Study", encoder: str, shape: str, seed: int) -> Run:
    model = fit(study, encoder, shape, seed)
    data = {"test": tuple(study.data.target.test)}
    return Run(f"shuffled/{model.name}", "shuffled", {}, data, seed, model.group, {"model": (model,)})
