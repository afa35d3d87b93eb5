"""The rows of Tables 4 and 5 at the paper's true sizes, with random weights: parameters and operations, counted, and
measured time.  Knows no data, no scores and no run.
"""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy
import pandas

from as2lib.metrics import cost
from as2lib.papers import paper_tables
from as2lib.study import Study
from as2lib.study.params import Latency

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# The fields of the published checkpoints' configurations: ELECTRA discriminators, RoBERTa, ALBERT v2 (large: XXLARGE).
ENCODERS = {
    ("electra", "base"): {"hidden_size": 768, "embedding_size": 768, "num_hidden_layers": 12},
    ("electra", "large"): {"hidden_size": 1024, "embedding_size": 1024, "num_hidden_layers": 24},
    ("roberta", "base"): {"hidden_size": 768, "num_hidden_layers": 12},
    ("roberta", "large"): {"hidden_size": 1024, "num_hidden_layers": 24},
    ("albert", "base"): {"hidden_size": 768, "embedding_size": 128, "num_hidden_layers": 12},
    ("albert", "large"): {"hidden_size": 4096, "embedding_size": 128, "num_hidden_layers": 12},
}
VOCABULARY = {
    "electra": {"vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2},
    "roberta": {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1},
    "albert": {"vocab_size": 30000, "max_position_embeddings": 512, "type_vocab_size": 2},
}
HEAD_UNITS = 64  # an attention head's, in all of them
WEIGHT = 0.03  # at most, about as wide as the encoders' own initial range
STUDENT = ("electra", "base")
ONE_EACH = [(family, "base") for family in VOCABULARY]
ENSEMBLES = {"ensemble/bases": ONE_EACH, "ensemble/taught-bases": ONE_EACH, "ensemble/students": [STUDENT] * 3}
REFERENCE = "base/electra"  # ratios are to this row, the student's own base model
MODELS = {  # row → what a reader calls it, where the paper's tables are brief
    "mhs/3h1": "MHS: 11 shared layers, three heads of one",
    "mhs/3h2": "MHS: 10 shared layers, three heads of two",
    "mhs/3h4": "MHS: 8 shared layers, three heads of four",
    "mhs/3h6": "MHS: 6 shared layers, three heads of six",
    "ensemble/bases": "ensemble of the three BASE models",
    "ensemble/students": "ensemble of three ELECTRA-BASE",
}


def members(row: str) -> list[tuple[dict[str, Any], dict[str, int]]]:
    """The models that run, one after another, for a row of the paper's tables, by the name of its runs.

    row: such as `teacher/albert` (large), `taught-base/albert`, `ensemble/students`, or `mhs/3h2`: three heads of two
    layers, on the other layers of ELECTRA-BASE.  Returns, for each, the fields of its encoder's configuration, and the
    `body` and `heads` of one with heads.  Raises ValueError for any other name.
    """
    if row in ENSEMBLES:
        return [(encoder(*member), {}) for member in ENSEMBLES[row]]
    if shape := re.fullmatch(r"(?:mhs|hydra)/(\d+)h(\d+)", row):
        heads, depth = map(int, shape.groups())
        backbone = encoder(*STUDENT)
        return [(backbone, {"body": backbone["num_hidden_layers"] - depth, "heads": heads})]
    role, _, family = row.partition("/")
    size = {"teacher": "large", "base": "base", "taught-base": "base", "student": "base"}.get(role)
    if (family, size) not in ENCODERS:
        raise ValueError(f"expected a row of the tables of the paper, such as teacher/electra or mhs/3h1, got {row!r}")
    return [(encoder(family, size), {})]


def encoder(family: str, size: str) -> dict[str, Any]:
    width = ENCODERS[family, size]["hidden_size"]
    fields = {"model_type": family, "intermediate_size": 4 * width, "num_attention_heads": width // HEAD_UNITS}
    return {**fields, **VOCABULARY[family], **ENCODERS[family, size]}


def build_members(row: str, device: str) -> "list[PreTrainedModel]":
    """The models of a row; on the device "meta" they have shapes and no weights."""
    import torch
    from transformers.initialization import no_init_weights

    from as2lib.models.cross_encoder import build
    from as2lib.models.mhs import MHSConfig

    configs = [MHSConfig(backbone=fields, **shape) if shape else fields for fields, shape in members(row)]
    with torch.device(device), no_init_weights():
        models = [build(config).eval() for config in configs]
    weights = [weight.detach() for model in models for weight in model.parameters()]
    # An initialisation of each weight's own would take longer than some passes.
    noise = torch.empty(max(weight.numel() for weight in weights), device=device).uniform_(-WEIGHT, WEIGHT)
    for weight in weights:
        weight.copy_(noise[: weight.numel()].view_as(weight))
    return models


@cache
def sizes() -> dict[str, int]:
    """Row of CERBERUS's or Cosinet's tables → its trainable parameters at its true size, counted once: `sizes.csv`."""
    return pandas.read_csv(files("as2lib.papers") / "sizes.csv", index_col="run")["parameters"].to_dict()


def parameters(row: str) -> int:
    """Of all the models of a row."""
    return sum(sizes()[f"base/{family}"] for family, _ in ENSEMBLES[row]) if row in ENSEMBLES else sizes()[row]


def operations(row: str, tokens: float, first_token: bool = True) -> float:
    """Multiply-adds of one pair, in all the models of a row.

    first_token: whether last layers compute the first token alone, as ours do, or every token, as the paper draws them.
    """
    return sum(cost.of_pair(fields, tokens, not first_token, **shape) for fields, shape in members(row))


def counted(study: Study, table: str, tokens: float) -> pandas.DataFrame:
    """What each row of "table4" or "table5" costs, index its run, beside the published parameters.

    more %: our parameters over the published ones.  ×: over ELECTRA-BASE with the same last layers; of every token:
    with last layers as the paper draws them.
    """
    runs = paper_tables.read("cerberus", table)["run"]
    paper = paper_tables.printed(study, "cerberus", table).set_index("run")["parameters_M"].reindex(runs)
    sizes = pandas.Series({run: parameters(run) for run in runs})
    first, every = (pandas.Series({run: operations(run, tokens, alone) for run in runs}) for alone in (True, False))
    costed = pandas.DataFrame({"model": pandas.Series(model_names()), "parameters": sizes}, index=runs)
    costed["published parameters"] = 1e6 * paper
    costed["more %"] = 100 * (sizes / 1e6 / paper - 1)
    costed["weights MiB"] = 4 * sizes / 2**20
    costed["G operations a pair"] = first / 1e9
    costed["operations ×"] = first / operations(REFERENCE, tokens)
    costed["of every token ×"] = every / operations(REFERENCE, tokens, False)
    return costed


def model_names() -> dict[str, str]:
    """Row → what a reader calls it: "ELECTRA-BASE", "MHS: 10 shared layers, three heads of two"."""
    return dict(paper_tables.read("cerberus", "table5").set_index("run")["model"]) | MODELS


def measure(settings: Latency, rows: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """The time of a forward pass for each of the rows (default: those of the settings), on the GPU if there is one.

    Returns row → `seconds`, a batch in each turn, and where: what else `cost.latency` says.

    Rows take turns, so that a busy minute falls on all of them: each repeat builds every row once, lets it warm up and
    takes the mean of two passes.  Weights, in float32, and token ids are random.
    """
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    times: dict[str, Any] = {row: {"seconds": []} for row in rows or settings.rows}
    generator = torch.Generator().manual_seed(0)
    smallest = min(fields["vocab_size"] for fields in VOCABULARY.values())
    ids = torch.randint(5, smallest, (settings.batch, settings.tokens), generator=generator).to(device)
    for _, row in product(range(settings.repeats), times):
        with torch.random.fork_rng():
            models = build_members(row, device)
        time = cost.latency(models, {"input_ids": ids}, repeats=2)
        times[row]["seconds"].append(time.pop("seconds"))
        times[row] |= time
        del models
    return times


def question(settings: Latency) -> dict[str, Any]:
    """What decides a measurement."""
    return {**settings.model_dump(mode="json"), "order": "rows take turns", "last layer": "first token"}


def times_table(times: dict[str, dict[str, Any]]) -> pandas.DataFrame:
    """Milliseconds a pair of the measured rows, and time and operations as ratios to ELECTRA-BASE, index run.

    Medians over the quiet turns, the half that took least time in all rows; "time ×" is the median of the ratios
    within a turn.
    """
    seconds = pandas.DataFrame({row: time["seconds"] for row, time in times.items()})  # a row a turn
    quiet = seconds[seconds.sum(axis=1) <= seconds.sum(axis=1).median()]
    each = 1000 * quiet / [time["batch"] for time in times.values()]
    table = pandas.DataFrame(index=pandas.Index([*times], name="run"))
    table["model"] = [model_names().get(row, row) for row in table.index]
    table["ms a pair"] = each.median()
    table["time ×"] = each.div(each.get(REFERENCE, pandas.Series(numpy.nan, each.index)), axis=0).median()
    tokens = max((time["tokens"] for time in times.values()), default=0)
    table["operations ×"] = [operations(row, tokens) / operations(REFERENCE, tokens) for row in table.index]
    return table
