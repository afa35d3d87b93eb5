"""`as2 …`: one function a command, which says what it takes; what it does stands in the room that does it."""

import json
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

if sys.argv[1:2] == ["study"]:  # as a shell's background job it would ignore an interrupt, and for seconds of imports
    signal.signal(signal.SIGINT, signal.default_int_handler)

import typer

from as2lib import __version__
from as2lib.commands.errors import line_of
from as2lib.precision import computed_in

if TYPE_CHECKING:
    from as2lib.study.study import Study

HELP = "Efficient answer sentence selection: run and read a study; train, rank and score with models of your own."
app = typer.Typer(help=HELP, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

RANKERS = "a folder, a hub name, bm25, word_overlap, cosine:NAME (a sentence encoder), or a run of a study"
StudyName = Annotated[str, typer.Argument(help="a study's name, or its file")]
OfStudy = Annotated[str, typer.Option("--study", help="whose runs are meant: a name, or a file")]
Changes = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="such as fit.adapt.steps=10")]
Model = Annotated[str, typer.Argument(help=RANKERS)]
Pairs = Annotated[str, typer.Argument(help="a file, a folder of train, dev and test files, or a known set")]
Split = Annotated[str | None, typer.Option(help="of a folder or a known set (default: test)")]
Precision = Annotated[Literal["float32", "bf16", "auto"], typer.Option(help="auto: bf16 where the machine has it")]
Backend = Annotated[Literal["torch", "onnx"] | None, typer.Option(help="default: an export's, or torch")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, … (default: the GPU where there is one)")]
BatchSize = Annotated[int | None, typer.Option(min=1, max=2**16, help="pairs in a batch (default: by the machine)")]
MaxLength = Annotated[int | None, typer.Option(min=5, max=2**15, help="tokens of a pair (default: the model's)")]
Drop = Annotated[float | None, typer.Option(min=0, max=1, help="of a cascade: the share that each exit drops")]
OwnModel = Annotated[str | None, typer.Option("--model", metavar="PACKAGE:CLASS", help="your own, of a folder")]
AsJson = Annotated[bool, typer.Option("--json", help="print the table as JSON")]
Policy = Annotated[Literal["answered", "mixed", "all"], typer.Option(help="which questions metrics count")]
Measures = Annotated[str, typer.Option(help='by ir_measures, between blanks: "R@100 nDCG@10 Success@5"')]
DEFAULT_MEASURES = "P@1 AP RR nDCG@10"
RESUMED = ("fit", "study", "train")  # commands that keep what they have made when they are interrupted


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; what its user can mend is one line on stderr, and 2."""
    for library in ("TRANSFORMERS", "HF_HUB"):  # what they warn of, a command has seen to or says itself
        os.environ.setdefault(f"{library}_VERBOSITY", "error")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # a shell closed it
            setattr(sys, name, open(os.devnull, "r+"))  # noqa: SIM115
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")  # a log holds lines
    arguments = sys.argv[1:] if arguments is None else arguments
    name = f"as2 {arguments[0]}" if arguments and not arguments[0].startswith("-") else "as2"
    try:
        code = app(args=arguments, prog_name="as2", standalone_mode=False)
    except SystemExit as end:  # typer's own, where who reads standard output has seen enough
        return int(end.code or 0)
    except Exception as error:
        if hasattr(error, "format_message"):  # an option or an argument that typer refuses
            line = f"{' '.join(error.format_message().split())}; `{name} --help` says what it takes"
        else:
            line = line_of(error)
        if line is None:
            raise
        print(f"{name}: {line}", file=sys.stderr)
        return 2
    if code == 128 + signal.SIGINT:
        goes_on = (
            "; what is finished is kept, and the same command goes on" if name.removeprefix("as2 ") in RESUMED else ""
        )
        print(f"{name}: interrupted{goes_on}", file=sys.stderr)
    return code if isinstance(code, int) else 0


@app.callback(invoke_without_command=True)
def _as2(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="say which this is")] = False
) -> None:
    context.call_on_close(sys.stdout.flush)  # where typer sees a broken pipe
    if version:
        print(f"as2lib {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def _load(study: str, changes: list[str] | None = None) -> "Study":
    """The study that a command names, with what `--set` replaces."""
    from as2lib.papers import Study  # with pydantic, which `--help` does without

    return Study.load(study, dict(map(_change, changes or [])))


def _change(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not (key.strip(".") and equals):
        raise ValueError(f"--set: expected KEY=VALUE, such as threads=2 or fit.adapt.steps=10; got {text!r}")
    with suppress(ValueError, RecursionError):
        return key, json.loads(value)
    return key, value


def _exit(problems: list[str]) -> None:
    for line in problems:
        print(line, file=sys.stderr)
    raise typer.Exit(int(bool(problems)))


# ---------------------------------------------------------------- one's own pairs


@app.command()
def train(
    pairs: Pairs,
    out: Annotated[Path, typer.Option(help="where the model's folder goes")],
    model: Annotated[str | None, typer.Option(help='a hub name, a folder, or "nothing" (default: MiniLM)')] = None,
    teacher: Annotated[list[str] | None, typer.Option(help="any reranker; of several each has a head")] = None,
    loss: Annotated[str | None, typer.Option(help="ce, ranknet, listwise_kl, kd, … or my.module:function")] = None,
    teacher_scores: Annotated[list[str] | None, typer.Option(help="a table of what a teacher said")] = None,
    alpha: Annotated[
        float | None, typer.Option(min=0, max=1, help="weight of the labels beside teachers (default: 0.5)")
    ] = None,
    tau: Annotated[float | None, typer.Option(help="temperature of distillation (default: 3)")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="passes over the pairs (default: 3)")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="batches, instead of epochs")] = None,
    evaluate_every: Annotated[
        int | None, typer.Option(min=1, help="steps between looks at dev; default: a tenth")
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(min=1e-12, help="4e-5; from nothing: 5e-4")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="pairs in a batch (default: 32)")] = None,
    max_length: Annotated[int | None, typer.Option(min=5, help="tokens; default: what holds 99 %")] = None,
    allow_shared_questions: Annotated[bool, typer.Option("--allow-shared-questions", help="with dev or test")] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="of the fit, and of the split of a single file")] = 0,
    precision: Precision = "float32",
    study: OfStudy = "sample",
) -> None:
    """One model of your own pairs.  Its dev MAP is what `as2 score` gives, in float32."""
    from as2lib.commands import training

    settings = {"epochs": epochs, "batch_size": batch_size, "seed": seed, "precision": computed_in(precision)}
    settings |= {"steps": steps, "evaluate_every": evaluate_every, "alpha": alpha, "tau": tau}
    settings |= {"loss": loss, "learning_rate": learning_rate, "max_length": max_length}
    settings |= {
        "model": model,
        "teachers": teacher or [],
        "teacher_scores": teacher_scores or [],
        "allow_shared_questions": allow_shared_questions,
    }
    training.train(pairs, out, partial(_load, study), **settings)


@app.command()
def rank(
    model: Model,
    question: Annotated[str, typer.Argument(help="a file of pairs, or of questions with candidates; or a question")],
    candidates: Annotated[list[str] | None, typer.Argument(help="default: the lines of standard input")] = None,
    top: Annotated[int | None, typer.Option(min=1, max=2**31 - 1, help="only the best of a question")] = None,
    out: Annotated[str | None, typer.Option(help="of a file: CSV, TSV, JSONL, Parquet or a TREC run")] = None,
    drop: Drop = None,
    precision: Precision = "float32",
    backend: Backend = None,
    device: Device = None,
    batch_size: BatchSize = None,
    max_length: MaxLength = None,
    own_model: OwnModel = None,
    study: OfStudy = "sample",
) -> None:
    """Rank the candidates of one question, or of every question of a file.

    A model's score is P(correct), and its log_odds is what ranks where probabilities round to 1; TREC runs have that.
    """
    from as2lib.commands import named, scoring

    settings = {"precision": precision, "backend": backend, "device": device, "max_length": max_length}
    settings |= {"drop": drop, "model": own_model}
    load = partial(named.load_ranker, model, partial(_load, study), **settings)
    scoring.rank(question, candidates, load, out, top, model, batch_size)


@app.command()
def score(
    model: Model,
    pairs: Annotated[str | None, typer.Argument(help="a file, a folder or a known set; default: a run's own")] = None,
    split: Split = None,
    out: Annotated[str | None, typer.Option(help="scores as TSV, CSV, JSONL or Parquet")] = None,
    trec: Annotated[str | None, typer.Option(help="my.run: a TREC run; judgements in my.qrels")] = None,
    questions: Policy = "answered",
    measures: Measures = DEFAULT_MEASURES,
    drop: Drop = None,
    precision: Precision = "float32",
    backend: Backend = None,
    device: Device = None,
    batch_size: BatchSize = None,
    max_length: MaxLength = None,
    own_model: OwnModel = None,
    as_json: AsJson = False,
    study: OfStudy = "sample",
) -> None:
    """Score pairs with whatever ranks.  Prints metrics where they have labels.

    A model's score is P(correct), and its log_odds is what ranks where probabilities round to 1; TREC runs have that.
    """
    from as2lib.commands import named, scoring

    load_study = partial(_load, study)
    settings = {"precision": precision, "backend": backend, "device": device, "max_length": max_length}
    settings |= {"drop": drop, "model": own_model}
    load = partial(named.load_ranker, model, load_study, **settings)
    load_run = partial(named.run_of, model, load_study)
    options = (questions, measures.split(), batch_size, as_json)
    scoring.score(model, pairs, load, load_run, split, out, trec, *options)


@app.command()
def compare(
    files: Annotated[list[str], typer.Argument(help="TREC runs, then judgements (qrels)")],
    a: Annotated[list[str] | None, typer.Option("--a", metavar="'A-*.run'", help="seeds of a system, as one")] = None,
    questions: Policy = "answered",
    measures: Measures = "AP P@1 RR nDCG@10",
    out: Annotated[str | None, typer.Option(help="a table of every question, as CSV, TSV, JSONL or Parquet")] = None,
    baseline: Annotated[str | None, typer.Option(help="what the others are compared with (default: the first)")] = None,
    as_json: AsJson = False,
) -> None:
    """Whether runs differ.  The difference of the first measure from a baseline's, its interval, and Holm's p.

    Judgements are as `as2 score --trec` writes them.
    """
    from as2lib.commands import trec

    runs = [*files[:-1], *(a or [])]
    trec.compare(runs, files[-1], questions, measures.split(), out, baseline, as_json)


@app.command()
def export(
    model: Model,
    out: Annotated[Path, typer.Argument(help="a new folder")],
    int8: Annotated[bool, typer.Option("--int8", help="dynamic int8 (default: float32)")] = False,
    max_length: MaxLength = None,
    study: OfStudy = "sample",
) -> None:
    """Write a model for ONNX Runtime.  One encoder, or a student with heads."""
    from as2lib.commands import named
    from as2lib.export import export as write

    write(named.model_of(model, partial(_load, study)), out, int8, max_length)
    print(f"written: {out}; open it: Ranker.load({str(out)!r})")


@app.command()
def init(
    pairs: Pairs,
    name: Annotated[str | None, typer.Option(help="of the study (default: that of the file or folder)")] = None,
    encoder: Annotated[str | None, typer.Option(help='a hub name, a folder, or "nothing" (default: MiniLM)')] = None,
    quick: Annotated[bool, typer.Option("--quick", help="small, one that ends in minutes")] = False,
) -> None:
    """A study of your own pairs: writes params/<name>.yaml."""
    from as2lib.commands import initiating

    initiating.init(pairs, name, encoder, quick)


# ---------------------------------------------------------------- a study


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def study(
    context: typer.Context,
    study: StudyName,
    cores: Annotated[int, typer.Option(min=1, max=4096, help="of this machine, for fits and notebooks")] = 2,
    workers: Annotated[int | None, typer.Option(min=1, max=4096, help="default: one a GPU, or cores / threads")] = None,
    profile: Annotated[str | None, typer.Option(help='"slurm", or the folder of a Snakemake profile')] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what would be made, and why")] = False,
    changes: Changes = None,
) -> None:
    """Make a whole study: runs, notebooks, pages, check.  Further options are Snakemake's."""
    from as2lib.commands import studying

    loaded = _load(study, changes)
    raise typer.Exit(studying.make(loaded, cores, workers, profile, dry_run, context.args))


@app.command()
def plan(study: StudyName, changes: Changes = None) -> None:
    """Where a study stands.  Each run, and what is left of them, in steps and in hours of an H100."""
    from as2lib.commands import studying

    studying.plan(_load(study, changes))


@app.command()
def fit(
    study: StudyName,
    runs: Annotated[list[str] | None, typer.Argument(help="names of runs; default: all that the study needs")] = None,
    weights: Annotated[bool, typer.Option("--weights", help="also of runs whose scores are published")] = False,
    changes: Changes = None,
) -> None:
    """Make runs, and what they are made from, as one of any number of workers that share a study."""
    from as2lib.study.fit_missing import fit_missing

    loaded = _load(study, changes)
    failed = fit_missing(loaded.store, runs or loaded.plan, weights or bool(runs), partial(print, flush=True))
    raise typer.Exit(int(bool(failed)))


@app.command()
def page(
    study: StudyName,
    name: Annotated[str | None, typer.Argument(help="such as 03; default: all that are not as they should be")] = None,
    beside: Annotated[bool, typer.Option("--beside", help="those that others may be made beside")] = False,
) -> None:
    """Run a notebook of a study, and make its page."""
    from as2lib.commands import studying

    if name:
        studying.make_page(_load(study), name)
    else:
        raise typer.Exit(int(not studying.make_pages(_load(study), beside)))


@app.command()
def check(study: StudyName) -> None:
    """Hold a study against what is expected.  Its numbers within their tolerances, and its findings."""
    from as2lib.commands import studying

    _exit(studying.check(_load(study)))


@app.command()
def publish(
    study: StudyName,
    runs: Annotated[list[str] | None, typer.Argument(help="names of runs; default: all that are made")] = None,
) -> None:
    """Add the scores of runs to reports/<study>/scores/."""
    from as2lib.study.publishing import publish as add

    print(f"{len(add(_load(study), runs or None))} runs published")


if __name__ == "__main__":
    sys.exit(main())
