"""The table of notebook 12, its figure's points and its sentences, from a kept measurement; measures nothing."""

import pandas

from as2lib.papers.serving import plan
from as2lib.runs.wording import apart, listed, number, span

LOSS = 0.5  # points of MAP that a faster precision may lose
COMMAND = "python -m bench serving --full"
SAME, RATE = "same first %", "pairs a second"
KEPT_AS = {"same first as torch": SAME, **{f"ms, {count} candidates": f"ms for {count}" for count in (1, 10, 100)}}
COLUMNS = ["backend", "precision", "MAP", SAME, "MiB", "ms for 1", "ms for 10", "ms for 100", RATE, "processor"]


def table() -> pandas.DataFrame:
    """A row for each model with a backend and a precision, by model in the order of speed.

    MAP and "same first": percent, of questions whose first candidate is that of torch in float32; MiB: weights and
    graph on disk; "ms for n": processor time of a question with n candidates; pairs a second: of the whole test set.
    Raises ValueError where nothing was measured.
    """
    if not (rows := plan.rows()):
        raise ValueError(f"{plan.KEPT}: expected rows of `serving` with MAP, got none; measure them: {COMMAND}")
    names = pandas.Series(list(rows)).str.extract("(?P<system>.*?): (?P<backend>.*?), (?P<precision>.*)")
    found = names.join(pandas.DataFrame(rows.values())).rename(columns=KEPT_AS)
    found[["MAP", SAME]] *= 100
    models = found.set_index("system")[COLUMNS].groupby(level=0, sort=False)
    return pandas.concat([own.sort_values(RATE, ascending=False, kind="stable") for _, own in models])


def ours(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The models that `as2 export` writes: those that torch ran in float32 by `Ranker`."""
    return rows[~rows.index.str.startswith("sentence-transformers")]


def fastest(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Of each of our models the fastest row within `LOSS` of torch in float32, and how it stands to that.

    lost: points of MAP below torch; times: its pairs a second over torch's.
    """
    found = {}
    for system, own in ours(rows).groupby(level=0, sort=False):
        plain = own.query("backend == 'torch' and precision == 'float32'").iloc[0]
        best = own[plain["MAP"] - own["MAP"] <= LOSS].sort_values(RATE).iloc[-1]
        found[system] = {**best, "lost": plain["MAP"] - best["MAP"], "times": best[RATE] / plain[RATE]}
    return pandas.DataFrame.from_dict(found, orient="index").rename_axis("system")


def caption() -> str:
    first = next(iter(plan.rows().values()))
    return (
        f"WikiQA, {first['questions']} answered test questions, {first['pairs']:,} pairs. MAP and same first: percent; "
        "same first: the first candidate is the one of the model in torch, float32. MiB: weights and graph on disk. "
        "ms for n: processor time of one question with n candidates, texts in, ranking out, on one core, median of "
        "turns; pairs a second: all test questions. The cascade drops 0.3 of the candidates at an exit. "
        f"Measured by {COMMAND}."
    )


def sentences(rows: pandas.DataFrame) -> list[str]:
    """One a model: its fastest form; then how fast each is beside the first; then another library's."""
    best = fastest(rows)
    said = [
        f"{system}: {_name(row)} ranks {number(row[RATE], 0)} pairs a second, {number(row['times'])} times as many "
        f"as torch in float32, {apart(-row['lost'], 'it')}; the first candidate is the same for "
        f"{number(row[SAME])} % of the questions."
        for system, row in best.iterrows()
    ]
    both = pandas.DataFrame({"torch": best[RATE] / best["times"], "best": best[RATE]})
    beside = (both / both.iloc[0]).iloc[1:].itertuples()
    if beside := [f"{row.Index} {number(row.torch, 2)} and {number(row.best, 2)}" for row in beside]:
        said.append(
            f"Pairs a second over those of the {both.index[0]}, torch in float32 and then the fastest form of each: "
            f"{listed(beside)}."
        )
    if len(peers := rows.drop(best.index)):
        best = peers.sort_values(RATE).iloc[-1]
        said.append(
            f"The fastest form of the cross-encoder with {best.name} itself, {_name(best)}, ranks "
            f"{number(best[RATE], 0)} pairs a second, MAP {number(best['MAP'])}."
        )
    return said


def answer(rows: pandas.DataFrame) -> str:
    """Which form of each model is the fastest of those that lose at most `LOSS`, and what they gain and lose."""
    best, said = fastest(rows), []
    for name, own in best.groupby(best.apply(_name, axis=1), sort=False):
        gained = f"{span(own['times'].min(), own['times'].max())} times as fast as torch in float32"
        said.append(f"{name} for the {listed(list(own.index))} ({gained})")
    lost = best["lost"].max()
    worst = "none of them loses MAP" if lost <= 0 else f"the most that one of them loses is {number(lost, 2)} points"
    return f"With at most {LOSS:g} points of MAP lost, the fastest is {listed(said)}; {worst}."


def _name(row: pandas.Series) -> str:
    names = {"openvino": "OpenVINO", "onnx": "ONNX Runtime", "torch": "torch"}
    return f"{names[row['backend']]} in {row['precision']}"
