"""`as2 compare`: whether TREC runs differ, those of any tool."""

from glob import glob
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from as2lib.commands.options import AsJson, Measures, Policy
from as2lib.data.sets import note


def compare(
    files: Annotated[list[str], Argument(help="TREC runs, then judgements (qrels)")],
    a: Annotated[list[str] | None, Option("--a", metavar="'A-*.run'", help="seeds of a system, as one")] = None,
    questions: Policy = "answered",
    measures: Measures = "AP P@1 RR nDCG@10",
    out: Annotated[str | None, Option(help="a table of every question, as CSV, TSV, JSONL or Parquet")] = None,
    baseline: Annotated[str | None, Option(help="what the others are compared with (default: the first)")] = None,
    as_json: AsJson = False,
) -> None:
    """Whether runs differ.  The difference of the first measure from a baseline's, its interval, and Holm's p.

    Judgements are as `as2 score --trec` writes them.
    """
    import pandas as pd

    from as2lib.commands.tables import TABLE_SUFFIXES, print_rows, require_place, write_table
    from as2lib.metrics import ranking, significance

    *runs, judgements = [*files[:-1], *(a or []), files[-1]]
    if len(runs) < 2:
        raise ValueError(f"expected two runs or more, and judgements; got {', '.join((*runs, judgements))}")
    baseline = baseline or runs[0]
    if baseline not in runs:
        raise ValueError(f"--baseline {baseline}: expected one of {', '.join(runs)}, got another")
    require_place(out, TABLE_SUFFIXES, *runs, judgements)
    names = measures.split()
    ranking.require_measures(names)
    judged = trec_table(judgements, "query_id 0 doc_id relevance", "relevance")
    correct = (judged["relevance"] > 0).groupby(judged["query_id"], sort=False)
    ids = correct.size().index[ranking.kept(correct.size().to_numpy(), correct.sum().to_numpy(), questions)]
    if len(ids) < 2:
        got = f"got {len(ids)} under policy {questions}"
        raise ValueError(f"{judgements}: expected two judged questions or more to compare by, {got}")
    values, rows, label = {}, {}, {run: Path(run).name for run in runs}
    label = label if len({*label.values()}) == len(label) else {run: run for run in runs}
    for run in runs:  # a pattern stands for the seeds of a system: the mean of each question
        seeds = [values_of(path, judged, names).loc[ids] for path in sorted(glob(run)) or [run]]
        values[run] = sum(seeds) / len(seeds)
        means = {ranking.MEANS.get(name, name): ranking.scale(name) * values[run][name].mean() for name in names}
        rows[run] = {"run": label[run], **means}
    first, scale = names[0], ranking.scale(names[0])
    others = [run for run in values if run != baseline]
    tests = [significance.compare(values[run][first], values[baseline][first]) for run in others]
    for run, test, p in zip(others, tests, significance.holm([test.p for test in tests]), strict=True):
        rows[run] |= {"difference": scale * test.difference, "95 % low": scale * test.low, "high": scale * test.high}
        rows[run] |= {"p": p, "verdict": ("worse", "better")[test.difference > 0] if p < 0.05 else "may be chance"}
    minus = f"{ranking.MEANS.get(first, first)} minus that of {label[baseline]}"
    line = f"difference: {minus}; p: permutation test, Holm's over {len(tests)}\n"
    line += f"{len(ids)} questions, policy {questions}, ties against the system"
    print_rows([*rows.values()], line, as_json)
    if out:
        parts = [table.add_prefix(f"{label[run]} ") for run, table in values.items()]
        write_table(pd.concat(parts, axis=1).reset_index(), out)


def values_of(path: str, judged: Any, measures: list[str]) -> Any:
    """A table of each measure of each judged question in a run, its ties broken against it; says what does not match.

    Judged questions that it lacks count as 0, as do correct candidates that it leaves out; a candidate without a
    judgement is incorrect.
    """
    from as2lib.metrics import ranking

    pairs = trec_table(path, "query_id Q0 doc_id rank score tag", "score")
    pairs = pairs.merge(judged, "outer", ["query_id", "doc_id"], indicator="side")
    absent, unjudged = (int((pairs["side"] == side).sum()) for side in ("right_only", "left_only"))
    if len(pairs) == absent + unjudged:
        expected = " ".join(judged.iloc[0][["query_id", "doc_id"]])
        raise ValueError(f"{path}: expected questions and candidates that are judged, such as {expected}; got others")
    if absent or unjudged:
        note(f"{path}: lacks {absent} judged candidates, never found; {unjudged} of its own are not judged, incorrect")
    pairs = pairs[pairs["side"] != "right_only"].fillna({"relevance": 0})
    pairs = pairs.sort_values(["score", "relevance"], ascending=[False, True])
    pairs["score"] = -pairs.groupby("query_id").cumcount().astype(float)
    return ranking.calculate(judged, pairs, measures)


def trec_table(path: str, fields: str, number: str) -> Any:
    """The rows of a TREC file, a table.  number: the field that is one, the score or the relevance.

    Raises ValueError at a row of other fields or of half a grade, and at a candidate that stands there twice.
    """
    import pandas as pd

    names = fields.split()
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        rows = [line.split() for line in file] or [[]]
    table = pd.DataFrame([row if len(row) == len(names) else [None] * len(names) for row in rows], columns=names)
    table[number] = pd.to_numeric(table[number], errors="coerce", downcast="integer")
    wrong = table[number].isna() | ((number == "relevance") & (table[number] % 1 != 0))
    if (wrong := wrong | table.duplicated(["query_id", "doc_id"])).any():
        row = int(wrong.argmax())
        got = f"got {' '.join(rows[row])!r:.60}"
        raise ValueError(f"{path}: row {row + 1}: expected {fields} (TREC), each candidate once; {got}")
    return table
