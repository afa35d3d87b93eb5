"""What each row of the CERBERUS paper's tables costs at its true size, counted and timed: tables and sentences."""

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy
import pandas
import torch

from as2lib.kernels import replacing
from as2lib.kernels.first_token import reading_first_token
from as2lib.metrics import cost
from as2lib.papers.cerberus.params import Latency
from as2lib.papers.cerberus.true_sizes import ENSEMBLES, VOCABULARY, build_members
from as2lib.runs.results import published
from as2lib.runs.wording import listed, some

REFERENCE = "base/electra"  # ratios are to this row, the student's own base model
TWIN = "base/roberta"  # a model of its shape: what sets their times apart is noise
NOISE = 0.1  # of a time: where that model's, or half the turns of a row, lie further apart, no sentence reads it
RATIO, SHORT = "× ELECTRA-BASE", "first token ×"
SMALL = ["base/albert", "base/roberta", "base/electra"]
MARKERS = {"operations ×": "operations (counted)", "published ×": "time (published)", "time ×": "time (measured)"}
Found = dict[str, dict[str, Any]]  # row → `seconds`, a batch in each turn, and where: the other fields of `Latency`


@cache
def count(row: str, tokens: int) -> dict[str, int]:
    """What a row of that name takes: parameters, bytes of the weights, flops of one pair of so many tokens.

    flops: with last layers that compute every token, as the paper draws them; short: the first token alone.
    An ensemble costs its members.
    """
    if row in ENSEMBLES:
        each = [count(f"{size}/{family}", tokens) for family, size in ENSEMBLES[row]]
        return {key: sum(member[key] for member in each) for key in each[0]}
    batch = {"input_ids": torch.zeros(1, tokens, dtype=torch.long, device="meta")}
    (model,) = build_members(row, "meta")
    found = {"parameters": cost.parameters(model), "bytes": cost.weight_bytes(model)}
    with replacing({head: head.reading_all for head in getattr(model, "heads", ())}):
        found["flops"] = cost.forward_flops(model, batch)
    with reading_first_token(model):
        found["short"] = cost.forward_flops(model, batch)
    return found


def counted(table: str, tokens: int) -> pandas.DataFrame:
    """What `count` gives for every row of `cerberus_table4` or `cerberus_table5`, beside the published parameters.

    more %: our parameters over the published ones, in millions.  The last two columns are operations as ratios to
    those of ELECTRA-BASE, which computes all tokens: a row's, and what is left with last layers of one token.
    """
    paper, rows, base = published(table), [], count(REFERENCE, tokens)["flops"]
    for name, row in paper.set_index(paper.columns[1]).iterrows():
        found = count(row["run"], tokens)
        row = {"run": row["run"], "parameters": found["parameters"], "published parameters (M)": row["parameters_M"]}
        row["more %"] = 100 * (found["parameters"] / 1e6 / row["published parameters (M)"] - 1)
        row |= {"weights MB": found["bytes"] / 2**20, "GFLOPs a pair": found["flops"] / 1e9}
        rows.append({"model": name, **row, RATIO: found["flops"] / base, SHORT: found["short"] / base})
    return pandas.DataFrame(rows).set_index("model")


def paper_times() -> pandas.DataFrame:
    """The paper's Table 5 by run, with its times as ratios to ELECTRA-BASE."""
    table = published("cerberus_table5").set_index("run")
    return table.assign(**{"published ×": table["latency"] / table.loc[REFERENCE, "latency"]})


def operations_and_time(table: pandas.DataFrame) -> pandas.DataFrame:
    """Each row's counted operations and published time, as ratios to ELECTRA-BASE.  table: from `counted`."""
    theirs = paper_times().set_index("model")["published ×"]
    return pandas.DataFrame({"operations (counted)": table[RATIO], "time (published, V100)": theirs})


def sentences_sizes(table: pandas.DataFrame) -> list[str]:
    """Which counted sizes are not the published ones.  table: from `counted`."""
    off, by_run = table[table["more %"].abs() > 2], table.set_index("run")
    listed = "; ".join(
        f"{name} ({row['published parameters (M)']} M published, {row['parameters'] / 1e6:.1f} M counted)"
        for name, row in off.iterrows()
    )
    together, printed = by_run.loc["ensemble/base", "parameters"] / 1e6, by_run["published parameters (M)"]
    return [
        f"In {some(len(table) - len(off), len(table), 'rows')} the published parameter count is within 2 % of the "
        "model's" + (f"; not in {listed}." if listed else "."),
        f"The three base models together have {together:.0f} M parameters; the paper gives {printed['ensemble/base']} "
        f"M for their ensemble, and {printed[SMALL].sum()} M as the sum of its own rows.",
    ]


