"""The systems of the Cosinet paper: two encoders of words, six ways to learn from a list, and what order is worth."""

from dataclasses import replace

from as2lib.papers.cerberus.rows import roles
from as2lib.papers.row import fit, planned
from as2lib.study import Study
from as2lib.study.recipes import Shuffled, Words
from as2lib.study.run import Notebook, Row

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
SCORED_SHUFFLED = ("cosinet/point", "cosinet/list", "cosinet/rnn", "cosinet/birnn", "ca/birnn")  # does order matter?
TRAINED_SHUFFLED = ("cosinet/birnn", "ca/birnn")  # also trained on lists in a random order


def systems(study: Study) -> list[Row]:
    """The models of Table 4; some without relatedness; trained models where the candidates come in a random order; and
    models trained on lists in a random order, which the seed decides.
    """
    every, test = models(study), {"test": tuple(study.data.target.test)}
    rows = [*every.values()]
    for row in map(every.get, UNRELATED):
        recipe, seeds = replace(row.recipe, related=False), tuple(study.grid_seeds)
        rows.append(Row(f"{row.run}-unrelated", f"{row.label}, no relatedness", row.group, recipe, seeds))
    for row in map(every.get, SCORED_SHUFFLED):
        recipe = Shuffled(data=test, parents={"model": (row.run,)})
        rows.append(Row(f"shuffled/{row.run}", f"{row.label}, random order", row.group, recipe, row.seeds))
    for row in map(every.get, TRAINED_SHUFFLED):
        recipe, label = replace(row.recipe, shuffle=True), f"{row.label}, trained on random orders"
        rows.append(Row(f"{row.run}-shuffled", label, row.group, recipe, row.seeds))
    return planned(study, rows)


def notebooks(study: Study) -> list[Notebook]:
    trivial = [system for name, system in study.systems.items() if name.startswith("lexical/")]
    others = [*fine_tuned(study), study.systems[roles(study).mhs]]
    return [Notebook("09_cosinet", "How far does a million parameters go?", (*trivial, *systems(study), *others))]


def fine_tuned(study: Study) -> list[Row]:
    """The student's encoder after a transfer step and, where that is run, without, beside the paper's rows of BERT."""
    base = roles(study).base
    systems = [study.systems.get(name) for name in (base, f"direct/{base}")]
    return [system for system in systems if system and system.seeds]


def table4(study: Study) -> list[Row]:
    """The twelve models of Table 4."""
    return planned(study, models(study).values())


def models(study: Study) -> dict[str, Row]:
    """The rows of Table 4 by their names: `cosinet/birnn`."""
    settings, rows = study.cosinet, {}
    for encoder, (name, model) in ENCODERS.items():
        for shape, (text, unit, rank_rnn, bidirectional) in SHAPES.items():
            recipe = fit(
                study,
                loss="bce" if unit == "pair" else "listwise_kl",
                training=settings.pointwise if unit == "pair" else settings.listwise,
                kind=Words,
                unit=unit,
                type=model,
                vectors=settings.vectors.model_dump(exclude_none=True),
                hidden=settings.hidden,
                dropout=settings.dropout,
                rank_rnn=rank_rnn,
                bidirectional=bidirectional,
            )
            seeds = tuple((encoder == "ca" and settings.ca_seeds) or settings.seeds)  # the dear one may have fewer
            rows[f"{encoder}/{shape}"] = Row(f"{encoder}/{shape}", name + text, name, recipe, seeds)
    return rows
