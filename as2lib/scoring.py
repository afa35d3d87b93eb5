"""`as2 score`: the scores of any pairs, what they are worth, and the files that hold them."""

import sys
from argparse import Namespace
from pathlib import Path

from as2lib.commands import model_folder, print_metrics, study_of
from as2lib.escape import field, spreadsheet
from as2lib.precision import computed_in


def score(options: Namespace) -> None:
    """Score pairs with a model folder or a run; without pairs, the run's own split as it was scored.

    Writes the files named by `--trec` and `--out`, then prints metrics where there are labels; scores that neither a
    file nor a metric tells of are printed themselves, as TSV.
    """
    for file in filter(None, (options.out, options.trec)):
        if not Path(file).absolute().parent.is_dir():
            raise FileNotFoundError(f"{file}: its folder is not there; make it, or name another file")
    if options.pairs:
        pairs = _pairs(options)  # before a model is looked for, or even made
        table = _fresh_scores(model_folder(options), options, pairs)
    elif (Path(options.model) / "config.json").exists():
        raise ValueError(f"expected pairs to score with {options.model}: a known source or a file")
    else:
        table = study_of(options).run(options.model).scores(options.split)
    scores = table.assign(question_id=table["question_id"].map(spreadsheet))[["question_id", "position", "score"]]
    if options.trec:
        _write_trec(Path(options.trec), table, tag=options.model.replace("/", "-"))
        print(f"wrote {options.trec}")
    if options.out:
        scores.to_csv(options.out, sep="\t", index=False)
        print(f"wrote {options.out}")
    told, name = options.trec or options.out, options.pairs or options.split
    try:
        if "label" in table:
            print_metrics(name, table, options.questions)
            told = True
    except ValueError as error:
        raise ValueError(f"{name}: scored, but without metrics: {error}; --questions all keeps each question") from None
    finally:
        if not told:
            scores.to_csv(sys.stdout, sep="\t", index=False)


def _pairs(options: Namespace):
    """The pairs that `as2 score` was given, with their labels where they have some."""
    from as2lib.data.formats import NoLabels
    from as2lib.data.pairs import load_pairs, load_unlabelled

    split = None if Path(options.pairs).is_file() else options.split
    try:
        return load_pairs(options.pairs, split, questions="all")
    except NoLabels:
        return load_unlabelled(options.pairs, split)


def _fresh_scores(folder: Path, options: Namespace, pairs):
    from as2lib import models
    from as2lib.data.encode import load_encoder
    from as2lib.score import on_gpu, score

    precision = computed_in(options.precision)
    found = score(on_gpu(models.load(folder)), pairs, load_encoder(folder), precision, progress=True)
    print(f"scored {len(pairs):,} pairs in {precision}", file=sys.stderr)
    columns = [name for name in ("question_id", "label") if name in pairs.column_names]
    table = pairs.select_columns(columns).with_format("pandas")[:]  # at once: a column by itself is read row by row
    table.insert(1, "position", table.groupby("question_id", sort=False).cumcount())
    return table.assign(score=found.score)


def _write_trec(path: Path, table, tag: str) -> None:
    """A run file: question, Q0, candidate (`question-position`), rank, score, tag; questions in first-seen order.

    Blanks in an id are written as `%20`.  Equal scores keep their order in the file; trec_eval ignores ranks and has a
    tie rule of its own.
    """
    first_seen = {question: place for place, question in enumerate(dict.fromkeys(table["question_id"]))}
    ordered = table.assign(at=table["question_id"].map(first_seen), below=-table["score"])
    ordered = ordered.sort_values(["at", "below"], kind="stable")
    ordered["rank"] = ordered.groupby("at", sort=False).cumcount() + 1
    with path.open("w", encoding="utf-8") as file:
        for row in ordered.itertuples():
            question = field(row.question_id)
            file.write(f"{question} Q0 {question}-{row.position} {row.rank} {row.score!r} {field(tag)}\n")