def sentences_operations(table: pandas.DataFrame) -> list[str]:
    """What the student costs and saves by counted operations, beside the published times.  table: from `counted`."""
    by_run, paper = table.set_index("run"), paper_times()
    base, student, whole = paper.loc[REFERENCE, "model"], by_run.loc["mhs/3h1"], by_run.loc[REFERENCE]
    listed = ", ".join(
        f"{paper.loc[run, 'model']} {by_run.loc[run, RATIO]:.2f} (published time: {paper.loc[run, 'published ×']:.2f})"
        for run in ("mhs/3h1", "teacher/electra", "teacher/albert")
    )
    columns = by_run["GFLOPs a pair"], by_run["parameters"], paper["latency"], paper["parameters_M"]
    saved = [f"{100 * (1 - column['mhs/3h1'] / column['ensemble/distilled']):.0f} %" for column in columns]
    return [
        f"Operations as a multiple of {base}'s: {listed}.",
        f"Against the ensemble of three ELECTRA-BASE the student saves {saved[0]} of the operations and {saved[1]} of "
        f"the parameters; by the published figures {saved[2]} of the time and {saved[3]} of the parameters.",
        f"With last layers that compute the first token alone, the student takes {student[SHORT]:.2f} times the "
        f"operations of {base} as it is, and {student[SHORT] / whole[SHORT]:.2f} times those of {base} with the same "
        "saving.",
    ]


def sentence_shapes(gap: float) -> str:
    """gap: the largest difference from a published parameter count of Table 4, in millions."""
    close = f"within {gap:.1f} M of" if gap >= 0.05 else "to the last printed digit"
    return f"The parameters of the shapes of Table 4 are {close} the published ones."


def answer(table: pandas.DataFrame) -> str:
    """table: from `counted`, the paper's Table 5."""
    by_run, base = table.set_index("run"), paper_times().loc[REFERENCE, "model"]
    times = by_run[RATIO]
    return (
        f"At the paper's size MHS takes {times['mhs/3h1']:.2f} times the operations of {base} for a pair, the ensemble "
        f"of three {times['ensemble/distilled']:.2f} times, and the large ELECTRA {times['teacher/electra']:.2f} times."
    )


def sentences_unit(table: pandas.DataFrame, tokens: int) -> list[str]:
    """Whether the published times can be microseconds, and are within one standard deviation of each other."""
    model, time = paper_times().loc[REFERENCE, ["model", "latency"]]
    rate = table.loc[model, "GFLOPs a pair"] / time  # GFLOP in so many microseconds: thousands of TFLOP a second
    four = paper_times().loc[[*SMALL, "mhs/3h1"]]
    apart = (four["latency"].max() - four["latency"].min()) / four["latency ±"].max()
    return [
        f"{model} at {tokens} tokens in {time} microseconds a pair would be {1000 * rate:,.0f} TFLOP/s, in {time} "
        f"milliseconds {rate:.1f} TFLOP/s: we read the published unit as milliseconds a pair.",
        f"The published times of the four small models lie up to {apart:.0f} of their largest standard deviation "
        f"apart: they are {'' if apart <= 1 else 'not '}within one of each other.",
    ]


def measure(settings: Latency, rows: Sequence[str] = ()) -> Found:
    """The time of a forward pass for each of the rows (default: those of the settings), on the GPU if there is one.

    Rows take turns, so that a busy minute falls on all of them: each repeat builds every row once, lets it warm up and
    takes the mean of two passes.  One row at a time is in memory.
    Weights are random, in float32; token ids are too, from a fixed seed, and are on the device before the clock starts.
    Raises ValueError for a row that the paper's Tables 4 and 5 do not have.
    """
    known = {*published("cerberus_table4")["run"], *published("cerberus_table5")["run"]}
    rows = rows or settings.rows
    if wrong := sorted({*rows} - known):
        raise ValueError(f"latency.rows: expected some of {', '.join(sorted(known))}; got {', '.join(wrong)}")
    device, found = "cuda" if torch.cuda.is_available() else "cpu", {row: {"seconds": []} for row in rows}
    generator = torch.Generator().manual_seed(0)
    smallest = min(fields["vocab_size"] for fields in VOCABULARY.values())
    ids = torch.randint(5, smallest, (settings.batch, settings.tokens), generator=generator).to(device)
    for _, row in product(range(settings.repeats), rows):
        with torch.random.fork_rng():
            models = build_members(row, device)
        time = cost.latency(models, {"input_ids": ids}, repeats=2)._asdict()
        found[row]["seconds"].append(time["mean"])
        found[row] |= {name: time[name] for name in ("batch", "tokens", "device", "threads")}
        del models
    return found


