"""The catalogue of the Cosinet paper: every system of its tables, said once; their runs are in `plan`."""

from dataclasses import replace
from typing import TYPE_CHECKING

from as2lib.papers.cerberus import longer
from as2lib.papers.cerberus.systems import TRIVIAL
from as2lib.runs.run import System

if TYPE_CHECKING:
    from as2lib.study import Study

# Row of Table 4 → (its label behind the encoder's, unit of a batch, rank RNN, bidirectional)
SHAPES = {
    "point": ("", "pair", None, False),
    "list": (" list", "question", None, False),
    "rnn": (" list + RNN", "question", "rnn", False),
    "birnn": (" list + BiRNN", "question", "rnn", True),
    "lstm": (" list + LSTM", "question", "lstm", False),
    "bilstm": (" list + BiLSTM", "question", "lstm", True),
}
ENCODERS = {  # label in tables, name in figures, model in a run's spec
    "cosinet": ("Cosinet", "Cosinet", "cosinet"),
    "ca": ("CA", "Compare-Aggregate", "compare_aggregate"),
}
UNRELATED = ("cosinet/list", "cosinet/birnn")  # also fitted without relatedness
SHUFFLED = ("cosinet/point", "cosinet/list", "cosinet/rnn", "cosinet/birnn", "ca/birnn")  # does order matter?
FIRST, SECOND = "cosinet/birnn", "mhs/3h1"  # a cheap ranker before an expensive one
UPPER = "base/electra"  # the encoder transferred and fine-tuned
PLAIN = "direct/electra-base"  # the encoder only fine-tuned, as the paper's BERT
MODELS = [
    System(f"{encoder}/{shape}", label + behind, name)
    for encoder, (label, name, _) in ENCODERS.items()
    for shape, (behind, *_) in SHAPES.items()
]
# A model, and the same without a piece: the list-wise loss, relatedness, the rank RNN, its direction, gate and encoder.
PIECES = [("cosinet/list", "cosinet/point"), *((prefix, f"{prefix}-unrelated") for prefix in UNRELATED)]
PIECES += [(f"{encoder}/birnn", f"{encoder}/{other}") for encoder in ENCODERS for other in ("list", "rnn")]
PIECES += [*((f"{encoder}/lstm", f"{encoder}/rnn") for encoder in ENCODERS), ("cosinet/birnn", "ca/birnn")]


def fine_tuned(study: "Study") -> list[System]:
    """The encoder, with a transfer step and without; then the same trained longer, where the study has them."""
    upper = System(UPPER, f"fine-tuned {study.label('electra', 'base')}")
    found = [upper, System(PLAIN, f"{upper.label}, without transfer")]
    trained = [replace(one, prefix=longer.BEFORE + one.prefix, label=one.label + longer.ADDED) for one in found]
    return found + [one for one in trained if one.prefix in longer.called(study)]


def two(study: "Study") -> list[str]:
    """A cheap ranker and the expensive one behind it, which is trained longer where the study has it so."""
    return [FIRST, longer.twin(study, SECOND)]


def systems(study: "Study") -> dict[str, System]:
    """Run prefix → system: Table 4's rows from the trivial rankers to the fine-tuned encoder, and what others add."""
    rows = {system.prefix: system for system in [*TRIVIAL, *MODELS, *fine_tuned(study)]}
    added = [System(f"{prefix}-unrelated", f"{rows[prefix].label}, no relatedness") for prefix in UNRELATED]
    added += [System(f"shuffled/{prefix}", f"{rows[prefix].label}, random order") for prefix in SHUFFLED]
    added += [System(two(study)[-1], "multiple-heads student", short="MHS")]
    return rows | {system.prefix: system for system in added}
