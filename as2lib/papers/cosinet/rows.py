"""The systems of the Cosinet paper: two encoders of words, six ways to learn from a list, and what order is worth."""

from dataclasses import replace

from as2lib.papers.cerberus.rows import roles
from as2lib.papers.row import fit, planned
from as2lib.study import Study
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
    """The models of Table 4; some without relatedness, some scored, and some trained, on lists in a random order."""
    study = study.of("cosinet")
    every, test = models(study), {"test": tuple(study.data.target.test)}
    rows = [*every.values()]
    for row in map(every.get, UNRELATED):
        spec = {**row.spec, "words": {**row.spec["words"], "related": False}}
        name, label, seeds = f"{row.run}-unrelated", f"{row.label}, no relatedness", tuple(study.grid_seeds)
        rows.append(replace(row, run=name, label=label, spec=spec, seeds=seeds))
    for row in map(every.get, SCORED_SHUFFLED):
        name, label, model = f"shuffled/{row.run}", f"{row.label}, random order", {"model": (row.run,)}
        rows.append(Row(name, label, row.group, "shuffled", {}, test, model, row.seeds))
    for row in map(every.get, TRAINED_SHUFFLED):
        name, label = f"{row.run}-shuffled", f"{row.label}, trained on random orders"
        rows.append(replace(row, run=name, label=label, spec={**row.spec, "shuffle": True}))
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


def models(study: Study) -> dict[str, Row]:
    """The twelve rows of Table 4 by their names: `cosinet/birnn`."""
    settings, rows = study.cosinet, {}
    for encoder, (name, model) in ENCODERS.items():
        for shape, (text, unit, rank_rnn, bidirectional) in SHAPES.items():
            words = {
                "type": model,
                "vectors": settings.vectors.model_dump(exclude_none=True),
                "hidden": settings.hidden,
                "dropout": settings.dropout,
                "rank_rnn": rank_rnn,
                "bidirectional": bidirectional,
            }
            if unit == "pair":
                fitted = fit(study, loss="bce", training=settings.pointwise, unit=unit, words=words)
            else:
                fitted = fit(study, loss="listwise_kl", training=settings.listwise, unit=unit, words=words)
            seeds = tuple((encoder == "ca" and settings.ca_seeds) or settings.seeds)  # the dear one may have fewer
            rows[f"{encoder}/{shape}"] = Row(f"{encoder}/{shape}", name + text, name, **fitted, seeds=seeds)
    return rows
