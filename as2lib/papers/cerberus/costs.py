"""What each row of the CERBERUS paper's tables costs at its true size, as data frames beside the published costs."""

from functools import cache

import numpy
import pandas
import torch

from as2lib.kernels.first_token import reading_first_token
from as2lib.metrics import cost
from as2lib.models.true_sizes import VOCABULARY, build_members
from as2lib.papers.cerberus.params import Latency
from as2lib.runs.results import published

REFERENCE = "base/electra"  # ratios are to this row, the student's own base model
RATIO = "× ELECTRA-BASE"
SHORT = "first token ×"


def counted(table: str, tokens: int) -> pandas.DataFrame:
    """Parameters, weights and operations of every row of a published table; exact, for nothing is measured.

    table: `cerberus_table4` or `cerberus_table5`, whose `run` says which models a row is.  An ensemble costs its
    members.  tokens: in a pair, without padding.
    Columns: run, parameters, published parameters (in millions), more % (ours over the published), weights MB
    (float32), GFLOPs a pair, those as a ratio to ELECTRA-BASE, and the ratio to it, which computes all tokens, of the
    operations that are left when a row's last layers compute the first token alone.
    """
    paper, rows, base = published(table), [], count(REFERENCE, tokens)["flops"]
    for name, row in paper.set_index(paper.columns[1]).iterrows():
        found = count(row["run"], tokens)
        row = {"run": row["run"], "parameters": found["parameters"], "published parameters (M)": row["parameters_M"]}
        row["more %"] = 100 * (found["parameters"] / 1e6 / row["published parameters (M)"] - 1)
        row |= {"weights MB": found["bytes"] / 2**20, "GFLOPs a pair": found["flops"] / 1e9}
        rows.append({"model": name, **row, RATIO: found["flops"] / base, SHORT: found["short"] / base})
    return pandas.DataFrame(rows).set_index("model")


@cache
def count(row: str, tokens: int) -> dict[str, int]:
    """What a row of that name takes: parameters, bytes of the weights, flops of one pair of so many tokens.

    short: the flops where the last layers compute the first token alone (`kernels.first_token`).
    """
    models = build_members(row, "meta")

    def short(model) -> int:
        with reading_first_token(model):
            return cost.forward_flops(model, batch)

    batch = {"input_ids": torch.zeros(1, tokens, dtype=torch.long, device="meta")}
    return {
        "parameters": sum(cost.parameters(model) for model in models),
        "bytes": sum(cost.weight_bytes(model) for model in models),
        "flops": sum(cost.forward_flops(model, batch) for model in models),
        "short": sum(map(short, models)),
    }


def measured(settings: Latency) -> dict[str, cost.Latency]:
    """The time of a forward pass for each row that the study runs, by the row's name, on the GPU if there is one.

    Weights are random, in float32; token ids are too, from a fixed seed, and are on the device before the clock starts.
    Raises ValueError for a row that the paper's Tables 4 and 5 do not have.
    """
    known = list(dict.fromkeys([*published("cerberus_table5")["run"], *published("cerberus_table4")["run"]]))
    if wrong := set(settings.rows) - set(known):
        raise ValueError(f"latency.rows: expected some of {', '.join(known)}; got {', '.join(sorted(wrong))}")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = torch.Generator().manual_seed(0)
    smallest = min(fields["vocab_size"] for fields in VOCABULARY.values())
    ids = torch.randint(5, smallest, (settings.batch, settings.tokens), generator=generator).to(device)
    found = {}
    for row in settings.rows:
        with torch.random.fork_rng():
            models = build_members(row, device)
        found[row] = cost.latency(models, {"input_ids": ids}, settings.repeats)
        del models
    return found


def times(settings: Latency, found: dict[str, cost.Latency]) -> pandas.DataFrame:
    """Table 5: milliseconds a pair and the ratio to ELECTRA-BASE beside the published time and ratio.

    A row that did not run has no time, and says so in `state`.  Columns: run, state, ms a pair (and its spread over
    batches), the ratio, published time (in the paper's unit) with its spread, published ratio, operations' ratio.
    """
    paper, rows = published("cerberus_table5").set_index("run"), []
    base_flops = count(REFERENCE, settings.tokens)["flops"]
    for name, row in paper.iterrows():
        mean, spread = (found[name].mean, found[name].deviation) if name in found else (numpy.nan, numpy.nan)
        base = found[REFERENCE].mean if REFERENCE in found else numpy.nan
        each = 1000 / settings.batch
        ours = {"state": "run" if name in found else "not run", "ms a pair": mean * each, "ms a pair ±": spread * each}
        theirs = {"published": row["latency"], "published ±": row["latency ±"]}
        ratios = {"time ×": mean / base, "published ×": row["latency"] / paper.loc[REFERENCE, "latency"]}
        ratios["operations ×"] = count(name, settings.tokens)["flops"] / base_flops
        rows.append({"model": row["model"], "run": name, **ours, **theirs, **ratios})
    return pandas.DataFrame(rows).set_index("model")


def durations(settings: Latency, found: dict[str, cost.Latency]) -> pandas.DataFrame:
    """Milliseconds a pair of any measured rows, by name, and time and operations as ratios to ELECTRA-BASE."""
    each, base = 1000 / settings.batch, found[REFERENCE].mean
    rows = {
        name: {
            "ms a pair": each * time.mean,
            "ms a pair ±": each * time.deviation,
            "time ×": time.mean / base,
            "operations ×": count(name, settings.tokens)["flops"] / count(REFERENCE, settings.tokens)["flops"],
        }
        for name, time in found.items()
    }
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("row")