def measure_single(settings: Latency) -> Found:
    """The time of a single request, one pair a pass, for ELECTRA-BASE, its twin and the shapes of Table 4."""
    return measure(settings.model_copy(update={"batch": 1}), [REFERENCE, TWIN, *published("cerberus_table4")["run"]])


def asked(settings: Latency) -> dict[str, Any]:
    """What decides a measurement, so that one that was made otherwise is made anew."""
    return {**settings.model_dump(), "order": "rows take turns"}


def times(found: Found) -> pandas.DataFrame:
    """Milliseconds a pair of each measured row, and time and operations as ratios to ELECTRA-BASE.

    Times are medians over turns, those of "time ×" of the ratio within a turn; " ±": half the interquartile range.
    """
    seconds = pandas.DataFrame({row: time["seconds"] for row, time in found.items()})  # a row a turn
    each = 1000 * seconds / [time["batch"] for time in found.values()]
    ratio, table = each.div(each.get(REFERENCE, pandas.Series(numpy.nan, each.index)), axis=0), {}
    for name, turns in {"ms a pair": each, "time ×": ratio}.items():
        table |= {name: turns.median(), f"{name} ±": (turns.quantile(0.75) - turns.quantile(0.25)) / 2}
    base = {row: count(REFERENCE, time["tokens"])["flops"] for row, time in found.items()}
    flops = {row: count(row, time["tokens"])["flops"] / base[row] for row, time in found.items()}
    return pandas.DataFrame(table).assign(**{"operations ×": pandas.Series(flops)}).rename_axis("row")


def note_times(settings: Latency) -> str:
    """How `measure` takes times, for a caption."""
    return (
        f"median ± half the interquartile range over {settings.repeats} turns, in each of which every row runs once "
        "(mean of two passes after a warm-up); float32. RoBERTa-BASE has ELECTRA-BASE's shape: what sets their times "
        "apart is noise."
    )


def table_5(found: Found) -> pandas.DataFrame:
    """`times` beside the published ones (in the paper's unit); a row that did not run has none, and says so."""
    paper, tokens = paper_times(), next(iter(found.values()))["tokens"]
    table = times(found).reindex(paper.index).assign(published=paper["latency"])
    table.insert(0, "state", numpy.where(table["ms a pair"].isna(), "not run", "run"))
    table[["published ±", "published ×"]] = paper[["latency ±", "published ×"]]
    table["operations ×"] = counted("cerberus_table5", tokens).set_index("run")[RATIO]
    return table.reset_index().set_index(pandas.Index(paper["model"]))


def device(found: Found, machine: str) -> str:
    where = next(iter(found.values()))
    return f"{machine}, {where['threads']} thread(s)" if where["device"] == "cpu" else where["device"]


def sentences_times(table: pandas.DataFrame, found: Found, where: str) -> list[str]:
    """One of all timed rows, then one of each.  table: from `table_5`.  where: from `device`."""
    ran, batch = some((table["state"] == "run").sum(), len(table)), next(iter(found.values()))["batch"]
    said, twin = [f"Rows that were timed, on {where}, in batches of {batch}: {ran}."], table.set_index("run").loc[TWIN]
    if abs(twin["time ×"] - 1) > NOISE:
        of = f"{table.index[table['run'] == TWIN][0]}, which has ELECTRA-BASE's shape, takes"
        return [*said, f"These times are no finding: {of} {twin['time ×']:.2f} times its time."]
    others = table[~table["run"].isin([REFERENCE, TWIN]) & table["time ×"].notna()]
    steady = 2 * others["time × ±"] <= NOISE * others["time ×"]
    said += [
        f"{name} takes {row['time ×']:.2f} times the time of ELECTRA-BASE here, with {row['operations ×']:.2f} times "
        f"its operations (published time: {row['published ×']:.2f})."
        for name, row in others[steady].iterrows()
    ]
    varied = f"Too varied between turns to be read: {listed([*others.index[~steady]])}."
    return [*said, *([varied] if not steady.all() else [])]
