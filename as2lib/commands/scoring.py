"""`as2 rank`, `as2 score` and `as2 export`: what a ranker does with a user's pairs."""

import os
import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from as2lib.commands import options


def rank(
    model: options.Model,
    question: Annotated[str, Argument(help="a file of pairs, or of questions with candidates; or a question")],
    candidates: Annotated[list[str] | None, Argument(help="default: the lines of standard input")] = None,
    top: Annotated[int | None, Option(min=1, max=2**31 - 1, help="only the best of a question")] = None,
    out: Annotated[str | None, Option(help="of a file: CSV, TSV, JSONL, Parquet or a TREC run")] = None,
    drop: options.Drop = None,
    precision: options.Precision = "float32",
    backend: options.Backend = None,
    device: options.Device = None,
    batch_size: options.BatchSize = None,
    max_length: options.MaxLength = None,
    own_model: options.OwnModel = None,
    study: options.OfStudy = "sample",
) -> None:
    """Rank the candidates of one question, or of every question of a file.

    A model's score is P(correct), and its log_odds is what ranks where probabilities round to 1; TREC runs have that.
    """
    from as2lib.commands import tables
    from as2lib.data import load_pairs

    pairs = None
    if os.path.exists(question) and not os.path.isdir(question):  # no question that is too long for a name
        if candidates:
            raise ValueError(f"{question}: expected candidates in the file, got some beside it: {candidates[0]!r:.60}")
        tables.require_place(out, (*tables.TABLE_SUFFIXES, *tables.RUN_SUFFIXES), question)
        pairs = load_pairs(Path(question), questions=None)
    elif out or question == "-":
        raise ValueError(f"{question!r:.60}: expected a file of questions, got none of that name")
    elif not candidates:
        if sys.stdin.isatty():
            print(f"as2: no file is named {question!r:.60}: a question; its candidates, a line each:", file=sys.stderr)
        text = sys.stdin.read().removeprefix("\ufeff")  # a byte-order mark is none of the first one's text
        candidates = [line.strip() for line in text.split("\n") if line.strip()]
        if not candidates:
            raise ValueError(f"{question!r:.60}: expected a file of that name, or candidates for it; got neither")
    computing = {"precision": precision, "backend": backend, "device": device}
    ranker = options.load_ranker(model, study, drop=drop, max_length=max_length, model=own_model, **computing)
    if pairs is None:
        for place, ranked in enumerate(ranker.rank(question, candidates, top, batch_size=batch_size), start=1):
            print(f"{place:>3}  {ranked.score:.4f}  {ranked.candidate}")
        return
    table = tables.best_first(tables.score_pairs(ranker, pairs, batch_size).assign(answer=pairs["answer"][:]))
    table = table[table["rank"] <= (top or len(table))]
    if out and Path(out).suffix.lower() in tables.RUN_SUFFIXES:
        tables.write_trec(table, out, model)
    else:
        tables.write_table(table.filter("question_id rank candidate_id position score log_odds answer".split()), out)


def score(
    model: options.Model,
    pairs: Annotated[str | None, Argument(help="a file, a folder or a known set; default: a run's own")] = None,
    split: Annotated[str | None, Option(help="of a folder or a known set (default: test)")] = None,
    out: Annotated[str | None, Option(help="scores as TSV, CSV, JSONL or Parquet")] = None,
    trec: Annotated[str | None, Option(help="my.run: a TREC run; judgements in my.qrels")] = None,
    questions: options.Policy = "answered",
    measures: options.Measures = "P@1 AP RR nDCG@10",
    drop: options.Drop = None,
    precision: options.Precision = "float32",
    backend: options.Backend = None,
    device: options.Device = None,
    batch_size: options.BatchSize = None,
    max_length: options.MaxLength = None,
    own_model: options.OwnModel = None,
    as_json: options.AsJson = False,
    study: options.OfStudy = "sample",
) -> None:
    """Score pairs with whatever ranks.  Prints metrics where they have labels.

    A model's score is P(correct), and its log_odds is what ranks where probabilities round to 1; TREC runs have that.
    """
    from as2lib.commands import tables
    from as2lib.data import load_pairs, sets
    from as2lib.data.columns import NoLabels
    from as2lib.metrics import ranking

    judgements = Path(trec).with_suffix(".qrels") if trec else None
    tables.require_place(out, tables.TABLE_SUFFIXES, pairs)
    tables.require_place(trec, (), pairs, out)
    tables.require_place(judgements, (), pairs, out, trec)
    ranking.require_measures(measures.split())
    if pairs:
        path = sets.on_disk(pairs)
        part = split or (None if path and path.is_file() else "test")
        try:
            texts = load_pairs(pairs, part, "all")
        except NoLabels:
            texts = load_pairs(pairs, part, None)
        computing = {"precision": precision, "backend": backend, "device": device}
        ranker = options.load_ranker(model, study, drop=drop, max_length=max_length, model=own_model, **computing)
        title, table = Path(pairs).name, tables.score_pairs(ranker, texts, batch_size)
    else:
        title, loaded = split or "test", options.load_study(study)
        settings = {precision, drop, backend, device, batch_size, max_length, own_model} - {"float32", None}
        if settings or model not in loaded.plan:
            raise ValueError("expected PAIRS beside a ranker, or a run of the study alone, whose own scores are read")
        options.require_made(loaded, model, model=False)
        table = loaded.run(model).scores(title)
    if trec:
        tables.write_trec(tables.best_first(table), trec, model)
        if "label" in table:
            tables.write_trec(table, judgements)
    if out:
        tables.write_table(table, out)
    if "label" in table:
        row = tables.metrics_row(title, table, questions, measures.split())
        tables.print_rows([row], f"policy {questions}, ties against the system", as_json)
    elif not (out or trec):
        tables.write_table(table, None)


def export(
    model: options.Model,
    out: Annotated[Path, Argument(help="a new folder")],
    int8: Annotated[bool, Option("--int8", help="dynamic int8 (default: float32)")] = False,
    max_length: options.MaxLength = None,
    study: options.OfStudy = "sample",
) -> None:
    """Write a model for ONNX Runtime.  One encoder, or a student with heads."""
    from as2lib.export import export

    export(options.model_of(model, study), out, int8, max_length)
    print(f"written: {out}; open it: Ranker.load({str(out)!r})")
